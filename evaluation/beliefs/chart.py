"""The rulings as a forest: one row per collection, one panel per claim."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation.beliefs.claims import BELIEFS
from evaluation.beliefs.page import Tested
from evaluation.beliefs.ruling import HOLDS, NOT_TESTED, REFUTED, UNDECIDED
from evaluation.report.drawing import draw, standalone

WIDTH, ROW = 420, 15
COLOURS = {HOLDS: "#2e7d4f", REFUTED: "#b5402a", UNDECIDED: "#7a7a7a"}


def chart(tested: Tested) -> str:
    """An SVG file: differences with intervals, coloured by verdict."""
    table = _rows(tested)
    panels = [_panel(part, str(title)) for title, part in table.groupby("claim", sort=False)]
    described = "Differences with 95 % intervals of every claim on every collection"
    return standalone(draw(alt.vconcat(*panels, spacing=14).resolve_scale(x="independent"), "beliefs", described))


def _rows(tested: Tested) -> pd.DataFrame:
    rows = []
    for belief in BELIEFS:
        for at, claim in enumerate(belief.claims):
            for collection in tested.collections:
                found = tested.rulings[belief.key, at, collection.name]
                if found.verdict != NOT_TESTED:
                    title = f"({belief.key}) {claim.says}: {next(iter(claim.contrasts))}, {claim.metric}"
                    if len(claim.contrasts) > 1:
                        title = f"({belief.key}) {claim.says}: the closest one, {claim.metric}"
                    rows.append((title, collection.name, found.diff, found.lo, found.hi, found.verdict))
    return pd.DataFrame(rows, columns=["claim", "collection", "diff", "lo", "hi", "verdict"])


def _panel(part: pd.DataFrame, title: str) -> alt.LayerChart | alt.FacetChart:
    colour = alt.Color("verdict:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), title=None)
    base = alt.Chart(part).encode(y=alt.Y("collection:N", sort=None, title=None))
    zero = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color="#999999", strokeDash=[3, 3]).encode(x="at:Q")
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("lo:Q", title=None), x2="hi:Q", color=colour)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(x="diff:Q", color=colour, shape="verdict:N")
    panel: alt.LayerChart | alt.FacetChart = alt.layer(zero, spans, points).properties(
        width=WIDTH, height=ROW * part["collection"].nunique(), title=title
    )
    return panel

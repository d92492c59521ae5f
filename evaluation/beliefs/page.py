"""`docs/findings.md`: every belief with its verdict on every collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from evaluation.beliefs.claims import BELIEFS, Belief
from evaluation.beliefs.ruling import ALPHA, FLIPS, HOLDS, MARGIN, NOT_TESTED, REFUTED, UNDECIDED, Ruling, together
from evaluation.beliefs.values import Collection
from evaluation.table import as_markdown

Rulings = Mapping[tuple[str, int, str], Ruling]  # belief, number of the claim, collection


@dataclass(frozen=True)
class Tested:
    """All collections and all rulings."""

    collections: Sequence[Collection]
    rulings: Rulings

    def verdict(self, belief: Belief, collection: str) -> str:
        """The verdict on a belief on one collection."""
        return together([self.rulings[belief.key, at, collection].verdict for at in range(len(belief.claims))])


INTRO = f"""# Eight beliefs, tested

Written by `python -m evaluation.beliefs` from results of `python benchmarks/collections.py`; nobody typed a number.

Each belief is one or more claims about differences of strategies, paired over the same questions. A claim *holds* on
a collection where a sign-flip test of whole documents ({FLIPS:,} flips) shows it at the {ALPHA:.0%} level. It is
*refuted* where the test shows the opposite, or shows that a claimed lead lies below {MARGIN}. Everything else is
*undecided*, which says something about the collection's size, not about the belief. Claims with "not" allow for a
margin of {MARGIN}. A belief holds where all its claims do and is refuted where one is. Each collection is tested at
{ALPHA:.0%} on its own: of twenty verdicts without any true difference, one would be wrong.

`ppmi` and `adaptive` are this project's strategies: reciprocal rank fusion of BM25 and PPMI, and a linear blend of
BM25 and TF-IDF whose weight follows the form of the question. Where chunks overlap (belief f) they are 100 words long
and share 80 with their neighbour: dedup drops a neighbour from about three quarters on. "Gold is one chunk" keeps, of
all chunks that hold a judged span, the best one; its copies count as wrong."""


def page(tested: Tested, figure: str) -> str:
    """The whole page; `figure` is the chart's path, relative to the page."""
    parts = [
        INTRO,
        "## At a glance",
        as_markdown(overview(tested)),
        "## Collections",
        as_markdown(_collections(tested.collections)),
        f"![Differences with 95 % intervals, by claim and collection]({figure})",
    ]
    for belief in BELIEFS:
        parts += [f"## ({belief.key}) {belief.says}", _summary(tested, belief), as_markdown(_claims(tested, belief))]
    return "\n\n".join(parts) + "\n"


def overview(tested: Tested) -> pd.DataFrame:
    """One row per belief, one column per collection: the verdicts."""
    rows = []
    for belief in BELIEFS:
        cells = {c.name: _short(tested.verdict(belief, c.name)) for c in tested.collections}
        rows.append({"belief": f"({belief.key}) {belief.says}", **cells})
    return pd.DataFrame(rows)


def _short(verdict: str) -> str:
    return {HOLDS: "**holds**", REFUTED: "**refuted**", NOT_TESTED: "-"}.get(verdict, verdict)


def _collections(collections: Sequence[Collection]) -> pd.DataFrame:
    rows = [
        {
            "collection": c.name,
            "split": c.split,
            "questions with a relevant passage": str(c.answered[0]),
            "documents they come from": str(c.answered[1]),
        }
        for c in collections
    ]
    return pd.DataFrame(rows)


def _summary(tested: Tested, belief: Belief) -> str:
    """One sentence: on how many collections the belief holds."""
    verdicts = [tested.verdict(belief, c.name) for c in tested.collections]
    counts = {name: verdicts.count(name) for name in (HOLDS, REFUTED, UNDECIDED, NOT_TESTED)}
    if counts[NOT_TESTED] == len(verdicts):
        return "Not tested on any collection here."
    said = [f"holds on {counts[HOLDS]}", f"refuted on {counts[REFUTED]}", f"undecided on {counts[UNDECIDED]}"]
    left = f"; not tested on {counts[NOT_TESTED]}" if counts[NOT_TESTED] else ""
    return f"Of {len(verdicts)} collections: {', '.join(said)}{left}."


def _claims(tested: Tested, belief: Belief) -> pd.DataFrame:
    rows = []
    for at, claim in enumerate(belief.claims):
        for collection in tested.collections:
            found = tested.rulings[belief.key, at, collection.name]
            rows.append(
                {
                    "claim": f"{claim.says} ({claim.metric})",
                    "collection": collection.name,
                    "N": f"{found.n} ({found.documents})" if found.n else "-",
                    "comparison": found.contrast,
                    "difference": _difference(found),
                    "p": f"{found.p:.3g}" if found.p == found.p else "",
                    "verdict": f"{_short(found.verdict)}{f' ({found.why})' if found.why else ''}",
                }
            )
    return pd.DataFrame(rows)


def _difference(found: Ruling) -> str:
    if found.diff != found.diff:
        return ""
    return f"{found.diff:+.3f} [{found.lo:+.3f}, {found.hi:+.3f}]"

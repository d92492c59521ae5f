"""The files of a report: complete, byte-stable, and nothing in them that data can turn into markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pandas as pd
import pytest

from evaluation.findings import Findings
from evaluation.report.charts import draw_all
from evaluation.report.comparisons import cells, differences
from evaluation.report.drawing import standalone
from evaluation.report.html import board
from evaluation.report.markdown import markdown
from evaluation.report.page import page
from evaluation.verdict import Verdict
from tests.unit.evaluation.findings_factory import make_findings

PLANTED = """</script><script>window.hit=1</script><img src=x onerror="window.hit=1">"'&\u2028$body"""
MARK = re.compile(r'role="graphics-symbol" aria-roledescription="(?!axis|legend)')


class Elements(HTMLParser):
    """Counts elements and collects attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.handlers: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


@pytest.fixture(scope="module")
def findings() -> Findings:
    return make_findings(n_strategies=8, n_questions=30, n_documents=10)


@pytest.fixture(scope="module")
def charts(findings) -> dict[str, str]:
    return draw_all(findings)


def hostile() -> Findings:
    """A strategy, a question, a passage, a kind and a note that would like to be markup."""
    found = make_findings(3, 20, 10)
    name = "rrf_dedup_mmr"
    tables = {
        field: getattr(found, field).replace({name: PLANTED})
        for field in ("summary", "per_query", "comparisons", "kinds", "losses", "shares", "shown")
    }
    verdict = replace(found.verdict, sentence=PLANTED, group=(found.verdict.leader, PLANTED), beaten=())
    arms = {PLANTED if arm == name else arm: {**facts, "notes": [PLANTED]} for arm, facts in found.arms.items()}
    return replace(
        found,
        **tables,
        verdict=verdict,
        arms=arms,
        manifest={**found.manifest, "name": PLANTED, "config": {"x": PLANTED}},
        questions=found.questions.assign(query=PLANTED, kind=PLANTED),
        passages=found.passages.assign(text=PLANTED, document=PLANTED, section=PLANTED),
        effects=pd.DataFrame(),
    )


def test_every_chart_has_a_mark_for_every_row(findings, charts):
    n = 8
    counts = {name: len(MARK.findall(svg)) for name, svg in charts.items()}
    assert counts == {
        "leaderboard": n,
        "pairs": n * (n - 1),
        "differences": n - 1,
        "effects": 7 * 3,
        "losses": len(findings.losses[["strategy", "stage"]].drop_duplicates()),
        "latency": n,
        "index_size": n,
        "kinds": n * findings.questions["kind"].nunique(),
    }
    assert counts["pairs"] == len(cells(findings))
    assert counts["differences"] == len(differences(findings))


def test_marks_stand_where_the_numbers_say(findings, charts):
    """Bars of the leaderboard: the ends of all bars are one linear function of the ends of all intervals."""
    rules = re.findall(
        r'<line transform="translate\(([-\d.]+),([-\d.]+)\)" x2="([-\d.]+)" y2="0" stroke="var\(--',
        charts["leaderboard"],
    )
    rows = findings.summary[findings.summary["metric"] == "nDCG@5"].sort_values("mean", ascending=False)
    assert len(rules) == len(rows)
    lows, lengths = [float(rule[0]) for rule in rules], [float(rule[2]) for rule in rules]
    scale = lengths[0] / (rows["hi"] - rows["lo"]).iloc[0]
    for low, length, row in zip(lows, lengths, rows.itertuples(), strict=True):
        assert length == pytest.approx((row.hi - row.lo) * scale, abs=0.1)
        assert low - lows[0] == pytest.approx((row.lo - rows["lo"].iloc[0]) * scale, abs=0.1)


def test_equal_findings_give_equal_bytes(findings, charts):
    again = make_findings(n_strategies=8, n_questions=30, n_documents=10)
    assert draw_all(again) == charts
    assert page(again, charts) == page(findings, charts)
    assert markdown(again) == markdown(findings)


def test_the_page_asks_for_nothing(findings, charts):
    text = page(findings, charts)
    assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//|@import|url\((?!#)""", text) == []
    assert "default-src 'none'" in text
    assert len(set(re.findall(r' id="([^"]+)"', text))) == len(re.findall(r' id="([^"]+)"', text))


def test_hostile_text_stays_text():
    found = hostile()
    drawn = draw_all(found)
    reader = Elements()
    reader.feed(page(found, drawn))
    assert reader.tags["script"] == 2  # the data and ours
    assert "img" not in reader.tags
    assert reader.handlers == []
    for svg in drawn.values():
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
        assert tags <= {"svg", "g", "path", "line", "rect", "text", "tspan", "clipPath", "defs"}
    assert "<" not in markdown(found).replace("<.001", "")


def test_a_drawing_stands_alone_in_light_and_dark(charts):
    text = standalone(charts["pairs"])
    root = ElementTree.fromstring(text)
    assert root.attrib["aria-label"].startswith("All pairs")
    used, known = set(re.findall(r"var\((--[\w-]+)\)", text)), set(re.findall(r"(--[\w-]+):", text))
    assert used <= known
    assert "prefers-color-scheme: dark" in text


def test_every_colour_of_the_charts_is_defined(findings, charts):
    text = page(findings, charts)
    style = text[text.index("<style>") : text.index("</style>")]
    dark = style[style.index("prefers-color-scheme: dark") :]
    used = set(re.findall(r"var\((--[\w-]+)\)", text)) | {f"--stage-{at}" for at in range(10)}
    light = set(re.findall(r"(--[\w-]+):", style[: style.index("prefers-color-scheme: dark")]))
    assert used <= light
    assert {name for name in light if not name.startswith("--stage")} <= set(re.findall(r"(--[\w-]+):", dark))


def test_markdown_is_short_and_leads_with_the_verdict(findings):
    text = markdown(make_findings())
    lines = text.splitlines()
    assert len(lines) <= 66
    assert lines[2] == f"**{make_findings().verdict.sentence}**"
    means = findings.summary[findings.summary["metric"] == "nDCG@5"].set_index("strategy")["mean"]
    leader = findings.verdict.leader
    assert f"| {leader} | 30 | {means[leader]:.3f} |" in markdown(findings)
    closest = min(findings.verdict.group[1:] + findings.verdict.beaten, key=lambda name: means[leader] - means[name])
    assert f"| {leader} − {closest} | {means[leader] - means[closest]:+.3f} [" in markdown(findings)


def test_a_run_of_one_arm_and_a_run_of_none_have_a_report():
    empty = pd.DataFrame()
    lone = make_findings(
        *(1, 20, 10),
        **dict.fromkeys(("comparisons", "effects", "kinds", "losses", "shares", "shown", "passages"), empty),
        verdict=Verdict("no verdict", "No verdict: alone.", "rrf_graph_dedup_mmr", ("rrf_graph_dedup_mmr",)),
    )
    drawn = draw_all(lone)
    assert set(drawn) == {"leaderboard", "latency", "index_size"}
    assert "No verdict: alone." in page(lone, drawn)
    none = replace(
        lone,
        summary=lone.summary.iloc[:0],
        per_query=lone.per_query.iloc[:0],
        questions=empty,
        verdict=Verdict("no verdict", "No verdict: no strategy ran."),
        arms={"specter2": lone.arms["specter2"]},
    )
    assert draw_all(none) == {}
    text = page(none, {})
    assert "No arm ran" in text
    assert "the weights are not here" in text
    assert "No arm ran." in markdown(none)


def test_a_table_marks_rows_and_escapes_cells():
    text = board(pd.DataFrame({"strategy": ["a<b"], "n": ["1"]}), {"a<b": "top"}, "N & M")
    assert '<tr class="top"><th scope="row" class="word">a&lt;b</th><td class="number">1</td></tr>' in text
    assert 'aria-label="N &amp; M"' in text

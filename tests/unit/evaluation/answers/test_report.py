"""The report about answers: what it says is what the tables hold, equal bytes twice, no markup out of data."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest

from evaluation.answers.assembled import assemble
from evaluation.answers.tables import CONTEXTS, Tables
from evaluation.report.answer_tables import means, p_value
from evaluation.report.answers import markdown, said, section
from evaluation.report.charts.answers import draw
from evaluation.report.charts.refusals import chosen_rows
from evaluation.report.charts.reliability import bin_rows, counts
from tests.unit.evaluation.answers.made import RULES, SETTINGS, made_judged, made_tables

JUDGED = made_judged(10, 4)
TABLES = made_tables(JUDGED, ("rrf",))
PLANTED = "<script>x</script>`|"


@pytest.fixture(scope="module")
def found():
    return assemble(TABLES, JUDGED, RULES, SETTINGS, 0)


@pytest.fixture(scope="module")
def charts(found):
    return draw(found)


def test_every_chart_is_drawn_and_well_formed_and_the_same_twice(found, charts):
    wanted = ["answer_means", "answer_lift", "answer_reliability", "answer_levels", "answer_refusals", "answer_risk"]
    assert list(charts) == wanted
    for svg in charts.values():
        ElementTree.fromstring(svg)
    assert draw(found) == charts


def test_the_reliability_diagram_counts_every_labelled_claim_once(found):
    own = found.of_shown(found.claims)
    known = own[(own["context"] == "retrieved") & own["right"].notna()]
    bars = counts(found)
    assert (bars["high"] - bars["low"]).sum() == len(known) == bin_rows(found)["n"].sum()
    right = bars[bars["label"] == "right"]
    assert right["high"].sum() == known["right"].sum()


def test_the_chosen_point_is_what_was_refused(found):
    point = chosen_rows(found).set_index("generator").loc[found.generator]
    own = found.of_shown(found.answers).query("context == 'retrieved' and error == ''")
    kind = dict(zip(JUDGED.benchmark.queries.qid, JUDGED.benchmark.queries.kind, strict=True))
    cannot = own["qid"].map(kind) == "unanswerable"
    assert point["right"] == own[cannot]["refused"].mean()
    assert point["wrong"] == own[~cannot]["refused"].mean()


def test_the_section_holds_charts_and_figures(found, charts):
    html = section(found, charts)
    assert html.count("<svg") == len(charts)
    row = found.summary.query("generator == 'grounded' and metric == 'citation recall' and context == 'retrieved'")
    spelled = f"{row['mean'].iloc[0]:.3f} [{row['lo'].iloc[0]:.3f}, {row['hi'].iloc[0]:.3f}]"
    assert spelled in html
    assert spelled in markdown(found)
    assert section(found, {}).count("<svg") == 0


def test_what_must_be_said(found):
    failed = TABLES.answers["error"].ne("").sum()
    lines = said(found)
    quotes = len(found.citations)
    assert lines[0] == f"{quotes} of {quotes} quotes are word for word the text of the place that they name"
    assert f"chat: {failed} of 120 answers failed and are in no mean (CapacityError {failed // 3})" in lines
    broken = replace(found, citations=found.citations.assign(verbatim=False))
    assert said(broken)[0].startswith(f"0 of {len(found.citations)} quotes")


def test_names_cannot_become_markup(found):
    def named(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(generator=table["generator"].replace("grounded", PLANTED))

    planted = Tables(named(TABLES.answers), named(TABLES.claims), named(TABLES.citations))
    bad = assemble(planted, JUDGED, RULES, {**SETTINGS, "resamples": 50}, 0)
    html = section(bad, draw(bad))
    assert "<script>" not in html
    assert "<script>" not in markdown(bad)
    assert len(bad.summary) == len(found.summary)


def test_findings_without_probabilities_scores_or_a_second_context():
    only = [
        table[(table["context"] == "retrieved") & (table["generator"] == "first")].reset_index(drop=True)
        for table in (TABLES.answers, TABLES.claims, TABLES.citations)
    ]
    few = assemble(Tables(only[0].assign(score=float("nan")), *only[1:]), JUDGED, RULES, SETTINGS, 0)
    assert (few.strategy, few.generator) == ("rrf", "first")
    assert list(draw(few)) == ["answer_means", "answer_levels"]
    assert "What retrieval adds" not in section(few, draw(few))
    assert "### Refusals" in markdown(few)


def test_nothing_at_all():
    empty = Tables(*(table.iloc[:0] for table in (vars(TABLES).values())))
    none = assemble(empty, JUDGED, RULES, SETTINGS, 0)
    assert draw(none) == {}
    assert "0 of 0 quotes" in section(none, {})
    assert markdown(none).startswith("## Answers")


def test_numbers_as_people_read_them(found):
    assert [p_value(p) for p in (float("nan"), 0.0004, 0.0344, 1.0)] == ["-", "< .001", ".034", "1.000"]
    contexts = means(found)["context"].tolist()
    assert contexts == sorted(contexts, key=CONTEXTS.index)
    assert len(contexts) == 9

"""The report about answers: what it says is what the tables hold, equal bytes twice, no markup out of data."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest

from evaluation.answers.assembled import assemble
from evaluation.answers.tables import CONTEXTS, Tables
from evaluation.report.answer_tables import best, means, of_best, p_value, spelled, strategies
from evaluation.report.answers import markdown, said, section
from evaluation.report.charts.answer_lift import lift_rows
from evaluation.report.charts.answer_means import mean_rows
from evaluation.report.charts.answers import draw
from evaluation.report.charts.refusals import chosen_rows, tradeoff_rows
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


@pytest.fixture(scope="module")
def many():
    """Twelve strategies: `s00` to `s11`, each like one of the two made-up ones."""
    two = made_tables(JUDGED, ("rrf", "bm25"))
    parts = [
        [own[own["strategy"] == ("rrf", "bm25")[at % 2]].assign(strategy=f"s{at:02d}") for own in vars(two).values()]
        for at in range(12)
    ]
    tables = Tables(*(pd.concat(own, ignore_index=True) for own in zip(*parts, strict=True)))
    return assemble(tables, JUDGED, RULES, {**SETTINGS, "resamples": 50}, 0, primary="citation precision")


def test_the_yardstick_is_drawn_only_where_it_is_alone(many):
    rows = many.summary.query("metric == 'citation precision' and context == 'retrieved'")
    top = rows[rows["generator"] != "first"].sort_values(["mean", "strategy"], ascending=[False, True]).iloc[0]
    assert (many.strategy, many.generator) == (top["strategy"], top["generator"])
    alone = [own[own["generator"] == "first"].reset_index(drop=True) for own in vars(TABLES).values()]
    assert assemble(Tables(*alone), JUDGED, RULES, SETTINGS, 0).generator == "first"


def test_of_many_strategies_the_best_are_shown_and_all_are_folded(many):
    rows = many.summary.query("metric == 'citation precision' and context == 'retrieved'")
    mine = rows[rows["generator"] == many.generator].sort_values(["mean", "strategy"], ascending=[False, True])
    wanted = mine["strategy"].tolist()
    assert (strategies(many), best(many)) == (wanted, wanted[:3])  # 10 rows hold 3 strategies of 3 generators
    others = sorted({"grounded", "first", "chat"} - {many.generator})
    shown = of_best(many, means(many).query("context == 'retrieved'"))
    pairs = [(strategy, generator) for strategy in wanted[:3] for generator in (many.generator, *others)]
    assert list(zip(shown["strategy"], shown["generator"], strict=True)) == pairs
    assert list(dict.fromkeys(mean_rows(many)["name"])) == [
        f"{generator} · {strategy}" for strategy, generator in pairs
    ]
    html = section(many, {})
    assert f"of 12 strategies the 3 with the highest citation precision of {many.generator}" in html
    folded = html.partition('aria-label="All strategies, metrics and contexts"')[2].partition("</table>")[0]
    assert folded.count("<tr") == 1 + 12 * 3 * 3
    top = html.partition('aria-label="Answers"')[2].partition("</table>")[0]
    assert top.count("<tr") == 1 + 9
    assert markdown(many).partition("### ")[0].count("\n| ") == 2 + 9


def test_lift_is_decided_on_a_metric_that_has_a_value_without_context(many):
    assert set(lift_rows(many)["step"]) == {"retrieved − none", "oracle − retrieved"}
    own = many.lift[many.lift["sentence"] != ""]
    assert set(own["metric"]) == {"answer F1"}
    assert "citation recall" in set(many.lift.query("a == 'oracle'")["metric"])
    assert "citation recall" not in set(many.lift.query("b == 'none'")["metric"])


def test_generators_that_judge_evidence_alike_share_a_curve(found):
    assert set(tradeoff_rows(found)["generator"]) == {"grounded", "first", "chat"}
    alike = found.tradeoff[found.tradeoff["generator"] == "grounded"]
    same = [alike.assign(generator=name) for name in ("grounded", "first")]
    chat = found.tradeoff[found.tradeoff["generator"] == "chat"]
    shared = replace(found, tradeoff=pd.concat([*same, chat], ignore_index=True))
    assert set(tradeoff_rows(shared)["generator"]) == {"chat", "first"}  # what is drawn, then by name
    assert set(chosen_rows(shared)["generator"]) == {"grounded", "first", "chat"}


def test_no_ranking_to_answer_from():
    only = [own[own["context"] != "retrieved"].reset_index(drop=True) for own in vars(TABLES).values()]
    none = assemble(Tables(*only), JUDGED, RULES, SETTINGS, 0)
    assert any(line.startswith("no ranking was answered from") for line in said(none))
    assert "| generator" not in markdown(none)
    assert draw(none) == {}


def test_a_mean_without_an_interval_and_no_mean():
    nan = float("nan")
    assert [spelled(0.5, nan, nan), spelled(nan, nan, nan), spelled(0.5, 0.25, 1.0)] == [
        "0.500",
        "-",
        "0.500 [0.250, 1.000]",
    ]

"""Paired comparisons: families, corrections and verdicts on values whose outcome is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaluation.compare import COLUMNS, compare
from evaluation.errors import RequestError
from evaluation.families import holm, step_down
from evaluation.randomise import sign_flips
from evaluation.rules import Rules
from evaluation.verdict import suite_verdict
from ingestion.config import load, to_plain
from retrieval.schema import Queries

DOCUMENTS, EACH = 24, 2  # questions come in pairs about one document
N = DOCUMENTS * EACH


def queries(n=N, each=EACH) -> Queries:
    names = [f"q{row:03}" for row in range(n)]
    return Queries.of(names, names, cluster=[f"d{row // each:02}" for row in range(n)])


def rules(arms, **changes) -> Rules:
    settings = {**to_plain(load())["eval"], "flips": 20_000, "rounds": 2_000, **changes}
    return Rules.read(settings, list(arms))


def table(arms: dict[str, np.ndarray], metric="nDCG@5") -> pd.DataFrame:
    rows = [(name, f"q{row:03}", metric, value) for name, values in arms.items() for row, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["strategy", "qid", "metric", "value"])


def means(per_query: pd.DataFrame) -> pd.DataFrame:
    found = per_query.groupby(["strategy", "metric"], sort=False)["value"].mean().rename("mean").reset_index()
    return found.assign(lo=found["mean"] - 0.1, hi=found["mean"] + 0.1)


@pytest.fixture
def arms() -> dict[str, np.ndarray]:
    """`good` beats `plain` by .3 throughout, `twin` is `plain` within .002, `loud` has noise around .02."""
    rng = np.random.default_rng(5)
    plain = rng.uniform(0.2, 0.6, N)
    return {
        "plain": plain,
        "good": plain + 0.3 + rng.uniform(-0.05, 0.05, N),
        "twin": plain + rng.uniform(-0.002, 0.002, N),
        "loud": plain + 0.02 + rng.normal(0, 0.25, N),
    }


def row_of(found: pd.DataFrame, a: str, b: str) -> pd.Series:
    rows = found[(found["a"] == a) & (found["b"] == b) & (found["metric"] == "nDCG@5")]
    assert len(rows) == 1
    return rows.iloc[0]


def test_all_pairs_are_compared_in_the_order_of_the_arms_with_one_verdict_each(arms):
    found = compare(table(arms), queries(), rules(arms), 0, {}, [])
    assert list(found.columns) == COLUMNS
    pairs = [tuple(pair) for pair in found[["a", "b"]].to_numpy()]
    assert pairs == [
        ("plain", "good"), ("plain", "twin"), ("plain", "loud"), ("good", "twin"), ("good", "loud"), ("twin", "loud")
    ]  # fmt: skip
    assert row_of(found, "plain", "good")["verdict"] == "lower"
    assert row_of(found, "good", "loud")["verdict"] == "higher"
    assert row_of(found, "plain", "twin")["verdict"] == "equivalent"
    assert row_of(found, "plain", "loud")["verdict"] == "undecided"


def test_difference_wins_and_correction_are_those_of_the_values(arms):
    found = compare(table(arms), queries(), rules(arms), 0, {}, [])
    row, difference = row_of(found, "plain", "loud"), arms["plain"] - arms["loud"]
    assert row["diff"] == pytest.approx(difference.mean(), abs=1e-12)
    assert (row["n"], row["clusters"]) == (N, DOCUMENTS)
    assert (row["wins"], row["losses"]) == ((difference > 0).sum(), (difference < 0).sum())
    assert row["ties"] == 0
    assert row["effect"] == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert row["lo"] < row["diff"] < row["hi"]
    values, clusters = np.asarray(list(arms.values())), queries().cluster
    pairs = np.asarray([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    assert found["p"].to_numpy() == pytest.approx(sign_flips(values, pairs, clusters, 0, 20_000))
    assert found["p_adjusted"].to_numpy() == pytest.approx(step_down(values, pairs, clusters, 0, 20_000).p)
    assert (found["p_adjusted"] <= holm(found["p"].to_numpy()) + 1e-12).all()  # never weaker than Holm here


def test_a_tie_is_a_question_without_a_difference():
    arms = {"a": np.full(N, 0.5), "b": np.full(N, 0.5)}
    arms["b"][:4] = 0.75
    row = row_of(compare(table(arms), queries(), rules(arms), 0, {}, []), "a", "b")
    assert (row["wins"], row["ties"], row["losses"]) == (0, N - 4, 4)


def test_a_declared_family_is_corrected_on_its_own_and_the_other_pairs_over_all(arms):
    found = compare(table(arms), queries(), rules(arms, comparisons=["loud:plain"], baseline="twin"), 0, {}, [])
    declared = found[found["family"] == "declared"]
    assert list(zip(declared["a"], declared["b"], strict=True)) == [
        ("loud", "plain"), ("plain", "twin"), ("good", "twin"), ("loud", "twin")
    ]  # fmt: skip
    assert declared["p_adjusted"].to_numpy() == pytest.approx(holm(declared["p"].to_numpy()))
    others = found[found["family"] == "all pairs"]
    assert set(zip(others["a"], others["b"], strict=True)) == {("plain", "good"), ("good", "loud")}
    assert others["p_adjusted"].to_numpy() == pytest.approx(others["p_all_pairs"].to_numpy())
    undeclared = compare(table(arms), queries(), rules(arms), 0, {}, [])
    together = {frozenset((row.a, row.b)): row.p_adjusted for row in undeclared.itertuples()}
    for row in found.itertuples():  # what is declared changes nothing of the correction over all pairs
        assert row.p_all_pairs == pytest.approx(together[frozenset((row.a, row.b))])


def test_equal_rankings_count_once_and_floor_and_ceiling_are_no_rivals(arms):
    more = {**arms, "again": arms["plain"], "oracle": np.ones(N), "random": np.zeros(N)}
    found = compare(table(more), queries(), rules(more), 0, {"again": "plain"}, [])
    assert not set(found["a"]) | set(found["b"]) <= set(more) or {"again", "oracle", "random"}.isdisjoint(
        set(found["a"]) | set(found["b"])
    )
    asked = compare(table(more), queries(), rules(more, comparisons=["oracle:good"]), 0, {"again": "plain"}, [])
    assert row_of(asked, "oracle", "good")["verdict"] == "higher"
    assert "oracle" not in suite_verdict(asked, means(table(more)), rules(more), {"again": "plain"}).group


def test_other_metrics_are_described_and_not_tested(arms):
    per_query = pd.concat([table(arms), table(arms, "RR")], ignore_index=True)
    found = compare(per_query, queries(), rules(arms), 0, {}, ["RR"])
    other = found[found["metric"] == "RR"]
    assert len(other) == 6
    assert other[["p", "p_adjusted", "detectable"]].isna().all(axis=None)
    assert set(other["verdict"]) == {""}
    same = found[found["metric"] == "nDCG@5"]
    assert other["diff"].to_numpy() == pytest.approx(same["diff"].to_numpy())


def test_below_ten_documents_there_is_no_verdict(arms):
    few = {name: values[:18] for name, values in arms.items()}
    found = compare(table(few), queries(18), rules(few), 0, {}, [])
    assert set(found["clusters"]) == {9}
    assert set(found["verdict"]) == {"undecided"}
    assert found["p"].isna().all()
    verdict = suite_verdict(found, means(table(few)), rules(few), {})
    assert (verdict.state, verdict.leader) == ("no verdict", "good")
    assert "9 documents are too few (10 are needed)" in verdict.sentence


def test_the_order_of_rows_changes_nothing(arms):
    per_query = table(arms)
    shuffled = per_query.sample(frac=1, random_state=3).sort_values("strategy", key=lambda s: s.map(list(arms).index))
    one = compare(per_query, queries(), rules(arms), 0, {}, [])
    two = compare(shuffled, queries(), rules(arms), 0, {}, [])
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_a_question_without_a_value_counts_for_nobody(arms):
    per_query = table(arms)
    gap = per_query[per_query["qid"] != "q007"]
    found = compare(gap, queries(), rules(arms), 0, {}, [])
    assert set(found["n"]) == {N - 1}
    assert row_of(found, "plain", "good")["diff"] == pytest.approx(np.delete(arms["plain"] - arms["good"], 7).mean())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"baseline": "goood"}, "eval.baseline='goood': no arm of this run; did you mean 'good'?"),
        ({"comparisons": ["good"]}, "write rrf:bm25 for rrf against bm25"),
        ({"comparisons": ["good:plane"]}, "'plane' is no arm of this run; did you mean 'plain'?"),
        ({"comparisons": ["good:good"]}, "is no comparison"),
        ({"alpha": 0}, "eval.alpha=0: must lie between 0 and 1"),
        ({"flips": 10}, "eval.flips=10: at least 1000"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_remedy(arms, changes, said):
    with pytest.raises(RequestError) as caught:
        rules(arms, **changes)
    assert said in str(caught.value)


def test_a_winner_beats_every_rival(arms):
    verdict = suite_verdict(
        compare(table(arms), queries(), rules(arms), 0, {}, []), means(table(arms)), rules(arms), {}
    )
    assert (verdict.state, verdict.leader, verdict.group) == ("winner", "good", ("good",))
    assert set(verdict.beaten) == {"plain", "twin", "loud"}
    assert verdict.sentence == (
        "good wins: it beats all 3 rivals on nDCG@5 (48 questions from 24 documents, corrected for 6 comparisons)."
    )


def test_without_a_winner_there_is_a_top_group_and_what_would_settle_it(arms):
    rest = {name: values for name, values in arms.items() if name != "good"} | {"poor": arms["plain"] - 0.2}
    found = compare(table(rest), queries(), rules(rest), 0, {}, [])
    verdict = suite_verdict(found, means(table(rest)), rules(rest), {})
    assert verdict.state == "top group"
    assert verdict.leader == "loud"
    assert set(verdict.group) == {"loud", "plain", "twin"}
    assert verdict.beaten == ("poor",)
    assert verdict.sentence.startswith("No winner: 3 of 4 strategies share the top group on nDCG@5")
    assert any("undecided" in line and "would settle it" in line for line in verdict.reasons)


def test_a_leader_is_not_judged_by_a_smaller_family_than_all_pairs(arms):
    """Declaring one comparison after looking must not make a winner: what stands alone may not stand among six."""
    rng = np.random.default_rng(11)
    close = {name: arms["plain"] + rng.normal(0, 0.15, N) for name in "abcd"}
    found = compare(table(close), queries(), rules(close), 0, {}, [])
    verdict = suite_verdict(found, means(table(close)), rules(close), {})
    best, second = verdict.group[0], verdict.group[-1]
    asked = rules(close, comparisons=[f"{best}:{second}"])
    again = suite_verdict(compare(table(close), queries(), asked, 0, {}, []), means(table(close)), asked, {})
    assert (again.state, again.group) == (verdict.state, verdict.group)


def test_what_rises_and_falls_together_is_not_corrected_as_if_it_stood_apart():
    """Ten documents have 2^10 sign patterns, so no p is below 2/1024: times 36 pairs, Holm could never decide one.

    Here nine systems differ by the same amount in every document: only the two patterns without a turned sign reach
    the strongest pair, and they do so for all pairs at once.
    """
    rng = np.random.default_rng(2)
    base = rng.uniform(0.2, 0.6, 20)
    arms = {f"a{row}": base + 0.1 * row for row in range(9)}
    found = compare(table(arms), queries(20), rules(arms), 0, {}, [])
    assert holm(found["p"].to_numpy()).min() > 0.05
    assert found["p_adjusted"].max() == pytest.approx(2 / 1024, rel=0.3)
    assert suite_verdict(found, means(table(arms)), rules(arms), {}).leader == "a8"
    assert suite_verdict(found, means(table(arms)), rules(arms), {}).state == "winner"


def test_one_strategy_has_no_rival(arms):
    one = {"plain": arms["plain"]}
    found = compare(table(one), queries(), rules(one), 0, {}, [])
    assert len(found) == 0
    assert suite_verdict(found, means(table(one)), rules(one), {}).sentence == (
        "No verdict: plain is alone; nothing to compare it with."
    )

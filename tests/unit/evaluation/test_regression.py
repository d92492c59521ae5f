"""Planted drift is found every time and where it was planted, clean replays raise no alarm, and tests are exact."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from evaluation.regression.baseline import read_baseline, write_baseline
from evaluation.regression.changes import places_changed, values_changed
from evaluation.regression.decline import declines
from evaluation.regression.pace import Timing
from evaluation.regression.ruling import costs, judge
from evaluation.regression.snapshot import BaselineError, Kept
from evaluation.regression.table import as_lines
from ingestion.config import names
from retrieval.build import build_strategy, strategy_config
from retrieval.models import NeedsModel
from retrieval.retrievers.static import Static
from retrieval.stage import components
from tests.unit.evaluation.gate_runs import BACKENDS, DEPTH, GATE, N_QUERIES, fake_run, swapped

PLANTS = 30
LEXICAL = ["bm25", "rrf", "tfidf"]


@pytest.fixture(scope="module")
def run():
    return fake_run()


@pytest.fixture(scope="module")
def then(run, tmp_path_factory):
    """The baseline, as it comes back from its files."""
    folder = tmp_path_factory.mktemp("then")
    write_baseline(folder / "baseline", run.snapshot(folder))
    return read_baseline(folder / "baseline")


def states(ruling) -> dict[str, str]:
    return {change.strategy: change.state for change in ruling.changed}


def noisy(rng: np.random.Generator, rounds: int) -> tuple[Timing, ...]:
    """Timings with 35 % noise on both figures, and one in ten disturbed by up to 20 times."""
    spikes = np.where(rng.random(rounds) < 0.1, rng.uniform(2, 20, rounds), 1.0)
    latency, unit = 2.0 * rng.lognormal(0, 0.35, rounds) * spikes, 0.1 * rng.lognormal(0, 0.35, rounds)
    return tuple(Timing(float(a), float(a), float(b)) for a, b in zip(latency, unit, strict=True))


def test_thirty_clean_replays_raise_no_alarm_though_latencies_are_noisy(run, tmp_path):
    rng = np.random.default_rng(1)
    baseline = run.changed(timings={name: noisy(rng, 4) for name in BACKENDS}).snapshot(tmp_path / "then")
    measured_again = 0
    for number in range(30):
        replay = run.changed(timings={name: noisy(rng, 1) for name in BACKENDS})
        now = replay.snapshot(tmp_path / str(number))
        found = costs(now, baseline, GATE)
        slow = found["strategy"][found["slower"]].tolist()
        measured_again += len(slow)
        more = {name: (*timings, *(noisy(rng, 3) if name in slow else ())) for name, timings in now.timings.items()}
        now = run.changed(timings=more).snapshot(tmp_path / str(number))
        ruling = judge(now, baseline, GATE)
        assert ruling.code == 0, as_lines(ruling, now, baseline, GATE, {})
        assert set(states(ruling).values()) == {"same"}
        assert set(ruling.declined["state"]) == {"same"}
    assert measured_again > 0  # the noise is such that a gate without a second look would have cried


def test_a_swapped_pair_of_ranks_is_found_and_named_wherever_it_is(run, then, tmp_path):
    rng = np.random.default_rng(2)
    for number in range(PLANTS):
        name, qid = rng.choice(LEXICAL), f"q{rng.integers(N_QUERIES):02d}"
        rank = int(rng.integers(1, DEPTH))
        now = run.changed(rankings=swapped(run.rankings, name, qid, rank, rank + 1)).snapshot(tmp_path / str(number))
        ruling = judge(now, then, GATE)
        assert ruling.code == 1
        assert states(ruling) == dict.fromkeys(BACKENDS, "same") | {name: "changed"}
        change = next(change for change in ruling.changed if change.strategy == name)
        if rank > 20:
            assert change.first is None
            assert "below rank 20" in change.details[0]
            continue
        old = run.rankings[name][qid]
        assert (change.first.qid, change.first.rank) == (qid, rank)
        assert (change.first.then, change.first.now) == (old[rank - 1], old[rank])
        places = places_changed(now, then)[["strategy", "qid", "rank"]].to_numpy().tolist()
        assert places == [[name, qid, row] for row in (rank, rank + 1) if row <= 20]


@pytest.mark.parametrize("sign", [1, -1], ids=["better", "worse"])
def test_one_value_that_moves_up_or_down_is_found_though_no_rank_moved(run, then, tmp_path, sign):
    rng = np.random.default_rng(3)
    for number in range(PLANTS):
        table = run.per_query()
        row = int(rng.integers(len(table)))
        name, qid, metric, value = table.iloc[row]
        table.loc[row, "value"] = value + sign * 1e-3
        now = run.changed(values=table).snapshot(tmp_path / str(number))
        found = values_changed(now, then)
        assert found[["strategy", "qid", "metric"]].to_numpy().tolist() == [[name, qid, metric]]
        assert found["now"].iloc[0] - found["then"].iloc[0] == pytest.approx(sign * 1e-3)
        ruling = judge(now, then, GATE)
        assert states(ruling)[name] == ("drifted" if name == "dense" else "changed")
        assert ruling.code == (0 if name == "dense" else 1)


def test_a_value_that_is_gone_is_a_change_even_in_a_neural_arm(run, then, tmp_path):
    table = run.per_query()
    rows = table[(table["strategy"] == "dense") & (table["qid"] == "q07") & (table["metric"] == "P@5")]
    ruling = judge(run.changed(values=table.drop(rows.index)).snapshot(tmp_path), then, GATE)
    assert (ruling.code, states(ruling)["dense"]) == (1, "changed")


def test_the_last_bits_of_a_value_are_no_change(run, then, tmp_path):
    table = run.per_query()
    table["value"] += np.random.default_rng(4).uniform(-4e-10, 4e-10, len(table))
    assert judge(run.changed(values=table).snapshot(tmp_path), then, GATE).code == 0


@pytest.mark.parametrize("name", sorted(BACKENDS))
def test_an_arm_of_the_baseline_that_did_not_run_is_an_alarm_with_its_reason(run, then, tmp_path, name):
    rest = {arm: ranking for arm, ranking in run.rankings.items() if arm != name}
    now = run.changed(rankings=rest, absent={name: "did not run: no weights"}).snapshot(tmp_path)
    ruling = judge(now, then, GATE)
    assert (ruling.code, states(ruling)[name]) == (1, "missing")
    assert f"{name}: in the baseline, and did not run now: did not run: no weights" in "\n".join(
        as_lines(ruling, now, then, GATE, {})
    )


def test_arms_that_neither_side_ran_and_arms_that_are_new_are_no_alarm(run, then, tmp_path):
    more = run.rankings | {"another": run.rankings["bm25"]}
    now = run.changed(rankings=more, absent={"cross_encoder": "no weights"}).snapshot(tmp_path)
    ruling = judge(now, then, GATE)
    assert (ruling.code, states(ruling)["another"]) == (0, "new")
    assert "cross_encoder" not in states(ruling)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"corpus": {"fingerprint": "d" * 64, "chunks": 61, "documents": 12}}, "corpus changed: 60 chunks of 12"),
        ({"benchmark": {"digest": "e" * 64, "queries": 60}}, "judgments changed: 60 questions (bbbb"),
        ({"config": {"metrics": ["RR"], "eval": {"min_coverage": 0.5}}}, "metrics changed: P@5, RR, Success@5"),
        ({"config": {"metrics": ["RR", "P@5", "Success@5"], "eval": {"min_coverage": 0.6}}}, "min_coverage changed"),
        ({"credit": "each"}, "credit changed: once in the baseline, each now"),
        ({"primary": "P@5"}, "primary changed: RR in the baseline, P@5 now"),
        ({"depth": 50}, "depth changed: 30 in the baseline, 50 now"),
        ({"split": "dev"}, "split changed: test in the baseline, dev now"),
        ({"seed": 1}, "seed changed: 0 in the baseline, 1 now"),
    ],
)
def test_other_inputs_or_measures_make_a_comparison_impossible_and_the_message_says_which(
    run, then, tmp_path, part, said
):
    now = run.changed(manifest=part).snapshot(tmp_path)
    with pytest.raises(BaselineError, match="no comparison is possible") as error:
        judge(now, then, GATE)
    assert said in str(error.value)
    assert "baseline=update" in str(error.value)


def test_other_package_versions_are_causes_and_no_alarms(run, then, tmp_path):
    packages = {"packages": {"numpy": "2.4.6", "torch": "2.13.0"}}
    ruling = judge(run.changed(manifest=packages).snapshot(tmp_path / "a"), then, GATE)
    assert ruling.code == 0
    assert ruling.causes == ("numpy 2.4.5 -> 2.4.6", "scipy 1.17.1 -> none", "torch none -> 2.13.0")
    rankings = swapped(run.rankings, "bm25", "q00", 1, 2)
    now = run.changed(manifest=packages, rankings=rankings).snapshot(tmp_path / "b")
    text = "\n".join(as_lines(judge(now, then, GATE), now, then, GATE, {}))
    assert "what else differs: numpy 2.4.5 -> 2.4.6, scipy 1.17.1 -> none, torch none -> 2.13.0" in text


def test_slower_arms_and_bigger_indexes_are_found_and_smaller_ones_are_not(run, then, tmp_path):
    rng = np.random.default_rng(5)
    for number in range(PLANTS):
        name, other = rng.permutation(sorted(BACKENDS))[:2]
        slow = tuple(Timing(at_least, 1.5 * at_least, 0.1) for at_least in 2.0 * rng.uniform(3.1, 20, 4))
        now = run.changed(
            timings=run.timings | {name: slow}, index_bytes={other: int(rng.integers(1101, 5000)), name: 1100}
        ).snapshot(tmp_path / str(number))
        ruling = judge(now, then, GATE)
        found = ruling.costs.set_index("strategy")
        assert ruling.code == 1
        assert found.index[found["slower"]].tolist() == [name]
        assert found.index[found["bigger"]].tolist() == [other]
        assert found.loc[name, "least"] == pytest.approx(min(one.low_ms for one in slow) / 2.0)
    cheaper = run.changed(timings=dict.fromkeys(BACKENDS, (Timing(0.1, 0.1, 0.1),)), index_bytes={"bm25": 1})
    assert judge(cheaper.snapshot(tmp_path / "cheap"), then, GATE).code == 0


def test_a_slower_machine_is_no_slower_arm(run, then, tmp_path):
    now = run.changed(timings=dict.fromkeys(BACKENDS, (Timing(20.0, 20.0, 1.0),))).snapshot(tmp_path)
    assert judge(now, then, GATE).costs["least"].tolist() == pytest.approx([1.0] * 4)


def test_a_latency_that_a_busy_processor_may_explain_is_no_alarm(run, then, tmp_path):
    now = run.changed(timings=run.timings | {"dense": (Timing(5.0, 40.0, 0.1),)}).snapshot(tmp_path)
    ruling = judge(now, then, GATE)
    assert ruling.code == 0
    assert "2.50-20.00x" in "\n".join(as_lines(ruling, now, then, GATE, {}))


def without_effect(run, name: str, pairs: int, rng: np.random.Generator):
    """Rankings with so many neighbours exchanged in the top 10, all irrelevant: places differ, no value does."""
    rankings, done = run.rankings, 0
    for number in rng.permutation(N_QUERIES).tolist():
        qid = f"q{number:02d}"
        ranking = run.rankings[name][qid]
        rank = int(rng.integers(1, 10))
        if done < pairs and not {ranking[rank - 1], ranking[rank]} & run.grades[qid]:
            rankings = swapped(rankings, name, qid, rank, rank + 1)
            done += 1
    assert done == pairs
    return rankings


def test_a_neural_arm_may_drift_within_the_bound_and_no_further(run, then, tmp_path):
    rng = np.random.default_rng(6)
    for number in range(PLANTS):
        # 60 questions have 600 places in the top 10; 1 % of them are 6, or three exchanged pairs
        within = run.changed(rankings=without_effect(run, "dense", 3, rng)).snapshot(tmp_path / f"{number}a")
        ruling = judge(within, then, GATE)
        assert (ruling.code, states(ruling)["dense"]) == (0, "drifted")
        beyond = run.changed(rankings=without_effect(run, "dense", 4, rng)).snapshot(tmp_path / f"{number}b")
        ruling = judge(beyond, then, GATE)
        assert (ruling.code, states(ruling)["dense"]) == (1, "changed")
        assert "1.33% of top-10 places differ (bound 1.00%)" in "\n".join(ruling.changed[1].details)
        lexical = run.changed(rankings=without_effect(run, "rrf", 1, rng)).snapshot(tmp_path / f"{number}c")
        assert judge(lexical, then, GATE).code == 1


def test_a_neural_arm_whose_mean_moves_too_far_has_changed_though_few_places_differ(run, then, tmp_path):
    first = next(qid for qid, ranking in run.rankings["dense"].items() if ranking[0] in run.grades[qid])
    second = run.rankings["dense"][first][1]
    now = run.changed(rankings=swapped(run.rankings, "dense", first, 1, 2)).snapshot(tmp_path)
    # RR of one question falls from 1 to 1/2, the mean over 60 by 1/120; unless the second chunk is relevant, too
    assert second not in run.grades[first]
    ruling = judge(now, then, GATE)
    assert (ruling.code, states(ruling)["dense"]) == (1, "changed")
    assert f"means moved by up to {1 / 120:.4f}" in "\n".join(ruling.changed[1].details)


def test_every_strategy_with_a_transformer_counts_as_neural_and_no_other():
    for name in names("strategy"):
        parts = [part for _, part in components(build_strategy(strategy_config(name)))]
        weights = [part for part in parts if isinstance(part, NeedsModel) and hasattr(part, "model")]
        kept = Kept("", "", tuple(type(part).__name__ for part in parts), None, ())
        assert kept.neural == any(not isinstance(part, Static) for part in weights), name


def moved(run, name: str, steps: dict[int, float]):
    """The run with RR of all 5 questions of these documents moved by so much."""
    table = run.per_query()
    document = table["qid"].str[1:].astype(int) % 12
    for number, step in steps.items():
        rows = (table["strategy"] == name) & (table["metric"] == "RR") & (document == number)
        table.loc[rows, "value"] += step
    return run.changed(values=table)


def exact(steps: dict[int, float], shift: float, sign: int) -> float:
    """Share of all 4,096 sign patterns of 12 documents whose sum reaches the observed one."""
    sums = np.asarray([sign * steps.get(number, 0.0) + shift for number in range(12)])
    signs = np.asarray(list(product([1, -1], repeat=12)))
    return float((signs @ sums >= sums.sum() - 1e-12).mean())


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        (dict.fromkeys(range(12), -0.1), "worse"),
        (dict.fromkeys(range(12), 0.1), "better"),
        ({0: -0.03}, "changed, not inferior"),
        ({0: 0.03, 1: -0.04}, "changed, not inferior"),
        ({0: -0.3, 1: -0.2, 2: 0.1}, "changed, undecided"),
        (dict.fromkeys(range(12), -0.001), "worse"),
    ],
)
def test_each_state_has_the_p_values_of_all_sign_patterns(run, then, tmp_path, steps, state):
    gate = replace(GATE, flips=20_000)
    row = declines(moved(run, "bm25", steps).snapshot(tmp_path), then, gate).set_index("strategy").loc["bm25"]
    assert row["state"] == state
    assert row["diff"] == pytest.approx(sum(steps.values()) / 12)
    assert (row["n"], row["clusters"]) == (60, 12)
    # Holm over four strategies, three of which did not change: the smallest p counts four times
    for column, shift, sign in (("p_worse", 0, -1), ("p_better", 0, 1), ("p_inferior", 0.02, 1)):
        assert row[column] == pytest.approx(min(4 * exact(steps, shift, sign), 1), abs=0.015), column


def test_holm_counts_every_strategy_of_both_sides(run, then, tmp_path):
    steps = dict.fromkeys(range(8), -0.05)
    one = declines(moved(run, "bm25", steps).snapshot(tmp_path / "one"), then, GATE).set_index("strategy")
    both = moved(moved(run, "bm25", steps), "rrf", {0: -0.1})
    two = declines(both.snapshot(tmp_path / "two"), then, GATE).set_index("strategy")
    assert one.loc["bm25", "p_worse"] == two.loc["bm25", "p_worse"]  # 4 p either way
    assert two.loc["rrf", "p_worse"] == 1.0  # 3 * .5, cut to 1


def test_a_change_that_hurts_answers_both_questions_and_a_rewording_of_ranks_only_the_first(run, then, tmp_path):
    now = moved(run, "bm25", dict.fromkeys(range(12), -0.1)).snapshot(tmp_path / "worse")
    text = "\n".join(as_lines(judge(now, then, GATE), now, then, GATE, {}))
    assert "did anything change? bm25: differing values: 60, questions: 60; means: RR -0.1000" in text
    assert "worse beyond noise? bm25: " in text
    rankings = without_effect(run, "bm25", 1, np.random.default_rng(7))
    now = run.changed(rankings=rankings).snapshot(tmp_path / "same")
    text = "\n".join(as_lines(judge(now, then, GATE), now, then, GATE, {}))
    assert "did anything change? bm25: 1 of 60 rankings differ within the first 20 ranks; first: question" in text
    assert "worse beyond noise? bm25" not in text


def test_below_ten_documents_nothing_is_tested(run, then, tmp_path):
    few = moved(run, "bm25", dict.fromkeys(range(12), -0.1)).snapshot(tmp_path)
    few = replace(few, clusters={qid: f"doc{int(qid[1:]) % 9}" for qid in few.clusters})
    row = declines(few, then, GATE).set_index("strategy").loc["bm25"]
    assert (row["state"], row["note"]) == ("changed, undecided", "too few documents")
    assert row["p_worse"] == 1.0


def test_the_ruling_does_not_depend_on_the_order_of_rows(run, then, tmp_path):
    table = moved(run, "bm25", {0: -0.3, 3: 0.1}).per_query()
    shuffled = table.sample(frac=1, random_state=1)
    results = [
        judge(run.changed(values=rows).snapshot(tmp_path / name), then, GATE)
        for name, rows in (("a", table), ("b", shuffled))
    ]
    pd.testing.assert_frame_equal(results[0].declined, results[1].declined)
    assert results[0].changed == results[1].changed

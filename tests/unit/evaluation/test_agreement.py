"""Kappa and tau against scikit-learn, SciPy and arithmetic by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from evaluation.agreement.__main__ import orders, report, worst
from evaluation.agreement.judged_twice import by_chunk, by_span, paired, view
from evaluation.agreement.kappa import agreement, kappa
from evaluation.agreement.rank_correlation import tau_ap, tau_b
from evaluation.errors import EvaluationError
from evaluation.judging import Judged
from evaluation.locate import locate
from evaluation.metrics import parse_metric
from evaluation.qrels import span_qrels
from evaluation.schema import Benchmark, Evidence, Qrels
from evaluation.sources import SourceError, judged_by, sources
from retrieval.schema import Queries, make_run
from tests.unit.evaluation.papers import corpus_of, spans_of


def grades(*values: int) -> np.ndarray:
    return np.asarray(values, dtype=np.int8)


def test_kappa_is_what_scikit_learn_computes():
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(30, 90))
        a, b = (rng.integers(0, 4, n).astype(np.int8) for _ in range(2))
        b = np.where(rng.random(n) < 0.5, a, b).astype(np.int8)
        found = agreement(a, b, [str(row % 7) for row in range(n)], seed=0, resamples=50)
        assert found.kappa.value == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
        linear = cohen_kappa_score(a, b, weights="linear", labels=[0, 1, 2, 3])
        assert found.linear.value == pytest.approx(linear, abs=1e-12)
        assert found.binary.value == pytest.approx(cohen_kappa_score(a > 0, b > 0), abs=1e-12)
        assert found.raw.value == pytest.approx(np.mean(a == b))


def test_kappa_by_hand():
    # a: 0 0 0 2, b: 0 0 2 2. Equal 3 of 4. By chance: 0 and 0 3/4 * 2/4, 2 and 2 1/4 * 2/4, together 1/2.
    found = agreement(grades(0, 0, 0, 2), grades(0, 0, 2, 2), ["x", "x", "y", "y"], seed=0)
    assert found.raw.value == 0.75
    assert found.kappa.value == pytest.approx((0.75 - 0.5) / (1 - 0.5))
    assert found.table.tolist() == [[2, 0, 1], [0, 0, 0], [0, 0, 1]]
    assert found.too_few


def test_kappa_has_no_value_where_both_give_one_grade():
    found = agreement(grades(1, 1), grades(1, 1), ["x", "y"], seed=0, resamples=10)
    assert np.isnan(found.kappa.value)
    assert (found.raw.value, found.kappa.undefined) == (1.0, 10)
    assert "undefined" in report(found, ("hand", "llm:x"), "chunk")
    with pytest.raises(EvaluationError, match="0 and 0 grades"):
        agreement(grades(), grades(), [], seed=0)


def test_a_source_without_a_grade_0_cannot_say_anything_about_relevance():
    found = agreement(grades(1, 2, 3), grades(0, 2, 3), ["x", "y", "z"], seed=0, resamples=10)
    assert "\nllm:x: all relevant or none" in report(found, ("llm:x", "hand"), "chunk")
    both = agreement(grades(1, 0), grades(0, 2), ["x", "y"], seed=0, resamples=10)
    assert "all relevant or none" not in report(both, ("llm:x", "hand"), "chunk")


def test_the_interval_resamples_documents_whole():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 120).astype(np.int8)
    b = np.where(rng.random(120) < 0.6, a, rng.integers(0, 4, 120)).astype(np.int8)
    clusters = np.repeat([f"d{at:02d}" for at in range(12)], 10)
    found = agreement(a, b, clusters, seed=5, resamples=400)
    again = np.random.default_rng(5)
    values = []
    for _ in range(400):  # the same draws, one after the other, with scikit-learn
        rows = np.concatenate([np.flatnonzero(clusters == f"d{at:02d}") for at in again.integers(0, 12, 12)])
        values.append(cohen_kappa_score(a[rows], b[rows], weights="linear", labels=[0, 1, 2, 3]))
    assert (found.linear.lo, found.linear.hi) == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=1e-12)
    assert found.clusters == 12
    order = rng.permutation(120)
    shuffled = agreement(a[order], b[order], clusters[order], seed=5, resamples=400)
    assert shuffled.linear == found.linear


def test_many_tables_at_once():
    tables = np.asarray([[[3.0, 1.0], [1.0, 3.0]], [[4.0, 0.0], [0.0, 4.0]]])
    assert kappa(tables) == pytest.approx([0.5, 1.0])  # 6/8 against 1/2 by chance


def test_tau_b_is_what_scipy_computes():
    rng = np.random.default_rng(2)
    for _ in range(30):
        a, b = (rng.integers(0, 6, 9).astype(np.float64) for _ in range(2))
        assert tau_b(a, b) == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
    assert np.isnan(tau_b(np.ones(3), np.arange(3.0)))


def test_tau_ap_by_hand():
    # Reference 1 2 3 4. Order 2 1 3 4: C = 0, 2, 3 at ranks 2, 3, 4: 2/3 (0/1 + 2/2 + 3/3) - 1 = 1/3.
    reference = np.asarray([4.0, 3.0, 2.0, 1.0])
    assert tau_ap(reference, np.asarray([3.0, 4.0, 2.0, 1.0])) == pytest.approx(1 / 3)
    # Order 1 2 4 3: C = 1, 2, 2: 2/3 (1 + 1 + 2/3) - 1 = 7/9: a swap at the bottom costs less. tau is 2/3 for both.
    assert tau_ap(reference, np.asarray([4.0, 3.0, 1.0, 2.0])) == pytest.approx(7 / 9)
    assert tau_ap(reference, reference) == 1.0
    assert tau_ap(reference, -reference) == -1.0


def plain_tau_ap(reference: list[float], order: list[int]) -> float:
    """By definition, for an order without ties; a tie in the reference counts half."""
    total = 0.0
    for rank in range(1, len(order)):
        right = [np.sign(reference[above] - reference[order[rank]]) / 2 + 0.5 for above in order[:rank]]
        total += sum(right) / rank
    return 2 * total / (len(order) - 1) - 1


def test_ties_in_tau_ap_are_the_mean_over_all_ways_to_break_them():
    reference = [5.0, 4.0, 4.0, 2.0, 1.0, 0.5]
    for other in ([3, 3, 3, 2, 2, 1], [1, 1, 1, 1, 1, 1], [1, 2, 2, 3, 2, 0]):
        broken = [
            plain_tau_ap(reference, list(order))
            for order in itertools.permutations(range(6))
            if all(other[a] >= other[b] for a, b in itertools.pairwise(order))
        ]
        assert tau_ap(np.asarray(reference), np.asarray(other, dtype=float)) == pytest.approx(np.mean(broken))


TEXT = "alpha beta gamma delta. epsilon zeta eta theta. iota kappa lambda mu."
CUTS = [(0, 23), (24, 47), (48, 69)]


def judged_twice() -> Judged:
    """One paper of three sentences, each a chunk. a judged sentence 1 and half of 2, b all three as chunks."""
    corpus = corpus_of({"p.pdf": [TEXT]}, {"p.pdf": CUTS})
    rows = [("alpha beta gamma delta.", 3, "hand:a"), ("epsilon zeta eta", 2, "hand:a")]
    rows += [(TEXT[low:high], grade, "hand:b") for (low, high), grade in zip(CUTS, (3, 0, 1), strict=True)]
    evidence = tuple(Evidence("q1", "p.pdf", 1, -1, -1, quote, grade, source) for quote, grade, source in rows)
    benchmark = Benchmark("x", Queries.of(["q1"], ["what"], cluster=["p"]), evidence=evidence)
    spans = locate(benchmark, corpus)
    return Judged(benchmark, corpus, corpus.chunk_ids, span_qrels(spans, corpus, 1), spans, {})


def test_sources_are_counted_and_kept_apart():
    benchmark = judged_twice().benchmark
    assert sources(benchmark) == {"hand:b": 3, "hand:a": 2}
    assert [row.grade for row in judged_by(benchmark, ["hand:a"]).evidence] == [3, 2]
    with pytest.raises(SourceError, match="did you mean 'hand:a'"):
        judged_by(benchmark, ["hand:aa"])


def test_both_judged_two_chunks_and_by_span_too():
    judged = judged_twice()
    a, b = (view(name, judged, 0.5) for name in ("hand:a", "hand:b"))
    shared = by_chunk(a, b)
    assert list(zip(shared.a.tolist(), shared.b.tolist(), strict=True)) == [(3, 3), (2, 0)]
    assert shared.text == ("alpha beta gamma delta.", "epsilon zeta eta theta.")
    shared = by_span(a, b)  # 16 of 23 characters are shared by the second pair
    assert list(zip(shared.a.tolist(), shared.b.tolist(), strict=True)) == [(3, 3), (2, 0)]
    lines = worst(shared, judged.benchmark.queries, ("hand:a", "hand:b"))
    assert lines[2:] == ["  q1: hand:a 2, hand:b 0: what", "      epsilon zeta eta"]


def test_a_span_is_paired_once_with_the_one_it_shares_most_with():
    a = spans_of((0, 0, 0, 10, 1), (0, 0, 12, 20, 1), (1, 0, 0, 10, 1))
    b = spans_of((0, 0, 0, 18, 1), (0, 0, 2, 10, 1), (0, 1, 0, 10, 1), (1, 0, 6, 12, 1))
    # a0: b0 shares 10 of 18, b1 8 of 10. a1: b0 shares 6 of 18. a2: b3 shares 4 of 10.
    first, second = paired(a, b)
    assert (first.tolist(), second.tolist()) == ([0], [1])


def qrels(*rows: tuple[int, int, int]) -> Qrels:
    query, chunk, grade = np.asarray(rows).T
    group = np.where(grade > 0, chunk, -1)
    columns = (query.astype(np.int32), chunk.astype(np.int32), grade.astype(np.int8), group.astype(np.int32))
    return Qrels(*columns, np.zeros(len(rows), np.int64), np.ones(2, np.int32))


def test_orders_of_strategies_under_two_sources():
    # RR of q0 (q1 has nothing relevant for b): a likes chunk 0, b likes chunk 2. z equals x and counts once.
    rankings = {"x": [0, 1, 2], "y": [1, 0, 2], "w": [2, 1, 0], "z": [0, 1, 2]}
    runs = {name: make_run([0] * 3, order, [3, 2, 1], 3) for name, order in rankings.items()}
    found = orders(runs, (qrels((0, 0, 1), (1, 0, 1)), qrels((0, 2, 1), (1, 0, 0))), 2, parse_metric("RR"))
    assert found.n == 1
    assert found.table["strategy"].tolist() == ["x", "y", "w"]
    assert found.table["a"].tolist() == pytest.approx([1, 1 / 2, 1 / 3])
    assert found.table["b"].tolist() == pytest.approx([1 / 3, 1 / 3, 1])
    assert found.table[["rank_a", "rank_b"]].to_numpy().tolist() == [[1, 2], [2, 2], [3, 1]]
    assert found.tau_b == pytest.approx(kendalltau([1, 1 / 2, 1 / 3], [1 / 3, 1 / 3, 1]).statistic)

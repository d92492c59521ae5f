"""Metrics by hand, with the arithmetic; names and their hints."""

from math import log2

import numpy as np
import pytest

from evaluation.errors import MetricError
from evaluation.grades import grade_matrix
from evaluation.metrics import METRICS, Metric, evaluate, parse_metric
from evaluation.schema import Qrels
from retrieval.schema import make_run


def grades_of(rankings, judged, credit="once", groups=None, parts=None, n_parts=None):
    """Grades of rankings {query: chunks} under judgments {query: {chunk: grade}}."""
    n_queries = max(judged) + 1
    ranked = [(query, chunk, -at) for query, chunks in rankings.items() for at, chunk in enumerate(chunks)]
    run = make_run(*(np.asarray(ranked).reshape(-1, 3).T), depth=100)
    rows = [(query, chunk, grade) for query in judged for chunk, grade in sorted(judged[query].items())]
    query, chunk, grade = np.asarray(rows, dtype=np.int32).reshape(-1, 3).T
    group = np.arange(len(rows)) if groups is None else np.asarray([groups[pair[:2]] for pair in rows])
    group = np.where(grade > 0, group, -1).astype(np.int32)
    bits = np.asarray([(parts or {}).get(pair[:2], 1) for pair in rows], dtype=np.int64)
    counts = np.asarray(n_parts or [1] * n_queries, dtype=np.int32)
    return grade_matrix(run, Qrels(query, chunk, grade.astype(np.int8), group, bits, counts), n_queries, credit)


def values_of(grades, *names):
    """Values of the first query by name."""
    values = evaluate(grades, [parse_metric(name) for name in names])
    return {name: values[at, 0] for at, name in enumerate(names)}


@pytest.fixture
def example():
    """Chunks 1 (grade 3), 2 (1), 3 (2) are relevant, 4 and 5 judged 0; ranked: 4, 1, unjudged, 2. 3 is missed."""
    return grades_of({0: [4, 1, 9, 2]}, {0: {1: 3, 2: 1, 3: 2, 4: 0, 5: 0}})


def test_ndcg_as_trec_eval_defines_it(example):
    dcg = 3 / log2(3) + 1 / log2(5)
    ideal = 3 + 2 / log2(3) + 1 / log2(4)
    exponential = (7 / log2(3) + 1 / log2(5)) / (7 + 3 / log2(3) + 1 / log2(4))
    values = values_of(example, "nDCG", "nDCG@2", "nDCG@10", "nDCG(dcg='exp-log2')@10")
    assert values["nDCG"] == values["nDCG@10"] == pytest.approx(dcg / ideal, abs=1e-15)
    assert values["nDCG@2"] == pytest.approx(3 / log2(3) / (3 + 2 / log2(3)), abs=1e-15)
    assert values["nDCG(dcg='exp-log2')@10"] == pytest.approx(exponential, abs=1e-15)


def test_rank_metrics(example):
    values = values_of(example, "RR", "RR@1", "R@2", "R@10", "P@2", "P@10", "Success@1", "Success@2", "AP", "AP@2")
    assert values == {
        "RR": 1 / 2,
        "RR@1": 0.0,
        "R@2": pytest.approx(1 / 3),
        "R@10": pytest.approx(2 / 3),
        "P@2": 1 / 2,
        "P@10": 2 / 10,  # four chunks returned, ten places
        "Success@1": 0.0,
        "Success@2": 1.0,
        "AP": pytest.approx((1 / 2 + 2 / 4) / 3),  # three relevant, one never found
        "AP@2": pytest.approx((1 / 2) / 3),
    }


def test_bpref(example):
    # R = 3, N = 2, min 2. Chunks 1 and 2 have one judged irrelevant chunk above each: (1 - 1/2) + (1 - 1/2), over R
    assert values_of(example, "Bpref")["Bpref"] == pytest.approx(1 / 3)


def test_judged_divides_by_what_was_returned(example):
    values = values_of(example, "Judged@3", "Judged@10", "Judged")
    assert values == {"Judged@3": 2 / 3, "Judged@10": 3 / 4, "Judged": 3 / 4}


def test_empty_ranking_scores_0_and_no_relevant_judgment_has_no_value():
    grades = grades_of({0: [], 1: [7, 8], 2: [7]}, {0: {1: 1}, 1: {7: 0}, 2: {}})
    names = [
        f"{family}@5" if row.cutoff == "required" else family for family, row in METRICS.items() if row.over_grades
    ]
    values = dict(zip(names, evaluate(grades, [parse_metric(name) for name in names]), strict=True))
    judged = values.pop("Judged")
    assert judged.tolist() == [0.0, 0.5, 0.0]  # defined for every query
    assert np.isnan(values.pop("AllParts@5")).all()
    for name, row in values.items():
        assert row[0] == 0.0, name
        assert np.isnan(row[1:]).all(), name


def test_credit_once_and_each_by_hand():
    # chunks 1 and 2 overlap on one span, 3 is another; ranked 1, 2, 3
    case = {
        "rankings": {0: [1, 2, 3]},
        "judged": {0: {1: 1, 2: 1, 3: 1}},
        "groups": {(0, 1): 0, (0, 2): 0, (0, 3): 1},
    }
    once, each = grades_of(**case, credit="once"), grades_of(**case, credit="each")
    names = ("P@3", "R@2", "AP", "nDCG@3", "Bpref", "Judged@3")
    assert values_of(each, *names) == dict.fromkeys(names, 1.0) | {"R@2": pytest.approx(2 / 3)}
    assert values_of(once, *names) == {
        "P@3": pytest.approx(2 / 3),  # the repeat took a place and gained nothing
        "R@2": 1 / 2,
        "AP": pytest.approx((1 + 2 / 3) / 2),
        "nDCG@3": pytest.approx((1 + 1 / log2(4)) / (1 + 1 / log2(3))),
        "Bpref": 1.0,  # a repeat is no irrelevant chunk
        "Judged@3": 1.0,
    }


def test_ties_give_one_rr_whatever_the_cutoff():
    # ir-measures scores RR 1.0 and RR@5 0.5 on this run; one frozen order gives one value
    run = make_run([0, 0], [1, 2], [1.0, 1.0], depth=10)
    one = np.zeros(1, np.int32)
    qrels = Qrels(one, one + 2, np.ones(1, np.int8), one, np.ones(1, np.int64), one + 1)
    values = evaluate(grade_matrix(run, qrels, 1), [Metric("RR"), Metric("RR", 5)])
    assert values.tolist() == [[0.5], [0.5]]


def test_all_parts_needs_every_part_in_the_top_k():
    grades = grades_of(
        {0: [1, 9, 2], 1: [1]},
        {0: {1: 1, 2: 1}, 1: {1: 1}},
        parts={(0, 1): 0b01, (0, 2): 0b10},
        n_parts=[2, 1],
    )
    values = evaluate(grades, [Metric("AllParts", k) for k in (2, 3, 5)])
    assert values[:, 0].tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(values[:, 1]).all()  # a question of one part is no multi-hop question


def test_text_metrics_say_what_they_miss(example):
    with pytest.raises(MetricError, match="EntCov@5 reads texts and judged spans"):
        evaluate(example, [Metric("EntCov", 5)])


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("nDCG@10", "nDCG@10"),
        (" nDCG@10 ", "nDCG@10"),
        ("nDCG(dcg='log2')@5", "nDCG@5"),
        ('nDCG( dcg = "exp-log2" )@5', "nDCG(dcg='exp-log2')@5"),
        ("nDCG", "nDCG"),
        ("RR", "RR"),
        ("AP@100", "AP@100"),
        ("Bpref", "Bpref"),
        ("Judged@5", "Judged@5"),
        ("EvRecall@1000w", "EvRecall@1000w"),
    ],
)
def test_names_are_canonical(written, canonical):
    assert parse_metric(written).name == canonical
    assert parse_metric(canonical) == parse_metric(written)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("MRR", "use 'RR'"),
        ("MRR@10", "use 'RR@10'"),
        ("MAP", "use 'AP'"),
        ("Recall@5", "use 'R@5'"),
        ("ndcg_at_5", "use 'nDCG@5'"),
        ("ndcg_cut_10", "use 'nDCG@10'"),
        ("nDGC@10", "use 'nDCG@10'"),
        ("hit_rate@3", "use 'Success@3'"),
        ("R", "write it as 'R@5'"),
        ("P@5w", "write it as 'P@5'"),
        ("EvRecall@1000", "write it as 'EvRecall@1000w'"),
        ("Bpref@5", "write it as 'Bpref'"),
        ("R@0", "cannot be read"),
        ("nDCG(dcg='ln')@5", "there are nDCG, "),
        ("whatever@5", "there are nDCG, "),
    ],
)
def test_other_names_are_refused_with_the_right_one(written, hint):
    with pytest.raises(MetricError) as error:
        parse_metric(written)
    assert hint in str(error.value)


def test_which_metrics_are_0_or_1(example):
    names = ["Success@5", "AllParts@5", "P@1", "RR@1", "Judged@1"]
    assert all(parse_metric(name).binary for name in names)
    assert not any(parse_metric(name).binary for name in ("RR", "RR@5", "P@5", "R@1", "nDCG@1", "Judged@5", "AP@1"))
    values = evaluate(example, [parse_metric(name) for name in names])
    assert set(values[~np.isnan(values)]) <= {0.0, 1.0}


def test_every_row_reads_either_grades_or_text():
    for family, row in METRICS.items():
        assert (row.over_grades is None) != (row.over_text is None), family
        assert row.description

"""Every rank metric equals trec_eval (through ir-measures) per query, on 10,000 random runs.

A run here is one `Run` over six queries with judgments of its own: graded, with zeros, with relevant chunks that were
not retrieved, with unjudged chunks retrieved, short rankings, empty rankings, queries without any judgment, and
queries judged irrelevant throughout. Half of the runs are full of ties; their frozen order is handed over as strictly
decreasing scores. Our side evaluates each run by itself; a hundred runs share one ir-measures call.
"""

import shutil

import ir_measures
import numpy as np
import pytest

from evaluation.grades import grade_matrix
from evaluation.metrics import evaluate, parse_metric
from evaluation.schema import Qrels
from retrieval.schema import make_run

RUNS, BATCH, QUERIES, CHUNKS = 10_000, 100, 6, 16
NAMES = [
    *("nDCG", "nDCG@3", "nDCG@5", "nDCG@10", "RR", "RR@1", "RR@10", "R@1", "R@3", "R@5", "R@10", "R@100"),
    *("Success@1", "Success@5", "Success@10", "P@1", "P@5", "P@10", "P@100", "AP", "AP@5", "AP@100", "Bpref"),
    *("Judged", "Judged@5", "Judged@10"),
]
METRICS = [parse_metric(name) for name in NAMES]
MEASURES = [ir_measures.parse_measure(name) for name in NAMES]


def random_qrels(rng, shared_classes):
    """Judgments of six queries over sixteen chunks: about a third of the pairs, grades 0 to 3."""
    share, top = rng.choice([0.1, 0.35, 0.9], QUERIES), rng.integers(1, 5, QUERIES)
    judged = rng.random((QUERIES, CHUNKS)) < share[:, None]
    judged[rng.random(QUERIES) < 0.05] = False
    query, chunk = (column.astype(np.int32) for column in np.nonzero(judged))
    grade = rng.integers(0, top[query]).astype(np.int8)
    group = rng.integers(0, 4, len(query)) if shared_classes else np.arange(len(query))
    group = np.where(grade > 0, group, -1).astype(np.int32)
    parts = (grade > 0).astype(np.int64)
    return Qrels(query, chunk, grade, group, parts, np.ones(QUERIES, np.int32))


def random_run(rng, tied):
    """A ranking of up to sixteen chunks for each query; about one in ten is empty."""
    share = rng.choice([0.0, 0.2, 0.6, 1.0], QUERIES, p=[0.1, 0.2, 0.4, 0.3])
    query, chunk = np.nonzero(rng.random((QUERIES, CHUNKS)) < share[:, None])
    score = rng.integers(0, 3, len(query)) if tied else rng.permutation(len(query))
    return make_run(query, chunk, score, depth=int(rng.integers(1, CHUNKS + 1)))


def as_dicts(run, qrels, prefix, tied):
    """Both as ir-measures' nested dictionaries; a tied order becomes strictly decreasing scores."""
    scores = -run.rank.astype(float) if tied else run.score
    ranked, judged = {}, {}
    for query, chunk, score in zip(run.query, run.chunk, scores, strict=True):
        ranked.setdefault(f"{prefix}-{query}", {})[f"c{chunk:02}"] = float(score)
    for query, chunk, grade in zip(qrels.query, qrels.chunk, qrels.grade, strict=True):
        judged.setdefault(f"{prefix}-{query}", {})[f"c{chunk:02}"] = int(grade)
    return ranked, judged


def outside_values(ranked, judged):
    """Values by query id and metric name."""
    values = ir_measures.evaluator(MEASURES, judged).iter_calc(ranked)
    return {(value.query_id, str(value.measure)): value.value for value in values}


@pytest.mark.parametrize("tied", [False, True], ids=["tie-free", "frozen ties"])
def test_every_metric_equals_trec_eval(tied):
    rng = np.random.default_rng([20240501, tied])
    compared = 0
    for _ in range(RUNS // 2 // BATCH):
        ours, ranked, judged = {}, {}, {}
        for number in range(BATCH):
            credit = ("each", "once")[number % 2]
            qrels, run = random_qrels(rng, shared_classes=credit == "each"), random_run(rng, tied)
            grades = grade_matrix(run, qrels, QUERIES, credit)
            values = evaluate(grades, METRICS)
            for query in range(QUERIES):
                ours[f"{number}-{query}"] = values[:, query]
            more_ranked, more_judged = as_dicts(run, qrels, number, tied)
            ranked |= more_ranked
            judged |= more_judged
        compared += compare(ours, outside_values(ranked, judged), judged)
    assert compared == RUNS // 2 * QUERIES * len(NAMES)


def compare(ours, theirs, judged):
    """Assert equality per query and metric; a query without a relevant judgment has no value with us, 0 with them."""
    count = 0
    for qid, values in ours.items():
        answered = any(grade > 0 for grade in judged.get(qid, {}).values())
        for name, value in zip(NAMES, values, strict=True):
            if name.startswith("Judged"):
                assert value == pytest.approx(theirs.get((qid, name), 0.0), abs=1e-9), (qid, name)
            elif answered:
                assert abs(value - theirs[qid, name]) <= 1e-9, (qid, name)
            else:
                assert np.isnan(value), (qid, name)
                assert theirs.get((qid, name), 0.0) == 0.0
            count += 1
    return count


@pytest.mark.skipif(not shutil.which("perl"), reason="gdeval, the reference for exponential gains, is a Perl script")
def test_exponential_gains_equal_gdeval():
    """The script prints five decimals."""
    rng = np.random.default_rng(7)
    names = [f"nDCG(dcg='exp-log2')@{k}" for k in (1, 5, 10)]
    ours, ranked, judged = {}, {}, {}
    for number in range(50):
        qrels, run = random_qrels(rng, shared_classes=False), random_run(rng, tied=True)
        values = evaluate(grade_matrix(run, qrels, QUERIES, "each"), [parse_metric(name) for name in names])
        more_ranked, more_judged = as_dicts(run, qrels, number, tied=True)
        for query in range(QUERIES):
            qid = f"{number}-{query}"
            plain = str(number * QUERIES + query)  # gdeval keeps what follows the last hyphen only
            ours[plain] = values[:, query]
            ranked |= {plain: more_ranked[qid]} if qid in more_ranked else {}
            judged |= {plain: more_judged[qid]} if qid in more_judged else {}
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = {
        (value.query_id, str(value.measure)): value.value
        for value in ir_measures.gdeval.evaluator(measures, judged).iter_calc(ranked)
    }
    answered = [qid for qid in ours if any(grade > 0 for grade in judged.get(qid, {}).values())]
    assert len(answered) > 150
    for qid in answered:
        for name, value in zip(names, ours[qid], strict=True):
            assert value == pytest.approx(theirs[qid, name], abs=1e-5), (qid, name)


def test_names_are_ir_measures_canonical_names():
    assert [str(measure) for measure in MEASURES] == NAMES == [metric.name for metric in METRICS]
    exponential = "nDCG(dcg='exp-log2')@5"
    assert str(ir_measures.parse_measure(exponential)) == parse_metric(exponential).name == exponential

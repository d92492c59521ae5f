"""`credit=once` in TREC files: other tools read from them what we compute, class by class."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.export.__main__ import read
from evaluation.export.beir import ExportError
from evaluation.export.classes import as_classes, through_classes
from evaluation.grades import grade_matrix
from evaluation.metrics import evaluate, parse_metric
from evaluation.schema import Qrels
from evaluation.trec import write_qrels, write_run
from ingestion.errors import ConfigError
from retrieval.schema import Queries, make_run

QUERIES, CHUNKS = 4, 9
BINARY = ["RR", "RR@2", "R@1", "R@5", "P@3", "AP", "AP@3", "Success@2", "Bpref"]
GRADED = ["nDCG", "nDCG@3", "nDCG@5"]
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=4).filter(str.strip)
IDS = st.lists(st.one_of(NAMES, st.sampled_from(["class-a", "repeat-a", "a b", "5%"])), unique=True)


def qrels_of(rows, n_queries=1):
    """Rows of query, chunk, grade, class."""
    query, chunk, grade, group = np.asarray(rows, dtype=np.int32).reshape(-1, 4).T
    parts = (grade > 0).astype(np.int64)
    return Qrels(query, chunk, grade.astype(np.int8), group, parts, np.ones(n_queries, np.int32))


def outside_values(folder, qrels, runs, queries, names, ids):
    """What ir-measures reads from our files: values by metric and qid, and its name of each arm's queries."""
    write_qrels(folder / "qrels.trec", qrels, queries, ids)
    write_run(folder / "r.trec", runs, queries, ids, "t")
    judged = list(ir_measures.read_trec_qrels(str(folder / "qrels.trec")))
    ranked = list(ir_measures.read_trec_run(str(folder / "r.trec")))
    measures = [ir_measures.parse_measure(name) for name in names]
    return {
        (str(value.measure), value.query_id): value.value for value in ir_measures.iter_calc(measures, judged, ranked)
    }


def test_the_first_chunk_of_a_class_bears_its_id_and_later_ones_answer_nothing():
    # chunks a and c are one class, b stands alone, d was judged irrelevant; the ranking is c, d, a, e, b
    qrels = qrels_of([(0, 0, 2, 0), (0, 1, 1, 1), (0, 2, 2, 0), (0, 3, 0, -1)])
    ids = np.asarray(list("abcde"), dtype=object)
    classes = as_classes(qrels, ids)
    judged = zip(classes.names[classes.qrels.chunk], classes.qrels.grade.tolist(), strict=True)
    assert sorted(judged) == [("b", 1), ("class-a", 2), ("d", 0)]
    run = make_run([0] * 5, [2, 3, 0, 4, 1], [5, 4, 3, 2, 1], depth=5)
    ranked, lower = through_classes(run, qrels, classes)
    assert list(classes.names[ranked.chunk]) == ["class-a", "d", "repeat-a", "e", "b"]
    assert lower.empty


def test_a_chunk_that_leads_its_class_with_less_than_the_best_grade_is_reported():
    qrels = qrels_of([(0, 0, 3, 0), (0, 1, 1, 0)])
    classes = as_classes(qrels, np.asarray(["a", "b"], dtype=object))
    _, lower = through_classes(make_run([0, 0], [1, 0], [2, 1], depth=2), qrels, classes)
    assert lower.to_numpy().tolist() == [[0, 2, 1, 1, 3]]  # query, entry (row 0 of the classes), rank, grade, best
    _, none = through_classes(make_run([0, 0], [0, 1], [2, 1], depth=2), qrels, classes)
    assert none.empty


def test_an_id_of_the_collection_is_never_taken_for_a_class():
    qrels = qrels_of([(0, 0, 1, 0), (0, 1, 1, 0)])
    classes = as_classes(qrels, np.asarray(["a", "b", "class-a", "repeat-"], dtype=object))
    assert len(set(classes.names)) == 12
    assert list(classes.names[classes.qrels.chunk]) == ["class--a"]


@settings(max_examples=300, deadline=None)
@given(data=st.data(), ids=IDS.filter(lambda ids: len(ids) >= 2), mixed=st.booleans())
def test_other_tools_score_the_files_to_our_values(data, ids, mixed, tmp_path_factory):
    ids = np.asarray(sorted(ids)[:CHUNKS], dtype=object)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    queries = Queries.of([f"q {n}%" for n in range(QUERIES)], [""] * QUERIES)
    query, chunk = np.nonzero(rng.random((QUERIES, len(ids))) < 0.7)
    group = rng.integers(0, 3, len(query))
    best = rng.integers(1, 4, (QUERIES, 3))[query, group]
    grade = rng.integers(0, 4, len(query)) if mixed else best * (rng.random(len(query)) < 0.8)
    rows = np.stack([query, chunk, grade, np.where(grade > 0, group, -1)], axis=1)
    qrels = qrels_of(rows, QUERIES)
    ranked = np.nonzero(rng.random((QUERIES, len(ids))) < rng.choice([0, 0.5, 1], QUERIES)[:, None])
    run = make_run(*ranked, rng.random(len(ranked[0])), depth=CHUNKS)
    names = BINARY + GRADED
    ours = evaluate(grade_matrix(run, qrels, QUERIES, "once"), [parse_metric(name) for name in names])
    classes = as_classes(qrels, ids)
    shown, lower = through_classes(run, qrels, classes)
    folder = tmp_path_factory.mktemp("files")
    theirs = outside_values(folder, classes.qrels, shown, queries, names, classes.names)
    for row, name in enumerate(names):
        for column, value in enumerate(ours[row].tolist()):
            told = theirs.get((name, f"q%20{column}%25"), 0.0)
            if np.isnan(value):
                assert told == 0.0  # nothing relevant: no value with us
            elif name in GRADED and column in set(lower["query"]):
                assert told >= value - 1e-9
            else:
                assert told == pytest.approx(value, abs=1e-9), (name, column)
    assert mixed or lower.empty


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["rnu=x"], ConfigError, "'run'"),
        (["run=x", "out=y"], ConfigError, "to= is missing"),
        (["run=x", "to=trek", "out=y"], ConfigError, "'trec'"),
        (["run=x", "to=trec", "out=y", "credit=one"], ConfigError, "'once'"),
        (["run=x", "to=trec", "out"], ConfigError, "no value"),
        (["run=x", "to=beir", "out=y", "credit=once"], ExportError, "by itself"),
        (["run=x", "to=trec", "out=tests"], ExportError, "not an empty folder"),
    ],
)
def test_a_wrong_request_is_refused_with_the_remedy(arguments, error, hint):
    with pytest.raises(error, match=hint):
        read(arguments)

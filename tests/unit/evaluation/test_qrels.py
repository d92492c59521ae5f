"""From spans to chunks, by hand; and against a plain double loop on random spans and overlapping chunks."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.errors import BenchmarkError, OrphanError
from evaluation.locate import locate
from evaluation.qrels import document_qrels, id_qrels, span_qrels, uncovered
from evaluation.schema import Benchmark, DocumentJudgment, Evidence
from evaluation.trec import read_run
from retrieval.schema import Queries
from tests.unit.evaluation.papers import corpus_of, spans_of

TEXT = "".join(f"{number:04d} tenth. " for number in range(20))  # 240 characters, 12 each
NAME = "p.pdf"


def cut(*cuts):
    return corpus_of({NAME: [TEXT]}, {NAME: cuts})


def rows(qrels):
    """Query, chunk, grade, group and parts of every row."""
    columns = (qrels.query, qrels.chunk, qrels.grade, qrels.group, qrels.parts)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_half_of_a_span_is_enough_and_less_is_not():
    corpus = cut((0, 20), (20, 40), (40, 60))
    half = span_qrels(spans_of((0, 0, 10, 30, 2)), corpus, 1)
    assert rows(half) == [(0, 0, 2, 0, 1), (0, 1, 2, 0, 1)]  # 10 of 20 each, and one class: they share the span
    less = span_qrels(spans_of((0, 0, 9, 30, 2)), corpus, 1)
    assert rows(less) == [(0, 0, 2, 0, 1), (0, 1, 0, -1, 0)]  # 11 of 21; the other has 10, which is half of itself
    assert rows(span_qrels(spans_of((0, 0, 9, 30, 2)), corpus, 1, min_coverage=10 / 21)) == rows(half)


def test_where_no_chunk_holds_half_the_best_one_counts_and_the_smaller_row_wins_a_tie():
    corpus = cut((0, 20), (20, 40), (40, 60), (60, 80))
    best = span_qrels(spans_of((0, 0, 15, 65, 1)), corpus, 1)  # 5, 20, 20, 5 of 50
    assert [row[1] for row in rows(best) if row[2]] == [1]
    assert [row[1] for row in rows(best) if not row[2]] == [2]  # wholly inside the judged span
    middle = span_qrels(spans_of((0, 0, 18, 67, 1)), corpus, 1)  # 2, 20, 20, 7 of 49
    assert [row[1] for row in rows(middle) if row[2]] == [1]


def test_a_chunk_has_the_best_grade_of_its_spans():
    qrels = span_qrels(spans_of((0, 0, 0, 10, 1), (0, 0, 12, 18, 3), (0, 0, 3, 5, 2)), cut((0, 20), (20, 40)), 1)
    assert rows(qrels) == [(0, 0, 3, 0, 1)]


def test_overlapping_chunks_of_one_span_are_one_class_also_through_a_third():
    corpus = cut((0, 30), (20, 50), (40, 70), (100, 120))
    spans = spans_of((0, 0, 22, 28, 1), (0, 0, 42, 48, 1), (0, 0, 102, 110, 1), (1, 0, 42, 48, 1))
    assert [(row[0], row[1], row[3]) for row in rows(span_qrels(spans, corpus, 2))] == [
        *[(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 1)],
        *[(1, 1, 0), (1, 2, 0)],
    ]


def test_classes_are_numbered_by_their_first_row_within_each_query():
    corpus = cut((0, 20), (20, 40), (40, 60))
    spans = spans_of((1, 0, 50, 60, 1), (1, 0, 0, 10, 1), (0, 0, 45, 55, 1), (0, 0, 21, 30, 1))
    groups = [(row[0], row[1], row[3]) for row in rows(span_qrels(spans, corpus, 2))]
    assert groups == [(0, 1, 0), (0, 2, 1), (1, 0, 0), (1, 2, 1)]


def test_a_chunk_is_judged_when_half_of_it_lies_in_judged_spans_taken_together():
    corpus = cut((0, 20), (20, 40), (40, 60), (60, 80))
    spans = spans_of(
        *[(0, 0, 0, 6, 0), (0, 0, 4, 8, 0), (0, 0, 18, 20, 0)],  # 8 + 2 of 20: half
        *[(0, 0, 20, 29, 0), (0, 0, 25, 29, 0)],  # 9 of 20
        (0, 0, 40, 60, 0),
        (1, 0, 60, 69, 0),  # 9 of 20: another query's spans do not add to it
        (0, 0, 69, 75, 0),
    )
    assert rows(span_qrels(spans, corpus, 2)) == [(0, 0, 0, -1, 0), (0, 2, 0, -1, 0)]


def test_a_relevant_chunk_stays_relevant_inside_an_irrelevant_span():
    qrels = span_qrels(spans_of((0, 0, 0, 40, 0), (0, 0, 5, 10, 2)), cut((0, 20), (20, 40)), 1)
    assert rows(qrels) == [(0, 0, 2, 0, 1), (0, 1, 0, -1, 0)]


def test_parts_are_bits_of_the_chunk_and_counted_by_query():
    corpus = cut((0, 20), (20, 40), (40, 60))
    spans = spans_of(
        *[(0, 0, 0, 8, 1), (0, 0, 10, 18, 1), (0, 0, 22, 30, 1), (0, 0, 42, 50, 1), (2, 0, 0, 20, 0)],
        part=[0, 2, 1, -1, -1],
    )
    qrels = span_qrels(spans, corpus, 3)
    assert [row[4] for row in rows(qrels)] == [0b101, 0b010, 0, 0]
    assert qrels.n_parts.tolist() == [3, 0, 0]


def test_more_parts_than_bits_are_refused():
    span_qrels(spans_of((0, 0, 0, 8, 1), part=[61]), cut((0, 20)), 1)
    with pytest.raises(BenchmarkError, match="row 0 has 63 parts; 62 is the most"):
        span_qrels(spans_of((0, 0, 0, 8, 1), part=[62]), cut((0, 20)), 1)


def test_a_judged_page_grades_the_chunks_that_lie_on_it():
    pages = ["a" * 100, "b" * 100, "c" * 10]
    cuts = [(0, 60), (60, 141), (61, 142), (142, 201), (142, 212)]  # 141 - 101 = 40 of 81; 41 of 81
    corpus = corpus_of({NAME: pages}, {NAME: cuts})
    qrels = span_qrels(spans_of((0, 0, 101, 201, 2), whole=[0]), corpus, 1)
    assert [(row[1], row[3]) for row in rows(qrels)] == [(2, 0), (3, 0), (4, 0)]  # one class: the page counts once
    small = span_qrels(spans_of((0, 0, 202, 212, 2), whole=[0]), corpus, 1)
    assert [row[1] for row in rows(small)] == [4]  # 10 of 70: no chunk lies on it, the best one counts


def test_spans_of_different_documents_do_not_touch():
    corpus = corpus_of({"a.pdf": ["x" * 50], "b.pdf": ["y" * 50]}, {"a.pdf": [(0, 25), (25, 50)], "b.pdf": [(0, 50)]})
    qrels = span_qrels(spans_of((0, 1, 0, 30, 1), (0, 0, 40, 50, 3)), corpus, 1)
    assert rows(qrels) == [(0, 1, 3, 0, 1), (0, 2, 1, 1, 1)]


def test_without_spans_or_chunks_there_are_no_judgments():
    assert rows(span_qrels(spans_of(), cut((0, 20)), 2)) == []
    assert span_qrels(spans_of(), cut((0, 20)), 2).n_parts.tolist() == [0, 0]
    assert rows(span_qrels(spans_of((0, 0, 0, 5, 1)), cut(), 1)) == []


def test_relevant_text_that_is_in_no_chunk_is_reported():
    spans = spans_of((0, 0, 0, 10, 1), (0, 0, 30, 40, 1), (0, 0, 30, 40, 0), (0, 0, 15, 25, 1))
    assert uncovered(spans, cut((0, 20), (60, 80))).tolist() == [1]


@pytest.mark.parametrize("size", [7, 12, 30, 55, 240])
@pytest.mark.parametrize("overlap", [0, 5])
def test_cutting_anew_keeps_every_judgment(size, overlap):
    """Whatever the chunks, every quote is the answer of at least one, and that one holds most of it."""
    corpus = cut(*((low, min(low + size + overlap, len(TEXT))) for low in range(0, len(TEXT), size)))
    quotes = [TEXT[low : low + 23] for low in range(0, 216, 24)]
    qids = [f"q{number}" for number in range(len(quotes))]
    judgments = tuple(Evidence(q, NAME, 1, -1, -1, text, 1, "hand") for q, text in zip(qids, quotes, strict=True))
    spans = locate(Benchmark("b", Queries.of(qids, qids), judgments), corpus)
    assert spans.orphans == ()
    assert [TEXT[low:high] for low, high in zip(spans.start, spans.end, strict=True)] == quotes
    qrels = span_qrels(spans, corpus, len(qids))
    assert set(qrels.query[qrels.grade > 0].tolist()) == set(range(len(qids)))
    low, high = corpus.numbers("char_start"), corpus.numbers("char_end")
    for query, chunk in zip(qrels.query[qrels.grade > 0], qrels.chunk[qrels.grade > 0], strict=True):
        shared = np.minimum(high, spans.end[query]) - np.maximum(low, spans.start[query])
        assert shared[chunk] == shared.max() or shared[chunk] >= 0.5 * 23


def by_loops(spans, corpus, n_queries, documents):
    """The rules of `span_qrels` as plain loops: grades and parts by pair, and pairs that share a relevant span."""
    low, high = corpus.numbers("char_start"), corpus.numbers("char_end")
    doc = [documents.index(name) for name in corpus.column("doc_id")]
    grades, parts, shares = {}, {}, []
    for row in range(len(spans.query)):
        shared = {
            chunk: min(high[chunk], spans.end[row]) - max(low[chunk], spans.start[row])
            for chunk in range(len(corpus))
            if doc[chunk] == spans.doc[row]
        }
        shared = {chunk: count for chunk, count in shared.items() if count > 0}
        if spans.grade[row] == 0 or not shared:
            continue
        of = {
            chunk: (high - low)[chunk] if spans.whole_page[row] else spans.end[row] - spans.start[row]
            for chunk in shared
        }
        holders = [chunk for chunk, count in shared.items() if 2 * count >= of[chunk]]
        holders = holders or [max(shared, key=lambda chunk: (shared[chunk], -chunk))]
        for chunk in holders:
            pair = (int(spans.query[row]), chunk)
            grades[pair] = max(grades.get(pair, 0), int(spans.grade[row]))
            parts[pair] = parts.get(pair, 0) | 1 << int(spans.part[row])
        shares.append({(int(spans.query[row]), chunk) for chunk in holders})
    for query in range(n_queries):
        for chunk in range(len(corpus)):
            covered = set()
            for row in np.flatnonzero((spans.query == query) & (spans.doc == doc[chunk])):
                covered |= set(range(max(low[chunk], spans.start[row]), min(high[chunk], spans.end[row])))
            if 2 * len(covered) >= high[chunk] - low[chunk]:
                grades.setdefault((query, chunk), 0)
    return grades, parts, shares


def merged(shares):
    """Sets that share a member, united."""
    classes = []
    for new in shares:
        touching = [old for old in classes if old & new]
        classes = [old for old in classes if not old & new] + [new.union(*touching)]
    return classes


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_equal_to_plain_loops(data):
    papers = {f"{name}.pdf": [name * 40] for name in "ab"}
    stretch = st.tuples(st.integers(0, 39), st.integers(1, 25)).map(lambda pair: (pair[0], min(sum(pair), 40)))
    corpus = corpus_of(papers, {name: data.draw(st.lists(stretch, max_size=6)) for name in papers})
    drawn = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), stretch, st.integers(0, 3)), max_size=8),
        label="spans",
    )
    size = len(drawn)
    parts = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    whole = [row for row in range(size) if data.draw(st.booleans())]
    spans = spans_of(*((query, doc, *ends, grade) for query, doc, ends, grade in drawn), part=parts, whole=whole)
    qrels = span_qrels(spans, corpus, 3)
    grades, bits, shares = by_loops(spans, corpus, 3, corpus.documents["doc_id"].to_pylist())
    assert {(row[0], row[1]): row[2] for row in rows(qrels)} == grades
    assert {(row[0], row[1]): row[4] for row in rows(qrels) if row[2]} == bits
    assert list(grades and sorted(grades)) == [(row[0], row[1]) for row in rows(qrels)]
    classes = {}
    for query, chunk, grade, group, _ in rows(qrels):
        if grade:
            classes.setdefault((query, group), set()).add((query, chunk))
    assert sorted(map(sorted, classes.values())) == sorted(map(sorted, merged(shares)))
    for query in range(3):
        first = [group for (row_query, group) in classes if row_query == query]
        assert first == list(range(len(first)))  # numbered in the order of their first rows


def judged(*rows_):
    queries = Queries.of(*[sorted({row[0] for row in rows_})] * 2)
    return Benchmark("b", queries, documents=tuple(DocumentJudgment(*row) for row in rows_))


def test_every_chunk_of_a_judged_document_has_its_grade_and_they_are_one_class():
    corpus = corpus_of({"a.pdf": ["x" * 30], "b.pdf": ["y" * 30]}, {"a.pdf": [(0, 20), (10, 30)], "b.pdf": [(0, 30)]})
    qrels = document_qrels(judged(("q", "b", 2), ("q", "a.pdf", 1), ("r", "id-a.pdf", 0), ("s", "b.pdf", -3)), corpus)
    assert rows(qrels) == [
        *[(0, 0, 1, 0, 1), (0, 1, 1, 0, 1), (0, 2, 2, 1, 1)],
        *[(1, 0, 0, -1, 0), (1, 1, 0, -1, 0)],
        (2, 2, 0, -1, 0),
    ]
    assert qrels.n_parts.tolist() == [1, 0, 0]


def test_a_document_judged_under_two_names_counts_once_with_its_better_grade():
    qrels = document_qrels(judged(("q", "a", 1), ("q", "a.pdf", 3)), corpus_of({"a.pdf": ["x"]}))
    assert rows(qrels) == [(0, 0, 3, 0, 1)]


def test_judged_documents_that_the_corpus_lacks_are_refused_above_two_percent(caplog):
    corpus = corpus_of({"a.pdf": ["x"]})
    known = [(f"q{number:02}", "a", 1) for number in range(49)]
    with caplog.at_level(logging.WARNING):
        assert len(rows(document_qrels(judged(*known, ("r", "lost", 1)), corpus))) == 49
    assert "1 of 50 judgments name documents that the corpus lacks, such as 'lost'; they are left out" in caplog.text
    with pytest.raises(OrphanError, match="the judgments do not describe this corpus: 1 of 49"):
        document_qrels(judged(*known[1:], ("r", "lost", 1)), corpus)


def test_plain_ids_have_rows_known_ones_first_then_judged_and_ranked_ones(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("q Q0 ranked 1 2 t\nq Q0 b 2 1 t\n")
    run = read_run(path)
    benchmark = judged(("q", "b", 2), ("q", "lost", 1), ("r", "a", 0))
    ids, qrels = id_qrels(benchmark, [run])
    assert ids.tolist() == ["a", "b", "lost", "ranked"]
    assert rows(qrels) == [(0, 1, 2, 0, 1), (0, 2, 1, 1, 1), (1, 0, 0, -1, 0)]
    ids, qrels = id_qrels(benchmark, [run], ["z", "b"])
    assert ids.tolist() == ["z", "b", "a", "lost", "ranked"]
    assert [row[1] for row in rows(qrels)] == [1, 3, 2]

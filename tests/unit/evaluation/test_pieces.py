"""What evidence there is to lose: spans no chunk shows or holds, other collections, a query's own document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluation.arms import RAN, Arm, outside_arm
from evaluation.explain.diagnosis import losses
from evaluation.explain.pieces import pieces_of
from evaluation.judging import Judged
from evaluation.locate import locate
from evaluation.qrels import document_qrels, id_qrels, span_qrels
from evaluation.schema import Benchmark, DocumentJudgment, Evidence
from evaluation.trec import read_run
from retrieval.schema import Queries, empty_run
from tests.unit.evaluation.papers import corpus_of, spans_of
from tests.unit.evaluation.planted import BM25, MMR, TEXT, arm_of, judged_rows, rankings, real, stages_of


def test_a_quote_that_is_not_in_the_text_and_one_that_no_chunk_touches(tmp_path):
    found = real(
        tmp_path,
        {"a.pdf": [TEXT]},
        {"a.pdf": [(0, 23), (70, 86)]},
        [("a.pdf", "alpha beta", 1), ("a.pdf", "iota kappa lambda", 2), ("a.pdf", "words of another paper", 3),
         ("a.pdf", "words of another paper", 1), ("a.pdf", "not there and not relevant", 0), ("b.pdf", "alpha", 1)],
        {"first": BM25},
    )  # fmt: skip
    rows = found[["evidence", "grade", "stage"]].to_numpy().tolist()
    assert rows == [[0, 1, "found"], [1, 2, "extraction"], [2, 3, "extraction"], [3, 1, "extraction"]]
    assert not found["path"].any()
    assert found["final_rank"].tolist() == [1, 0, 0, 0]


def test_a_span_that_the_chunker_split(tmp_path):
    # the span from `eta` to `kappa` (37-58) is cut at 45: chunk 1 holds 8 of 21 characters, chunk 2 holds 13 (62 %)
    papers, cuts = {"a.pdf": [TEXT]}, {"a.pdf": [(0, 23), (24, 45), (45, 86)]}
    span = ("a.pdf", TEXT[37:58], 1)
    assert stages_of(real(tmp_path, papers, cuts, [span], {"first": BM25}, coverage=0.9)) == [("chunking", "")]
    assert stages_of(real(tmp_path, papers, cuts, [span], {"first": BM25}, coverage=0.5)) == [("candidates", "")]
    # what the chunker split is found all the same where its best chunk is
    asked = real(tmp_path, papers, cuts, [span], {"first": BM25}, query="kappa", coverage=0.9)
    assert stages_of(asked) == [("found", "")]
    # a second quote that a chunk of the class holds whole: the class was not split
    both = [span, ("a.pdf", "kappa lambda", 1)]
    assert stages_of(real(tmp_path, papers, cuts, both, {"first": BM25}, coverage=0.9)) == [("candidates", "")]


def test_a_judged_page_is_not_split_by_chunks_that_lie_on_it(tmp_path):
    # neither chunk holds half of the page, and both lie on it: it takes another retriever, not another chunker
    papers, cuts = {"a.pdf": [TEXT], "b.pdf": ["alpha"]}, {"a.pdf": [(0, 23), (70, 86)]}
    found = real(tmp_path, papers, cuts, [("a.pdf", "", 1)], {"first": BM25}, query="nothing of it")
    assert stages_of(found) == [("candidates", "")]


def test_a_run_made_elsewhere_has_one_list(tmp_path):
    corpus = corpus_of({"a.pdf": [TEXT]}, {"a.pdf": [(0, 23), (24, 47), (48, 69), (70, 86)]})
    rows = [("alpha", 1), ("zeta", 1), ("xi", 1), ("nowhere", 1)]
    evidence = tuple(Evidence("q1", "a.pdf", 0, -1, -1, quote, grade, "hand") for quote, grade in rows)
    benchmark = Benchmark("hand", Queries.of(["q1"], [""]), evidence)
    spans = locate(benchmark, corpus)
    path = tmp_path / "run.trec"
    path.write_text("q1 Q0 a.pdf:0 1 9 t\nq1 Q0 elsewhere 2 8 t\nq1 Q0 a.pdf:1 3 7 t\n")
    outside = read_run(path)
    ids = np.asarray([*corpus.chunk_ids, "elsewhere"], dtype=object)
    judged = Judged(benchmark, corpus, ids, span_qrels(spans, corpus, 1), spans, {"t": outside})
    found = losses([outside_arm("t", outside, judged)], judged, 2)
    assert found["stage"].tolist() == ["found", "below k", "candidates", "extraction"]
    assert found["final_rank"].tolist() == [1, 3, 0, 0]


def test_a_query_s_own_document_is_no_evidence_and_ranks_close_up():
    # q0 is made from 003.pdf, which every list holds first. Chunk 5 is 2nd with it and 1st without
    own = {"q0000": frozenset({"id-003.pdf"})}
    judged = judged_rows([(0, 3, 1, 0), (0, 5, 1, 1), (1, 3, 1, 0)], 2, exclude=own)
    first, second = rankings([[3, 5, 6], [3]]), rankings([[3, 6, 5], [3]])
    config = {"first": BM25, "then": {"m": MMR}}
    arm = replace(arm_of(config, first, second), run=rankings([[6, 5], [3]]))
    found = losses([arm], judged, 1)
    assert found[["qid", "evidence", "best_rank", "final_rank"]].to_numpy().tolist() == [
        ["q0000", 1, 1, 2],
        ["q0001", 0, 1, 1],
    ]
    assert found["stage"].tolist() == ["mmr", "found"]


def test_documents_judged_by_id():
    corpus = corpus_of({"a.pdf": ["alpha"], "b.pdf": ["beta"], "c.pdf": ["gamma delta"]}, {"c.pdf": []})
    queries = Queries.of(["q1"], [""])
    rows = tuple(
        DocumentJudgment("q1", doc, grade) for doc, grade in [("a", 1), ("b", 2), ("c", 3), ("d", 1), ("e", 0)]
    )
    benchmark = Benchmark("hand", queries, documents=rows)
    judged = Judged(benchmark, corpus, corpus.chunk_ids, document_qrels(benchmark, corpus, 1.0), None, {})
    found = losses([arm_of({"first": BM25}, rankings([[1]]))], judged, 5)
    # c has no chunk, d is not there
    assert found[["grade", "stage"]].to_numpy().tolist() == [
        [1, "candidates"], [2, "found"], [3, "extraction"], [1, "extraction"],
    ]  # fmt: skip
    apart = replace(judged, benchmark=replace(benchmark, exclude={"q1": frozenset({"d"})}))
    found = losses([arm_of({"first": BM25}, rankings([[1]]))], apart, 5)
    assert found["stage"].tolist() == ["candidates", "found", "extraction"]
    ids, qrels = id_qrels(benchmark, [], corpus.chunk_ids)  # as in a BEIR folder: no id of these is in the corpus
    found = losses([arm_of({"first": BM25}, rankings([[1]]))], Judged(benchmark, corpus, ids, qrels, None, {}), 5)
    assert found["stage"].tolist() == ["extraction"] * 4
    alone = Judged(benchmark, None, *id_qrels(benchmark, []), None, {})
    found = losses([Arm("t", RAN, run=rankings([[1, 0]]))], alone, 1)
    assert found["stage"].tolist() == ["below k", "found", "candidates", "candidates"]


def test_pieces_do_not_depend_on_the_order_of_judgments():
    corpus = corpus_of({"a.pdf": [TEXT]}, {"a.pdf": [(0, 23), (24, 47)]})
    queries = Queries.of(["q1", "q2"], ["", ""])
    rows = [("q2", "alpha"), ("q1", "nothing here"), ("q1", "zeta"), ("q2", "iota kappa"), ("q1", "alpha beta")]
    evidence = [Evidence(qid, "a.pdf", 0, -1, -1, quote, 1, "hand") for qid, quote in rows]
    tables = []
    for order in (evidence, evidence[::-1]):
        benchmark = Benchmark("hand", queries, tuple(order))
        spans = locate(benchmark, corpus)
        judged = Judged(benchmark, corpus, corpus.chunk_ids, span_qrels(spans, corpus, 2), spans, {})
        pieces = pieces_of(judged)
        tables.append([pieces.query.tolist(), pieces.number.tolist(), pieces.unranked.tolist()])
    assert tables[0] == tables[1]
    assert tables[0][:2] == [[0, 0, 0, 1, 1], [0, 1, 2, 0, 1]]


def test_spans_without_a_chunk_against_a_loop_over_characters():
    rng, n, coverage = np.random.default_rng(4), 1500, 0.7
    text = "".join(rng.choice(list("abcdefgh "), 4000))
    cuts, at = [], 0
    while at < 3900:
        low = at + int(rng.choice([-15, 0, 0, 120]))  # overlaps the last chunk, follows it, or leaves text out
        at = max(low, 0) + int(rng.integers(20, 80))
        cuts.append((max(low, 0), at))
    corpus = corpus_of({"a.pdf": [text]}, {"a.pdf": cuts})
    starts = rng.integers(0, 3880, n)
    places = [(query, 0, int(low), int(low + rng.integers(3, 60)), 1) for query, low in enumerate(starts)]
    places += [(query, 0, 3, 9, 0) for query in range(n)]  # judged and not relevant: no evidence
    orphans = tuple(Evidence(f"q{query:04}", "a.pdf", 1, -1, -1, "x", 2, "hand") for query in range(0, n, 5))
    spans = replace(spans_of(*places), orphans=orphans)
    queries = Queries.of([f"q{query:04}" for query in range(n)], [""] * n)
    qrels = span_qrels(spans, corpus, n, coverage)
    judged = Judged(Benchmark("hand", queries), corpus, corpus.chunk_ids, qrels, spans, {})
    found = losses([arm_of({"first": BM25}, empty_run())], judged, 5, coverage)
    expected = []
    for query, _, low, high, _ in places[:n]:
        held = max(len(set(range(low, high)) & set(range(*cut))) for cut in cuts)
        enough = held >= coverage * (high - low)
        expected.append(("candidates" if enough else "chunking") if held else "extraction")
        expected += ["extraction"] if query % 5 == 0 else []
    assert found["stage"].tolist() == expected
    assert min(expected.count(loss) for loss in ("candidates", "chunking")) > 200
    assert expected.count("extraction") > 200 + len(orphans)
    assert found["evidence"].tolist() == [number for query in range(n) for number in range(1 + (query % 5 == 0))]

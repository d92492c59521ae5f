"""Rankings to passages: normalised scores, agreement of first stages, and the page of every character."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pytest

from generation.context import gather
from generation.passages import passages, retrieve
from ingestion.schema import PAGE_BREAK, Corpus
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Queries, Run, make_run
from retrieval.stage import Context, Fused, walk
from tests.unit.evaluation.papers import corpus_of
from tests.unit.generation.bundled import bundled, flat, page_begins, texts

# one paper of three pages in two chunks: the first turns a page twice, the second begins on a page's first character
PAGES = ("Alpha one. Alpha two.", "Beta.", "Gamma one. Gamma two.")
WHOLE = PAGE_BREAK.join(PAGES)
BETA, GAMMA = WHOLE.index("Beta"), WHOLE.index("Gamma")


def run_of(*rows: tuple[int, int, float]) -> Run:
    query, chunk, score = zip(*rows, strict=True)
    return make_run(query, chunk, score, depth=10)


def of(corpus: Corpus, run: Run, firsts: list[Run], n_queries: int = 1, limit: int = 10):
    return passages(corpus, run, firsts or [run], n_queries, limit)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return corpus_of({f"{name}.pdf": [f"Text of {name}."] for name in "abcd"})


def test_scores_are_normalised_within_a_ranking(corpus):
    (found, other, none) = of(corpus, run_of((0, 2, 9.0), (0, 0, 5.0), (0, 3, 1.0), (1, 1, 0.25)), [], 3)
    assert [(one.doc_name, one.rank, one.score) for one in found] == [
        ("c.pdf", 1, 1.0),
        ("a.pdf", 2, 0.5),
        ("d.pdf", 3, 0.0),
    ]
    # one score: nothing to scale
    assert [(one.doc_name, one.rank, one.score) for one in other] == [("b.pdf", 1, 1.0)]
    assert none == ()


def test_equal_scores_are_all_one_and_negative_ones_are_shifted(corpus):
    assert [one.score for one in of(corpus, run_of((0, 0, 3.0), (0, 1, 3.0)), [])[0]] == [1.0, 1.0]
    assert [one.score for one in of(corpus, run_of((0, 0, -1.0), (0, 1, -2.0), (0, 2, -3.0)), [])[0]] == [1, 0.5, 0]


def test_the_whole_ranking_scales_and_only_the_first_are_taken(corpus):
    found = of(corpus, run_of((0, 0, 4.0), (0, 1, 3.0), (0, 2, 0.0)), [], limit=2)[0]
    assert [one.score for one in found] == [1.0, 0.75]


def test_agreement_is_the_mean_reciprocal_rank_over_first_stages(corpus):
    one = run_of((0, 0, 3.0), (0, 1, 2.0), (1, 2, 9.0))
    two = run_of((0, 2, 3.0), (0, 3, 2.5), (0, 1, 2.0))
    last = run_of((0, 1, 9.0), (0, 0, 8.0), (0, 3, 7.0), (1, 2, 1.0))
    first, second = of(corpus, last, [one, two], 2)
    assert [(each.doc_name, each.agreement) for each in first] == [
        ("b.pdf", pytest.approx((1 / 2 + 1 / 3) / 2)),
        ("a.pdf", pytest.approx((1 + 0) / 2)),
        ("d.pdf", pytest.approx((0 + 1 / 2) / 2)),
    ]
    assert [each.agreement for each in second] == [0.5]  # the second stage did not rank it for this question


def test_pages_turn_within_a_chunk():
    corpus = corpus_of({"a.pdf": PAGES}, {"a.pdf": [(0, GAMMA + 10), (GAMMA, len(WHOLE))]})
    assert [text[:5] for text in corpus.texts] == ["Alpha", "Gamma"]
    first, second = of(corpus, run_of((0, 0, 2.0), (0, 1, 1.0)), [])[0]
    assert first.turns == ((BETA, 2), (GAMMA, 3))
    assert [first.page_at(at) for at in (0, BETA - 1, BETA, GAMMA - 1, GAMMA)] == [1, 1, 2, 2, 3]
    assert second.turns == ()  # it begins with a page: nothing turns


def test_a_citation_is_on_the_page_of_its_quote():
    corpus = corpus_of({"a.pdf": PAGES}, {"a.pdf": [(6, len(WHOLE))]})
    (source,) = gather("?", of(corpus, run_of((0, 0, 2.0)), [])[0], 100, len).sources
    for quote, page in (("one. Alpha", 1), ("Beta.", 2), ("Gamma two.", 3)):
        start = source.passage.text.index(quote)
        place = source.cite(start, start + len(quote))
        assert (place.page, place.quote) == (page, quote)
        assert WHOLE[place.char_start : place.char_end] == quote


def test_a_fused_strategy_is_agreed_on_by_its_branches():
    stage = build_strategy(strategy_config("rrf"))
    ctx = Context(bundled().corpus, bundled().store, remember=False)
    queries = Queries.of(["q1", "q2"], ["What does k do in reciprocal rank fusion?", "zzzq xwvvk"])
    found, none = retrieve(ctx, stage, queries, 5)
    branches = [ctx.search(part, queries) for _, part in walk(stage) if not isinstance(part, Fused)]
    rows = {chunk_id: row for row, chunk_id in enumerate(bundled().corpus.chunk_ids)}
    assert len(branches) == 2
    for passage in found:
        ranks = []
        for branch in branches:
            mine = (branch.query == 0) & (branch.chunk == rows[passage.chunk_id])
            ranks += [1 / rank for rank in branch.rank[mine]] or [0.0]
        assert passage.agreement == pytest.approx(np.mean(ranks))
    assert [one.rank for one in found] == [1, 2, 3, 4, 5]
    assert (found[0].score, found == tuple(sorted(found, key=lambda one: -one.score))) == (1.0, True)
    # an unknown word matches nothing lexically
    assert all(one.agreement <= 0.5 for one in none)


def test_every_passage_stands_where_it_says():
    corpus = bundled().corpus
    run = make_run(np.zeros(len(corpus)), np.arange(len(corpus)), -np.arange(len(corpus)), len(corpus))
    turned = 0
    for passage in of(corpus, run, [], limit=len(corpus))[0]:
        begins, end = page_begins()[passage.doc_name], passage.char_start + len(passage.text)
        assert flat(texts()[passage.doc_name][passage.char_start : end]) == flat(passage.text)
        assert passage.page == bisect_right(begins, passage.char_start)
        turned += len(passage.turns)
        for offset in range(0, len(passage.text), 25):
            assert passage.page_at(offset) == bisect_right(begins, passage.char_start + offset)
    assert turned > 50

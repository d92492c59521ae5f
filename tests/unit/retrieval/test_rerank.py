"""Dedup and MMR on chunks whose similarities can be counted on one hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from ingestion.artifacts import ArtifactStore
from retrieval.analysis import tokens
from retrieval.rerankers.dedup import Dedup
from retrieval.rerankers.mmr import Mmr
from retrieval.schema import Queries, empty_run, make_run
from retrieval.stage import Context, Pipeline
from tests.contract.conftest import corpus_of, corpus_rows

ONE = Queries.of(["q"], ["rank"])


def context(chunks: list[tuple[str, str]], folder: Path) -> Context:
    """Chunks (document, text) in reading order; ids in the same order, so row n is chunk n."""
    base = corpus_rows()[0]
    rows = [
        {**base, "chunk_id": f"{n:04}", "doc_id": doc, "char_start": 10 * n, "text": text}
        for n, (doc, text) in enumerate(chunks)
    ]
    return Context(corpus_of(rows), ArtifactStore(folder), depth=100)


def ranking(*chunks: int):
    """One query's chunks in this order, with scores n, n - 1, ..., 1."""
    return make_run([0] * len(chunks), chunks, np.arange(len(chunks), 0, -1), 100)


def deduplicated(chunks, order, folder, **parameters) -> list[int]:
    return Dedup(**parameters).rerank(context(chunks, folder), ONE, ranking(*order)).chunk.tolist()


THREE, FIVE, SIX = "alpha beta gamma", "alpha beta gamma delta epsilon", "alpha beta gamma delta epsilon zeta"


def test_the_threshold_itself_is_a_repeat(tmp_path):
    assert deduplicated([("d0", THREE), ("d0", FIVE)], [0, 1], tmp_path, threshold=0.6) == [0]  # 3 of 5
    assert deduplicated([("d0", THREE), ("d0", SIX)], [0, 1], tmp_path, threshold=0.6) == [0, 1]  # 3 of 6
    assert deduplicated([("d0", THREE), ("d0", FIVE)], [0, 1], tmp_path, threshold=0.61) == [0, 1]


def test_the_threshold_itself_is_a_repeat_whatever_its_binary_fraction(tmp_path):
    # 55 common terms of 100: .55, although .55 * 100 = 55.00000000000001
    words = [f"word{n}" for n in range(100)]
    chunks = [("d0", " ".join(words[:55])), ("d0", " ".join(words))]
    assert deduplicated(chunks, [0, 1], tmp_path, threshold=0.55) == [0]


def test_the_better_ranked_one_stays_and_keeps_its_score(tmp_path):
    chunks = [("d0", THREE), ("d0", FIVE), ("d0", "something else")]
    run = Dedup().rerank(context(chunks, tmp_path), ONE, ranking(2, 1, 0))
    assert (run.chunk.tolist(), run.score.tolist(), run.rank.tolist()) == ([2, 1], [3.0, 2.0], [1, 2])


@pytest.mark.parametrize(("window", "expected"), [(0, [0, 3]), (2, [0, 3]), (3, [0])])
def test_only_neighbours_within_the_window_are_compared(window, expected, tmp_path):
    chunks = [("d0", THREE), ("d0", "one"), ("d0", "two"), ("d0", f"{THREE} delta")]  # 3 of 4, three chunks apart
    assert deduplicated(chunks, [0, 3], tmp_path, window=window) == expected


def test_another_documents_neighbour_is_not_compared(tmp_path):
    assert deduplicated([("d0", THREE), ("d1", f"{THREE} delta")], [0, 1], tmp_path) == [0, 1]
    assert deduplicated([("d0", THREE), ("d0", f"{THREE} delta")], [0, 1], tmp_path) == [0]


def test_equal_texts_are_repeats_wherever_they_stand(tmp_path):
    chunks = [("d0", THREE), ("d1", "other"), ("d2", THREE), ("d3", THREE), ("d4", THREE.upper())]
    assert deduplicated(chunks, [2, 1, 0, 3, 4], tmp_path, window=0) == [2, 1, 4]  # the same words are no equal text
    assert deduplicated(chunks, [3, 2], tmp_path, window=0) == [3]  # without the first of its kind in the ranking


def test_a_dropped_chunk_drops_nothing(tmp_path):
    # 0-1: 4 of 5; 1-2: 4 of 6 = .67; 0-2: 3 of 6 = .5. With 1 dropped, 2 stays
    chunks = [("d0", "a1 b1 c1 d1"), ("d0", "a1 b1 c1 d1 e1"), ("d0", "b1 c1 d1 e1 f1")]
    assert deduplicated(chunks, [0, 1, 2], tmp_path) == [0, 2]
    assert deduplicated(chunks, [1, 2, 0], tmp_path) == [1]


def test_queries_are_deduplicated_apart(tmp_path):
    ctx = context([("d0", THREE), ("d0", FIVE)], tmp_path)
    run = Dedup().rerank(ctx, Queries.of(["a", "b"], ["", ""]), make_run([0, 1], [0, 1], [1, 1], 9))
    assert run.query.tolist() == [0, 1]


# Three near-copies (equal term sets: cosine 1) and an outsider without any of their terms (cosine 0)
COPIES = [("d0", "rank fusion"), ("d1", "the rank fusion"), ("d2", "rank of fusion"), ("d3", "graph nodes")]


def reranked(ctx: Context, scores: list[float], **parameters) -> list[int]:
    run = make_run([0] * len(scores), range(len(scores)), scores, 100)
    return Mmr(**parameters).rerank(ctx, ONE, run).chunk.tolist()


def test_the_outsider_comes_second(tmp_path):
    ctx = context(COPIES, tmp_path)
    # scores 4, 3.5, 3, 2 become 1, .75, .5, 0. First chunk 0 with .5. Then .5 * .75 - .5 = -.125 and
    # .5 * .5 - .5 = -.25 for the copies, and 0 for the outsider
    assert reranked(ctx, [4, 3.5, 3, 2], lam=0.5) == [0, 3, 1, 2]
    # .7 * .75 - .3 = .225, then .7 * .5 - .3 = .05, both above 0
    assert reranked(ctx, [4, 3.5, 3, 2], lam=0.7) == [0, 1, 2, 3]


def test_lam_1_reproduces_the_ranking(tmp_path):
    ctx = context(COPIES, tmp_path)
    run = make_run([0] * 4, [2, 0, 3, 1], [5, 3, 3, 1], 9)
    again = Mmr(lam=1.0).rerank(ctx, ONE, run)
    assert (again.chunk.tolist(), again.rank.tolist()) == ([2, 0, 3, 1], [1, 2, 3, 4])


def test_chunks_below_the_pool_keep_their_order_behind_it(tmp_path):
    ctx = context([*COPIES, ("d4", "graph edges"), ("d5", "rank fusion")], tmp_path)
    scores = [6, 5.5, 5, 4, 3, 2]
    # in a pool of 4 the relevances are 1, .75, .5, 0 as above; 4 and 5 stay behind
    assert reranked(ctx, scores, lam=0.5, pool=4) == [0, 3, 1, 2, 4, 5]
    assert reranked(ctx, scores, lam=0.5, pool=1) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.7])
def test_against_a_greedy_loop_over_cosines_of_scikit_learn(lam, tmp_path):
    texts = [str(row["text"]) for row in corpus_rows()]
    ctx = context([(f"d{n}", text) for n, text in enumerate(texts)], tmp_path)
    rows = TfidfVectorizer(analyzer=tokens, sublinear_tf=True).fit_transform(texts)
    cosine = (rows @ rows.T).toarray()
    scores = np.random.default_rng(4).permutation(len(texts)).astype(float)
    relevance = scores / scores.max()
    left, picked = sorted(range(len(texts)), key=lambda c: -scores[c]), []
    while left:
        value = [lam * relevance[c] - (1 - lam) * max([cosine[c][p] for p in picked], default=0) for c in left]
        picked.append(left.pop(int(np.argmax(np.round(value, 12)))))
    assert reranked(ctx, scores.tolist(), lam=lam) == picked


@dataclass(frozen=True)
class Fixed:
    """A ranking that was worked out by hand."""

    VERSION: ClassVar[int] = 1
    chunks: tuple[int, ...]
    scores: tuple[float, ...]

    def search(self, ctx, queries):
        return make_run([0] * len(self.chunks), self.chunks, self.scores, 100)


def test_the_trace_names_what_a_dropped_chunk_repeats(tmp_path):
    ctx = context([("d0", FIVE), ("d0", THREE), ("d1", SIX), ("d2", FIVE)], tmp_path)
    first = Fixed((2, 0, 1, 3), (4, 3, 2, 1))
    events = ctx.remembered(Pipeline(first, (("dedup", Dedup()),)), ONE).events.to_pylist()
    # 1 is the like of 0 (3 of 5 terms), 3 has the text of 0
    assert [(row["event"], row["chunk"], row["other"]) for row in events] == [("repeats", 1, 0), ("repeats", 3, 0)]


def test_the_trace_names_the_like_of_a_chunk_that_moved_down(tmp_path):
    ctx = context(COPIES, tmp_path)
    first = Fixed((0, 1, 2, 3), (4, 3.5, 3, 2))
    events = ctx.remembered(Pipeline(first, (("mmr", Mmr(lam=0.5)),)), ONE).events.to_pylist()
    assert [(row["event"], row["chunk"], row["other"]) for row in events] == [
        ("moved down", 1, 0),
        ("moved down", 2, 0),
    ]
    assert [row["value"] for row in events] == pytest.approx([1.0, 1.0])


def test_an_empty_ranking_stays_empty(tmp_path):
    ctx = context(COPIES, tmp_path)
    assert len(Dedup().rerank(ctx, ONE, empty_run())) == len(Mmr().rerank(ctx, ONE, empty_run())) == 0


@pytest.mark.parametrize(
    ("stage", "value"),
    [
        (Dedup, {"threshold": 0.0}),
        (Dedup, {"threshold": 1.1}),
        (Dedup, {"window": -1}),
        (Mmr, {"lam": 1.1}),
        (Mmr, {"pool": 0}),
    ],
)
def test_parameters_out_of_range_are_refused(stage, value):
    with pytest.raises(ValueError, match="must be"):
        stage(**value)

"""A stand-in for a dense encoder, a corpus large enough for a graph, and exact search by sorting."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

import numpy as np

from retrieval.filters import Where
from retrieval.schema import Queries
from retrieval.vectors import exact_search
from tests.contract.conftest import WORDS, corpus_of, corpus_rows

DIMS = 32
SECTIONS = ("1 Introduction", "2 Author's method", 'a "quoted" heading')
YEARS = ('{"year": 2018}', '{"year": 2019}', "{}", '{"published": "2021-05-02"}')
WHERES = [
    Where.read("d1"),
    Where.read("d2,d4.pdf"),
    Where.read(section="author's METHOD"),
    Where.read(section="quoted"),
    Where.read(year="2019"),
    Where.read(year="-2019"),
    Where.read(year="2020-"),
    Where.read("d3", "intro", "2018-2021"),
]
QUERIES = [" ".join(WORDS[(3 * q + 5 * w * w) % len(WORDS)] for w in range(4)) for q in range(40)]


@cache
def word_vector(word: str) -> np.ndarray:
    """A fixed direction for every word."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    return np.random.default_rng(seed).normal(size=DIMS)


def embed(texts) -> np.ndarray:
    """Unit vectors: the direction of the sum of the words' vectors."""
    sums = np.stack([sum(word_vector(word) for word in text.lower().split()) for text in texts])
    return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Hashed:
    """An encoder that needs no model."""

    VERSION: ClassVar[int] = 1
    name: str = "hashed"

    def search(self, ctx, queries):
        return exact_search(self.query_vectors(queries.query), self.chunk_vectors(ctx), ctx.depth, ctx.allowed)

    def chunk_vectors(self, ctx):
        def build(folder):
            np.save(folder / "vectors.npy", embed(ctx.corpus.texts))

        load = lambda folder: np.load(folder / "vectors.npy", mmap_mode="r")  # noqa: E731
        return ctx.artifact("vectors", {"stage": self}, build, load)

    def query_vectors(self, texts, store=None):
        return embed(texts)


def large_corpus(n_chunks: int = 900):
    """Chunks of six random words in six documents, with sections and years; every 50th repeats the one before it."""
    rng = np.random.default_rng(7)
    rows = []
    for number in range(n_chunks):
        row = dict(corpus_rows()[0])
        text = " ".join(rng.choice(WORDS, 6)) if number % 50 else (rows[-1]["text"] if rows else "score")
        start = number * 100
        row |= {"chunk_id": hashlib.sha256(str(number).encode()).hexdigest()[:16], "text": text}
        row |= {"doc_id": f"d{number % 6}", "doc_name": f"d{number % 6}.pdf", "char_start": start}
        row |= {"char_end": start + len(text), "section": SECTIONS[number // 6 % 3]}
        row["metadata_json"] = json.dumps(json.loads(YEARS[number // 18 % 4]))
        rows.append(row)
    return corpus_of(rows)


def large_queries() -> Queries:
    return Queries.of([f"q{n:02}" for n in range(len(QUERIES))], QUERIES)


def by_sorting(corpus, texts, depth, allowed=None):
    """(chunk, score) of the first `depth` (allowed) chunks for every text: a full sort in float64, ties by row."""
    chunks, queries = embed(corpus.texts).astype(np.float64), embed(texts).astype(np.float64)
    rows = range(len(corpus)) if allowed is None else np.flatnonzero(allowed).tolist()
    found = []
    for query in queries:
        scored = sorted((-round(float(query @ chunks[row]), 6), row) for row in rows)[:depth]
        found.append([(row, -score + 0.0) for score, row in scored])
    return found


def rankings(run, n_queries):
    """(chunk, score) by query."""
    pairs = list(zip(run.chunk.tolist(), run.score.tolist(), strict=True))
    bounds = run.bounds(n_queries).tolist()
    return [pairs[low:high] for low, high in pairwise(bounds)]


def share_found(found, expected, depth=10):
    """Share of the expected first `depth` chunks that are among the first `depth` found."""
    hits = [
        len({chunk for chunk, _ in ours[:depth]} & {chunk for chunk, _ in theirs[:depth]})
        for ours, theirs in zip(found, expected, strict=True)
    ]
    return sum(hits) / sum(len(theirs[:depth]) for theirs in expected)


def check_ranking(stage, fresh, corpus, texts):
    """All scores are those of a full sort, and so is the order."""
    queries = Queries.of([f"q{n:02}" for n in range(len(texts))], texts)
    run = fresh(corpus, depth=20).search(stage, queries)
    found, expected = rankings(run, len(texts)), by_sorting(corpus, texts, 20)
    for ours, theirs in zip(found, expected, strict=True):
        assert [chunk for chunk, _ in ours] == [chunk for chunk, _ in theirs]
        np.testing.assert_allclose([score for _, score in ours], [score for _, score in theirs], atol=1.01e-6)


def check_filters(stage, fresh, corpus, least):
    """Every result passes, and at least this share of what exact search finds in the filtered corpus is found."""
    for where in WHERES:
        ctx = fresh(corpus, depth=20)
        ctx.where = where
        run = ctx.search(stage, large_queries())
        mask = where.mask(corpus)
        assert 0 < mask.sum() < len(corpus)
        assert mask[run.chunk].all()
        found = rankings(run, len(QUERIES))
        expected = by_sorting(corpus, QUERIES, 20, mask)
        assert share_found(found, expected) >= least, where
        assert [len(one) for one in found] == [len(one) for one in expected]


def check_nothing(stage, fresh, corpus):
    """Blank queries, a filter that nothing passes and an empty corpus."""
    queries = Queries.of(["q1", "q2", "q3"], ["", "rank fusion", " \n"])
    assert set(fresh(corpus).search(stage, queries).query.tolist()) == {1}
    assert len(fresh(corpus).search(stage, Queries.of(["q"], [" "]))) == 0
    ctx = fresh(corpus)
    ctx.where = Where(section="no such heading")
    assert len(ctx.search(stage, queries)) == 0
    assert len(fresh(corpus_of([])).search(stage, queries)) == 0

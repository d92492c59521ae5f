"""Okapi BM25 with a non-negative IDF, ln(1 + (N - n + .5) / (n + .5)) (Robertson and Zaragoza 2009; Lucene)."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from retrieval.analysis import Analysed, analysed, digest
from retrieval.schema import Queries, Run, empty_run, make_run
from retrieval.sparse import Postings
from retrieval.stage import Context


@dataclass(frozen=True)
class Bm25:
    """BM25 over chunks. A chunk that shares no term with the query is not ranked.

    `engine`: `bm25s` (the index of that library, searched by our kernel) or `rank_bm25` (the reference: the same
    terms, scored as that library scores them, its floor under negative IDF included).
    """

    VERSION: ClassVar[int] = 1
    k1: float = 1.2
    b: float = 0.75
    engine: Literal["bm25s", "rank_bm25"] = "bm25s"

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise ValueError(f"k1={self.k1}, b={self.b}: k1 must be at least 0 and b between 0 and 1")

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank the chunks that share a term with each query."""
        corpus = analysed(ctx)
        if not len(corpus.ids):
            return empty_run()
        terms = corpus.query_counts(queries.query)
        if self.engine == "rank_bm25":
            return self._reference(corpus, terms, ctx)
        return self.postings(ctx).search(terms, ctx.depth, ctx.allowed)

    def postings(self, ctx: Context) -> Postings:
        """The index, an artifact: what other stages search with queries of their own."""
        spec = {"analyser": digest(), "version": self.VERSION, **asdict(self)}
        return ctx.artifact("bm25", spec, lambda out: self._build(analysed(ctx), out), Postings.load)

    def _build(self, corpus: Analysed, folder: Path) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        index = bm25s.BM25(method="lucene", k1=self.k1, b=self.b, dtype="float64")
        rows = [corpus.ids[low:high].tolist() for low, high in zip(corpus.offsets, corpus.offsets[1:], strict=False)]
        vocabulary = {term: number for number, term in enumerate(corpus.vocabulary)}
        index.index(bm25s.tokenization.Tokenized(ids=rows, vocab=vocabulary), show_progress=False)
        found = index.scores
        indptr, indices = found["indptr"].astype(np.int64), found["indices"].astype(np.int32)
        Postings(indptr, indices, found["data"], len(rows)).save(folder)

    def _reference(self, corpus: Analysed, terms: csr_array, ctx: Context) -> Run:
        from rank_bm25 import BM25Okapi

        rows = [corpus.ids[low:high].tolist() for low, high in zip(corpus.offsets, corpus.offsets[1:], strict=False)]
        index = BM25Okapi(rows, k1=self.k1, b=self.b)
        shares = (terms @ corpus.counts.T).tocsr()
        parts = []
        for row in range(terms.shape[0]):
            part = slice(terms.indptr[row], terms.indptr[row + 1])
            asked = np.repeat(terms.indices[part], terms.data[part].astype(int)).tolist()
            chunks = shares.indices[shares.indptr[row] : shares.indptr[row + 1]]
            parts.append((np.full(len(chunks), row), chunks, np.asarray(index.get_scores(asked))[chunks]))
        query, chunk, score = (np.concatenate(column) for column in zip(*parts, strict=True))
        may = slice(None) if ctx.allowed is None else ctx.allowed[chunk]
        return make_run(query[may], chunk[may], score[may], ctx.depth)

"""TF-IDF vectors compared by cosine (Salton and Buckley 1988), as scikit-learn weights them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, load_npz, save_npz

from retrieval.analysis import Analysed, analysed, digest
from retrieval.schema import Queries, Run, empty_run
from retrieval.sparse import Postings
from retrieval.stage import Context


@dataclass(frozen=True)
class Tfidf:
    """Sublinear term frequency, smooth IDF, rows of length 1, cosine over single terms."""

    VERSION: ClassVar[int] = 1

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank the chunks that share a term with each query."""
        corpus = analysed(ctx)
        if not len(corpus.ids):
            return empty_run()
        weighted = weights(corpus.query_counts(queries.query), corpus)
        spec = {"analyser": digest(), "version": self.VERSION}
        postings = ctx.artifact("tfidf", spec, lambda out: _build(corpus, out), Postings.load)
        return postings.search(weighted, ctx.depth, ctx.allowed)


def weights(counts: Any, corpus: Analysed) -> csr_array:
    """Unit rows (1 + ln tf) * (1 + ln((1 + N) / (1 + df))), float64 sparse [n_rows, n_terms]."""
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer(norm="l2", smooth_idf=True, sublinear_tf=True)
    n_chunks = len(corpus.offsets) - 1
    transformer.idf_ = np.log((1 + n_chunks) / (1 + corpus.frequency)) + 1
    return csr_array(transformer.transform(counts.astype(np.float64)))


def chunk_vectors(ctx: Context) -> csr_array:
    """TF-IDF rows of all chunks, an artifact: what MMR compares chunks by."""
    spec = {"analyser": digest(), "version": Tfidf.VERSION}
    return ctx.artifact(
        "tfidf_rows",
        spec,
        lambda out: save_npz(out / "rows.npz", weights(analysed(ctx).counts, analysed(ctx))),
        lambda folder: csr_array(load_npz(folder / "rows.npz")),
    )


def _build(corpus: Analysed, folder: Path) -> None:
    Postings.of(weights(corpus.counts, corpus)).save(folder)

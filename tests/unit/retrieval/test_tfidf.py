"""TF-IDF against arithmetic by hand and scikit-learn's own vectorizer."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from ingestion.artifacts import ArtifactStore
from retrieval.analysis import tokens
from retrieval.retrievers.tfidf import Tfidf, chunk_vectors
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows


def context(texts: list[str], folder: Path) -> Context:
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:05}", "text": text} for n, text in enumerate(texts)]
    return Context(corpus_of(rows), ArtifactStore(folder), depth=1000)


def test_two_terms_by_hand(tmp_path):
    # `rank` stands in both chunks: idf = ln(3/3) + 1 = 1; `fusion` in one: idf = ln(3/2) + 1 = 1.405465
    # chunk 0 = (1 + ln 2, 1.405465), chunk 1 = (1, 0), query = (1, 1.405465) over its length sqrt(1 + 1.405465^2)
    run = Tfidf().search(context(["rank rank fusion", "rank"], tmp_path), Queries.of(["q"], ["rank fusion"]))
    idf = log(3 / 2) + 1
    length = sqrt(1 + idf**2)
    first = ((1 + log(2)) + idf**2) / (length * sqrt((1 + log(2)) ** 2 + idf**2))
    assert run.chunk.tolist() == [0, 1]
    assert run.score.tolist() == pytest.approx([first, 1 / length], abs=1e-9)
    assert run.score.tolist() == pytest.approx([0.966501, 0.579739], abs=1e-6)


def test_scores_are_the_cosines_of_scikit_learn(tmp_path):
    texts = [str(row["text"]) for row in corpus_rows()]
    asked = ["reciprocal rank fusion fusion", "novelty of relevance judgments", "marker3x2 unknown words", "zzzz"]
    run = Tfidf().search(context(texts, tmp_path), Queries.of(list("abcd"), asked))
    vectorizer = TfidfVectorizer(analyzer=tokens, sublinear_tf=True)
    chunks = vectorizer.fit_transform(texts)
    cosines = (vectorizer.transform(asked) @ chunks.T).toarray()
    expected = {(int(q), int(c)): cosines[q, c] for q, c in zip(*np.nonzero(cosines), strict=True)}
    pairs = list(zip(run.query.tolist(), run.chunk.tolist(), strict=True))
    assert set(pairs) == set(expected)
    assert run.score.tolist() == pytest.approx([expected[pair] for pair in pairs], abs=1e-9)


def test_chunk_vectors_are_rows_of_length_1_and_zero_for_empty_text(tmp_path):
    rows = chunk_vectors(context(["rank fusion", "", "rank rank"], tmp_path)).toarray()
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1, 0, 1])

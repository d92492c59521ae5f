"""BM25 against arithmetic by hand, bm25s and rank-bm25."""

from __future__ import annotations

import inspect
import json
import statistics
import textwrap
from math import log
from pathlib import Path

import bm25s
import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from ingestion.artifacts import ArtifactStore
from retrieval.analysis import tokens
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows


def context(texts: list[str], folder: Path, depth: int = 1000) -> Context:
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:05}", "char_start": n, "text": text} for n, text in enumerate(texts)]
    return Context(corpus_of(rows), ArtifactStore(folder), depth=depth)


@pytest.fixture(scope="module")
def docstrings() -> list[str]:
    """English text that every Python has: the docstrings of some standard modules."""
    modules = (statistics, textwrap, json, inspect)
    objects = [member for module in modules for _, member in inspect.getmembers(module)]
    found = {inspect.cleandoc(o.__doc__) for o in objects if isinstance(getattr(o, "__doc__", None), str)}
    return sorted(text for text in found if len(text) > 40)


ASKED = [
    "standard deviation of a sample of data",
    "wrap long lines of text and remove whitespace",
    "decode a JSON document to a Python object",
    "return the source code of a function, function, function",  # a repeated term counts as often as it stands
    "zzzz",
]


def test_three_chunks_by_hand(tmp_path):
    # lengths 3, 2, 1; mean 2; N = 3
    ctx = context(["rank rank fusion", "rank chunk", "chunk"], tmp_path)
    run = Bm25(k1=1.2, b=0.75).search(ctx, Queries.of(["q"], ["rank fusion"]))
    idf_rank = log(1 + (3 - 2 + 0.5) / (2 + 0.5))  # in 2 of 3: ln 1.6
    idf_fusion = log(1 + (3 - 1 + 0.5) / (1 + 0.5))  # in 1 of 3: ln 2.6667
    norm_0 = 1.2 * (1 - 0.75 + 0.75 * 3 / 2)  # 1.65
    norm_1 = 1.2 * (1 - 0.75 + 0.75 * 2 / 2)  # 1.2
    first = idf_rank * 2 / (2 + norm_0) + idf_fusion * 1 / (1 + norm_0)
    second = idf_rank * 1 / (1 + norm_1)
    assert run.chunk.tolist() == [0, 1]
    assert run.score.tolist() == pytest.approx([first, second], abs=1e-9)
    assert run.score.tolist() == pytest.approx([0.627660, 0.213638], abs=1e-6)


def test_without_length_and_frequency_only_the_idf_is_left(tmp_path):
    # k1 = 0: tf / (tf + 0) = 1
    run = Bm25(k1=0, b=0).search(
        context(["rank rank fusion", "rank", "chunk"], tmp_path), Queries.of(["q"], ["rank"])
    )
    assert run.chunk.tolist() == [0, 1]
    assert run.score.tolist() == pytest.approx([log(1.6)] * 2)


def test_scores_are_those_of_bm25s(docstrings, tmp_path):
    ctx = context(docstrings, tmp_path)
    run = Bm25().search(ctx, Queries.of(list("abcde"), ASKED))
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([tokens(text) for text in docstrings], show_progress=False)
    for row, text in enumerate(ASKED[:4]):
        rows, scores = index.retrieve([tokens(text)], k=len(docstrings), show_progress=False)
        theirs = {int(c): float(s) for c, s in zip(rows[0], scores[0], strict=True) if s > 0}
        mine = run.query == row
        assert len(theirs) > 5
        assert set(run.chunk[mine].tolist()) == set(theirs)
        # bm25s adds up in float32: 1e-6 of a score below 32
        assert run.score[mine].tolist() == pytest.approx(
            [theirs[c] for c in run.chunk[mine].tolist()], rel=1e-6, abs=1e-6
        )
    assert not (run.query == 4).any()


def test_scores_are_those_of_the_formula(docstrings, tmp_path):
    run = Bm25(k1=0.9, b=0.4).search(context(docstrings, tmp_path), Queries.of(list("abcde"), ASKED))
    chunks = [tokens(text) for text in docstrings]
    mean = sum(map(len, chunks)) / len(chunks)
    expected = {}
    for row, text in enumerate(ASKED):
        for number, chunk in enumerate(chunks):
            score = 0.0
            for term in tokens(text):
                n, tf = sum(term in other for other in chunks), chunk.count(term)
                idf = log(1 + (len(chunks) - n + 0.5) / (n + 0.5))
                score += idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * len(chunk) / mean))
            if score:
                expected[row, number] = score
    pairs = list(zip(run.query.tolist(), run.chunk.tolist(), strict=True))
    assert set(pairs) == set(expected)
    assert run.score.tolist() == pytest.approx([expected[pair] for pair in pairs], abs=1e-9)


def test_the_reference_engine_is_rank_bm25_where_a_term_is_shared(docstrings, tmp_path):
    run = Bm25(engine="rank_bm25").search(context(docstrings, tmp_path), Queries.of(list("abcde"), ASKED))
    chunks = [tokens(text) for text in docstrings]
    index = BM25Okapi(chunks, k1=1.2, b=0.75)
    for row, text in enumerate(ASKED):
        shares = [n for n, chunk in enumerate(chunks) if set(chunk) & set(tokens(text))]
        mine = run.query == row
        assert sorted(run.chunk[mine].tolist()) == shares
        theirs = np.asarray(index.get_scores(tokens(text)))[run.chunk[mine]] if shares else []
        np.testing.assert_allclose(run.score[mine], theirs, atol=1e-9)


@pytest.mark.parametrize(("k1", "b"), [(-0.1, 0.5), (1.2, -0.1), (1.2, 1.1)])
def test_parameters_out_of_range_are_refused(k1, b):
    with pytest.raises(ValueError, match="k1 must be at least 0 and b between 0 and 1"):
        Bm25(k1=k1, b=b)

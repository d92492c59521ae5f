"""Exact search over vectors against a full sort, whole and in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval import vectors
from retrieval.vectors import exact_search


def by_sorting(queries, chunks, depth):
    scores = queries.astype(np.float64) @ chunks.astype(np.float64).T
    rows = []
    for query in range(len(queries)):
        ranked = sorted((-round(float(score), 6), chunk) for chunk, score in enumerate(scores[query]))[:depth]
        rows += [(query, chunk, -score + 0.0, rank) for rank, (score, chunk) in enumerate(ranked, 1)]
    return rows


def found(queries, chunks, depth):
    run = exact_search(queries, chunks, depth)
    return list(zip(*(column.tolist() for column in (run.query, run.chunk, run.score, run.rank)), strict=True))


@pytest.fixture(scope="module")
def tied():
    """Few different inner products: small whole numbers over 8, exact in float32, with ties at every cut."""
    rng = np.random.default_rng(11)
    return (rng.integers(-1, 2, (7, 3)) / 2).astype(np.float32), (rng.integers(-1, 2, (90, 3)) / 4).astype(np.float32)


@pytest.mark.parametrize("depth", [1, 5, 17, 89, 90, 200])
def test_ties_at_the_cut_go_to_the_smaller_row(tied, depth):
    assert found(*tied, depth) == by_sorting(*tied, depth)


@pytest.mark.parametrize("block", [1, 90, 200, 10_000])
def test_blocks_do_not_change_the_run(tied, block, monkeypatch):
    whole = found(*tied, 6)
    monkeypatch.setattr(vectors, "BLOCK", block)  # 90 chunks: 1, 1, 2 and 7 queries at once
    assert found(*tied, 6) == whole


def test_unit_vectors():
    rng = np.random.default_rng(2)
    queries, chunks = (rng.normal(size=(n, 16)).astype(np.float32) for n in (5, 300))
    ours, expected = found(queries, chunks, 20), by_sorting(queries, chunks, 20)
    assert [(q, c) for q, c, _, _ in ours] == [(q, c) for q, c, _, _ in expected]
    assert [s for _, _, s, _ in ours] == pytest.approx([s for _, _, s, _ in expected], abs=5e-6)


def test_noise_below_the_sixth_place_is_a_tie():
    chunks = np.array([[0.5], [0.5000001], [0.5000002]], dtype=np.float32)
    assert [row[1] for row in found(np.ones((1, 1), np.float32), chunks, 2)] == [0, 1]


def test_no_chunks_no_ranking():
    assert found(np.ones((2, 3), np.float32), np.zeros((0, 3), np.float32), 5) == []

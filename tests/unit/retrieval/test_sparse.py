"""The kernel of every lexical stage against dense matrix products and a full sort."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from retrieval.sparse import Postings


def sparse(dense: np.ndarray) -> csr_array:
    matrix = csr_array(dense.astype(np.float64))
    matrix.sort_indices()
    return matrix


def by_sorting(chunks: np.ndarray, queries: np.ndarray, depth: int) -> list[tuple[int, int, float, int]]:
    """Rows (query, chunk, score, rank) from dense products; a chunk counts if it shares a nonzero term."""
    scores = queries @ chunks.T
    shares = (queries != 0).astype(int) @ (chunks != 0).astype(int).T > 0
    rows = []
    for query in range(len(queries)):
        ranked = sorted((-round(float(scores[query, c]), 12), c) for c in np.flatnonzero(shares[query]).tolist())
        rows += [(query, chunk, -score + 0.0, rank) for rank, (score, chunk) in enumerate(ranked[:depth], 1)]
    return rows


def found(chunks: np.ndarray, queries: np.ndarray, depth: int) -> list[tuple[int, int, float, int]]:
    run = Postings.of(sparse(chunks)).search(sparse(queries), depth)
    return list(zip(*(column.tolist() for column in (run.query, run.chunk, run.score, run.rank)), strict=True))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_chunks=st.integers(1, 60),
    n_queries=st.integers(1, 5),
    depth=st.integers(1, 12),
    low=st.sampled_from([-2, 0]),
)
def test_small_whole_weights_with_many_ties_at_the_cut(seed, n_chunks, n_queries, depth, low):
    rng = np.random.default_rng(seed)
    chunks = rng.integers(low, 3, (n_chunks, 6)) * (rng.random((n_chunks, 6)) < 0.5)
    queries = rng.integers(low, 3, (n_queries, 6))
    assert found(chunks, queries, depth) == by_sorting(chunks, queries, depth)


@pytest.mark.parametrize("n_queries", [1, 20])
def test_real_weights(n_queries):
    rng = np.random.default_rng(5)
    chunks = rng.random((500, 40)) * (rng.random((500, 40)) < 0.1)
    queries = rng.random((n_queries, 40)) * (rng.random((n_queries, 40)) < 0.15)
    ours, expected = found(chunks, queries, 25), by_sorting(chunks, queries, 25)
    assert [(q, c, rank) for q, c, _, rank in ours] == [(q, c, rank) for q, c, _, rank in expected]
    np.testing.assert_allclose([row[2] for row in ours], [row[2] for row in expected], atol=2e-12)


def test_of_equal_chunks_the_smallest_rows_pass_the_cut():
    assert [row[1] for row in found(np.ones((50, 1)), np.ones((1, 1)), 4)] == [0, 1, 2, 3]


def test_a_late_better_chunk_pushes_out_the_largest_row_of_a_tie():
    assert [row[1] for row in found(np.array([[1], [1], [1], [1], [2]]), np.ones((1, 1)), 3)] == [4, 0, 1]


def test_sums_that_differ_in_the_last_bit_tie_at_the_cut():
    # chunk 1 sums to .1 + .2 + .3 = .6000000000000001, chunk 0 to .3 + .2 + .1 = .6
    chunks = np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]])
    assert [row[1:3] for row in found(chunks, np.ones((1, 3)), 1)] == [(0, 0.6)]


def test_only_chunks_that_share_a_term_are_ranked():
    chunks = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    queries = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 1]])
    assert [row[:2] for row in found(chunks, queries, 10)] == [(0, 0), (0, 3), (2, 1), (2, 2), (2, 3)]


def test_negative_sums_are_ranked_and_so_are_sums_of_zero():
    # 1 * 1 - 1 * 1 = 0 shares two terms; -1 shares one; the last chunk shares none
    chunks = np.array([[0, -1, 0], [1, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert found(chunks, np.array([[1, 1, 0]]), 10) == [(0, 2, 1.0, 1), (0, 1, 0.0, 2), (0, 0, -1.0, 3)]


def test_what_is_saved_is_what_is_loaded(tmp_path):
    rng = np.random.default_rng(1)
    chunks = rng.random((30, 8)) * (rng.random((30, 8)) < 0.4)
    before = Postings.of(sparse(chunks))
    before.save(tmp_path)
    after = Postings.load(tmp_path)
    assert after.n_chunks == 30
    for name in ("indptr", "rows", "weights"):
        assert getattr(after, name).tolist() == getattr(before, name).tolist()
    queries = sparse(np.ones((2, 8)))
    assert after.search(queries, 5).score.tolist() == before.search(queries, 5).score.tolist()


def test_two_threads_may_search_at_once_and_find_what_one_finds_alone():
    rng = np.random.default_rng(0)
    chunks, queries = (rng.random((n, 60)) * (rng.random((n, 60)) < 0.2) for n in (400, 50))
    postings = Postings.of(sparse(chunks))
    alone = [
        found for row in range(50) for found in postings.search(sparse(queries[row : row + 1]), 10).chunk.tolist()
    ]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: postings.search(sparse(queries), 10).chunk.tolist(), range(20)))
    assert together == [alone] * 20


def test_a_search_leaves_openmp_alone():
    """numba's OpenMP threads fight torch's for the cores: an encoded query took up to 30 times longer beside them."""
    program = """
import numba, numpy as np
from scipy.sparse import csr_array
from retrieval.sparse import Postings
weights = csr_array(np.ones((40, 3)))
assert len(Postings.of(weights).search(weights, 5)) == 200
print(numba.threading_layer())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "workqueue"

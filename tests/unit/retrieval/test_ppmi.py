"""PPMI worked out by hand on three chunks, and counts, weights and vectors done another way on random corpora."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.sparse import csr_array

from ingestion.artifacts import ArtifactStore, file_digest
from retrieval.analysis import analysed, tokens
from retrieval.filters import Where
from retrieval.retrievers import ppmi
from retrieval.retrievers.ppmi import Ppmi, cooccurrences, frequent_terms, positive_pmi, singular_vectors
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows

THREE = ["alpha beta", "alpha beta", "gamma delta alpha"]


def context(texts: list[str], folder: Path, depth: int = 100, where: Where | None = None) -> Context:
    """One document per chunk; ids in the order given, so row n is chunk n."""
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:04}", "doc_id": f"d{n % 6}", "text": text} for n, text in enumerate(texts)]
    return Context(corpus_of(rows), ArtifactStore(folder), depth=depth, where=where)


def found(stage: Ppmi, ctx: Context, *texts: str) -> list[dict[int, float]]:
    """Chunk and score of every text's ranking."""
    queries = Queries.of([f"q{n}" for n in range(len(texts))], list(texts))
    run = stage.search(ctx, queries)
    rows = zip(run.query.tolist(), run.chunk.tolist(), run.score.tolist(), strict=True)
    answer: list[dict[int, float]] = [{} for _ in texts]
    for query, chunk, score in rows:
        answer[query][chunk] = score
    return answer


# THREE with a window of 1: alpha-beta twice, gamma-delta once, delta-alpha once; each pair counts in both directions.
# Sums: alpha 3, beta 2, delta 2, gamma 1; all 8.
#   alpha-beta  ln(2 * 8 / (3 * 2)) = ln(8/3)
#   delta-gamma ln(1 * 8 / (2 * 1)) = ln 4
#   delta-alpha ln(1 * 8 / (2 * 3)) = ln(4/3)
AB, DG, DA = math.log(8 / 3), math.log(4), math.log(4 / 3)


def test_the_pmi_of_three_chunks_by_hand(tmp_path):
    corpus = analysed(context(THREE, tmp_path))
    assert corpus.vocabulary == ("alpha", "beta", "delta", "gamma")
    kept, matrix = Ppmi(window=1, min_count=1).matrix(corpus)
    assert kept.tolist() == [0, 1, 2, 3]
    expected = [[0, AB, DA, 0], [AB, 0, 0, 0], [DA, 0, 0, DG], [0, 0, DG, 0]]
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-12)


def test_the_shift_takes_its_logarithm_and_only_what_is_positive_stays(tmp_path):
    corpus = analysed(context(THREE, tmp_path))
    _, matrix = Ppmi(window=1, min_count=1, shift=2.0).matrix(corpus)
    ab, dg = math.log(4 / 3), math.log(2)  # ln(4/3) - ln 2 = ln(2/3) is negative
    expected = [[0, ab, 0, 0], [ab, 0, 0, 0], [0, 0, 0, dg], [0, 0, dg, 0]]
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-12)
    assert matrix.nnz == 4


def test_a_pmi_of_exactly_0_is_no_entry():
    # Each of two terms twice beside itself and the other: ln(2 * 8 / (4 * 4)) = 0
    assert positive_pmi(csr_array(np.full((2, 2), 2))).nnz == 0


def test_cosines_over_pmi_rows_by_hand(tmp_path):
    # Unit rows, h and g their lengths: alpha is (beta AB, delta DA) / h, beta is (alpha 1), delta is
    # (alpha DA, gamma DG) / g, gamma is (delta 1). IDF with N = 3: alpha in 3 chunks ln(1 + .5 / 3.5), beta in 2
    # ln(1 + 1.5 / 2.5), gamma and delta in 1 ln(1 + 2.5 / 1.5)
    h = math.hypot(AB, DA)
    alpha, beta, one = math.log(8 / 7), math.log(1.6), math.log(8 / 3)
    # The query "gamma" is (delta 1), so the cosine is what a chunk has on delta, divided by its length.
    # "alpha beta": alpha times a row of length 1 on beta and delta, and beta on alpha
    first = (alpha * DA / h) / math.hypot(alpha, beta)
    # "gamma delta alpha": one + alpha DA / h on delta, one (DA, DG) / g on alpha and gamma, alpha AB / h on beta
    third = (one + alpha * DA / h) / math.sqrt((one + alpha * DA / h) ** 2 + one**2 + (alpha * AB / h) ** 2)
    ctx = context(THREE, tmp_path)
    scores = found(Ppmi(window=1, min_count=1, dims=None), ctx, "gamma")[0]
    assert scores == pytest.approx({2: third, 0: first, 1: first}, abs=1e-12)
    assert list(scores) == [2, 0, 1]


def test_singular_vectors_by_hand():
    # a and b stand beside c only: rows (0, 0, x), (0, 0, x), (x, x, 0). Singular values x sqrt 2 twice, and 0.
    # a = b, a is orthogonal to c; |a|^2 = x sqrt 2 (1/4 + 1/4) = x / sqrt 2, |c|^2 = x sqrt 2 (1/2 + 1/2)
    x = 3.0
    vectors = singular_vectors(csr_array([[0, 0, x], [0, 0, x], [x, x, 0]]), 2)
    root = math.sqrt(2)
    expected = [[x / root, x / root, 0], [x / root, x / root, 0], [0, 0, x * root]]
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-12)


def test_a_term_without_any_association_has_no_vector():
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 0] = 1.0
    assert not singular_vectors(csr_array(matrix), 4)[2:].any()


def sparse_symmetric(n_terms: int, seed: int) -> csr_array:
    random = np.random.default_rng(seed)
    half = np.triu(random.random((n_terms, n_terms)) * (random.random((n_terms, n_terms)) < 0.2))
    return csr_array(half + half.T)


@pytest.mark.parametrize("dims", [5, 40, 300])
@pytest.mark.parametrize("small", [10, 2000])
def test_inner_products_of_term_vectors_are_those_of_a_full_svd(small, dims, monkeypatch):
    # 90 terms are fewer than the columns of the randomised SVD, which is then exact
    monkeypatch.setattr(ppmi, "SMALL", small)
    monkeypatch.setattr(ppmi, "OVERSAMPLES", 90)
    matrix = sparse_symmetric(90, seed=dims)
    left, strength, _ = np.linalg.svd(matrix.toarray())
    expected = (left[:, :dims] * strength[:dims]) @ left[:, :dims].T
    vectors = singular_vectors(matrix, dims)
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-9 if small > 90 else 2e-5)
    assert singular_vectors(matrix, dims).tobytes() == vectors.tobytes()


def counted(texts: list[str], window: int, min_count: int) -> Counter[tuple[str, str]]:
    """How often terms stand within a window: rare ones out first, then two loops."""
    rows = [tokens(text) for text in texts]
    often = Counter(term for row in rows for term in row)
    total: Counter[tuple[str, str]] = Counter()
    for row in ([term for term in row if often[term] >= min_count] for row in rows):
        for here in range(len(row)):
            for there in range(len(row)):
                if here != there and abs(here - there) <= window:
                    total[row[here], row[there]] += 1
    return total


def random_texts(seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    words = [f"word{n}" for n in range(25)]
    shares = 1 / np.arange(1, 26)
    sizes = random.integers(0, 14, size=30)
    return [" ".join(random.choice(words, size=size, p=shares / shares.sum()).tolist()) for size in sizes]


@pytest.mark.parametrize("part", [1, 7, 2_000_000])
@pytest.mark.parametrize(("window", "min_count"), [(1, 1), (2, 3), (5, 3), (50, 8)])
def test_counts_and_pmi_are_those_of_a_double_loop(window, min_count, part, tmp_path, monkeypatch):
    monkeypatch.setattr(ppmi, "PART", part)
    texts = random_texts(window)
    corpus = analysed(context(texts, tmp_path))
    expected = counted(texts, window, min_count)
    kept, matrix = Ppmi(window=window, min_count=min_count).matrix(corpus)
    names = [corpus.vocabulary[number] for number in kept]
    numbers = np.searchsorted(kept, corpus.ids[np.isin(corpus.ids, kept)])
    owner = np.repeat(np.arange(len(texts)), np.diff(corpus.offsets))[np.isin(corpus.ids, kept)]
    counts = cooccurrences(numbers, owner, len(kept), window).toarray()
    assert counts.tolist() == [[expected[one, other] for other in names] for one in names]
    total = sum(expected.values())
    sums = {name: sum(n for (one, _), n in expected.items() if one == name) for name in names}
    for row, one in enumerate(names):
        for column, other in enumerate(names):
            n = expected[one, other]
            pmi = math.log(n * total / (sums[one] * sums[other])) if n else 0.0
            assert matrix[row, column] == pytest.approx(max(0.0, pmi), abs=1e-9)


def test_a_window_reaches_over_rare_terms_but_not_over_the_chunk(tmp_path):
    texts = ["alpha once beta", "alpha twice beta", "alpha thrice beta", "gamma", "gamma", "gamma"]
    corpus = analysed(context(texts, tmp_path))
    kept, matrix = Ppmi(window=1).matrix(corpus)
    assert [corpus.vocabulary[number] for number in kept] == ["alpha", "beta", "gamma"]
    # alpha-beta 3 each way of 6: ln(3 * 6 / (3 * 3)) = ln 2
    np.testing.assert_allclose(matrix.toarray(), [[0, math.log(2), 0], [math.log(2), 0, 0], [0, 0, 0]])


def test_the_most_frequent_terms_are_kept_and_the_smaller_id_wins_a_tie(tmp_path):
    # alpha 1, beta 2, delta 3, gamma 2
    corpus = analysed(context(["delta delta delta gamma beta", "gamma beta alpha"], tmp_path))
    assert frequent_terms(corpus, 1, 2).tolist() == [1, 2]
    assert frequent_terms(corpus, 1, 3).tolist() == [1, 2, 3]
    assert frequent_terms(corpus, 3, 9).tolist() == [2]


# alpha and omega stand beside the same terms, never in the same chunk
COMPANY = [
    "alpha river bank water", "omega river bank water", "alpha water river bank", "omega bank water river",
    "engine wheel motor gear", "motor engine gear wheel", "wheel gear engine motor", "alpha river", "omega bank",
]  # fmt: skip


@pytest.mark.parametrize("dims", [None, 3, 300])
def test_a_chunk_is_found_by_terms_that_keep_the_same_company(dims, tmp_path):
    scores = found(Ppmi(dims=dims), context(COMPANY, tmp_path), "omega")[0]
    assert {0, 2} <= set(list(scores)[:6])
    assert all(scores.get(chunk, 0.0) < min(scores[0], scores[2]) - 0.3 for chunk in (4, 5, 6))


def test_dense_cosines_with_all_dims_are_those_of_the_absolute_matrix(tmp_path):
    # U S U' is the square root of M M'; its entries are the inner products of term vectors
    ctx = context(COMPANY, tmp_path)
    corpus, stage = analysed(ctx), Ppmi(dims=300)
    kept, matrix = stage.matrix(corpus)
    gram = np.real(sqrtm((matrix @ matrix.T).toarray()))
    length = np.sqrt(np.diag(gram))
    gram = gram / np.outer(length, length)
    n = len(COMPANY)
    idf = np.log(1 + (n - corpus.frequency[kept] + 0.5) / (corpus.frequency[kept] + 0.5))
    chunks = corpus.counts.toarray()[:, kept] * idf
    query = corpus.query_counts(["motor water water"]).toarray()[0, kept] * idf
    cosine = (chunks @ gram @ query) / np.sqrt((query @ gram @ query) * np.sum((chunks @ gram) * chunks, axis=1))
    scores = found(stage, ctx, "motor water water")[0]
    assert scores == pytest.approx(dict(enumerate(cosine.tolist())), abs=2e-6)


@pytest.mark.parametrize("dims", [None, 2])
def test_what_has_no_vector_is_not_ranked(dims, tmp_path):
    ctx = context(["unheard of", *COMPANY, ""], tmp_path)
    scores = found(Ppmi(dims=dims), ctx, "unheard", "", "nowhere", "alpha unheard")
    assert scores[:3] == [{}, {}, {}]
    assert scores[3]
    assert not {0, len(COMPANY) + 1} & set(scores[3])
    assert scores[3] == pytest.approx(found(Ppmi(dims=dims), ctx, "alpha")[0])


@pytest.mark.parametrize("dims", [None, 2])
def test_without_frequent_terms_nothing_is_found(dims, tmp_path):
    assert found(Ppmi(dims=dims), context(THREE, tmp_path), "beta gamma") == [{}]


@pytest.mark.parametrize("dims", [None, 2])
def test_a_filter_and_depth_are_obeyed(dims, tmp_path):
    whole = found(Ppmi(dims=dims), context(COMPANY, tmp_path), "alpha water")[0]
    where = Where(document=("d1", "d2"))  # chunks 1, 2, 7, 8
    part = found(Ppmi(dims=dims), context(COMPANY, tmp_path, where=where), "alpha water")[0]
    assert part == pytest.approx({chunk: whole[chunk] for chunk in whole if chunk % 6 in (1, 2)}, abs=2e-6)
    assert list(found(Ppmi(dims=dims), context(COMPANY, tmp_path, 2, where), "alpha water")[0]) == list(part)[:2]


@pytest.mark.parametrize("dims", [None, 4])
def test_a_second_build_has_the_same_bytes(dims, tmp_path):
    digests = []
    for name in ("one", "two"):
        found(Ppmi(dims=dims), context(random_texts(3), tmp_path / name), "word1 word7")
        paths = sorted((tmp_path / name).glob("ppmi*/*/*.np?"))
        digests.append({path.name: file_digest(path) for path in paths})
    assert len(digests[0]) >= 5
    assert digests[0] == digests[1]


@pytest.mark.parametrize("value", [{"window": 0}, {"min_count": 0}, {"dims": 0}, {"max_terms": 0}, {"shift": 0.5}])
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be at least 1"):
        Ppmi(**value)

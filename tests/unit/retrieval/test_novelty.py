"""Novelty counted on one hand, and its walk against sets of n-grams on random rankings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval.analysis import analysed, tokens
from retrieval.rerankers.novelty import Novelty, distinct_ngrams
from retrieval.retrievers.given import Given
from retrieval.schema import Queries, empty_run, make_run
from retrieval.stage import Context, Pipeline
from tests.contract.conftest import corpus_of, corpus_rows

ONE = Queries.of(["q"], ["rank"])
# Pairs of neighbouring terms: ab bc cd | bc cd da | da ae
TEXTS = ["alpha beta gamma delta", "beta gamma delta alpha", "delta alpha epsilon"]


def context(texts: list[str], folder: Path, **parameters) -> Context:
    """One document per chunk; ids in the order given, so row n is chunk n."""
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:04}", "doc_id": f"d{n % 6}", "text": text} for n, text in enumerate(texts)]
    return Context(corpus_of(rows), ArtifactStore(folder), **{"depth": 100, **parameters})


def ranking(*chunks: int):
    """One query's chunks in this order, with scores n, n - 1, ..., 1."""
    return make_run([0] * len(chunks), chunks, np.arange(len(chunks), 0, -1), 100)


def left(texts: list[str], order: list[int], folder: Path, **parameters) -> list[int]:
    return Novelty(**parameters).rerank(context(texts, folder), ONE, ranking(*order)).chunk.tolist()


def walked(texts: list[str], order: list[int], folder: Path, **parameters) -> tuple[list[int], dict[int, float]]:
    """What stays, and what was left out with its novelty, as the trace has it."""
    ctx = context(texts, folder, given={"run": ranking(*order)})
    remembered = ctx.remembered(Pipeline(Given("run"), (("novelty", Novelty(**parameters)),)), ONE)
    events = remembered.events.to_pylist()
    assert {event["event"] for event in events} <= {"not new"}
    return remembered.run.chunk.tolist(), {event["chunk"]: event["value"] for event in events}


def test_novelty_by_hand(tmp_path):
    # Behind 0, of bc cd da only da is new: 1/3. If 1 is kept, of da ae ae is new: 1/2; else both: 1
    assert walked(TEXTS, [0, 1, 2], tmp_path, n=2, min_score=0.3) == ([0, 1, 2], {})
    assert walked(TEXTS, [0, 1, 2], tmp_path, n=2, min_score=0.6) == ([0, 2], {1: pytest.approx(1 / 3)})
    assert walked(TEXTS, [0, 2, 1], tmp_path, n=2, min_score=0.1) == ([0, 2], {1: 0.0})
    assert walked(TEXTS, [1, 2, 0], tmp_path, n=2, min_score=0.4) == (
        [1, 2],
        {0: pytest.approx(1 / 3)},  # ab is new, bc and cd are in 1
    )


def test_scores_stay(tmp_path):
    run = Novelty(n=2, min_score=0.6).rerank(context(TEXTS, tmp_path), ONE, ranking(0, 1, 2))
    assert (run.chunk.tolist(), run.score.tolist(), run.rank.tolist()) == ([0, 2], [3.0, 1.0], [1, 2])


def test_an_ngram_counts_once_in_a_chunk(tmp_path):
    # ab ba ab ba ag: of ab, ba, ag one is new, 1/3 and not 1/5
    texts = ["alpha beta alpha", "alpha beta alpha beta alpha gamma"]
    assert walked(texts, [0, 1], tmp_path, n=2, min_score=0.5)[1] == {1: pytest.approx(1 / 3)}


@pytest.mark.parametrize(("new", "expected"), [(3, [0, 1]), (2, [0])])
def test_the_least_novelty_itself_is_enough_whatever_its_binary_fraction(new, expected, tmp_path):
    # 20 terms, n = 1: 3 of 20 are .15
    words = [f"word{n}" for n in range(20)]
    texts = [" ".join(words[new:]), " ".join(words)]
    assert left(texts, [0, 1], tmp_path, n=1) == expected


def test_55_of_100_are_enough_for_a_share_of_55_percent(tmp_path):
    words = [f"word{n}" for n in range(100)]  # .55 * 100 = 55.00000000000001
    assert left([" ".join(words[55:]), " ".join(words)], [0, 1], tmp_path, n=1, min_score=0.55) == [0, 1]


def test_a_short_text_is_new_until_the_same_short_text_was_kept(tmp_path):
    texts = ["alpha beta gamma delta", "beta gamma", "Beta, gamma!", "gamma beta", "beta gamma delta", "", "the"]
    stays, out = walked(texts, [0, 1, 2, 3, 4, 5, 6], tmp_path, n=4)
    assert stays == [0, 1, 3, 4, 5]  # 0 holds the words of 1, but 1 as a whole text is new
    assert out == {2: 0.0, 6: 0.0}  # neither "" nor "the" has a term


def test_a_text_of_n_terms_is_one_ngram(tmp_path):
    texts = ["zeta alpha beta gamma delta", "alpha beta gamma delta", "alpha beta gamma"]
    assert left(texts, [0, 1, 2], tmp_path) == [0, 2]
    assert left(texts, [1, 0], tmp_path) == [1, 0]  # zabg is new: 1/2


def test_queries_are_walked_apart(tmp_path):
    run = make_run([0, 0, 1, 1], [0, 1, 1, 0], [2, 1, 2, 1], 9)
    ctx = context(["alpha beta", "alpha beta"], tmp_path)
    found = Novelty(n=2).rerank(ctx, Queries.of(["a", "b"], ["", ""]), run)
    assert (found.query.tolist(), found.chunk.tolist()) == ([0, 1], [0, 1])


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    words = tokens(text)
    return {tuple(words[at : at + n]) for at in range(len(words) - n + 1)} or {("short", *words)}


def random_texts(random: np.random.Generator) -> list[str]:
    words = [f"w{n}" for n in range(6)]
    return [" ".join(random.choice(words, size=random.integers(0, 12)).tolist()) for _ in range(80)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_distinct_ngrams_are_those_of_sets(n, tmp_path):
    texts = random_texts(np.random.default_rng(n))
    corpus = analysed(context(texts, tmp_path))
    chunk, gram = distinct_ngrams(corpus.ids, corpus.offsets, n)
    sets = [ngrams(text, n) for text in texts]
    assert np.bincount(chunk, minlength=len(texts)).tolist() == [len(found) for found in sets]
    assert all(one < other for one, other in pairwise(zip(chunk.tolist(), gram.tolist(), strict=True)))
    common = [set(gram[chunk == row].tolist()) for row in range(len(texts))]
    for one in range(0, len(texts), 7):
        for other in range(len(texts)):
            assert len(common[one] & common[other]) == len(sets[one] & sets[other])


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("min_score", [0.0, 0.15, 0.5, 1.0])
def test_against_a_walk_with_sets_on_random_rankings(n, min_score, tmp_path):
    random = np.random.default_rng(n)
    texts = random_texts(random)
    orders = [random.permutation(len(texts))[: random.integers(1, 60)].tolist() for _ in range(12)]
    expected = []
    for query, order in enumerate(orders):
        seen: set[tuple[str, ...]] = set()
        for chunk in order:
            grams = ngrams(texts[chunk], n)
            if len(grams - seen) / len(grams) >= min_score - 1e-9:
                seen |= grams
                expected.append((query, chunk))
    pairs = [(query, chunk) for query, order in enumerate(orders) for chunk in order]
    run = make_run(*np.asarray(pairs).T, -np.arange(len(pairs)), 100)
    asked = Queries.of([f"q{query:02}" for query in range(len(orders))], [""] * len(orders))
    found = Novelty(n=n, min_score=min_score).rerank(context(texts, tmp_path), asked, run)
    assert list(zip(found.query.tolist(), found.chunk.tolist(), strict=True)) == expected
    assert (len(found) < len(run)) == (min_score > 0)


def test_an_empty_ranking_stays_empty(tmp_path):
    assert len(Novelty().rerank(context(TEXTS, tmp_path), ONE, empty_run())) == 0


@pytest.mark.parametrize("value", [{"n": 0}, {"min_score": 1.1}, {"min_score": -0.1}])
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        Novelty(**value)

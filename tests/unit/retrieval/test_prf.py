"""RM3 worked out by hand, against dictionaries on random rankings, and its searches against BM25 term by term."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval.analysis import analysed, tokens
from retrieval.filters import Where
from retrieval.rerankers.prf import Prf
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.given import Given
from retrieval.schema import Queries, Run, empty_run, make_run
from retrieval.stage import Context, Pipeline
from tests.contract.conftest import WORDS, corpus_of, corpus_rows

TEXTS = ["alpha beta beta gamma", "alpha delta", "beta epsilon", "omega"]


def context(texts: list[str], folder: Path, **parameters) -> Context:
    """One document per chunk; ids in the order given, so row n is chunk n."""
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:04}", "doc_id": f"d{n % 6}", "text": text} for n, text in enumerate(texts)]
    return Context(corpus_of(rows), ArtifactStore(folder), **{"depth": 100, **parameters})


def queries(*texts: str) -> Queries:
    return Queries.of([f"q{n}" for n in range(len(texts))], list(texts))


def expanded(stage: Prf, ctx: Context, asked: Queries, run: Run) -> list[dict[str, float]]:
    """Terms and weights of every expanded query."""
    matrix = stage.expand(ctx, asked, run)
    vocabulary = analysed(ctx).vocabulary
    rows = zip(matrix.indptr, matrix.indptr[1:], strict=False)
    return [
        {vocabulary[t]: float(w) for t, w in zip(matrix.indices[low:high], matrix.data[low:high], strict=True)}
        for low, high in rows
    ]


# Scores 3 and 1 give shares .75 and .25.
#   alpha .75 * 1/4 + .25 * 1/2 = .3125    beta .75 * 2/4 = .375    gamma .75 * 1/4 = .1875    delta .25 * 1/2 = .125
RUN = make_run([0, 0], [0, 1], [3.0, 1.0], 100)


def test_rm3_by_hand(tmp_path):
    ctx, asked = context(TEXTS, tmp_path), queries("alpha")
    all_terms = {"alpha": 0.5 + 0.15625, "beta": 0.1875, "gamma": 0.09375, "delta": 0.0625}
    assert expanded(Prf(), ctx, asked, RUN) == [pytest.approx(all_terms, abs=1e-12)]
    # the two best, beta and alpha, sum to .6875
    two = {"alpha": 0.5 + 0.5 * 0.3125 / 0.6875, "beta": 0.5 * 0.375 / 0.6875}
    assert expanded(Prf(terms=2), ctx, asked, RUN) == [pytest.approx(two, abs=1e-12)]
    # the query alpha alpha omega is (2/3, 1/3); it keeps .2
    mixed = {"alpha": 0.2 * 2 / 3 + 0.8 * 0.3125 / 0.6875, "beta": 0.8 * 0.375 / 0.6875, "omega": 0.2 / 3}
    asked = queries("alpha omega alpha unheard")
    assert expanded(Prf(terms=2, weight=0.2), ctx, asked, RUN) == [pytest.approx(mixed, abs=1e-12)]


def test_only_the_first_docs_count(tmp_path):
    one = {"alpha": 0.625, "beta": 0.25, "gamma": 0.125}  # alpha .5 + .5 * 1/4
    assert expanded(Prf(docs=1), context(TEXTS, tmp_path), queries("alpha"), RUN) == [pytest.approx(one, abs=1e-12)]


def test_the_smaller_term_id_wins_a_tie(tmp_path):
    # in a ranking of chunk 1 alone alpha and delta have 1/2 each
    run = make_run([0], [1], [7.0], 100)
    only = {"omega": 0.5, "alpha": 0.5}
    assert expanded(Prf(terms=1), context(TEXTS, tmp_path), queries("omega"), run) == [pytest.approx(only)]


def test_terms_in_too_many_chunks_are_not_added_but_stay_where_the_query_has_them(tmp_path):
    # alpha and beta are in 2 of 4 chunks, gamma and delta in 1; of what is left gamma has .6 and delta .4
    ctx = context(TEXTS, tmp_path)
    left = {"alpha": 0.5, "gamma": 0.5 * 0.1875 / 0.3125, "delta": 0.5 * 0.125 / 0.3125}
    assert expanded(Prf(max_share=0.25), ctx, queries("alpha"), RUN) == [pytest.approx(left, abs=1e-12)]
    assert len(expanded(Prf(max_share=0.5), ctx, queries("alpha"), RUN)[0]) == 4
    assert expanded(Prf(max_share=0.2), ctx, queries("alpha"), RUN) == [{"alpha": 0.5}]


def test_scores_that_are_no_shares_count_alike_and_a_fact_says_so(tmp_path):
    run = make_run([0, 0, 1, 1], [0, 1, 0, 1], [-1.0, -2.0, 3.0, 1.0], 100)
    # 1/2 each: alpha .125 + .25, beta .25, gamma .125, delta .25
    alike = {"alpha": 0.5 + 0.1875, "beta": 0.125, "gamma": 0.0625, "delta": 0.125}
    asked = queries("alpha", "alpha")
    ctx = context(TEXTS, tmp_path, given={"run": run})
    first, second = expanded(Prf(), ctx, asked, run)
    assert first == pytest.approx(alike, abs=1e-12)
    assert second["beta"] == pytest.approx(0.1875)
    facts = ctx.remembered(Pipeline(Given("run"), (("prf", Prf()),)), asked).facts
    fact = facts["queries whose feedback counts alike"]
    assert (fact.value, fact.of) == (2.0, 2.0)  # `Given` scores by rank: -1, -2


def test_the_ranking_is_the_weighted_sum_of_single_term_rankings(tmp_path):
    ctx, asked = context(TEXTS, tmp_path), queries("alpha")
    expected: dict[int, float] = defaultdict(float)
    for term, weight in expanded(Prf(), ctx, asked, RUN)[0].items():
        alone = Bm25().search(ctx, queries(term))
        for chunk, score in zip(alone.chunk.tolist(), alone.score.tolist(), strict=True):
            expected[chunk] += weight * score
    run = Prf().rerank(ctx, asked, RUN)
    assert dict(zip(run.chunk.tolist(), run.score.tolist(), strict=True)) == pytest.approx(expected, abs=1e-9)
    assert 2 in run.chunk  # by beta, which the query has not


def corpus_queries() -> tuple[list[str], Queries]:
    random = np.random.default_rng(5)
    texts = [" ".join(random.choice(WORDS, size=random.integers(1, 20)).tolist()) for _ in range(60)]
    return texts, queries(*(" ".join(random.choice(WORDS, size=4).tolist()) for _ in range(25)))


def test_all_weight_on_the_query_reproduces_bm25(tmp_path):
    texts, asked = corpus_queries()
    ctx = context(texts, tmp_path)
    run = Bm25().search(ctx, asked)
    assert Prf(weight=1.0).rerank(ctx, asked, run).fingerprint == run.fingerprint
    assert Prf(weight=0.0).rerank(ctx, asked, run).fingerprint != run.fingerprint


@pytest.mark.parametrize(
    ("docs", "terms", "weight", "max_share"), [(10, 20, 0.5, 1.0), (3, 5, 0.3, 0.3), (40, 2, 0, 1)]
)
def test_against_dictionaries_on_random_rankings(docs, terms, weight, max_share, tmp_path):
    texts, asked = corpus_queries()
    ctx = context(texts, tmp_path)
    random = np.random.default_rng(docs)
    pairs = [(q, c) for q in range(len(asked)) for c in random.permutation(60)[: q * 2]]  # the first has no ranking
    run = make_run(*np.asarray(pairs).T, random.random(len(pairs)) + 0.01, 100)
    spread = Counter(term for text in texts for term in set(tokens(text)))
    found = expanded(Prf(docs=docs, terms=terms, weight=weight, max_share=max_share), ctx, asked, run)
    assert found[0] == {}
    for row in range(1, len(asked)):
        head = [(c, s) for q, c, s in zip(run.query, run.chunk, run.score, strict=True) if q == row][:docs]
        model: dict[str, float] = defaultdict(float)
        for chunk, score in head:
            terms_of = tokens(texts[chunk])
            for term in terms_of:
                model[term] += score / sum(s for _, s in head) / len(terms_of)
        rare = [term for term in model if spread[term] <= max_share * len(texts) + 1e-9]
        best = sorted(rare, key=lambda term: (-round(model[term], 12), term))[:terms]
        words = tokens(asked.query[row])
        expected = Counter({term: (1 - weight) * model[term] / sum(model[t] for t in best) for term in best})
        expected.update({term: weight * n / len(words) for term, n in Counter(words).items() if weight})
        assert found[row] == pytest.approx(dict(expected), abs=1e-12)


def test_a_query_without_a_ranking_stays_without(tmp_path):
    ctx = context(TEXTS, tmp_path)
    assert len(Prf().rerank(ctx, queries("alpha"), empty_run())) == 0
    run = Prf().rerank(ctx, queries("alpha", "alpha"), make_run([1], [0], [1.0], 9))
    assert set(run.query.tolist()) == {1}


def test_a_filter_and_depth_are_obeyed(tmp_path):
    # d2 is chunk 2, which only beta finds
    ctx = context(TEXTS, tmp_path, where=Where(document=("d2",)))
    assert Prf().rerank(ctx, queries("alpha"), RUN).chunk.tolist() == [2]
    assert len(Prf().rerank(context(TEXTS, tmp_path, depth=2), queries("alpha"), RUN)) == 2


@pytest.mark.parametrize(
    "value",
    [{"docs": 0}, {"terms": 0}, {"weight": 1.1}, {"weight": -0.1}, {"max_share": 2.0}, {"b": 1.5}, {"k1": -1.0}],
)
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        Prf(**value)

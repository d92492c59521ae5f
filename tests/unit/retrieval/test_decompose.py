"""How questions split, and what comes of the parts, with rankings fused by hand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore, fingerprint
from retrieval.build import build_stage
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.decompose import Decompose, split
from retrieval.retrievers.random import Random
from retrieval.schema import Queries, make_run
from retrieval.stage import Context, components
from tests.contract.conftest import corpus_of, corpus_rows

WHOLE = [
    "",
    "  ",
    "BM25",
    "What are sparse and dense vectors?",
    "What is BM25 and how does it work?",  # refers back
    "BM25 weighs terms. It needs no training. How do they compare?",
    "Is BM25 better than TF-IDF, and why?",  # one word
    "How and why does dropout help?",
    "What happens where and when the model fails?",
    "Studies of vectors and which ones were used",  # no question before `and`
    "Which model was trained on MS MARCO and is used for reranking?",
    "Compare results with and without dropout",
    "What is the relationship between loss and accuracy?",
    'What does "state of the art; and how to beat it" mean?',
    "What does “BM25 versus TF-IDF” mean?",
    "What is retrieval (e.g. BM25 versus TF-IDF; ranking) used for?",
    "What is a compare-and-swap of A-vs-B?",
    "What did Smith et al. 2004 find in Fig. 3?",
    "BM25 and TF-IDF are used, respectively",  # one list
    "precision, recall and speed of BM25 and TF-IDF, respectively",  # three and two
]
SPLIT = {
    "What is reciprocal rank fusion and how does BM25 weigh terms?": [
        "What is reciprocal rank fusion",
        "how does BM25 weigh terms?",
    ],
    "Which data were used, and on which tasks was the model tested or can the model fail?": [
        "Which data were used",
        "on which tasks was the model tested",
        "can the model fail?",
    ],
    "What is BM25 (Robertson; Walker) and how do the authors of SPLADE use it?": [
        "What is BM25 (Robertson; Walker)",
        "how do the authors of SPLADE use it?",  # its own words name the subject
    ],
    "We study graphs. Which algorithm finds communities? Why does Louvain depend on order?": [
        "We study graphs.",
        "Which algorithm finds communities?",
        "Why does Louvain depend on order?",
    ],
    "packet routing; network topology": ["packet routing", "network topology"],
    "What is the difference between BM25 and TF-IDF in ranking long documents?": [
        "BM25 in ranking long documents?",
        "TF-IDF in ranking long documents?",
    ],
    "In search, what are the main differences between precision and recall?": [
        "In search, precision?",
        "In search, recall?",
    ],
    'What is the difference between "search and rank" and GPT-3.5?': ['"search and rank"?', "GPT-3.5?"],
    "Compare BM25 and dense retrieval on SciFact.": ["BM25 on SciFact.", "dense retrieval on SciFact."],
    "compare ColBERT with SPLADE": ["ColBERT", "SPLADE"],
    "Compare BM25, TF-IDF, and PPMI on short queries": [
        "BM25 on short queries",
        "TF-IDF on short queries",
        "PPMI on short queries",
    ],
    "Compare the accuracy of BM25 and TF-IDF on SciFact": [
        "the accuracy of BM25 on SciFact",
        "the accuracy of TF-IDF on SciFact",
    ],
    "BM25 versus dense retrieval for long documents": [
        "BM25 for long documents",
        "dense retrieval for long documents",
    ],
    "What are the trade-offs of BM25 vs. TF-IDF?": [
        "What are the trade-offs of BM25?",
        "What are the trade-offs of TF-IDF?",
    ],
    "Diet vs drugs vs surgery": ["Diet", "drugs", "surgery"],
    "How does BERT differ from RoBERTa in pretraining?": ["BERT in pretraining?", "RoBERTa in pretraining?"],
    "How does the speed of HNSW differ from that of IVF under load?": [
        "the speed of HNSW under load?",
        "the speed of IVF under load?",
    ],
    "What are the precision and recall of BM25 and TF-IDF, respectively?": [
        "What are the precision of BM25?",
        "What are the recall of TF-IDF?",
    ],
    "Which F1 do BERT, RoBERTa and GPT-3.5 reach on SQuAD, MNLI and CoLA, respectively?": [
        "Which F1 do BERT reach on SQuAD?",
        "Which F1 do RoBERTa reach on MNLI?",
        "Which F1 do GPT-3.5 reach on CoLA?",
    ],
    "What is a graph? Compare Louvain and Leiden.": ["What is a graph?", "Louvain.", "Leiden."],
    "one; two; three; four; five; six": ["one", "two", "three", "four five six"],
    "one; two; one": ["one", "two"],
}


@pytest.mark.parametrize("question", WHOLE)
def test_a_question_that_does_not_split_stays_as_it_is(question):
    assert split(question) == [question]


@pytest.mark.parametrize("question", SPLIT)
def test_a_question_splits(question):
    assert split(question) == SPLIT[question]
    assert split(question, 1) == [question]
    assert len(split(question, 2)) == 2


@dataclass(frozen=True)
class Told:
    """Rankings by text."""

    VERSION: ClassVar[int] = 1
    rankings: tuple[tuple[str, tuple[int, ...]], ...]

    def search(self, ctx, queries):
        told = dict(self.rankings)
        rows = [(row, chunk) for row, text in enumerate(queries.query) for chunk in told.get(text, ())]
        query, chunk = np.asarray(rows, dtype=int).reshape(-1, 2).T
        return make_run(query, chunk, -np.arange(len(rows)), ctx.depth)


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(corpus_of(corpus_rows()), ArtifactStore(tmp_path), depth=20)


def test_the_rankings_of_question_and_parts_are_fused(ctx):
    rankings = {"alpha; beta": (0, 1), "alpha": (2, 1), "beta": (1,), "gamma": (7, 3, 5)}
    asked = Queries.of(["b", "a", "c"], ["alpha; beta", "gamma", "delta"])
    remembered = ctx.remembered(Decompose(Told(tuple(rankings.items()))), asked)
    run = remembered.run
    # row 0 is gamma as the stage has it; row 1: chunk 1 is second, second and first, 0 and 2 are first once
    assert (run.query.tolist(), run.chunk.tolist()) == ([0, 0, 0, 1, 1, 1], [7, 3, 5, 1, 0, 2])
    expected = [1 / 61, 1 / 62, 1 / 63, 2 / 62 + 1 / 61, 1 / 61, 1 / 61]
    assert run.score.tolist() == pytest.approx(expected, abs=1e-12)
    assert (remembered.facts["questions split"].value, remembered.facts["questions split"].of) == (1, 3)


def test_sub_queries_have_ids_and_clusters_of_their_question():
    asked = Queries.of(["b", "a"], ["one; two", "three"], ["kind", ""], ["dev", "test"], ["paper", ""])
    table, question, part = Decompose().sub_queries(asked)
    assert table.qid == ("a", "b", "b\x1f1", "b\x1f2")
    assert table.query == ("three", "one; two", "one", "two")
    assert (table.kind[1:], table.split[1:], table.cluster) == (("kind",) * 3, ("dev",) * 3, ("a", *["paper"] * 3))
    assert (question.tolist(), part.tolist()) == ([0, 1, 1, 1], [0, 0, 1, 2])


@pytest.mark.parametrize("inner", [Bm25(), Random()])
def test_against_a_loop_over_single_searches(inner, ctx):
    texts = [
        "rank fusion; bootstrap interval of a cluster",
        "reciprocal rank",
        "compare dense and sparse vectors",
        "",
    ]
    asked = Queries.of(["q0", "q1", "q2", "q3"], texts)
    run = Decompose(inner, k=5.0).search(ctx, asked)
    for row, text in enumerate(texts):
        scores: dict[int, float] = defaultdict(float)
        parts = split(text) if len(split(text)) > 1 else []
        for number, part in enumerate([text, *parts]):
            qid = f"q{row}\x1f{number}" if number else f"q{row}"
            one = inner.search(ctx, Queries.of([qid], [part]))
            for chunk, rank in zip(one.chunk.tolist(), one.rank.tolist(), strict=True):
                scores[chunk] += 1 / (5 + rank)
        best = sorted(scores, key=lambda chunk: (-round(scores[chunk], 12), chunk))[:20]
        assert run.chunk[run.query == row].tolist() == best
        if not parts:
            alone = inner.search(ctx, Queries.of([f"q{row}"], [text]))
            assert best == alone.chunk.tolist()


def test_the_inner_stage_is_a_component_and_yaml_may_name_any(ctx):
    bm25 = {"_target_": "retrieval.retrievers.bm25.Bm25", "k1": 0.9}
    stage = build_stage({"_target_": "retrieval.retrievers.decompose.Decompose", "inner": bm25}, "retriever", "first")
    assert stage == Decompose(Bm25(k1=0.9))
    assert fingerprint(stage) != fingerprint(Decompose())
    assert [part for _, part in components(stage)] == [stage, Bm25(k1=0.9)]


@pytest.mark.parametrize("value", [{"parts": 0}, {"k": -1.0}])
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        Decompose(**value)

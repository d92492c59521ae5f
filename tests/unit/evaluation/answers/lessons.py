"""Development questions whose truth is known, for what is fitted on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluation.answers.examples import examples
from evaluation.answers.fit import Sample
from evaluation.judging import Judged
from generation.context import gather
from generation.schema import Passage
from generation.tokens import estimate
from generation.words import Rarity, content_words
from retrieval.schema import Queries
from tests.unit.evaluation.answers.made import judged_of
from tests.unit.evaluation.papers import corpus_of, spans_of

PER_PAPER = 5
KINDS = ("said", "filler", "other")
NAMES = ("alder", "birch", "cedar", "dogwood", "elm")
SAID = "The {name} of stand {paper} was felled by the {name} foresters in a dry summer."
FILLER = "Nothing else was written on this page by anybody about the weather of {name} valley."
OTHER = "Some {name} was planted elsewhere for quite another reason that spring."


def lessons(n_papers: int = 12) -> Judged:
    """Papers of sentences about five trees; of each question two sentences speak, and one of them is judged right.

    Mostly the one that says all that is asked (`SAID`), every sixth time the other (`OTHER`), so that no rule is
    always right. The last question of a paper is about nothing in it.
    """
    papers, places = {}, {}
    for paper in range(n_papers):
        text = ""
        for at, name in enumerate(NAMES):
            for kind, pattern in zip(KINDS, (SAID, FILLER, OTHER), strict=True):
                sentence = pattern.format(name=name, paper=f"R{paper:02d}")
                places[paper, at, kind] = (len(text), len(text) + len(sentence))
                text += sentence + " "
        papers[f"p{paper:02d}.pdf"] = [text]
    queries, rows = [], []
    for paper in range(n_papers):
        for at, name in enumerate(NAMES):
            number = len(queries)
            cannot = at == PER_PAPER - 1
            asked = (
                "Which quasar did astronomers observe?" if cannot else f"Who felled the {name} of stand R{paper:02d}?"
            )
            queries.append((f"d{number:03d}", asked, "unanswerable" if cannot else "", f"p{paper:02d}"))
            right = "other" if number % 6 == 5 else "said"
            grade = {right: 0 if cannot else 3}
            rows += [(number, paper, *places[paper, at, kind], grade.get(kind, 0)) for kind in KINDS]
    qid, text, kinds, cluster = zip(*queries, strict=True)
    return judged_of(corpus_of(papers), spans_of(*rows), Queries.of(qid, text, kinds, None, cluster))


def rarity_of(judged: Judged) -> Rarity:
    """All words of the papers, as rare as each other."""
    assert judged.corpus is not None
    words = {word for text in judged.corpus.chunks["text"].to_pylist() for word in content_words(text)}
    return Rarity(dict.fromkeys(words, 1.0), 3.0)


def sample(judged: Judged, arm: str = "made") -> Sample:
    """Each question's own paper at rank 1 and the next one at rank 2."""
    assert judged.corpus is not None
    chunks = judged.corpus.chunks.to_pylist()
    evidence = []
    for row, question in enumerate(judged.benchmark.queries.query):
        paper = int(judged.benchmark.queries.cluster[row][1:])
        found = [chunks[paper], chunks[(paper + 1) % len(chunks)]]
        passages = [passage(chunk, rank) for rank, chunk in enumerate(found, 1)]
        evidence.append(gather(question, passages, 4000, estimate))
    return Sample(arm, evidence, examples(evidence, judged, rarity_of(judged)))


def passage(chunk: dict[str, object], rank: int) -> Passage:
    """A chunk as the passage of this rank."""
    names = ("chunk_id", "doc_name", "section", "char_start", "text")
    return Passage(**{name: chunk[name] for name in names}, page=1, rank=rank, score=1 / rank, agreement=1 / rank)  # type: ignore[arg-type]


def shuffled(own: Sample, seed: int) -> Sample:
    """The same sample with its rows in another order."""
    order = np.random.default_rng(seed).permutation(len(own.table))
    return replace(own, table=own.table.iloc[order].reset_index(drop=True))

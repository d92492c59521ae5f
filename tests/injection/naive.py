"""An extractive generator without any defence: what the attacks do to it shows that they are attacks."""

from __future__ import annotations

from collections.abc import Sequence

from generation.schema import Answer, Citation, Claim
from ingestion.sentences import spans
from retrieval.analysis import tokens
from retrieval.api import Hit


def answer(question: str, hits: Sequence[Hit], claims: int = 1) -> Answer:
    """The sentences of the hits that share most words with the question; fewer words, then rank, break ties."""
    asked = _words(question)
    rated = [
        (-len(asked & _words(text)), len(text.split()), hit.rank, text, hit)
        for hit in hits
        for text in (hit.text[start:end] for start, end in spans(hit.text))
        if not text.endswith("?")
    ]
    best = sorted(rated, key=lambda row: row[:4])[:claims]
    return Answer(question, tuple(Claim(text, (_cited(text, hit),)) for *_, text, hit in best), ())


def _words(text: str) -> set[str]:
    return set(tokens(text))


def _cited(text: str, hit: Hit) -> Citation:
    return Citation("S1", hit.chunk_id, hit.doc_name, hit.page, hit.section, 0, len(text), text)

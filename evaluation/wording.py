"""How much a question repeats the words of its evidence: one that copies its sentence tests string matching only."""

from __future__ import annotations

from collections.abc import Iterable

from generation import words


def content_words(text: str) -> frozenset[str]:
    """The terms of a text, as every lexical strategy analyses them, without function words."""
    return frozenset(words.content_words(text))


def shared_words(question: str, evidence: Iterable[str]) -> float:
    """Share of the question's content words that its evidence holds; NaN for a question without a content word."""
    asked = content_words(question)
    told: frozenset[str] = frozenset().union(*map(content_words, evidence))
    return len(asked & told) / len(asked) if asked else float("nan")

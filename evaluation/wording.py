"""How much a question repeats the words of its evidence: one that copies its sentence tests string matching only."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from retrieval.analysis import tokens

# Auxiliaries that scikit-learn's list lacks.
AUXILIARIES = ("does", "did", "doing", "doesn't", "don't")


@cache
def _function_terms() -> frozenset[str]:
    """What English stop words are analysed as: question words, pronouns, auxiliaries."""
    return frozenset(term for word in (*ENGLISH_STOP_WORDS, *AUXILIARIES) for term in tokens(word))


def content_words(text: str) -> frozenset[str]:
    """The terms of a text, as every lexical strategy analyses them, without function words."""
    return frozenset(tokens(text)) - _function_terms()


def shared_words(question: str, evidence: Iterable[str]) -> float:
    """Share of the question's content words that its evidence holds; NaN for a question without a content word."""
    asked = content_words(question)
    told: frozenset[str] = frozenset().union(*map(content_words, evidence))
    return len(asked & told) / len(asked) if asked else float("nan")

"""Words that carry content, and how rare they are in the corpus that is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from retrieval.analysis import Analysed, analysed, tokens
from retrieval.stage import Context

# Auxiliaries that scikit-learn's list lacks.
AUXILIARIES = ("does", "did", "doing", "doesn't", "don't")


@cache
def function_terms() -> frozenset[str]:
    """What English stop words are analysed as: question words, pronouns, auxiliaries."""
    return frozenset(term for word in (*ENGLISH_STOP_WORDS, *AUXILIARIES) for term in tokens(word))


@lru_cache(maxsize=200_000)
def content_words(text: str) -> tuple[str, ...]:
    """The terms of a text as every lexical strategy analyses them, each once and in order, without function words."""
    return tuple(term for term in dict.fromkeys(tokens(text)) if term not in function_terms())


@dataclass(frozen=True)
class Rarity:
    """Inverse document frequencies of a corpus: ln(1 + (N - n + .5) / (n + .5)) for a term in n of N chunks.

    Robertson and Zaragoza 2009, with the 1 + of Lucene. A term that the corpus lacks has n = 0.
    """

    weights: Mapping[str, float]
    unknown: float

    @staticmethod
    def of(ctx: Context) -> Rarity:
        """Of the corpus of a context; the analysed corpus is an artifact that lexical strategies share."""
        return Rarity.from_counts(analysed(ctx), len(ctx.corpus))

    @staticmethod
    def from_counts(counted: Analysed, n_chunks: int) -> Rarity:
        """Of analysed chunks."""
        frequency = counted.frequency.astype(np.float64)
        weights = np.log1p((n_chunks - frequency + 0.5) / (frequency + 0.5))
        return Rarity(
            dict(zip(counted.vocabulary, weights.tolist(), strict=True)), float(np.log1p((n_chunks + 0.5) / 0.5))
        )

    def __getitem__(self, term: str) -> float:
        return self.weights.get(term, self.unknown)

    def __contains__(self, term: object) -> bool:
        return term in self.weights

    def share(self, asked: tuple[str, ...], held: frozenset[str] | set[str]) -> float:
        """Share of the weight of the asked terms that `held` has; 0 where nothing is asked."""
        total = sum(self[term] for term in asked)
        return sum(self[term] for term in asked if term in held) / total if total else 0.0

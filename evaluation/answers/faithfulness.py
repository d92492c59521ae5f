"""Is a claim supported by what it cites? Offline by its words; else a model of entailment or a judge may say.

By words a claim is supported when its quotes hold all of its content words and numbers, and a negation if it has
one. That asks too much of a paraphrase, and too little of a sentence that turns the same words around: a figure to
compare generators by, neither a lower nor an upper bound of what people would find.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from evaluation.answers.correctness import numbers
from evaluation.answers.tables import KEY
from evaluation.errors import EvaluationError
from evaluation.wording import content_words
from retrieval.schema import Floats

Supports = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
NEGATION = re.compile(r"\b(?:no|not|never|none|nor|neither|without|cannot)\b|n['’]t\b", re.IGNORECASE)


def by_words(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Whether quotes (first) hold the content words, numbers and negation of a claim (second): 1 or 0."""
    return [float(_held(quotes, claim)) for quotes, claim in pairs]


def _held(quotes: str, claim: str) -> bool:
    if (NEGATION.search(claim) and not NEGATION.search(quotes)) or numbers(quotes, claim) < 1:
        return False
    return content_words(claim) <= content_words(quotes)


def supported(claims: pd.DataFrame, citations: pd.DataFrame, supports: Supports = by_words) -> Floats:
    """How well each claim is supported by its quotes, float64 [n_claims]; 0 for a claim that cites nothing.

    Args:
        claims: see `Tables`.
        citations: of these claims; the quotes of a claim are read together, in their order in the documents.
        supports: pairs of quotes and claim to values between 0 and 1, NaN where a judge could not tell; `by_words`,
            or a model of entailment or a judge.

    Raises:
        EvaluationError: `supports` returned another number of values, or one out of range.
    """
    key = [*KEY, "claim"]
    quotes = citations.groupby(key)["quote"].agg("\n".join)
    evidence = quotes.reindex(pd.MultiIndex.from_frame(claims[key])).to_numpy(dtype=object)
    cited = np.flatnonzero(pd.notna(evidence))
    texts = claims["text"].to_numpy(dtype=object)
    found = np.asarray(supports([(str(evidence[row]), str(texts[row])) for row in cited]), dtype=np.float64)
    if found.shape != cited.shape or (found < 0).any() or (found > 1).any():
        raise EvaluationError(f"{len(cited)} claims need one value between 0 and 1 each; there are {len(found)}")
    values = np.zeros(len(claims))
    values[cited] = found
    return values

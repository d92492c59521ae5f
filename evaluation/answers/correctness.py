"""Answers against reference answers: token F1 and exact match as SQuAD scores them, and the reference's numbers."""

from __future__ import annotations

import re
import string
from collections import Counter
from decimal import Decimal

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
# A number that is no part of a name: not `RP-TR-03`, `nDCG@5`, `L6` or the 2 of `1.2.3`.
NUMBER = re.compile(
    r"(?<![\w@.])(?<![^\W\d_][-‐‑])(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?(?![\d@]|\.\d)(\s?(?:%|per ?cent\b))?"
)
UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORD = re.compile(
    rf"\b(?:({'|'.join(TENS)})(?:[-\s]({'|'.join(UNITS[1:10])}))?|({'|'.join(UNITS)}))\b", re.IGNORECASE
)


def normalised(text: str) -> str:
    """Lower case without punctuation and articles, single blanks (SQuAD's `normalize_answer`)."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact(answer: str, reference: str) -> float:
    """1 where the two are equal once normalised, else 0."""
    return float(normalised(answer) == normalised(reference))


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall of normalised tokens, counted with repetitions (Rajpurkar et al. 2016).

    Where either has no token, 1 if neither has, else 0.
    """
    given, wanted = normalised(answer).split(), normalised(reference).split()
    if not given or not wanted:
        return float(given == wanted)
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted))


def numbers(answer: str, reference: str) -> float:
    """Share of the reference's distinct numbers that the answer holds; NaN for a reference without a number.

    `1,000` is `1000`, `.50` is `0.5`, and `38 %` is `38` and `0.38`. Signs are not read, since a hyphen may be one or
    not. The reference's number words (up to ninety-nine) count where it has no digits, the answer's always.
    """
    wanted = _digits(reference) or _words(reference)
    if not wanted:
        return float("nan")
    held = frozenset().union(*_digits(answer), *_words(answer))
    return sum(1 for number in wanted if number & held) / len(wanted)


def _digits(text: str) -> set[frozenset[Decimal]]:
    """Every number in digits, as the values that it can be written as."""
    found = set()
    for whole, fraction, percent in NUMBER.findall(text):
        if whole or fraction:
            value = Decimal((whole.replace(",", "") or "0") + fraction)
            found.add(frozenset({value, value / 100} if percent else {value}))
    return found


def _words(text: str) -> set[frozenset[Decimal]]:
    found = set()
    for tens, unit, alone in WORD.findall(text):
        value = 10 * (2 + TENS.index(tens.lower())) if tens else 0
        value += UNITS.index((unit or alone).lower()) if unit or alone else 0
        found.add(frozenset({Decimal(value)}))
    return found

"""Acronyms with their expansions (Schwartz and Hearst, PSB 2003): `partially observable ... process (POMDP)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ingestion.lexicon import FUNCTION

IN_BRACKETS = re.compile(r"\(\s*([A-Z][A-Za-z0-9-]{1,9}?)s?\s*[);,]")
EXPLAINED = re.compile(r"\b([A-Z][A-Z0-9]{1,8})s?\s+\(\s*([a-zA-Z][^()]{3,80}?)\s*\)")
BEFORE = re.compile(r"[\w'’-]+(?:\s+[\w'’-]+)*\s*$")
FARTHEST = 160  # characters in front of the brackets that may hold the expansion


def expansions(texts: Iterable[str]) -> dict[str, str]:
    """The most frequent expansion of every acronym that the texts define, by acronym; ties by spelling."""
    found: dict[str, Counter[str]] = {}
    for text in texts:
        for match in IN_BRACKETS.finditer(text):
            before = BEFORE.search(text[max(0, match.start() - FARTHEST) : match.start()])
            _add(found, match[1], expansion(match[1], before[0].split() if before else []))
        for match in EXPLAINED.finditer(text):
            words = match[2].split()
            long = expansion(match[1], words)
            _add(found, match[1], long if long == " ".join(words) else None)
    return {
        short: min(forms, key=lambda form: (-forms[form], form)) for short, forms in sorted(found.items()) if forms
    }


def expansion(short: str, words: list[str]) -> str | None:
    """The words at the end that an acronym stands for, or None.

    First the words whose initials it is (function words may be passed over, and one word behind them). Else its
    letters are looked for from the right; the first one must begin a word that is no function word. At most
    min(n + 5, 2 n) words for n letters.
    """
    letters = [letter for letter in short.lower() if letter.isalnum()]
    if len(letters) < 2 or sum(letter.isupper() for letter in short) < 2 or short.lower() in FUNCTION:
        return None
    words = words[-min(len(letters) + 5, 2 * len(letters)) :]
    initialled = _by_initials("".join(letters), words) or _by_initials("".join(letters), words[:-1])
    return initialled or _by_letters(short, letters, words)


def _by_initials(short: str, words: list[str]) -> str | None:
    for start in range(len(words) - 1, -1, -1):
        parts = [part.lower() for word in words[start:] for part in word.split("-") if part]
        content = "".join(part[0] for part in parts if part not in FUNCTION)
        if (content == short or "".join(part[0] for part in parts) == short) and words[start].lower() not in FUNCTION:
            return " ".join(words[start:])
    return None


def _by_letters(short: str, letters: list[str], words: list[str]) -> str | None:
    text = " ".join(words)
    at = len(text) - 1
    for number in range(len(letters) - 1, -1, -1):
        while at >= 0 and (
            text[at].lower() != letters[number] or (number == 0 and at > 0 and text[at - 1] not in " -")
        ):
            at -= 1
        if at < 0:
            return None
        at -= 1
    found = text[at + 1 :]
    whole = found.split()
    if short in whole or len(found) <= len(short) or whole[0].lower() in FUNCTION or len(whole) < 2:
        return None
    return found


def _add(found: dict[str, Counter[str]], short: str, long: str | None) -> None:
    if long is not None:
        found.setdefault(short, Counter())[long] += 1

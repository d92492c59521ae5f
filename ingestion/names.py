"""Names as the graph and the judgments compare them: case, plural, possessive and hyphen do not matter."""

from __future__ import annotations

import re
import unicodedata

ACRONYM_PLURAL = re.compile(r"\b([A-Z][A-Z0-9]+)s\b")
POSSESSIVE = re.compile(r"['’][sS]?\b")
HYPHENS = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
HYPHEN = re.compile(rf"(?<=\w)[{HYPHENS}](?=\w)")
WORD = re.compile(r"[^\W_]+(?:[+#]+(?!\w))?")
SIBILANT_E = re.compile(r"(?<=.)(s|x|z|ch|sh)e$")


def clean(text: str) -> str:
    """The text in NFKC without soft hyphens, plural endings of acronyms, and possessives."""
    text = ACRONYM_PLURAL.sub(r"\1", unicodedata.normalize("NFKC", text).replace("\u00ad", ""))
    return POSSESSIVE.sub("", text)


def words(text: str) -> list[str]:
    """The words of a clean text, case-folded and in the singular."""
    return [singular(word) for word in WORD.findall(text.casefold())]


def singular(word: str) -> str:
    """Harman's S stemmer (JASIS 42(1), 1991: How effective is suffixing?), and one form for `index(es)`."""
    if len(word) < 4:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return SIBILANT_E.sub(r"\1", word) if len(word) > 3 else word

"""Text repair: one Unicode form, no control characters, no soft hyphens, words joined across line ends.

PDFium marks a line-end hyphen by U+FFFE; the worker splits there, so no U+FFFE reaches this module, and `clean`
would remove it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

HYPHENS = "-\u2010\u2011\u00ad"
_ACCENTS = {
    "\u00a8": "\u0308",
    "\u00b4": "\u0301",
    "\u02c6": "\u0302",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02da": "\u030a",
    "\u02dc": "\u0303",
    "\u02dd": "\u030b",
    "\u00b8": "\u0327",
}
_ACCENTED = re.compile("(?<!/)([" + "".join(_ACCENTS) + "])([A-Za-z\u0131])")
_STRAY_ACCENT = re.compile("(^| )[\u0300-\u036f]+")
# Removed: controls, soft hyphens, zero-width and direction marks, private use, noncharacters, lone surrogates.
_DROPPED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)
_SPACES = re.compile(r"\s+")
_BULLETS = str.maketrans(
    {"\uf0b7": "•", "\uf0a7": "•", "\u2010": "-", "\u2011": "-", "\u2028": " ", "\u2029": " ", "\t": " "}
)
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_LAST_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*$")
_FIRST_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
WHOLE_WORD = 4  # letters from which both halves of a broken word may count as words of their own


def clean(text: str) -> str:
    """One line in NFKC, with ligatures as letters, accents on their letters, single spaces; may become empty."""
    if not (text.isascii() and text.isprintable()):
        text = _DROPPED.sub("", text.translate(_BULLETS))
        text = unicodedata.normalize("NFKC", _ACCENTED.sub(_accent, text).replace("/\u02dc", "/~"))
        text = _STRAY_ACCENT.sub(r"\1", text)
    return _SPACES.sub(" ", text).strip()


def dropped(text: str) -> int:
    """How many characters of a raw text say nothing: those that `clean` removes, soft hyphens aside, and U+FFFD."""
    if text.isascii() and text.isprintable():
        return 0
    return len(_DROPPED.findall(text)) - text.count("\u00ad") - text.count("\ufffe") + text.count("\ufffd")


def _accent(match: re.Match[str]) -> str:
    mark, letter = match[1], match[2]
    if mark == "\u00b4" and letter == "s":
        return "'s"
    base = {"\u0131": "i"}.get(letter, letter)
    composed = unicodedata.normalize("NFC", base + _ACCENTS[mark])
    if len(composed) == 1:
        return composed
    return ("'" if mark == "\u00b4" else "") + letter


def vocabulary(lines: Iterable[tuple[str, bool]]) -> Counter[str]:
    """How often each word stands in these lines, in lower case; hyphenated words count whole and in parts.

    Args:
        lines: text, and whether a hyphen was broken off its end: the two halves of such a word do not count.
    """
    words: Counter[str] = Counter()
    broken = False
    for text, hyphen in lines:
        found = _WORD.findall(text.lower())
        for word in found[1 if broken else 0 : -1 if hyphen else None]:
            words[word] += 1
            if "-" in word:
                words.update(word.split("-"))
        broken = hyphen
    return words


def join(before: str, after: str, words: Mapping[str, int]) -> str:
    """What stands between two lines of one paragraph of which the first ended in a hyphen (not in `before`).

    Empty where the halves are one word (`re` + `markably`), a hyphen where they are not (`state-of-the` + `art`).
    """
    head, tail = _LAST_WORD.search(before), _FIRST_WORD.match(after)
    if head is None or tail is None:
        return "-" if after[:1].isalnum() or before[-1:].isalnum() else "- "
    left, right = head[0].lower(), tail[0].lower()
    last, first = left.rpartition("-")[2], right.partition("-")[0]
    if not (last.isalpha() and first.isalpha()) or tail[0][0].isupper() != head[0].isupper():
        return "-"
    whole = max(words.get(left + right, 0), words.get(last + first, 0))
    kept = max(words.get(f"{left}-{right}", 0), words.get(f"{last}-{first}", 0))
    if whole or kept:
        return "" if whole >= kept else "-"
    known = words.get(last, 0) > 0 and words.get(first, 0) > 0
    compound = last != left or first != right or min(len(last), len(first)) >= WHOLE_WORD
    return "-" if known and compound else ""


def split_hyphen(text: str) -> tuple[str, bool]:
    """A line without the hyphen that breaks its last word, and whether there was one."""
    if len(text) > 1 and text[-1] in HYPHENS and text[-2].isalpha():
        return text[:-1], True
    return text, False

"""What attackers do to characters so that a filter does not see the words: pure functions from text to text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

_CYRILLIC = str.maketrans("aeopcxyiIABEHKMOPCT", "аеорсхуіІАВЕНКМОРСТ")
_LATIN = str.maketrans("аеорсхуіІАВЕНКМОРСТ", "aeopcxyiIABEHKMOPCT")
_TAGS = 0xE0000
_FRAKTUR = {
    **{chr(97 + row): chr(0x1D41A + row) for row in range(26)},
    **{chr(65 + row): chr(0x1D400 + row) for row in range(26)},
}
_UNSEEN = re.compile("[\u00ad\u034f\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
                     "\ufeff\U000e0100-\U000e01ef]")  # fmt: skip


def _between(mark: str) -> Callable[[str], str]:
    """Puts a mark between the letters of every word."""
    return lambda text: re.sub(r"(?<=\w)(?=\w)", mark, text)


def _letter_spaced(text: str) -> str:
    return "  ".join(" ".join(word) for word in text.split(" "))


DISGUISES: Mapping[str, Callable[[str], str]] = {
    "": lambda text: text,
    "zero_width_space": _between("\u200b"),
    "grapheme_joiner": _between("\u034f"),
    "soft_hyphen": _between("\u00ad"),
    "word_joiner": _between("\u2060"),
    "variation": _between("\ufe0e"),
    "right_to_left": lambda text: "\u200e ".join(f"\u202e{word[::-1]}\u202c" for word in text.split(" ")),
    "cyrillic": lambda text: text.translate(_CYRILLIC),
    "digits": lambda text: text.translate(str.maketrans("aeiost", "431057")),
    "wide": lambda text: "＞" + "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "fraktur": lambda text: "".join(_FRAKTUR.get(char, char) for char in text),
    "letter_spaced": _letter_spaced,
    "accents": lambda text: unicodedata.normalize("NFC", re.sub("([aeiouAEIOU])", "\\1\u0301", text)),
    "hyphens": _between("-"),
}


def plain(text: str) -> str:
    """A text as someone reads it who undoes disguises: no accents, tags or unseen characters, Cyrillic as Latin."""
    tagless = "".join(chr(ord(c) - _TAGS) if _TAGS + 32 <= ord(c) < _TAGS + 127 else c for c in text)
    bare = "".join(c for c in unicodedata.normalize("NFKD", tagless) if not unicodedata.combining(c))
    return _UNSEEN.sub("", bare).translate(_LATIN)


def holds(text: str, canary: str) -> bool:
    """Whether a canary stands in a text, disguised, letter-spaced, in another case or backwards."""
    bare = re.sub(r"\W", "", plain(text)).lower()
    return canary.lower() in bare or canary.lower()[::-1] in bare

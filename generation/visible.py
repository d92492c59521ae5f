"""Text as a generator may see it: nothing hidden in it, and nothing that could be taken for a mark of ours.

All functions here keep the length of a text, so that offsets into the document stay valid.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

# Characters that nobody sees, besides the categories Cc, Cf, Cs, Co and noncharacters: fillers that are letters or
# symbols by category, the grapheme joiner, variation selectors.
_FILLERS = (
    "\u034f\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180d\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)
SOFT_HYPHEN = "\u00ad"  # stays: a renderer shows it at a line's end, and a space would cut the word
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ud800-\uf8ff\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}-{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 15))
    + f"{_FILLERS}]"
)
_UNSEEN = re.compile(f"{_HIDDEN.pattern}|{SOFT_HYPHEN}")
# Letters of other scripts that look like Latin ones; compatibility forms (full width, mathematical) are decomposed.
_LOOK_ALIKE = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХаеорсухіјѕԁԛԝһΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαιν‹›〈〉⟨⟩《》【】〔〕〖〗∣ǀ▁–—―−‐‑",
        "ABESIJKMHOPCTYXaeopcyxijsdqwhABEZHIKMNOPTYXoaiv<><><><>[][][]||_------",
        strict=True,
    )
)
_LETTERS = re.compile(r"[^\W\d_]+")
_OWN_LETTER = re.compile("[\u0370-\u052f]")  # Greek or Cyrillic, looked for where look-alikes are Latin already
_LATIN = re.compile("[A-Za-z]")
_NAMES = (
    "passages?|sources?|documents?|docs?|contexts?|evidence|chunks?|retrieved|results?|system|assistant|user|human"
    "|developer|instructions?|prompt|question|query|answer|claims?|citations?|quotes?|relations|data|tool_call"
    "|function_calls?"
)
_OPENING = re.compile(r"[\[({<`~=#*_>-]")  # every border begins with one of these
_BORDER = re.compile(
    rf"""
      (?<![\[({{<])[\[({{<]++\s*+(?:end\s+of\s+)?(?:source|passage|document|chunk|evidence)\s*\#?\s*S?\d{{1,3}}\b
        [^\[\]]{{0,160}}?[\])}}>]+                                         # [Source 3: a.pdf | Page 2 | § 1]
    | [\[(]\s*(?:end|begin|start)\s+(?:of\s+)?(?:the\s+)?(?:{_NAMES})\b[^\[\]()]{{0,80}}[\])]
    | (?<![-=\#*_~<>])[-=\#*_~<>]{{3,}}+\s*+(?:begin|end|start|stop)?\s*(?:of\s+)?(?:the\s+)?(?:{_NAMES})\b
        (?:\s+S?\d{{1,3}}\b)?(?:\s+[0-9a-f]{{6,64}}\b)?                         # --- end of source S1 0123abcd
    | (?:`{{3,}}|~{{3,}})\s*(?:end\s+of\s+)?(?:{_NAMES})\b
    | <\s*+/?\s*+\|\s*+/?\s*+[\w .-]{{1,40}}\|\s*>                              # <|im_start|>
    | <\s*+/?\s*+(?:{_NAMES}|(?:start|end|begin)_?of_?(?:turn|text))\b[^<>]{{0,80}}>
    | \[\s*+/?\s*+INST\s*\] | <<\s*+/?\s*+SYS\s*>>
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Borders without their first character, which an extractor loses where the font has no glyph for it.
_TORN = re.compile(
    r"\bsource\s+S?\d{1,3}\s*:[^|]{1,80}\|\s*page\s+\d+[^\])]{0,80}[\])]?"
    r"|/\s*(?:passages?|sources?|contexts?|documents?|evidence)\s*>|\|\s*(?:assistant|system|user|im_\w+)\s*\|\s*>",
    re.IGNORECASE,
)
# Ids, turns and lines of the reply protocol: they too are not ours, but what follows may be the document's own.
_ID = re.compile(r"\[\s*[Ss]\d{1,3}\s*\]|\bSource(?:\s+|\s*[:#]\s*)S\d{1,3}\s*(?:[:|]|(?=\())")
_PROTOCOL = re.compile(r"""\{\s*"(?:claims?|citations?|refusal|end|source)"\s*:\s*(?:true|"|\[)""", re.IGNORECASE)
_TURN = re.compile(
    r"(?:^|(?<=[\n>])|(?<=[!?:;\])\"”]\s)|(?<=[^.\s]{4}\.\s))"
    r"(?:S\d{1,3}|system|assistant|developer)\s*:(?!/)|(?<=[(\[{])assistant\s*:",
    re.IGNORECASE,
)
_LABELS = (("[", _ID), ("Source", _ID), ("{", _PROTOCOL), (":", _TURN))  # each with what it cannot do without


def without_hidden(text: str) -> str:
    """The text, of equal length, with a space for every character that nobody sees; soft hyphens stay."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(" ", text)


def visible(text: str) -> str:
    """The text, of equal length, with spaces for hidden characters and for imitations of our own marks.

    Marks are headers of sources, fences, turns of a chat template, tags that close a passage, and lines of the reply
    protocol; letters that only look like Latin ones, and hidden characters between letters, do not protect them.
    """
    while spans := marks(text):  # again, since a mark within a mark leaves one
        text = _blanked(text, spans)
    shown = without_hidden(text)
    return text if shown == text else visible(shown)  # a hidden character that parts two words hides a mark behind it


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], " " * (end - max(start, done))]
        done = max(done, end)
    return "".join([*parts, text[done:]])


def marks(text: str) -> list[tuple[int, int]]:
    """Where a text imitates a mark of ours: ascending (start, end), which may overlap."""
    compact, origin = _compact(text)
    folded = alike(compact)
    found = _borders(folded)
    found += [match.span() for sign, label in _LABELS if sign in folded for match in label.finditer(folded)]
    spans = sorted(set(found))
    return spans if origin is None else [(origin[start], origin[end - 1] + 1) for start, end in spans]


def has_border(text: str) -> bool:
    """Whether a text imitates a mark behind which something else than its passage would stand."""
    return bool(_borders(alike(_compact(text)[0])))


def _borders(text: str) -> list[tuple[int, int]]:
    found = []
    after = 0
    for opening in _OPENING.finditer(text):
        match = _BORDER.match(text, opening.start()) if opening.start() >= after else None
        if match:
            after = match.end()
            found.append(match.span())
    torn = _TORN.finditer(text) if "|" in text or ">" in text else ()
    return found + [match.span() for match in torn]


def hidden(text: str) -> int:
    """How many characters of a text nobody sees; control characters, soft hyphens and joiners of scripts aside."""
    if text.isascii():
        return 0
    return sum(match[0] > "\u0100" and match[0] not in "\u200c\u200d" for match in _HIDDEN.finditer(text))


def plain(text: str) -> str:
    """What a reader makes of a text: without hidden characters and soft hyphens, look-alikes as Latin letters.

    The only function here that changes the length.
    """
    return alike(_compact(text)[0])


def alike(text: str) -> str:
    """The text, of equal length, with letters and marks that only look like ASCII as ASCII.

    A word of another script stays: one that has a letter of its own there and no Latin one.
    """
    if text.isascii():
        return text
    folded = text.translate({ord(char): _ascii_of(char) for char in set(text) if ord(char) > 127})
    for word in _LETTERS.finditer(text) if _OWN_LETTER.search(text) else ():
        if not _LATIN.search(word[0]) and _OWN_LETTER.search(folded, *word.span()):
            folded = folded[: word.start()] + word[0] + folded[word.end() :]
    return folded


def _compact(text: str) -> tuple[str, list[int] | None]:
    """A text without soft hyphens and hidden characters but line ends, and where each came from; None: all stay."""
    if text.isascii() and text.isprintable():
        return text, None
    left_out = {match.start() for match in _UNSEEN.finditer(text) if match[0] not in "\n\r\t"}
    if not left_out:
        return text, None
    origin = [at for at in range(len(text)) if at not in left_out]
    return "".join(text[at] for at in origin), origin


@lru_cache(maxsize=4096)
def _ascii_of(char: str) -> str:
    if char in _LOOK_ALIKE:
        return _LOOK_ALIKE[char]
    decomposed = unicodedata.normalize("NFKC", char)
    return decomposed if len(decomposed) == 1 else char

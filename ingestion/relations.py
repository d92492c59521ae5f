"""Typed relations between two entities of a sentence, read from the words between them."""

from __future__ import annotations

import re

CO_OCCURS = "co_occurs"
WIDEST = 60  # characters between two entities that a typed relation may span

_BE = r"(?:is|are|was|were|be|been|being)"
_ADVERB = r"(?:(?:also|then|often|usually|further|again|both|directly|only|thus|therefore|\w+ly) )*"
_ARTICLE = r"(?:(?:a|an|the|our|their|its|both|all|each|such) )?"
_MODIFIERS = r"(?:[\w-]+ ){0,3}?"
_SORT_OF = r"(?:(?:special |particular )?(?:kind|type|form|variant|case|class) of )?"
_END = rf"{_ARTICLE}{_MODIFIERS}"


def _verb(forms: str) -> str:
    return rf"^,? ?(?:(?:which|that|and) )?{_ADVERB}(?:can |may |will )?(?:{forms}) {_END}$"


# Type, pattern of what stands between the first and the second entity, and whether the second one is the head.
PATTERNS: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple(
    (kind, re.compile(pattern), turned)
    for kind, pattern, turned in (
        (
            "part_of",
            rf"^ {_BE} (?:a |an )?(?:part|component|element|step|stage|module|layer) (?:of|in) {_END}$",
            False,
        ),
        (
            "is_a",
            rf"^,? ?{_ADVERB}{_BE} (?:a|an|one) {_SORT_OF}{_END}$",
            False,
        ),
        ("is_a", rf"^,? (?:a|an) (?:(?:kind|type|form|variant|special case) of ){_END}$", False),
        ("is_a", rf"^,? ?(?:such as|including|like|e g|especially) {_END}$", True),
        ("is_a", rf"^,? (?:and|or) other {_MODIFIERS}$", False),
        ("part_of", _verb("consists? of|contains?|comprises?|includes?|is made of|is composed of"), True),
        (
            "uses",
            _verb("uses?|using|used|employs?|employing|applies|applying|requires?|relies on|relying on|adopts?"),
            False,
        ),
        (
            "uses",
            rf"^,? ?(?:{_BE} )?(?:based on|built on|computed with|trained with|by means of|via) {_END}$",
            False,
        ),
        ("uses", rf"^ {_BE} {_ADVERB}(?:used|applied|employed) (?:for|in|by|to \w+) {_END}$", True),
        (
            "extends",
            _verb("extends?|generali[sz]es?|builds on|is an extension of|is a generali[sz]ation of|modifies"),
            False,
        ),
        ("outperforms", _verb("outperforms?|beats?|surpass(?:es)?|improves? (?:on|over|upon)|exceeds?"), False),
        ("outperforms", rf"^ {_BE} {_ADVERB}(?:better|more accurate|faster|stronger) than {_END}$", False),
        (
            "evaluated_on",
            rf"^ (?:{_BE} )?{_ADVERB}(?:evaluated|tested|trained|measured|assessed|fine tuned) (?:on|over) {_END}$",
            False,
        ),
        ("proposes", _verb("proposes?|introduces?|presents?"), False),
        ("defines", _verb("defines?|denotes?|stands for|means|measures?|quantifies"), False),
        (
            "compared_with",
            rf"^,? ?(?:versus|vs|compared (?:to|with)|in contrast to|unlike|rather than) {_END}$",
            False,
        ),
        ("reduces", _verb("reduces?|decreases?|lowers?|mitigates?|prevents?|avoids?|removes?|eliminates?"), False),
        ("increases", _verb("increases?|improves?|raises?|boosts?|enhances?|strengthens?"), False),
        ("causes", _verb("causes?|leads? to|results? in|produces?|induces?|yields?|gives rise to"), False),
    )
)
TYPES = (*dict.fromkeys(kind for kind, _, _ in PATTERNS), CO_OCCURS)
_MARKS = re.compile(r"[^\w,;:.()-]+")


def relation(between: str) -> tuple[str, bool] | None:
    """The relation that the text between two entities of a sentence states, and whether the second is its head.

    None where it states none that is known; brackets, semicolons and colons end what one entity says of another.
    """
    if not between.strip() or len(between) > WIDEST or any(mark in between for mark in ";:()"):
        return None
    text = _MARKS.sub(" ", between.lower())
    return next(((kind, turned) for kind, pattern, turned in PATTERNS if pattern.match(text)), None)

"""Takes keys out of text: those of the environment in every form they are written in, and what is shaped like one."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from generation.router.key_shapes import shaped

SHORTEST = 8  # a shorter value may be any word: `test`, `none`, `ollama`
PART = 12  # so much of a key's beginning or end is taken out as well
WHOLE_LINE = 16  # a shorter line of a key that has several may stand anywhere


class Span(NamedTuple):
    """Where a secret stands, whose, and whether all of a known one stands there."""

    start: int
    end: int
    name: str
    whole: bool = False

    @property
    def weight(self) -> tuple[bool, int]:
        """Of spans that overlap, the heaviest gives the name."""
        return self.whole, self.end - self.start


class Redactor:
    """Replaces secrets by `[redacted:<name>]`: the variable's name, or the kind of key.

    Known values go in every form of `forms`, and what is left of one that was cut: its first or last 12 characters or
    more. Values of fewer than 8 characters are no secrets to it.
    """

    __slots__ = ("_forms",)

    def __init__(self, values: Mapping[str, str]) -> None:
        pairs = [(form, name.partition("#")[0]) for name, value in values.items() for form in forms(value)]
        self._forms = tuple(sorted(dict(reversed(pairs)).items()))

    def __repr__(self) -> str:
        return f"Redactor({len({name for _, name in self._forms})} known values)"

    def redact(self, text: str) -> str:
        """The text without its secrets; a text without any is returned as it is."""
        spans = merged([*self._known(text), *(Span(*found) for found in shaped(text))])
        cuts = [0, *(at for span in spans for at in (span.start, span.end)), len(text)]
        kept = [text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]
        marks = [*(f"[redacted:{span.name}]" for span in spans), ""]
        return "".join(part for pair in zip(kept, marks, strict=True) for part in pair)

    def joined(self, other: Redactor) -> Redactor:
        """One that knows the values of both."""
        both = Redactor({})
        both._forms = tuple(sorted({*self._forms, *other._forms}))
        return both

    def _known(self, text: str) -> Iterator[Span]:
        for form, name in self._forms:
            for start, end in _places(text, form):
                yield Span(start, end, name, end - start == len(form))


def redact(text: str, known: Mapping[str, str] | None = None) -> str:
    """The text without what is shaped like a key, and without these values by name."""
    return Redactor(known or {}).redact(text)


def forms(value: str) -> list[str]:
    """How a secret may be written: as it is, JSON, `repr`, URL- and HTML-escaped, and in base64 at any offset.

    Of a value of several lines each line counts by itself, but for the frame of a PEM block.
    """
    value = value.strip()
    lines = re.split(r"[\r\n]+", value)
    if len(lines) == 1:
        plain = _escaped(value)
    else:
        bodies = [line.strip() for line in lines if not line.startswith("-----")]
        plain = [form for line in bodies if len(line) >= WHOLE_LINE for form in _escaped(line)]
    return [form for form in dict.fromkeys([*plain, *_in_base64(value.encode())]) if len(form) >= SHORTEST]


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, with those that overlap as one, under the name of a known value, else of the longest."""
    result: list[Span] = []
    heaviest = (False, 0)
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.name)):
        if result and span.start < result[-1].end:
            before = result[-1]
            name = span.name if span.weight > heaviest else before.name
            result[-1] = Span(before.start, max(before.end, span.end), name)
            heaviest = max(heaviest, span.weight)
        else:
            result.append(span)
            heaviest = span.weight
    return result


def _places(text: str, form: str) -> Iterator[tuple[int, int]]:
    """Where a form stands in a text, whole or cut off on one side."""
    head, tail = form[:PART], form[-PART:]
    start = text.find(head)
    while start >= 0:
        end = start + _shared(form, text[start : start + len(form)])
        yield start, end
        start = text.find(head, end)
    if len(form) < 2 * PART:
        return
    found = text.find(tail)
    while found >= 0:
        end = found + len(tail)
        before = text[max(0, end - len(form)) : end]
        yield end - _shared(form[::-1], before[::-1]), end
        found = text.find(tail, end)


def _shared(one: str, other: str) -> int:
    """With how many equal characters both begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _escaped(value: str) -> list[str]:
    quoted = [quote(value, safe=""), quote(value), quote_plus(value)]
    lower = [re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text) for text in quoted]
    in_json = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]]
    shown = [repr(value)[1:-1], repr(value.encode())[2:-1]]
    twice = [*(json.dumps(text)[1:-1] for text in in_json), *(repr(text)[1:-1] for text in shown)]
    return [value, *quoted, *lower, *in_json, *shown, *twice, value.replace("/", "\\/"), html.escape(value)]


def _in_base64(value: bytes) -> Iterator[str]:
    """The characters that a value's base64 has wherever it stands in what was encoded: 3 offsets, 2 alphabets."""
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + value).decode().rstrip("=")
        text = text[(0, 2, 3)[offset] :]
        if (offset + len(value)) % 3:
            text = text[:-1]  # this one holds bits of what follows
        yield text
        yield text.translate(str.maketrans("+/", "-_"))

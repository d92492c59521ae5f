"""JSON objects out of a text that arrives in pieces, from a writer who does not always keep to JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

MOST_LINES = 40  # lines over which one object may be spread
LONGEST = 20_000  # characters of one object
_FENCE = re.compile(r"\s*(?:```|~~~)\s*\w*\s*")
_GAP = re.compile(r"[\s,\[\]]*")  # what may stand between objects, also those of one array
_DECODER = json.JSONDecoder(strict=False)

Item = dict[str, Any]


@dataclass
class JsonLines:
    """Reads objects line by line: several on a line, one over several lines, within Markdown fences or an array.

    `keys`: an object with one of them starts anew, whatever was open before. `unreadable` counts other lines so far.
    """

    keys: Collection[str]
    unreadable: int = 0
    _parts: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def feed(self, text: str) -> list[Item]:
        """Take a piece of text; the objects of the lines that are complete now."""
        self._parts.append(text)
        if "\n" not in text:
            return []
        *lines, rest = "".join(self._parts).split("\n")
        self._parts = [rest]
        return [item for line in lines for item in self._read(line)]

    def finish(self) -> list[Item]:
        """The objects of the last line; what was begun and not completed is unreadable."""
        last, self._parts = "".join(self._parts), []
        found = self._read(last)
        self._give_up()
        return found

    def _read(self, line: str) -> list[Item]:
        if not line.strip() or _FENCE.fullmatch(line):
            return []
        fresh, rest = _decoded(line)
        if self._open and (rest or not any(key in item for item in fresh for key in self.keys)):
            fresh, rest = _decoded("\n".join([*self._open, line]))
            self._open = []
        self._give_up()
        return fresh + self._beyond(rest)

    def _beyond(self, rest: str) -> list[Item]:
        """What follows the first place of a line that is no object: objects behind other text, or an open one."""
        found: list[Item] = []
        while rest and not rest.startswith("{"):
            self.unreadable += 1
            begin = rest.find("{")
            more, rest = _decoded(rest[begin:]) if begin >= 0 else ([], "")
            found += more
        if rest:
            self._open = rest.split("\n")
            if len(self._open) > MOST_LINES or len(rest) > LONGEST:
                self._give_up()
        return found

    def _give_up(self) -> None:
        """Count the lines of what was begun and never completed."""
        self.unreadable += sum(bool(line.strip()) for line in self._open)
        self._open = []


def _decoded(text: str) -> tuple[list[Item], str]:
    """The objects at the beginning of a text, and the text from the first place on that is none."""
    found: list[Item] = []
    at = 0
    while True:
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        if not text.startswith("{", at):
            return found, text[at:]
        try:
            item, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found, text[at:]
        found.append(item)

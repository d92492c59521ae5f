"""What extraction hands to chunking: one document's repaired text, its pages, blocks and sections.

Light on purpose (no Arrow, no numpy): worker processes import it. All offsets count characters of the document's
text, which is its page texts joined by `PAGE_BREAK`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

KINDS = ("body", "abstract", "caption", "table", "references")
PAGE_BREAK = "\n"
BLOCK_BREAK = "\n"


@dataclass(frozen=True, slots=True)
class PageText:
    """A page: repaired text, quality in [0, 1], and the lines that were taken out (headers, footers, stamps)."""

    text: str
    quality: float
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its heading as printed, depth from 1, and where its heading starts."""

    title: str
    level: int
    char_start: int


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, caption or table: a span without line breaks.

    `section` is an index into the document's sections, -1 before the first one. `continues`: the paragraph began in
    the block before, on the page before.
    """

    char_start: int
    char_end: int
    kind: str
    section: int = -1
    heading: bool = False
    continues: bool = False


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A chunk as chunkers give it: a span of the document's text, the heading over it, and its kind."""

    char_start: int
    char_end: int
    section: str
    kind: str


@dataclass(frozen=True)
class ExtractedDocument:
    """A document after extraction, repair and layout. `note` says what could not be read, or is empty."""

    title: str
    pages: tuple[PageText, ...]
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]
    note: str = ""

    @cached_property
    def text(self) -> str:
        """The whole text: page texts joined by `PAGE_BREAK`."""
        return PAGE_BREAK.join(page.text for page in self.pages)

    @cached_property
    def page_starts(self) -> tuple[int, ...]:
        """Where each page starts in the text."""
        starts, position = [], 0
        for page in self.pages:
            starts.append(position)
            position += len(page.text) + len(PAGE_BREAK)
        return tuple(starts)

    @property
    def quality(self) -> float:
        """The pages' quality, weighted by their characters; 0 without text."""
        total = sum(len(page.text) for page in self.pages)
        return round(sum(page.quality * len(page.text) for page in self.pages) / total, 4) if total else 0.0

    def section_title(self, block: Block) -> str:
        """The heading over a block; empty before the first one."""
        return self.sections[block.section].title if block.section >= 0 else ""

    def to_json(self) -> bytes:
        """The document as compact JSON; `from_json` gives it back."""
        content = {
            "title": self.title,
            "note": self.note,
            "pages": [[page.text, page.quality, page.removed] for page in self.pages],
            "sections": [[s.title, s.level, s.char_start] for s in self.sections],
            "blocks": [
                [b.char_start, b.char_end, b.kind, b.section, int(b.heading), int(b.continues)] for b in self.blocks
            ],
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()

    @staticmethod
    def from_json(data: bytes) -> ExtractedDocument:
        """Read what `to_json` wrote."""
        content = json.loads(data)
        return ExtractedDocument(
            content["title"],
            tuple(PageText(text, quality, tuple(removed)) for text, quality, removed in content["pages"]),
            tuple(Block(s, e, kind, sec, bool(h), bool(c)) for s, e, kind, sec, h, c in content["blocks"]),
            tuple(Section(*section) for section in content["sections"]),
            content["note"],
        )


class Chunker(Protocol):
    """Cuts a document into chunks. A frozen dataclass of parameters with a class variable `VERSION`."""

    def chunk(self, document: ExtractedDocument) -> Sequence[ChunkSpan]:
        """The chunks, by position; every chunk is not empty and lies inside the text."""
        ...

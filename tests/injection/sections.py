"""Chunks whose borders an attack cannot move: from heading to heading of a page, whatever their length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ingestion.document import Block, ChunkSpan, ExtractedDocument


@dataclass(frozen=True)
class SectionChunker:
    """One chunk for each heading of a page, with all below it; what stands above a page's first heading goes with it.

    A paragraph more at the top of a page or in a section so makes a chunk longer, and makes no chunk more.
    """

    VERSION: ClassVar[int] = 1

    def chunk(self, document: ExtractedDocument) -> list[ChunkSpan]:
        """The chunks by position."""
        groups: list[list[Block]] = []
        last_page = 0
        for block in document.blocks:
            page = sum(start <= block.char_start for start in document.page_starts)
            if page != last_page or (block.heading and any(above.heading for above in groups[-1])):
                groups.append([])
            groups[-1].append(block)
            last_page = page
        return [
            ChunkSpan(group[0].char_start, group[-1].char_end, document.section_title(group[-1]), "body")
            for group in groups
        ]

"""One chunk a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ingestion.document import Block, ChunkSpan, ExtractedDocument


@dataclass(frozen=True)
class PageChunker:
    """The whole text of a page, headings included, under the section at its top.

    Without `references` a reference list is cut off as a chunk of its own kind, so that indexes can leave it out: a
    page on which it begins or ends then has two chunks or three.
    """

    references: bool = False
    VERSION: ClassVar[int] = 1

    def chunk(self, document: ExtractedDocument) -> list[ChunkSpan]:
        """The chunks by position; pages without text have none."""
        ends = [start + len(page.text) for start, page in zip(document.page_starts, document.pages, strict=True)]
        groups: list[list[Block]] = []
        page, last_page = 0, -1
        for block in document.blocks:
            while block.char_start >= ends[page] and page + 1 < len(ends):
                page += 1
            if page != last_page or self._split(groups[-1][-1], block):
                groups.append([])
            groups[-1].append(block)
            last_page = page
        return [self._chunk(document, group) for group in groups]

    def _split(self, last: Block, block: Block) -> bool:
        return not self.references and (last.kind == "references") != (block.kind == "references")

    def _chunk(self, document: ExtractedDocument, blocks: list[Block]) -> ChunkSpan:
        kind = "references" if not self.references and blocks[0].kind == "references" else "body"
        return ChunkSpan(blocks[0].char_start, blocks[-1].char_end, document.section_title(blocks[0]), kind)

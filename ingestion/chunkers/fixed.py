"""Chunks of a fixed number of words, with overlap, whatever the structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ingestion.chunkers import word_spans
from ingestion.document import Block, ChunkSpan, ExtractedDocument


@dataclass(frozen=True)
class FixedChunker:
    """`words` words per chunk, `overlap` of them repeated from the chunk before; only reference lists are apart."""

    words: int = 200
    overlap: int = 40
    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.words:
            raise ValueError("chunker.overlap must be at least 0 and less than chunker.words")

    def chunk(self, document: ExtractedDocument) -> list[ChunkSpan]:
        """The chunks by position, under the section in which each begins."""
        chunks = []
        for blocks in _runs(document):
            row = 0
            kind = "references" if blocks[0].kind == "references" else "body"
            for start, end in self._windows(document.text, blocks[0].char_start, blocks[-1].char_end):
                while row + 1 < len(blocks) and blocks[row + 1].char_start <= start:
                    row += 1
                chunks.append(ChunkSpan(start, end, document.section_title(blocks[row]), kind))
        return chunks

    def _windows(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        found = word_spans(text, start, end)
        for first in range(0, max(1, len(found) - self.overlap), self.words - self.overlap):
            window = found[first : first + self.words]
            yield window[0][0], window[-1][1]


def _runs(document: ExtractedDocument) -> Iterator[list[Block]]:
    run: list[Block] = []
    for block in document.blocks:
        if run and (run[-1].kind == "references") != (block.kind == "references"):
            yield run
            run = []
        run.append(block)
    if run:
        yield run

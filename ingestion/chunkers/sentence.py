"""Chunks of whole sentences, with overlap, never across sections: the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ingestion.chunkers import word_spans
from ingestion.document import Block, ChunkSpan, ExtractedDocument
from ingestion.sentences import document_sentences

Span = tuple[int, int]


@dataclass(frozen=True)
class SentenceChunker:
    """Whole sentences up to `max_words`; each chunk repeats the last `overlap_sentences` of the one before.

    A chunk holds one section and one kind: a caption or table in the middle of a section splits it, and a table goes
    with its caption. A heading belongs to its section's first chunk; one heading right under another goes with it. A
    sentence longer than `max_words` is split between words.
    """

    max_words: int = 200
    overlap_sentences: int = 1
    VERSION: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.max_words < 1 or self.overlap_sentences < 0:
            raise ValueError("chunker.max_words must be at least 1, chunker.overlap_sentences at least 0")

    def chunk(self, document: ExtractedDocument) -> list[ChunkSpan]:
        """The chunks by position. Together they cover every block."""
        chunks = []
        for blocks, sentences in _groups(document):
            title = document.section_title(blocks[-1])
            kind = "table" if any(block.kind == "table" for block in blocks) else blocks[-1].kind
            pieces = [piece for span in sentences for piece in self._pieces(document.text, span)]
            chunks += [ChunkSpan(start, end, title, kind) for start, end in self._packed(pieces)]
        return chunks

    def _pieces(self, text: str, span: Span) -> list[tuple[Span, int]]:
        """A sentence with its number of words; an over-long one in parts."""
        words = word_spans(text, *span)
        parts = [words[row : row + self.max_words] for row in range(0, len(words), self.max_words)]
        return [((part[0][0], part[-1][1]), len(part)) for part in parts]

    def _packed(self, pieces: Sequence[tuple[Span, int]]) -> Iterator[Span]:
        first = count = 0
        for row, (_, words) in enumerate(pieces):
            if row > first and count + words > self.max_words:
                yield pieces[first][0][0], pieces[row - 1][0][1]
                first = self._overlap(pieces, first, row)
                count = sum(size for _, size in pieces[first:row])
            count += words
        if pieces:
            yield pieces[first][0][0], pieces[-1][0][1]

    def _overlap(self, pieces: Sequence[tuple[Span, int]], first: int, row: int) -> int:
        """Where the chunk that must hold sentence `row` starts: with the overlap that still fits."""
        start = max(first + 1, row - self.overlap_sentences)
        while start < row and sum(size for _, size in pieces[start : row + 1]) > self.max_words:
            start += 1
        return start


def _groups(document: ExtractedDocument) -> Iterator[tuple[list[Block], list[Span]]]:
    """Runs of blocks that may share chunks, with their sentences; a heading opens a run."""
    blocks: list[Block] = []
    spans: list[Span] = []
    for block, found in zip(document.blocks, document_sentences(document), strict=True):
        if blocks and not (_belongs(blocks[-1], block) or _captioned(blocks, block)):
            yield blocks, spans
            blocks, spans = [], []
        blocks.append(block)
        spans.extend(found)
    if blocks:
        yield blocks, spans


def _belongs(last: Block, block: Block) -> bool:
    if block.heading:
        return last.heading and last.kind == block.kind
    return last.kind == block.kind and (last.heading or last.section == block.section)


def _captioned(blocks: list[Block], block: Block) -> bool:
    """Whether a block is the caption of a table before it, or (more of) the table under a caption."""
    kinds = {above.kind for above in blocks}
    if not kinds <= {"caption", "table"} or blocks[-1].section != block.section:
        return False
    under = blocks[0].kind == "caption" and block.kind == "table"
    return under or (block.kind == "caption" and kinds == {"table"})

"""From raw pages to an `ExtractedDocument`: repair, layout and structure in order, and the offsets of the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ingestion import layout, repair, sections
from ingestion.document import BLOCK_BREAK, PAGE_BREAK, Block, ExtractedDocument, PageText, Section
from ingestion.layout import PageLines, Paragraph
from ingestion.lines import Line, RawPage, bold_by_name, merged, upright
from ingestion.quality import page_quality

VERSION = 3  # of the text and structure that this package makes from a file: raise it when they change


def assemble(pages: Sequence[RawPage]) -> ExtractedDocument:
    """Repaired text, blocks and sections of a document. Pure: the same pages always give the same document."""
    bold_by_name(pages)
    ready, across = [], []
    for page in pages:
        straight, others = upright(page)
        ready.append(replace(straight, lines=_cleaned(merged(straight.lines))))
        across.append(_cleaned(others))
    kept = layout.without_running(ready, across)
    style = layout.typography(kept)
    marks = sections.heading_lines(kept, style)
    title, title_rows = sections.title_of(kept[0], style) if kept else ("", [])
    for row in title_rows:
        marks[0][row] = False
    grouped = [layout.paragraphs(page.lines, marked, style) for page, marked in zip(kept, marks, strict=True)]
    words = repair.vocabulary((line.text, line.hyphen) for page in kept for line in page.lines)
    for page_paragraphs in grouped:
        for paragraph in page_paragraphs:
            paragraph.text = paragraph_text(paragraph.lines, words)
    found = sections.classify(grouped, style)
    grouped = [reflowed(page_paragraphs) for page_paragraphs in grouped]
    _join_pages(grouped, words)
    return _document(title, pages, kept, grouped, found, words)


def _cleaned(lines: Sequence[Line]) -> list[Line]:
    result = []
    for line in lines:
        line.text = repair.clean(line.text)
        if not line.hyphen:
            line.text, line.hyphen = repair.split_hyphen(line.text)
        if line.text:
            result.append(line)
    return result


def paragraph_text(lines: Sequence[Line], words: Counter[str]) -> str:
    """The lines as one text: a space between lines, words joined where a hyphen broke them."""
    parts = [lines[0].text]
    for above, line in pairwise(lines):
        parts.append(repair.join(above.text, line.text, words) if above.hyphen else " ")
        parts.append(line.text)
    if lines[-1].hyphen:
        parts.append("-")
    return "".join(parts)


def reflowed(paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """A page's paragraphs with floats and footnotes moved behind the paragraph that they interrupt."""
    result: list[Paragraph] = []
    aside: list[Paragraph] = []
    for paragraph in paragraphs:
        broken = bool(result) and (_open(result[-1]) or bool(aside))
        if broken and (_floats(paragraph) or (_footnote(paragraph) and not result[-1].heading)):
            aside.append(paragraph)
            continue
        if aside and not _resumes(result[-1], paragraph):
            result += aside
            aside = []
        result.append(paragraph)
        if aside and not _open(paragraph):
            result += aside
            aside = []
    return result + aside


def _floats(paragraph: Paragraph) -> bool:
    return paragraph.kind in ("caption", "table")


def _footnote(paragraph: Paragraph) -> bool:
    return paragraph.small and paragraph.kind == "body" and not paragraph.heading


def _open(paragraph: Paragraph) -> bool:
    return not _floats(paragraph) and (paragraph.heading or layout.unfinished(paragraph.text))


def _resumes(above: Paragraph, paragraph: Paragraph) -> bool:
    if above.heading:
        return not paragraph.heading
    return not paragraph.heading and paragraph.kind == above.kind and _same_size(above, paragraph)


def _same_size(above: Paragraph, below: Paragraph) -> bool:
    return abs(above.size - below.size) < 0.5


def _join_pages(pages: Sequence[list[Paragraph]], words: Counter[str]) -> None:
    """Mark paragraphs that go on from the page before; the end of a broken word moves to where it began.

    What stands between goes aside: floats and footnotes, also between a heading at the foot of a page and its text.
    """
    for before, after in pairwise(pages):
        texts = [row for row, paragraph in enumerate(after) if not _floats(paragraph)]
        main = [paragraph for paragraph in before if not (_floats(paragraph) or _footnote(paragraph))]
        last = main[-1] if main else None
        if last is None or not texts:
            continue
        first = after[texts[0]]
        going_on = _same_size(last, first) and layout.unfinished(last.text) and not last.heading
        if first.heading or first.kind != last.kind or not (going_on or last.heading):
            continue
        _put_last(before, before.index(last))
        after.remove(first)
        after.insert(0, first)
        if going_on:
            first.continues = True
            _mend(last, first, words)


def _put_last(paragraphs: list[Paragraph], row: int) -> None:
    """Move what stands behind a paragraph in front of it and of the headings right above it."""
    start = row
    while start > 0 and paragraphs[start - 1].heading:
        start -= 1
    paragraphs[start:] = paragraphs[row + 1 :] + paragraphs[start : row + 1]


def _mend(last: Paragraph, first: Paragraph, words: Counter[str]) -> None:
    head, space, rest = first.text.partition(" ")
    if last.lines[-1].hyphen and space:
        stem = last.text[:-1]
        last.text = stem + repair.join(stem, head, words) + head
        first.text = rest


def _document(
    title: str,
    raw: Sequence[RawPage],
    kept: Sequence[PageLines],
    grouped: Sequence[Sequence[Paragraph]],
    found: Sequence[Section],
    words: Counter[str],
) -> ExtractedDocument:
    pages, blocks = [], []
    starts: dict[int, int] = {}
    position = 0
    for page, source, paragraphs in zip(raw, kept, grouped, strict=True):
        start = position
        for paragraph in paragraphs:
            end = position + len(paragraph.text)
            if paragraph.heading:
                starts[paragraph.section] = position
            blocks.append(
                Block(position, end, paragraph.kind, paragraph.section, paragraph.heading, paragraph.continues)
            )
            position = end + len(BLOCK_BREAK)
        text = BLOCK_BREAK.join(paragraph.text for paragraph in paragraphs)
        quality = page_quality(text, page.unknown, source.lines, words)
        pages.append(PageText(text, quality, tuple(source.removed)))
        position = start + len(text) + len(PAGE_BREAK)
    placed = tuple(replace(section, char_start=starts[row]) for row, section in enumerate(found))
    lost = [str(number) for number, page in enumerate(raw, start=1) if not page.readable]
    note = f"page {', '.join(lost[:10])}{' and more' if len(lost) > 10 else ''} cannot be loaded" if lost else ""
    return ExtractedDocument(title, tuple(pages), tuple(blocks), placed, note)

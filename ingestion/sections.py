"""Structure: title, headings by font size, weight and numbering, captions, tables, abstract, references."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from ingestion.document import Section
from ingestion.layout import CAPTION, NUMBERED, PageLines, Paragraph, Typography
from ingestion.lines import Line

MAX_HEADING_WORDS = 16
MAX_HEADING_LINES = 3
BIG = 1.08  # of the body size: a line set so much larger is no body text
TITLE_ABOVE = 0.5  # of the page height
FEW = 3  # numbered headings: with fewer, numbered lines that are set like the body count as well
CLEAR = 1.25  # leadings of space above a heading that is not set larger than the body
LONG_LIST = 0.6  # of a font's lines that must look like headings before the font counts as one for headings
_KNOWN = re.compile(
    r"^(?:abstract|summary|(?:general )?introduction|background|related works?|(?:materials and )?methods?"
    r"|methodology"
    r"|experiments?|experimental (?:results|setup)|evaluation|results?(?: and discussion)?|discussions?"
    r"|conclusions?(?: and future work)?|future work|acknowledge?ments?|references?|bibliography|appendix|appendices"
    r"|literature cited|works cited|supplementary materials?|author contributions?|funding|limitations)[:.]?$",
    re.IGNORECASE,
)
_REFERENCES = re.compile(r"^(?:references?(?: and notes)?|bibliography|literature cited|works cited)$", re.IGNORECASE)
_APPENDIX = re.compile(
    r"^(?:append|supplement|acknowledg|author contributions|(?:[A-Z](?:\.\d+)*)\.?\s)", re.IGNORECASE
)
_ABSTRACT = re.compile(r"^abstract$", re.IGNORECASE)
_ABSTRACT_LEAD = re.compile(r"^(?:abstract)\s*[.:—–-]", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.,;?!]$")
_FORMULA = re.compile(r"[=∈∑∏∫≤≥∼→∀∃⊤∥⟨⟩√∞%]|\(\d{1,3}\)$")
_RUN_IN = re.compile(r"[^\W\d_]{2,}")  # words after a bold beginning: the heading runs into its paragraph
_WORDY = re.compile(r"[^\W\d_]{3,}")


def bare(title: str) -> str:
    """A heading without its numbering."""
    match = NUMBERED.match(title)
    return match["title"] if match else title


def heading_lines(pages: Sequence[PageLines], style: Typography) -> list[list[bool]]:
    """For every line of every page, whether it is (part of) a heading. The front matter of page one has none."""
    marks = [[_is_heading(page.lines, row, style) for row in range(len(page.lines))] for page in pages]
    numbered = sum(
        mark and bool(NUMBERED.match(line.text))
        for page, marked in zip(pages, marks, strict=True)
        for line, mark in zip(page.lines, marked, strict=True)
    )
    if sum(map(sum, marks)) < FEW or 0 < numbered < FEW:
        for page, marked in zip(pages, marks, strict=True):
            marked[:] = [old or _plain_heading(page.lines, row, style) for row, old in enumerate(marked)]
    for page, marked in zip(pages, marks, strict=True):
        for row in range(1, len(marked)):
            marked[row] = marked[row] or (marked[row - 1] and _continues(page.lines[row - 1], page.lines[row], style))
    odd = _odd_styles(pages, style)
    for page, marked in zip(pages, marks, strict=True):
        for row, line in enumerate(page.lines):
            marked[row] = marked[row] or (_key(line) in odd and _stands_alone(page.lines, row, style))
    for page, marked in zip(pages, marks, strict=True):
        _clear_long(page.lines, marked)
    if pages:
        _clear_front(pages[0], marks[0])
    return marks


def _clear_long(lines: Sequence[Line], marked: list[bool]) -> None:
    """Text set alike over more lines than a heading can have is an emphasised paragraph."""
    row = 0
    while row < len(marked):
        end = row + 1
        while marked[row] and end < len(marked) and marked[end] and _key(lines[end]) == _key(lines[row]):
            end += 1
        if end - row > MAX_HEADING_LINES and not NUMBERED.match(lines[row + 1].text):
            marked[row:end] = [False] * (end - row)
        row = end


def _key(line: Line) -> tuple[str, float]:
    return line.font, round(line.size, 1)


def _plausible(line: Line) -> bool:
    text = line.text
    if not 2 < len(text) <= 130 or len(text.split()) > MAX_HEADING_WORDS or line.hyphen:
        return False
    if CAPTION.match(text) or _FORMULA.search(text) or not _WORDY.search(text):
        return False
    first = bare(text)[0]
    run_in = line.bold_prefix > 0 and bool(_RUN_IN.search(text[line.bold_prefix :]))
    if not first.isalpha() or first.islower() or run_in:
        return False
    return not _SENTENCE_END.search(text) or bool(_KNOWN.match(text))


def _is_heading(lines: Sequence[Line], row: int, style: Typography) -> bool:
    line = lines[row]
    if not _plausible(line) or not style.size:
        return False
    numbered = bool(NUMBERED.match(line.text))
    known = bool(_KNOWN.match(bare(line.text)))
    big = line.size >= BIG * style.size
    other = line.font != style.font and _key(line) not in style.usual
    if known and (big or line.bold or other or line.text.isupper()):
        return True
    clear = _clear_above(lines, row, style)
    if big and (numbered or clear) and _before_text(lines, row, style):
        return True
    if line.size < 0.85 * style.size:
        return False
    if line.bold or line.bold_prefix:
        return (numbered or clear) and _before_text(lines, row, style)
    if numbered and (other or line.text.isupper()):
        return clear and _before_text(lines, row, style)
    return known and clear and _before_text(lines, row, style)


def _plain_heading(lines: Sequence[Line], row: int, style: Typography) -> bool:
    """A numbered heading set like the body: believed only in documents that have hardly any other headings."""
    line = lines[row]
    short = len(line.text.split()) <= 9 and "," not in line.text and ":" not in line.text
    numbered = bool(NUMBERED.match(line.text)) and _plausible(line) and line.size >= 0.93 * style.size
    return numbered and short and _clear_above(lines, row, style) and _before_text(lines, row, style)


def _clear_above(lines: Sequence[Line], row: int, style: Typography) -> bool:
    """Whether a line has more space above than lines of one paragraph, or begins a page or column."""
    if row == 0:
        return True
    step = lines[row - 1].y0 - lines[row].y0
    return step <= 0 or step >= CLEAR * max(style.leading, 1.0)


def _before_text(lines: Sequence[Line], row: int, style: Typography) -> bool:
    """Whether what follows is body text or another heading: table heads and axis labels come before small text."""
    if row + 1 >= len(lines):
        return True
    below = lines[row + 1]
    words = below.text.split()
    cells = len(words) > 2 and sum(any(map(str.isdigit, word)) for word in words) >= 0.5 * len(words)
    return (below.size >= 0.93 * style.size and not cells) or bool(CAPTION.match(below.text))


def _continues(above: Line, line: Line, style: Typography) -> bool:
    step = above.y0 - line.y0
    alike = _key(above) == _key(line) and 0 < step < 1.5 * line.size
    distinct = line.bold or line.size >= BIG * style.size or line.font != style.font
    return alike and distinct and not NUMBERED.match(line.text) and len(line.text) <= 130


def _stands_alone(lines: Sequence[Line], row: int, style: Typography) -> bool:
    line = lines[row]
    return (
        _plausible(line)
        and line.size >= 0.9 * style.size
        and len(line.text.split()) <= 10
        and _clear_above(lines, row, style)
        and _before_text(lines, row, style)
    )


def _odd_styles(pages: Sequence[PageLines], style: Typography) -> set[tuple[str, float]]:
    """Fonts that a document uses only for short lines of their own: headings that are neither bold nor large."""
    alone: Counter[tuple[str, float]] = Counter()
    seen: Counter[tuple[str, float]] = Counter()
    for page in pages:
        for row, line in enumerate(page.lines):
            key = _key(line)
            if line.font and line.font != style.font and key not in style.usual:
                seen[key] += 1
                alone[key] += _stands_alone(page.lines, row, style)
    return {key for key, count in alone.items() if count >= 2 and count >= LONG_LIST * seen[key]}


def _clear_front(page: PageLines, marks: list[bool]) -> None:
    """Title, authors and affiliations are no headings: what stands before the first known or numbered one.

    Without such a heading on the first page, the upper part of the page is front matter.
    """
    for row, line in enumerate(page.lines):
        match = NUMBERED.match(line.text)
        first = match is not None and (match["number"] or "1").startswith(("1", "I"))
        if marks[row] and (_KNOWN.match(bare(line.text)) or first):
            marks[:row] = [False] * row
            return
    for row, line in enumerate(page.lines):
        marks[row] = marks[row] and line.y0 < TITLE_ABOVE * page.height


def title_of(page: PageLines, style: Typography) -> tuple[str, list[int]]:
    """The title: the largest lines in the upper part of the first page, above the abstract; with their rows."""
    rows = []
    for row, line in enumerate(page.lines):
        if _KNOWN.match(bare(line.text)):
            break
        if line.y0 > TITLE_ABOVE * page.height and len(_WORDY.findall(line.text)) > 0 and len(line.text) > 3:
            rows.append(row)
    sizes = [page.lines[row].size for row in rows if len(_WORDY.findall(page.lines[row].text)) > 1] or [0.0]
    if max(sizes) < BIG * style.size:
        return "", []
    run: list[int] = []
    for row in rows:
        line = page.lines[row]
        near = not run or (row == run[-1] + 1 and abs(page.lines[run[-1]].y0 - line.y0) < 2.5 * line.size)
        if line.size >= 0.93 * max(sizes) and near:
            run.append(row)
    title = " ".join(page.lines[row].text for row in run)
    return (title, run) if title and not title[0].islower() else ("", [])


def levels(headings: Sequence[Paragraph]) -> None:
    """Set the depth of every heading: by its numbering, else by the size and weight of its font."""
    sizes: defaultdict[tuple[float, bool], int] = defaultdict(int)
    for heading in headings:
        sizes[round(heading.size, 1), heading.lines[0].bold] += 1
    ranks = {key: rank for rank, key in enumerate(sorted(sizes, reverse=True), start=1)}
    for heading in headings:
        match = NUMBERED.match(heading.text)
        if match and match["number"]:
            heading.level = match["number"].count(".") + 1
        else:
            heading.level = min(6, ranks[round(heading.size, 1), heading.lines[0].bold])


def classify(pages: Sequence[Sequence[Paragraph]], style: Typography) -> list[Section]:
    """Set kind and section of every paragraph; returns the sections, their `char_start` still 0."""
    everything = [paragraph for page in pages for paragraph in page]
    headings = [paragraph for paragraph in everything if paragraph.heading]
    levels(headings)
    sections: list[Section] = []
    kind, listed = "body", None
    for paragraph in everything:
        if paragraph.heading and not _inside_references(paragraph, listed):
            title = bare(paragraph.text)
            sections.append(Section(paragraph.text, paragraph.level, 0))
            listed = paragraph if _REFERENCES.match(title.rstrip(":.")) else None
            kind = "references" if listed else "abstract" if _ABSTRACT.match(title.rstrip(":.")) else "body"
        elif paragraph.heading:
            paragraph.heading = False
        paragraph.section = len(sections) - 1
        paragraph.kind = kind if paragraph.heading else _kind(paragraph, kind, style)
    for page in pages:
        _tables(page)
    return sections


def _inside_references(heading: Paragraph, listed: Paragraph | None) -> bool:
    """In a reference list only a heading of the same style, or one that names an appendix, ends the list."""
    if listed is None or heading is listed:
        return False
    alike = _key(heading.lines[0]) == _key(listed.lines[0]) or heading.size > listed.size
    return not (alike or (_APPENDIX.match(heading.text) and heading.size >= 0.85 * listed.size))


def _kind(paragraph: Paragraph, kind: str, style: Typography) -> str:
    match = CAPTION.match(paragraph.text)
    first = paragraph.lines[0]
    if match and kind != "references":
        styled = first.bold or first.bold_prefix > 0 or first.size < 0.95 * style.size
        if match["mark"] is not None or (styled and match["what"][0].isupper()):
            return "caption"
    if kind == "body" and _ABSTRACT_LEAD.match(paragraph.text):
        return "abstract"
    return kind


def _tables(page: Sequence[Paragraph]) -> None:
    """Mark tables and the text of graphics: what stands next to a caption and is no prose."""
    for row, paragraph in enumerate(page):
        if paragraph.kind == "caption":
            for side in (reversed(page[:row]), page[row + 1 :]):
                for neighbour in side:
                    if neighbour.heading or neighbour.kind != "body" or not _tabular(neighbour):
                        break
                    neighbour.kind = "table"


def _tabular(paragraph: Paragraph) -> bool:
    """Whether a paragraph is cells or labels rather than prose: few common words, or many numbers."""
    words = paragraph.text.split()
    bare_words = [word.strip(".,;:()") for word in words]
    prose = sum(word.isalpha() and word.islower() and len(word) > 1 for word in bare_words)
    digits = sum(any(map(str.isdigit, word)) for word in words)
    return prose < 0.3 * len(words) or (digits >= 0.4 * len(words) and prose < 0.5 * len(words))

"""From lines to paragraphs: repeated lines out, typography measured, lines of one paragraph brought together."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ingestion.lines import Line, RawPage

EDGE = 0.18  # of the page height: where headers, footers and page numbers stand
MAX_RUNNING = 6  # lines of a header or footer
SAME_PLACE = 4.0  # points between repetitions of one header
SMALL = 0.93  # of the body size: footnotes, captions and tables are set smaller
EDGE_LINES = 3  # lines that begin at the same place make the edge of a column
REPEATED = 1 / 3  # of the pages: headers often differ on left and right pages
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"^(?:page )?[-–—|\[(]?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*[-–—|\])]?(?: (?:of|/) \d+)?$", re.IGNORECASE
)
_STAMP = re.compile(
    r"^(?:arXiv:\d|Proceedings of |Published as a conference paper|Permission to make digital|Preprint\b"
    r"|(?:©|\(c\)|c|Copyright)\s?(?:©\s?)?(?:19|20)\d\d\b|In Proc)",
    re.IGNORECASE,
)
NUMBERED = re.compile(
    r"^(?:(?P<number>(?:\d{1,2}|[A-Z])(?:\.\d{1,2}){0,3})\.?|(?P<roman>[IVX]{1,5})\.|(?P<step>\d{1,2})\)"
    r"|(?P<appendix>Appendix(?: [A-Z\d])?)[.:]?)\s+(?P<title>[^\W\d_].*)$"
)
CAPTION = re.compile(
    r"^(?P<what>fig(?:ure|\.)?|table|tab\.|algorithm|listing|scheme|box|plate|chart|exhibit)\s*"
    r"(?P<number>[A-Z]?\d{1,3}(?:\.\d{1,2})*[a-z]?|[IVX]{1,5})(?P<mark>\s*[.:|—–)-](?=\s|$)|$)?(?![^\W_])",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?:][\])\"'”’»]*\d{0,2}$|[。！？]$")
_ITEM = re.compile(r"^(?:[•◦▪‣●○■□–—*]\s|\[\d+\]\s|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s)")


@dataclass(frozen=True, slots=True)
class Typography:
    """What is normal in a document: body font and size (points), distance of its baselines (points)."""

    font: str
    size: float
    leading: float
    usual: frozenset[tuple[str, float]] = frozenset()


@dataclass(slots=True)
class Paragraph:
    """Lines that belong together; `kind`, `level` and `section` are filled in by `sections`.

    `small`: set smaller than the body, as footnotes are. `continues`: begun on the page before.
    """

    lines: list[Line]
    kind: str = "body"
    heading: bool = False
    level: int = 0
    section: int = -1
    text: str = ""
    continues: bool = False
    small: bool = False

    @property
    def size(self) -> float:
        """Font size of most of its lines, points."""
        return Counter(line.size for line in self.lines).most_common(1)[0][0]


@dataclass(slots=True)
class PageLines:
    """A page after running lines were taken out."""

    width: float
    height: float
    lines: list[Line]
    removed: list[str] = field(default_factory=list)


def without_running(pages: Sequence[RawPage], across: Sequence[Sequence[Line]]) -> list[PageLines]:
    """Pages without headers, footers, page numbers and stamps; what was removed is listed, top of the page first.

    Lines are taken from the outside inwards, as long as they repeat, are a page number, or stand outside a stamp.

    Args:
        pages: upright pages with cleaned, whole lines.
        across: per page, lines that run in another direction than the page: stamps and axis labels.
    """
    repeated = _repeated(pages)
    result = []
    for number, (page, others) in enumerate(zip(pages, across, strict=True)):
        order = sorted(range(len(page.lines)), key=lambda row: page.lines[row].y0)
        taken: set[int] = set()
        again = {row for other, row in repeated if other == number}
        half = page.height / 2
        taken.update(_outside(page, [row for row in order if page.lines[row].y0 < half], again))
        taken.update(_outside(page, [row for row in order[::-1] if page.lines[row].y0 >= half], again))
        removed = [*others, *(page.lines[row] for row in taken)]
        removed.sort(key=lambda line: (-line.y0, line.x0))
        kept = [line for row, line in enumerate(page.lines) if row not in taken]
        result.append(PageLines(page.width, page.height, kept, [line.text for line in removed]))
    worded = any(not _NUMBER.match(line.text) for page in pages for line in page.lines)
    if worded and not any(page.lines for page in result):  # nothing but such lines: then they are the text
        return [PageLines(page.width, page.height, list(page.lines)) for page in pages]
    return result


def _outside(page: RawPage, order: Sequence[int], repeated: set[int]) -> list[int]:
    """Rows to take off one side of a page; the lines of that half come from the outside inwards in `order`."""
    edge = [row for row in order if _at_edge(page.lines[row], page)]
    edge = edge[:MAX_RUNNING]
    stamps = [i for i, row in enumerate(edge) if _STAMP.match(page.lines[row].text)]
    count = 0
    if stamps:
        size = page.lines[edge[stamps[-1]]].size + 0.5
        inside = stamps[-1] + 1
        count = inside if all(page.lines[row].size <= size for row in edge[:inside]) else 0
    while count < len(edge) and (edge[count] in repeated or _NUMBER.match(page.lines[edge[count]].text)):
        count += 1
    return edge[:count]


def _at_edge(line: Line, page: RawPage) -> bool:
    return not EDGE * page.height <= line.y0 <= (1 - EDGE) * page.height


def _repeated(pages: Sequence[RawPage]) -> set[tuple[int, int]]:
    """(page, row) of lines near the edge that stand in the same place with the same words on enough pages."""
    places: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    lines: list[tuple[str, int, int, int]] = []
    for number, page in enumerate(pages):
        for row, line in enumerate(page.lines):
            if _at_edge(line, page):
                text, place = _DIGITS.sub("#", line.text.lower()), round(line.y0 / SAME_PLACE)
                places[text, place].add(number)
                lines.append((text, place, number, row))
    needed = max(2, int(len(pages) * REPEATED))
    empty: set[int] = set()
    return {
        (number, row)
        for text, place, number, row in lines
        if len(empty.union(*(places.get((text, place + shift), empty) for shift in (-1, 0, 1)))) >= needed
    }


def typography(pages: Sequence[PageLines]) -> Typography:
    """The document's body font, size and leading, by characters; zeros for an empty document."""
    weights: Counter[tuple[str, float]] = Counter()
    steps: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            weights[line.font, round(line.size, 1)] += len(line.text)
        for line, below in pairwise(page.lines):
            if abs(below.size - line.size) < 0.2 and 0 < line.y0 - below.y0 < 4 * line.size:
                steps[round(line.y0 - below.y0, 1)] += len(line.text)
    if not weights:
        return Typography("", 0.0, 0.0)
    sizes: Counter[float] = Counter()
    for (_, size), weight in weights.items():
        sizes[size] += weight
    size = max(sizes, key=lambda key: (sizes[key], key))
    font = max((key for key in weights if key[1] == size), key=lambda key: (weights[key], key))[0]
    leading = max(steps, key=lambda key: (steps[key], -key)) if steps else 1.2 * size
    total = sum(weights.values())
    usual = frozenset(key for key, weight in weights.items() if weight >= 0.05 * total)
    return Typography(font, size, leading, usual)


def paragraphs(lines: Sequence[Line], apart: Sequence[bool], style: Typography) -> list[Paragraph]:
    """Group a page's lines. `apart` marks lines that never share a paragraph with others: headings.

    Neighbouring lines that are both apart, set alike and one leading from each other are one heading.
    """
    edges = Counter(round(line.x0) for line in lines)
    result: list[Paragraph] = []
    for row, line in enumerate(lines):
        if row and _same_paragraph(lines, row, apart, style, edges):
            result[-1].lines.append(line)
        else:
            result.append(Paragraph([line], heading=apart[row]))
    for paragraph in result:
        paragraph.small = paragraph.size < SMALL * style.size
    return result


def _same_paragraph(
    lines: Sequence[Line], row: int, apart: Sequence[bool], style: Typography, edges: Counter[int]
) -> bool:
    above, line = lines[row - 1], lines[row]
    step = above.y0 - line.y0
    size = max(line.size, above.size)
    if apart[row] or apart[row - 1]:
        alike = above.font == line.font and abs(above.size - line.size) < 0.3
        follows = alike and 0 < step < 1.7 * size and not NUMBERED.match(line.text)
        return apart[row] == apart[row - 1] and follows
    if abs(above.size - line.size) > 0.15 * style.size and not _inline(above, line):
        return False
    ended = bool(_ENDS.search(above.text)) and not above.hyphen
    normal = max(style.leading * line.size / (style.size or 1.0), 1.15 * line.size)
    if step < -size or step > 1.35 * normal:
        column = step < -size or line.x0 > above.x1
        return column and not ended and _resumes(above, line, style, edges)
    if ended and CAPTION.match(line.text):
        return False
    if _ITEM.match(line.text) and line.x0 <= above.x0 + 2 * size and (ended or bool(_ITEM.match(above.text))):
        return False
    if not ended:
        return True
    before = lines[row - 2].x1 if row > 1 and lines[row - 2].x1 > line.x0 else above.x1
    short = above.x1 < max(before, line.x1) - 2 * size
    indented = line.x0 > above.x0 + 0.7 * size
    return not (short or indented or line.bold_prefix)


def _resumes(above: Line, line: Line, style: Typography, edges: Counter[int]) -> bool:
    """Whether a line at the top of a column goes on with the paragraph at the foot of the one before."""
    at_edge = sum(edges[round(line.x0) + shift] for shift in (-1, 0, 1)) >= EDGE_LINES
    alike = line.size >= 0.93 * style.size and abs(above.size - line.size) < 0.5
    return at_edge and alike and not CAPTION.match(line.text)


def _inline(above: Line, line: Line) -> bool:
    """Whether two lines of different sizes overlap in height: parts of one formula."""
    return abs(above.y0 - line.y0) < 0.8 * max(above.size, line.size)


def unfinished(text: str) -> bool:
    """Whether a text stops in the middle of a sentence."""
    return bool(text) and not _ENDS.search(text)

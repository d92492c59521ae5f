"""Lines as the PDF gives them, made upright and whole: the input of layout."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

SAME_LINE = 0.7  # of the font size: how far baselines of one line may lie apart (sub- and superscripts)
WORD_GAP = 0.15  # of the font size: a wider gap between two fragments is a space
FRAGMENT_GAP = 1.0  # of the font size: a wider gap separates table cells and columns
HEAVY = 600  # font weight from which a font counts as bold
STACKED = -1.2  # of the font size: a superscript over a subscript starts to the left of the other's end
_BOLD = re.compile(r"bold|black|heavy|demi|medi\b|cmbx|cmssbx|semibd|\.b\+?\d*$", re.IGNORECASE)
_PLAIN = re.compile(r"light|book|regular|roman", re.IGNORECASE)


@dataclass(slots=True)
class Line:
    """A line, or a fragment of one. Points, y upwards; (x0, y0) is the first character's origin.

    `angle` counts quarter turns against the page as it is viewed. `hyphen`: the line ends in a hyphen that is not in
    `text`. `bold_prefix`: so many leading characters are bold while the rest is not.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    font: str
    bold: bool = False
    hyphen: bool = False
    angle: int = 0
    bold_prefix: int = 0


@dataclass(slots=True)
class RawPage:
    """A page as it was read: size in points, lines in the order of the file, characters without a usable code."""

    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    unknown: int = 0
    readable: bool = True


def is_bold(font: str, weight: int) -> bool:
    """Whether a font is bold, by its name or else by its weight (guessed from its stems where the PDF says none)."""
    return bool(_BOLD.search(font)) or (weight >= HEAVY and not _PLAIN.search(font))


def bold_by_name(pages: Iterable[RawPage]) -> None:
    """Where most of a document counts as bold the weights are wrong: keep only what the font names say."""
    lines = [line for page in pages for line in page.lines]
    if 2 * sum(len(line.text) for line in lines if line.bold) > sum(len(line.text) for line in lines):
        for line in lines:
            line.bold, line.bold_prefix = bool(_BOLD.search(line.font)), 0


def main_angle(page: RawPage) -> int:
    """Quarter turns against the page as it is viewed in which most of its text runs; 0 for a page without text."""
    weights: Counter[int] = Counter()
    for line in page.lines:
        weights[line.angle] += len(line.text)
    return min(weights, key=lambda angle: (-weights[angle], angle), default=0)


def upright(page: RawPage) -> tuple[RawPage, list[Line]]:
    """The page with the lines that run from left to right, and those that do not: stamps in the margin."""
    straight = [line for line in page.lines if not line.angle]
    return replace(page, lines=straight), [line for line in page.lines if line.angle]


def merged(fragments: Iterable[Line]) -> list[Line]:
    """Whole lines: neighbours on one baseline become one line (PDFium breaks lines at sub- and superscripts)."""
    lines: list[Line] = []
    group: list[Line] = []
    for fragment in fragments:
        if group and not _joins(group, fragment):
            lines.append(_whole(group))
            group = []
        group.append(fragment)
    if group:
        lines.append(_whole(group))
    return lines


def _joins(group: Sequence[Line], fragment: Line) -> bool:
    last = group[-1]
    size = max(last.size, fragment.size)
    base = max(group, key=lambda part: part.size) if len(group) > 1 else last
    if abs(fragment.y0 - base.y0) >= SAME_LINE * max(base.size, fragment.size):
        return False
    gap = fragment.x0 - last.x1
    return STACKED * size < gap <= FRAGMENT_GAP * size and fragment.x0 >= group[0].x0


def _whole(group: list[Line]) -> Line:
    if len(group) == 1:
        return group[0]
    text = group[0].text
    for before, part in pairwise(group):
        wide = part.x0 - before.x1 > WORD_GAP * max(before.size, part.size)
        text += ("-" if before.hyphen else " " if wide else "") + part.text
    height = max((part.size for part in group if any(map(str.isalnum, part.text))), default=group[0].size)
    main = max(group, key=lambda part: (part.size >= 0.95 * height, len(part.text)))
    first = group[0]
    all_bold = all(part.bold for part in group if any(map(str.isalpha, part.text)))
    prefix = first.bold_prefix or (len(first.text) if first.bold and not all_bold else 0)
    return Line(
        text=text,
        x0=first.x0,
        y0=main.y0,
        x1=max(part.x1 for part in group),
        y1=main.y0,
        size=main.size,
        font=main.font,
        bold=main.bold and all_bold,
        hyphen=group[-1].hyphen,
        bold_prefix=prefix,
    )

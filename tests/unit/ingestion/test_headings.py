"""Which lines are headings, and what ends a reference list."""

from __future__ import annotations

import pytest

from ingestion.layout import PageLines, Typography, paragraphs
from ingestion.lines import Line
from ingestion.sections import bare, classify, heading_lines, title_of

STYLE = Typography("Body", 10, 12, frozenset({("Body", 10.0)}))


def line(text: str, y: float, size: float = 10, font: str = "Body", bold: bool = False, prefix: int = 0) -> Line:
    return Line(text, 72, y, 300, y, size, font, bold=bold, bold_prefix=prefix)


def headings(lines: list[Line]) -> list[str]:
    page = PageLines(600, 800, [line("body text above goes here", 790), *lines])
    _, marks = heading_lines([PageLines(600, 800, []), page], STYLE)  # the first page has rules of its own
    return [part.text for part, mark in zip(page.lines, marks, strict=True) if mark]


BELOW = "and body text below goes on for a while"


@pytest.mark.parametrize(
    "heading",
    [
        line("3.1 Larger Type", 600, size=12),
        line("2 Bold Numbered", 600, bold=True),
        line("Bold Without Number", 600, bold=True),
        line("Acknowledgements", 600, font="Italic"),
        line("B.2 Appendix Proofs", 600, bold=True),
        line("1) First Exercise", 600, bold=True),
    ],
)
def test_headings_are_found(heading: Line) -> None:
    assert headings([heading, line(BELOW, 580)]) == [heading.text]


@pytest.mark.parametrize(
    "other",
    [
        line("Bold sentence that ends with a stop.", 600, bold=True),
        line("Model. We run in after a bold word", 600, prefix=6),
        line("Table 3: Bold caption", 600, bold=True),
        line("x = y + 3 (5)", 600, size=12),
        line("lower case is no heading", 600, bold=True),
        line("Plain text of a new paragraph", 600),
    ],
)
def test_other_lines_are_not(other: Line) -> None:
    assert headings([other, line(BELOW, 580)]) == []


def test_a_bold_line_in_a_running_paragraph_is_no_heading() -> None:
    assert headings([line("Emphasised Words", 778, bold=True), line(BELOW, 766)]) == []


def test_a_heading_of_two_lines() -> None:
    lines = [line("3 A Heading That Is Too Long", 600, size=12), line("For One Line", 586, size=12), line(BELOW, 565)]
    assert headings(lines) == ["3 A Heading That Is Too Long", "For One Line"]


def test_an_emphasised_paragraph_is_no_heading() -> None:
    lines = [line(f"Emphasised Words Number {'abcdef'[n]}", 600 - 12 * n, bold=True) for n in range(5)]
    assert headings([*lines, line(BELOW, 500)]) == []


def test_fonts_used_only_for_short_lines_are_for_headings() -> None:
    lines = []
    for row, name in enumerate(["Participants", "Experimental setup", "Data analysis"]):
        top = 700 - 100 * row
        lines += [line(name, top, size=9.5, font="Sans"), line(BELOW, top - 12), line("that ends.", top - 24)]
    assert headings(lines) == ["Participants", "Experimental setup", "Data analysis"]


def test_authors_before_the_abstract_are_no_headings() -> None:
    lines = [
        line("The Title of It All", 760, size=18, bold=True),
        line("Ada Writer", 730, size=12, bold=True),
        line("Abstract", 700, size=12, bold=True),
        line(BELOW, 680),
    ]
    page = PageLines(600, 800, lines)
    (marks,) = heading_lines([page], STYLE)
    assert marks == [False, False, True, False]
    assert title_of(page, STYLE) == ("The Title of It All", [0])


@pytest.mark.parametrize(
    ("title", "wanted"),
    [
        ("2.1 Node Types", "Node Types"),
        ("A.2 Proofs", "Proofs"),
        ("IV. Results", "Results"),
        ("3) Third", "Third"),
        ("Appendix B Data", "Data"),
        ("Introduction", "Introduction"),
        ("A Study", "Study"),  # an article cannot be told from an appendix letter here
    ],
)
def test_bare(title: str, wanted: str) -> None:
    assert bare(title) == wanted


def sectioned(lines: list[Line], marks: list[bool]) -> list[tuple[str, str]]:
    found = paragraphs(lines, marks, STYLE)
    for paragraph in found:
        paragraph.text = " ".join(part.text for part in paragraph.lines)
    classify([found], STYLE)
    return [(paragraph.text, paragraph.kind) for paragraph in found]


def test_references_end_at_the_appendix_and_bold_volumes_do_not_end_them() -> None:
    lines = [
        line("References", 700, size=12, bold=True),
        line("Smith, J. Things.", 680),
        line("Journal of Things", 660, bold=True),
        line("A Proofs", 620, size=12, bold=True),
        line("We prove it.", 600),
    ]
    assert sectioned(lines, [True, False, True, True, False]) == [
        ("References", "references"),
        ("Smith, J. Things.", "references"),
        ("Journal of Things", "references"),
        ("A Proofs", "body"),
        ("We prove it.", "body"),
    ]


def test_abstract_caption_and_table() -> None:
    lines = [
        line("Abstract", 700, bold=True),
        line("We study it.", 680),
        line("1 Introduction", 650, bold=True),
        line("Figure 1 shows that it is so and that is all.", 630),
        line("Model 1 93.1 94.2", 590),
        line("Table 1: Results of all models.", 570),
    ]
    kinds = [kind for _, kind in sectioned(lines, [True, False, True, False, False, False])]
    assert kinds == ["abstract", "abstract", "body", "body", "table", "caption"]

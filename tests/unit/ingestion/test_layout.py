"""Running lines, typography and paragraphs on pages made by hand."""

from __future__ import annotations

from ingestion.layout import Typography, paragraphs, typography, without_running
from ingestion.lines import Line, RawPage

STYLE = Typography("Body", 10, 12, frozenset({("Body", 10.0)}))


def body(text: str, y: float, x: float = 72, x1: float = 300, size: float = 10) -> Line:
    return Line(text, x, y, x1, y, size, "Body")


def texts(lines: list[Line]) -> list[list[str]]:
    found = paragraphs(lines, [False] * len(lines), STYLE)
    return [[line.text for line in paragraph.lines] for paragraph in found]


def test_headers_footers_and_page_numbers_are_removed_and_listed() -> None:
    pages = [
        RawPage(600, 800, [body("Journal of Things", 780), body(f"body {n}", 400), body(f"Page {n} of 3", 30)])
        for n in (1, 2, 3)
    ]
    found = without_running(pages, [[], [], []])
    assert [[line.text for line in page.lines] for page in found] == [["body 1"], ["body 2"], ["body 3"]]
    assert found[1].removed == ["Journal of Things", "Page 2 of 3"]


def test_a_line_that_repeats_inside_the_text_is_kept() -> None:
    # Both stand in the header zone, but body text stands above them: only what is outermost is a header.
    pages = [RawPage(600, 800, [body(f"own words {'abc'[n]}", 790), body("Same words", 770)]) for n in range(3)]
    assert all(len(page.lines) == 2 for page in without_running(pages, [[], [], []]))


def test_a_lone_page_number_goes_an_equation_number_in_the_text_stays() -> None:
    page = RawPage(600, 800, [body("text above", 120), body("(5)", 100), body("text below", 80), body("132", 40)])
    (found,) = without_running([page], [[]])
    assert [line.text for line in found.lines] == ["text above", "(5)", "text below"]
    assert found.removed == ["132"]


def test_a_proceedings_stamp_takes_the_lines_outside_of_it_along() -> None:
    lines = [
        body("text", 300),
        body("Proceedings of X 2018, pages 1-9", 60, size=8),
        body("City, June 1", 50, size=8),
    ]
    (found,) = without_running([RawPage(600, 800, lines)], [[]])
    assert [line.text for line in found.lines] == ["text"]
    assert found.removed == ["Proceedings of X 2018, pages 1-9", "City, June 1"]


def test_lines_across_the_page_are_removed() -> None:
    stamp = Line("arXiv:1234.5678v1 [cs.IR] 1 Jan 2020", 20, 300, 20, 600, 20, "Body", angle=1)
    (found,) = without_running([RawPage(600, 800, [body("text", 400)])], [[stamp]])
    assert found.removed == ["arXiv:1234.5678v1 [cs.IR] 1 Jan 2020"]


def test_typography_is_what_most_characters_have() -> None:
    lines = [Line("A Very Long Title Indeed", 72, 700, 400, 700, 18, "Bold")]
    lines += [body("forty characters of ordinary body text..", 600 - 12 * row) for row in range(5)]
    (page,) = without_running([RawPage(600, 800, lines)], [[]])
    found = typography([page])
    assert (found.font, found.size, found.leading) == ("Body", 10, 12)


def test_paragraphs_break_at_a_gap_an_indent_and_a_short_line() -> None:
    assert texts([body("one goes", 700), body("on.", 688), body("After a gap.", 664)]) == [
        ["one goes", "on."],
        ["After a gap."],
    ]
    assert texts([body("Full line.", 700), body("Indented.", 688, x=84)]) == [["Full line."], ["Indented."]]
    short = [body("Full line", 712), body("short end.", 700, x1=120), body("New one", 688)]
    assert texts(short) == [["Full line", "short end."], ["New one"]]


def test_an_unfinished_paragraph_goes_on_in_the_next_column() -> None:
    left = [body("left column starts", 124), body("and it does not end", 112)]
    right = [body(f"at the foot {n}", 700 - 12 * n, x=320, x1=540) for n in range(4)]
    assert texts(left + right) == [[line.text for line in left + right]]


def test_a_finished_paragraph_does_not() -> None:
    right = [body(f"new column {n}", 700 - 12 * n, x=320, x1=540) for n in range(4)]
    assert len(texts([body("It ends here.", 112), *right])) == 2


def test_items_of_a_list_are_paragraphs() -> None:
    assert texts([body("We list:", 700), body("• one", 688), body("• two", 676)]) == [
        ["We list:"],
        ["• one"],
        ["• two"],
    ]


def test_a_document_of_nothing_but_repeated_lines_keeps_them() -> None:
    pages = [RawPage(600, 800, [body(f"Potato {n}", 760)]) for n in range(3)]
    assert [page.lines[0].text for page in without_running(pages, [[], [], []])] == [
        "Potato 0",
        "Potato 1",
        "Potato 2",
    ]

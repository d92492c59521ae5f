"""Fragments become lines, turned pages become upright, bold is told from regular."""

from __future__ import annotations

from ingestion.lines import Line, RawPage, bold_by_name, is_bold, main_angle, merged, upright


def line(text: str, x0: float, y: float, x1: float, size: float = 10, **more: object) -> Line:
    return Line(text, x0, y, x1, y, size, str(more.pop("font", "Body")), **more)  # type: ignore[arg-type]


def test_superscript_joins_its_line_without_a_space() -> None:
    parts = [line("cost O(n", 50, 100, 90), line("2", 90, 104, 93.5, size=7), line(") at most", 94, 100, 130)]
    (whole,) = merged(parts)
    assert whole.text == "cost O(n2) at most"
    assert (whole.x0, whole.x1, whole.y0, whole.size) == (50, 130, 100, 10)


def test_a_gap_is_a_space_and_a_wide_gap_another_cell() -> None:
    near = merged([line("one", 50, 100, 70), line("two", 74, 100, 90)])
    assert [part.text for part in near] == ["one two"]
    far = merged([line("left", 50, 100, 70), line("right", 90, 100, 120)])
    assert [part.text for part in far] == ["left", "right"]


def test_lines_of_a_paragraph_stay_apart() -> None:
    assert [part.text for part in merged([line("first", 50, 100, 300), line("second", 50, 88, 300)])] == [
        "first",
        "second",
    ]


def test_a_hyphen_inside_a_line_is_put_back() -> None:
    assert merged([line("multi", 50, 100, 70, hyphen=True), line("agent", 73, 100, 95)])[0].text == "multi-agent"


def test_a_line_is_bold_only_if_all_of_its_words_are() -> None:
    both = merged([line("Model.", 50, 100, 80, bold=True), line("We use", 83, 100, 110)])[0]
    assert (both.bold, both.bold_prefix) == (False, 6)
    (bold,) = merged([line("3", 50, 100, 55, bold=True), line("Model", 60, 100, 90, bold=True)])
    assert bold.bold


def test_the_main_angle_is_that_of_most_text_and_the_rest_lies_across() -> None:
    rows = [Line("first row of the table", 100, 50, 100, 250, 10, "Body", angle=1)]
    stamp = Line("draft", 10, 10, 40, 10, 10, "Body")
    page = RawPage(600, 800, [*rows, stamp])
    assert main_angle(page) == 1
    assert main_angle(RawPage(600, 800)) == 0
    straight, across = upright(page)
    assert [part.text for part in straight.lines] == ["draft"]
    assert [part.text for part in across] == ["first row of the table"]


def test_bold_by_name_or_weight() -> None:
    assert is_bold("Helvetica-Bold", 0)
    assert is_bold("CMBX10", 570)
    assert is_bold("NimbusRomNo9L-Medi", 700)
    assert is_bold("Unnamed", 700)
    assert not is_bold("NewCM10-Book", 700)  # the name knows better than the guessed weight
    assert not is_bold("Times-Roman", 400)


def test_weights_that_call_everything_bold_are_not_believed() -> None:
    body = line("a long line of body text", 50, 100, 300, font="Times", bold=True)
    head = line("Heading", 50, 120, 90, font="Times-Bold", bold=True)
    bold_by_name([RawPage(600, 800, [head, body])])
    assert (head.bold, body.bold) == (True, False)

"""A paper made by hand, from PDF bytes to text, blocks and sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.document import ExtractedDocument
from ingestion.extract_worker import PdfReader, extract
from tests.unit.ingestion.pdfs import Text, column, make_pdf, paper


def read(folder: Path, data: bytes) -> ExtractedDocument:
    path = folder / "paper.pdf"
    path.write_bytes(data)
    return extract(PdfReader(), str(path), max_pages=10)


@pytest.fixture
def document(tmp_path: Path) -> ExtractedDocument:
    return read(tmp_path, paper())


def blocks(document: ExtractedDocument, kind: str) -> list[str]:
    return [document.text[b.char_start : b.char_end] for b in document.blocks if b.kind == kind and not b.heading]


def test_title_and_sections(document: ExtractedDocument) -> None:
    assert document.title == "A Study of Small Things"
    assert [(s.title, s.level) for s in document.sections[1:3]] == [("1 Introduction", 1), ("2 Method", 1)]
    assert [s.title for s in document.sections] == ["Abstract", "1 Introduction", "2 Method", "References"]
    for section in document.sections:
        assert document.text.startswith(section.title, section.char_start)


def test_words_broken_at_a_line_end(document: ExtractedDocument) -> None:
    assert blocks(document, "abstract") == [
        "We study alpha in small samples of data. The result is a remarkable gain in speed over the state-of-the-art."
        " It holds for all samples."
    ]


def test_kinds(document: ExtractedDocument) -> None:
    assert blocks(document, "caption") == ["Figure 1: Counted things by size."]
    assert blocks(document, "references") == [
        "[1] A. Smith. Things. Journal of Things, 2020.",
        "[2] B. Jones. More things. 2021.",
    ]


def test_a_sentence_over_the_page_break_is_marked(document: ExtractedDocument) -> None:
    (going_on,) = [block for block in document.blocks if block.continues]
    assert document.text[going_on.char_start : going_on.char_end] == "the page and ends here."
    assert document.text[going_on.char_start - 5 : going_on.char_start] == "over\n"
    assert going_on.char_start == document.page_starts[1]


def test_blocks_lie_in_their_text_in_order(document: ExtractedDocument) -> None:
    position = 0
    for block in document.blocks:
        assert document.text[position : block.char_start].strip() == ""
        assert "\n" not in document.text[block.char_start : block.char_end]
        position = block.char_end
    assert position == len(document.text)


def test_json_gives_the_document_back(document: ExtractedDocument) -> None:
    assert ExtractedDocument.from_json(document.to_json()) == document


def test_a_word_broken_by_the_page_break_is_made_whole_on_the_first_page(tmp_path: Path) -> None:
    first = column(["Here the annotators of the corpus", "agree, and their agreement is remark-"])
    second = column(["ably high for such data.", "More follows here."])
    found = read(tmp_path, make_pdf([first, second]))
    assert [page.text for page in found.pages] == [
        "Here the annotators of the corpus agree, and their agreement is remarkably",
        "high for such data. More follows here.",
    ]


def test_a_caption_does_not_tear_a_sentence(tmp_path: Path) -> None:
    lines = column(["The first column is so long that", "its last sentence goes on"], top=200)
    lines += [Text("Figure 1: In the way.", x=320, y=700, size=8)]
    lines += column(["after the figure and ends.", "Then more is said.", "And more.", "And more."], top=660, x=320)
    found = read(tmp_path, make_pdf([lines]))
    text = found.pages[0].text
    assert "goes on after the figure and ends." in text.replace("\n", " ")
    assert blocks(found, "caption") == ["Figure 1: In the way."]


def test_a_figure_does_not_part_a_heading_from_its_text(tmp_path: Path) -> None:
    first = column(["Some text comes first in this paper.", "It is long enough to be the body."], top=600)
    first.append(Text("2 Method", y=100, size=13, bold=True))
    second = [Text("Figure 1: At the top of the page.", y=740, size=8), *column(["The text of the method."], top=600)]
    found = read(tmp_path, make_pdf([first, second]))
    assert found.pages[1].text == "The text of the method.\nFigure 1: At the top of the page."
    # On one page as well, and when the text goes on behind the figure of the next page.
    third = [
        *column(["Lines of the body stand here,", "and more of them. Enough."]),
        Text("3 End", y=300, size=13, bold=True),
    ]
    third += [Text("Figure 2: Under the heading.", y=280, size=8), *column(["The last sentence goes"], top=200)]
    fourth = [Text("Figure 3: On top.", y=740, size=8), *column(["on here."], top=600)]
    found = read(tmp_path, make_pdf([third, fourth]))
    assert found.pages[0].text.split("\n")[-3:] == ["Figure 2: Under the heading.", "3 End", "The last sentence goes"]
    assert found.pages[1].text == "on here.\nFigure 3: On top."


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_pages_that_are_shown_turned(tmp_path: Path, rotate: int) -> None:
    lines = column(["The first line is here", "and the second line ends."], top=400)
    found = read(tmp_path, make_pdf([lines], rotate=rotate))
    # The text runs as the page is drawn, so on a turned page it runs across what is shown; it is read all the same.
    assert found.pages[0].text == "The first line is here and the second line ends."


def test_quality_falls_with_junk(tmp_path: Path) -> None:
    good = read(tmp_path, make_pdf([column(["plain words are easy to read", "and they are here."])]))
    bad = read(tmp_path, make_pdf([column(["xqzt wrtk plmn bcdf ghjk", "mnbv are qwrt zxcv"])]))
    assert good.quality == 1.0
    assert bad.quality < 0.3

"""Chunkers on a small document whose chunks can be counted by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ingestion.chunkers.fixed import FixedChunker
from ingestion.chunkers.page import PageChunker
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.document import Block, Chunker, ExtractedDocument, PageText, Section


def document(*pages: list[tuple[str, str]]) -> ExtractedDocument:
    """Pages of (mark, text): `#` a heading, `R#` the heading of the references, `>` goes on, else the kind."""
    blocks: list[Block] = []
    sections: list[Section] = []
    texts: list[PageText] = []
    position, kind = 0, "body"
    for page in pages:
        for mark, text in page:
            heading = mark.endswith("#")
            if heading:
                kind = "references" if mark == "R#" else "body"
                sections.append(Section(text, 1, position))
            own = kind if heading or mark in ("", ">") else mark
            end = position + len(text)
            blocks.append(Block(position, end, own, len(sections) - 1, heading, mark == ">"))
            position = end + 1
        position += not page  # an empty page still has its break
        texts.append(PageText("\n".join(text for _, text in page), 1.0))
    return ExtractedDocument("Title", tuple(texts), tuple(blocks), tuple(sections))


def cut(chunker: Chunker, doc: ExtractedDocument) -> list[tuple[str, str, str]]:
    return [
        (doc.text[span.char_start : span.char_end].replace("\n", " "), span.section, span.kind)
        for span in chunker.chunk(doc)
    ]


PAPER = document(
    [("", "Front matter."), ("#", "1 One"), ("", "First here. Second is here. Third runs")],
    [
        (">", "over the page. Fourth."),
        ("caption", "Figure 1: Seen."),
        ("", "Fifth."),
        ("#", "2 Two"),
        ("#", "2.1 Sub"),
    ],
    [("", "Sixth."), ("R#", "References"), ("", "[1] A. Smith. Things. 2020.")],
)


def test_sentence_chunks_by_hand() -> None:
    assert cut(SentenceChunker(max_words=8, overlap_sentences=1), PAPER) == [
        ("Front matter.", "", "body"),
        ("1 One First here. Second is here.", "1 One", "body"),
        ("Second is here. Third runs over the page.", "1 One", "body"),
        ("Third runs over the page. Fourth.", "1 One", "body"),
        ("Figure 1: Seen.", "1 One", "caption"),
        ("Fifth.", "1 One", "body"),
        ("2 Two 2.1 Sub Sixth.", "2.1 Sub", "body"),
        ("References [1] A. Smith. Things. 2020.", "References", "references"),
    ]


def test_without_overlap_no_word_stands_twice() -> None:
    chunks = cut(SentenceChunker(max_words=8, overlap_sentences=0), PAPER)
    assert " ".join(text for text, _, _ in chunks) == " ".join(PAPER.text.split())


def test_overlap_gives_way_to_max_words() -> None:
    doc = document([("", "One two three four. Five six seven. Eight nine ten eleven.")])
    assert [text for text, _, _ in cut(SentenceChunker(max_words=5, overlap_sentences=1), doc)] == [
        "One two three four.",
        "Five six seven.",
        "Eight nine ten eleven.",
    ]


def test_an_over_long_sentence_is_split_between_words() -> None:
    doc = document([("", "a b c d e f g. Short one.")])
    assert [text for text, _, _ in cut(SentenceChunker(max_words=3, overlap_sentences=1), doc)] == [
        "a b c",
        "d e f",
        "g. Short one.",
    ]


def test_a_table_goes_with_its_caption() -> None:
    above = document(
        [("", "Text."), ("table", "1 2"), ("table", "3 4"), ("caption", "Table 1: A."), ("table", "5 6")]
    )
    assert cut(SentenceChunker(), above) == [
        ("Text.", "", "body"),
        ("1 2 3 4 Table 1: A.", "", "table"),
        ("5 6", "", "table"),
    ]
    below = document(
        [("caption", "Table 1: A."), ("table", "1 2"), ("caption", "Table 2: B."), ("table", "3"), ("", "T.")]
    )
    assert cut(SentenceChunker(), below) == [
        ("Table 1: A. 1 2", "", "table"),
        ("Table 2: B. 3", "", "table"),
        ("T.", "", "body"),
    ]


def test_page_chunks() -> None:
    assert cut(PageChunker(), PAPER) == [
        ("Front matter. 1 One First here. Second is here. Third runs", "", "body"),
        ("over the page. Fourth. Figure 1: Seen. Fifth. 2 Two 2.1 Sub", "1 One", "body"),
        ("Sixth.", "2.1 Sub", "body"),
        ("References [1] A. Smith. Things. 2020.", "References", "references"),
    ]
    whole = cut(PageChunker(references=True), PAPER)
    assert [text for text, _, _ in whole] == [page.text.replace("\n", " ") for page in PAPER.pages]
    assert {kind for _, _, kind in whole} == {"body"}


def test_a_page_without_text_has_no_chunk() -> None:
    doc = document([("", "Here.")], [], [("", "And here.")])
    assert [text for text, _, _ in cut(PageChunker(), doc)] == ["Here.", "And here."]


def test_fixed_chunks() -> None:
    doc = document([("#", "1 One"), ("", "a b c d e f")], [("R#", "References"), ("", "x y")])
    assert cut(FixedChunker(words=4, overlap=1), doc) == [
        ("1 One a b", "1 One", "body"),
        ("b c d e", "1 One", "body"),
        ("e f", "1 One", "body"),
        ("References x y", "References", "references"),
    ]


@pytest.mark.parametrize("words", [1, 2, 3, 5, 50])
def test_fixed_windows_advance_by_words_minus_overlap(words: int) -> None:
    doc = document([("", " ".join(f"w{n}" for n in range(23)))])
    chunks = [text.split() for text, _, _ in cut(FixedChunker(words=words, overlap=words // 2), doc)]
    assert all(len(chunk) <= words for chunk in chunks)
    assert chunks[-1][-1] == "w22"
    for before, after in pairwise(chunks):
        assert int(after[0][1:]) - int(before[0][1:]) == words - words // 2


@pytest.mark.parametrize("values", [{"max_words": 0}, {"overlap_sentences": -1}])
def test_parameters_out_of_range(values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"chunker\."):
        SentenceChunker(**values)
    with pytest.raises(ValueError, match=r"chunker\.overlap"):
        FixedChunker(words=10, overlap=10)


def test_an_empty_document_has_no_chunks() -> None:
    empty = ExtractedDocument("", (), (), ())
    for chunker in (SentenceChunker(), PageChunker(), FixedChunker()):
        assert list(chunker.chunk(empty)) == []

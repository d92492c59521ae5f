"""Offsets, coverage and Unicode of extraction and chunking hold for any text in any place."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.assemble import assemble
from ingestion.chunkers.fixed import FixedChunker
from ingestion.chunkers.page import PageChunker
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.document import ExtractedDocument
from ingestion.lines import Line, RawPage
from ingestion.repair import clean
from ingestion.sentences import spans

FRAGMENTS = """the remark ably state-of-the art Fig.|3 et|al. e.g. 1|Intro References Abstract Table|1: A 2020 ends.
Ends?|Yes! ﬁne (3) 日本。 é [1]"""
WORDS = st.sampled_from([*(word.replace("|", " ") for word in FRAGMENTS.split()), "x\ufffey", "\x0f", "\u00ad"])
TEXT = st.one_of(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), st.text(max_size=40))


@st.composite
def lines(draw: st.DrawFn) -> Line:
    x, y = draw(st.integers(0, 500)), draw(st.integers(0, 800))
    return Line(
        draw(TEXT),
        x,
        y,
        x + draw(st.integers(1, 300)),
        y,
        draw(st.sampled_from([7.0, 10.0, 10.0, 12.0, 18.0])),
        draw(st.sampled_from(["Body", "Body", "Body-Bold", "Italic"])),
        bold=draw(st.booleans()),
        hyphen=draw(st.booleans()),
        angle=draw(st.sampled_from([0, 0, 0, 1, 3])),
        bold_prefix=draw(st.integers(0, 5)),
    )


PAGES = st.lists(st.lists(lines(), max_size=12).map(lambda found: RawPage(600, 800, found)), min_size=1, max_size=4)


@given(st.text())
def test_clean_is_stable_and_leaves_nothing_unwanted(text: str) -> None:
    found = clean(text)
    assert clean(found) == found
    assert "\ufffe" not in found
    assert "\n" not in found
    assert "  " not in found
    found.encode()  # no half of a surrogate pair


@given(st.text(alphabet=st.sampled_from("aB. ?!e.g\n)\"'1。")))
def test_sentences_cover_the_text_in_order(text: str) -> None:
    found = spans(text)
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())
    assert all(before[1] <= after[0] for before, after in pairwise(found))


@settings(max_examples=200)
@given(PAGES)
def test_blocks_and_chunks_fit_the_text(pages: list[RawPage]) -> None:
    document = assemble(pages)
    text = document.text
    assert "\ufffe" not in text
    assert text == "\n".join(page.text for page in document.pages)
    position = 0
    for block in document.blocks:
        assert text[position : block.char_start].strip("\n") == ""
        assert block.char_start < block.char_end
        assert "\n" not in text[block.char_start : block.char_end]
        position = block.char_end
    assert text[position:].strip("\n") == ""
    assert ExtractedDocument.from_json(document.to_json()) == document
    check_chunks(document)


def check_chunks(document: ExtractedDocument) -> None:
    text = document.text
    for chunker in (
        SentenceChunker(7, 1),
        SentenceChunker(40, 2),
        FixedChunker(5, 2),
        PageChunker(),
        PageChunker(True),
    ):
        covered = bytearray(len(text))
        found = list(chunker.chunk(document))
        assert len({(span.char_start, span.char_end) for span in found}) == len(found)
        for span in found:
            assert 0 <= span.char_start < span.char_end <= len(text)
            piece = text[span.char_start : span.char_end]
            assert piece == piece.strip()
            covered[span.char_start : span.char_end] = b"\x01" * len(piece)
            if isinstance(chunker, SentenceChunker):
                assert len(piece.split()) <= chunker.max_words
        assert all(covered[row] or char.isspace() for row, char in enumerate(text))

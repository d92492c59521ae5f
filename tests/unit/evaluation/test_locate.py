"""Quotes found in text that was extracted differently, and refused where they are not; offsets written back."""

import json
import sys

import pytest

from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.errors import BenchmarkError, OrphanError
from evaluation.evidence import document_stem
from evaluation.locate import Library, check_orphans, locate, write_offsets
from evaluation.quotes import Normal
from evaluation.schema import Benchmark, Evidence
from retrieval.schema import Queries
from tests.unit.evaluation.papers import corpus_of, write_lines

FIRST = "The eﬃcient re-ranker is state-of-the-art. “Précision” matters—always: p < .05 in 3 of 4 tests."
SECOND = "Cats chase mice. The efficient method is simple. Concatenation of cat and dog. Cats chase mice."
THIRD = "An unrelated closing page about the weather in spring."
PAPERS = {"one.pdf": [FIRST, SECOND, THIRD], "2605.23950.pdf": ["Cats chase mice in another paper."]}
CORPUS = corpus_of(PAPERS)
LIBRARY = Library(CORPUS)
LONG = (
    "We evaluate seven retrieval strategies on forty papers with graded judgments and report intervals that resample"
    " whole clusters of questions instead of single ones."
)


def evidence(quote, page=0, doc="one.pdf", start=-1, end=-1, **more):
    return Evidence(
        **{"qid": "q", "grade": 1, "source": "hand", **more},
        doc=doc,
        page=page,
        quote=quote,
        char_start=start,
        char_end=end,
    )


def found(quote, page=0, library=LIBRARY, **more):
    """The text that a quote was located at, and the page offset of its start."""
    place = library.find(evidence(quote, page, **more))
    if place is None:
        return None
    doc, start, end = place
    return library.texts[doc].text[start:end]


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("The efficient re-ranker", "The eﬃcient re-ranker"),  # ligature
        ("the EFFICIENT Re-Ranker", "The eﬃcient re-ranker"),  # case
        ("The  efficient\n re-ranker ", "The eﬃcient re-ranker"),  # white space
        ("The efficient re\u2010ranker", "The eﬃcient re-ranker"),  # another hyphen
        ("state\u2011of\u2011the\u2011art", "state-of-the-art"),
        ("The efficient reranker", "The eﬃcient re-ranker"),  # joined at the line end
        ("The effi-\ncient re-ranker", "The eﬃcient re-ranker"),  # divided at the line end
        ("The effi\ufffecient re-ranker", "The eﬃcient re-ranker"),
        ("The effi\u00adcient re-ranker", "The eﬃcient re-ranker"),
        ('"Precision" matters - always', "Précision” matters—always"),  # letters and digits alone
        ("\u201cPre\u0301cision\u201d matters", "“Précision” matters"),  # accents apart
        ("p < .05", "p < .05"),
        ("3 of 4", "3 of 4"),
    ],
)
def test_a_quote_is_found_however_it_was_typed(quote, there):
    assert found(quote, page=1) == there


@pytest.mark.parametrize("quote", ["p > .05", "p<.05", "cate", "3 of 44", "Dogs chase mice.", "?!", " \n"])
def test_a_short_quote_that_differs_is_not_found(quote):
    assert found(quote, page=1) is None


def test_a_short_quote_is_a_whole_word():
    assert found("cat", page=2) == "cat"
    doc, start, _ = LIBRARY.find(evidence("cat", 2))
    assert LIBRARY.on_page(doc, start, start + 3)["char_start"] == SECOND.index("cat and")  # not in "Concatenation"


def test_the_page_decides_between_equal_sentences_then_the_neighbours_then_the_document():
    library = Library(corpus_of({"p.pdf": ["Same here.", "nothing", "Same here.", "nothing", "nothing", "nothing"]}))

    def page(number):
        return library.on_page(*library.find(evidence("Same here.", number, "p.pdf")))["page"]

    # page 2 has both beside it: the nearer one is 8 characters away, the other 11
    assert [page(number) for number in (0, 1, 2, 3, 4, 6, 99)] == [1, 1, 3, 3, 3, 3, 1]


def test_stored_offsets_decide_between_equal_sentences_on_a_page():
    second = SECOND.rindex("Cats")
    base = len(FIRST) + 1
    there = evidence("cats chase  mice", 2, start=second, end=second + len("Cats chase mice"))
    assert LIBRARY.find(there)[1] == base + second
    wrong = evidence("cats chase  mice", 2, start=second + 1, end=second + 9)
    assert LIBRARY.find(wrong)[1] == base  # not the quote: searched, and the first one is nearest to the page's start


def test_a_quote_may_cross_the_page_break():
    assert found("cat and dog. Cats chase mice. An unrelated closing", page=2).endswith("mice.\nAn unrelated closing")


def test_small_differences_are_forgiven_in_long_quotes_only():
    library = Library(corpus_of({"p.pdf": ["Before. " + LONG + " After."]}))
    damaged = LONG.replace("retrieval", "retrleval").replace("judgments", "judg rnents").replace("forty", "f0rty")
    assert found(damaged, 1, library, doc="p.pdf") == LONG
    other = (
        "We train eight language models on sixty corpora without supervision and publish weights that anyone may use"
    )
    assert found(other, 1, library, doc="p.pdf") is None


def test_a_quote_that_something_interrupts_is_its_longest_run():
    head, tail = LONG[:60], LONG[60:]
    library = Library(
        corpus_of({"p.pdf": [f"{head} 12 Proceedings of the Workshop, pages 1 to 9, Somewhere {tail}"]})
    )
    assert found(LONG, 1, library, doc="p.pdf") == tail.strip(" .")
    columns = Library(corpus_of({"p.pdf": [f"{tail} {'x' * 300} {head}"]}))  # read in the wrong order
    assert found(LONG, 1, columns, doc="p.pdf") == tail.strip(" .")
    most_is_missing = Library(corpus_of({"p.pdf": [head]}))
    assert found(LONG, 1, most_is_missing, doc="p.pdf") is None


def test_scripts_without_blanks_have_no_whole_words():
    library = Library(corpus_of({"p.pdf": ["検索結果は評価指標によって変わる。"]}))
    assert found("評価指標", 1, library, doc="p.pdf") == "評価指標"


def test_an_empty_quote_is_the_page_and_without_a_page_the_document():
    assert found("", page=2) == SECOND
    assert found("") == "\n".join((FIRST, SECOND, THIRD))
    assert found("", page=4) is None
    assert (
        Library(corpus_of({"p.pdf": ["text", " \n"]})).find(evidence("", 2, "p.pdf")) is None
    )  # a page without text


@pytest.mark.parametrize("name", ["2605.23950.pdf", "2605.23950", "id-2605.23950.pdf", "papers/2605.23950.pdf"])
def test_a_document_goes_by_its_id_its_file_name_or_its_stem(name):
    assert LIBRARY.find(evidence("Cats chase mice", 1, name)) is not None
    assert LIBRARY.find(evidence("Cats chase mice", 1, "2605.pdf")) is None


def test_a_name_of_two_documents_is_neither():
    library = Library(corpus_of({"a/p.pdf": ["Cats chase mice."], "b/p.pdf": ["Cats chase mice."]}))
    assert library.row("p") is None
    assert library.row("a/p.pdf") == 0


def test_only_the_ending_pdf_is_no_part_of_a_stem():
    assert [document_stem(name) for name in ("a/b.pdf", "B.PDF", "2605.23950", "x.y")] == [
        "b",
        "B",
        "2605.23950",
        "x.y",
    ]


def benchmark_of(*rows):
    return Benchmark("b", Queries.of(sorted({row.qid for row in rows}), [""] * len({row.qid for row in rows})), rows)


@pytest.mark.parametrize(
    ("quote", "is_there"),
    [
        ("Cats chase mice.", True),
        (" Cats\n\u00a0chase \u2028mice. ", True),  # the same words, other white space
        ("CATS chase mi\u00adce.", True),  # the same when folded
        ("Cats chase mi ce.", False),
        ("Cats chase mice", False),
    ],
)
def test_a_stored_place_counts_where_the_text_there_is_the_quote(quote, is_there):
    second = SECOND.rindex("Cats chase mice.")
    place = LIBRARY.find(evidence(quote, page=2, start=second, end=second + len("Cats chase mice.")))
    page = len(FIRST) + 1
    assert place is not None
    assert (place[1] == page + second) == is_there  # searched, it is the first of two equal sentences


@pytest.mark.parametrize("quote", [" \n", "\u00ad\u200b", "\u2028"])
def test_a_quote_that_says_nothing_is_nowhere_whatever_its_stored_place(quote):
    library = Library(corpus_of({"one.pdf": [quote]}))
    assert library.find(evidence(quote, page=1, start=0, end=len(quote))) is None


def test_every_white_space_folds_to_one_blank():
    """So that texts of equal words need no folding to be known as the same."""
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert len(spaces) > 20
    assert {Normal.of(f"a{space}b", letters=False).text for space in spaces} == {"a b"}


def test_spans_are_in_document_offsets():
    spans = locate(benchmark_of(evidence("Cats chase mice.", 2), evidence("", 3, qid="r", grade=0)), CORPUS)
    base = len(FIRST) + 1
    row = CORPUS.documents["doc_name"].to_pylist().index("one.pdf")
    assert (spans.query.tolist(), spans.doc.tolist(), spans.grade.tolist()) == ([0, 1], [row, row], [1, 0])
    assert spans.start.tolist() == [base, base + len(SECOND) + 1]
    assert spans.end.tolist() == [base + 16, base + len(SECOND) + 1 + len(THIRD)]
    assert spans.whole_page.tolist() == [False, True]
    assert spans.orphans == ()


def test_parts_are_numbered_by_name_among_what_is_relevant_and_found():
    rows = [
        evidence("cat and dog", part="b"),
        evidence("Cats chase mice", part="a"),
        evidence("is nowhere in the paper", part="0"),
        evidence("The efficient method", part="b"),
        evidence("closing page", part="c", grade=0),
        evidence("is simple", part=""),
        evidence("Cats chase mice", qid="r"),
        evidence("cat and dog", qid="r"),
    ]
    spans = locate(benchmark_of(*rows), CORPUS)
    assert spans.part.tolist() == [1, 0, 1, -1, -1, 0, 0]
    assert [row.part for row in spans.orphans] == ["0"]


def test_more_parts_than_bits_are_refused():
    rows = [evidence("Cats chase mice", part=str(number)) for number in range(63)]
    with pytest.raises(BenchmarkError, match="query 'q' has 63 parts; 62 is the most"):
        locate(benchmark_of(*rows), CORPUS)
    assert locate(benchmark_of(*rows[:62]), CORPUS).part.max() == 61


def test_orphans_raise_the_alarm_above_two_percent():
    lost = [evidence(f"sentence number {number} is nowhere", 1, "lost.pdf") for number in range(7)]
    spans = locate(benchmark_of(*lost), CORPUS)
    check_orphans(spans, total=350)
    with pytest.raises(OrphanError) as error:
        check_orphans(spans, total=349)
    message = str(error.value)
    assert "the judgments do not describe this corpus: 7 of 349" in message
    assert message.count("lost.pdf, page 1") == 5
    assert "'sentence number 4 is nowhere'" in message


def test_offsets_are_written_into_the_file_and_then_used(tmp_path):
    second = SECOND.rindex("Cats")
    lines = [
        {
            "qid": "q",
            "doc_name": "one.pdf",
            "page": 1,
            "char_start": -1,
            "char_end": -1,
            "quote": "cat AND dog",
            "grade": 2,
        },
        {
            "qid": "q",
            "doc_name": "one.pdf",
            "page": 2,
            "char_start": second,
            "char_end": second + 16,
            "quote": "Cats chase mice.",
        },
        {"qid": "q", "doc": "one", "quote": "nowhere at all"},
        {"qid": "q", "doc": "one", "page": 3, "quote": "", "source": "hand"},
    ]
    write_lines(tmp_path / "queries.jsonl", [{"qid": "q", "query": "?"}])
    path = write_lines(tmp_path / "evidence.jsonl", lines)
    orphans = write_offsets(tmp_path, CORPUS)
    assert [row.quote for row in orphans] == ["nowhere at all"]
    at = SECOND.index("cat and dog")
    lines[0] |= {"page": 2, "char_start": at, "char_end": at + 11}
    assert [json.loads(line) for line in path.read_text().splitlines()] == lines
    once = path.read_bytes()
    write_offsets(tmp_path, CORPUS)
    assert path.read_bytes() == once
    spans = locate(load_benchmark(BenchmarkSpec(path=str(tmp_path)), "test"), CORPUS)
    assert spans.start.tolist()[:2] == [len(FIRST) + 1 + at, len(FIRST) + 1 + second]

"""The sentence splitter on the traps of scientific English; the wanted split is written with bars."""

from __future__ import annotations

import pytest

from ingestion.sentences import spans


@pytest.mark.parametrize(
    "marked",
    [
        "We do this. | Then we do that.",
        "Smith et al. (2020) show it. | We agree.",
        "We follow Vaswani et al. | This is a new sentence.",
        "See Fig. 3 for details. | It is clear.",
        "Results are in Figs. 3 and 4, cf. Sec. 2. | They hold.",
        "Some methods, e.g. BM25, are old. | Others, i.e. Dense ones, are new.",
        "The error is 3.5 percent. | It was 4.2.",
        "J. Smith and A. B. Jones wrote it. | We read it.",
        "This holds w.r.t. All inputs. | Fine.",
        "It works! | Does it? | Yes.",
        'He said "stop." | Then it ended.',
        "(It is so.) | We go on.",
        "We use trees, lists, etc. | The rest is known.",
        "1. Introduction to it. | More.",
        "It is known.7 | We use it.",
        "The value of p. 12 is low. | Good.",
        "at approx. 5 degrees. | Cold.",
        "no capital follows. so it goes on. | Here it ends.",
        "U.S. Patents are many. | So be it.",
        "これは文です。 | 次の文です。",
    ],
)
def test_split(marked: str) -> None:
    wanted = marked.split(" | ")
    text = " ".join(wanted)
    assert [text[start:end] for start, end in spans(text)] == wanted


def test_spans_are_shifted_and_trimmed() -> None:
    assert spans("  One here. Two here.  ", offset=100) == [(102, 111), (112, 121)]


def test_line_breaks_are_white_space() -> None:
    assert spans("Ends here.\nBegins there and\nruns on.") == [(0, 10), (11, 36)]


def test_nothing_in_nothing() -> None:
    assert spans("") == []
    assert spans(" \n ") == []

"""An answer on a terminal, as a reader sees it."""

from __future__ import annotations

import pytest

from generation.schema import HIGH, LOW, Answer, Claim, LeftOut, Source, Usage
from generation.shown import as_text, claim_line
from tests.unit.generation.sources import evidence, passage

FOUND = evidence("BM25 saturates with\nthe count. And so on.", "Cosine does not saturate at all.", question="Which?")
ONE, TWO = FOUND.sources
USAGE = Usage(seconds=0.25)


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")


def made(*claims: Claim, **more) -> Answer:
    return Answer("Which?", claims, FOUND.sources, generator="grounded", usage=more.pop("usage", USAGE), **more)


def test_a_whole_answer():
    claims = (
        Claim("BM25 saturates with the count.", (ONE.cite(0, 30), TWO.cite(0, 6)), 0.876, HIGH),
        Claim("It is so because of a reason that takes more than one line to be said.", (ONE.cite(31, 41),)),
    )
    left = (LeftOut("c9", "report.pdf, page 9, § 4 End", 9, "beyond the limit of 8 sources"),)
    assert (
        as_text(made(*claims, left_out=left, answerable=0.987))
        == """\
1. BM25 saturates with the count. [S1] [S2] (HIGH 0.88)
2. It is so because of a reason that takes more than one line to be
   said. [S1] (LOW)

Sources
S1  report.pdf, page 3, § 2 Method  (rank 1)
    “BM25 saturates with the count.” (p. 3, characters 1000 to 1030)
    “And so on.” (p. 3, characters 1031 to 1041)
S2  report.pdf, page 3, § 2 Method  (rank 2)
    “Cosine” (p. 3, characters 1000 to 1006)

Left out
rank 9, report.pdf, page 9, § 4 End: beyond the limit of 8 sources

(grounded, answerable 0.99, 0.25 s)"""
    )


def test_a_refusal_says_why_and_what_was_there():
    text = as_text(made(refused=True, reason="the passages hardly speak of it"))
    assert text.startswith("No answer: the passages hardly speak of it.\n")
    assert "not cited: S1, S2" in text


def test_nothing_at_all():
    assert as_text(Answer("?", (), (), refused=True, reason="no passage was retrieved", generator="grounded")) == (
        "No answer: no passage was retrieved.\n\n(grounded, 0.00 s)"
    )


def test_a_claim_without_a_source_says_so_and_equal_marks_stand_once():
    assert claim_line(3, Claim("It is.", (), 0.0, LOW)) == "3. It is. [no source] (LOW 0.00)"
    twice = Claim("It is.", (ONE.cite(0, 4), ONE.cite(5, 14)), 0.5, LOW)
    assert claim_line(1, twice) == "1. It is. [S1] (LOW 0.50)"


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(900, 90, 0.0123, 1.5), "900 + 90 tokens, $0.0123, 1.50 s"),
        (Usage(900, 90, None, 1.5), "900 + 90 tokens, unknown price, 1.50 s"),
        (Usage(900, 90, 0.0, 1.5, cached=True), "900 + 90 tokens, $0.0000, from the cache, 1.50 s"),
    ],
)
def test_what_a_model_cost(usage, cost):
    asked = {"route": "openai/azure", "model": "gpt-5.5", "removed": {"links": 2}}
    text = as_text(made(Claim("It is.", ()), usage=usage, **asked))
    assert text.splitlines()[-1] == f"(grounded, openai/azure, gpt-5.5, {cost})"
    assert "Left out\n2 links removed from the model's reply\n" in text


def test_a_fallback_is_the_last_line():
    text = as_text(made(Claim("It is.", ()), fallback="answered offline: no language model is configured"))
    assert text.splitlines()[-2:] == [
        "(grounded, 0.25 s)",
        "Note: answered offline: no language model is configured",
    ]


def test_words_are_neither_broken_nor_is_a_terminal_steered():
    long = "-".join(["word"] * 20)
    hidden = passage(f"The\x1b[31m state-of-the-art {long}\u202e ends here.", section="2\x1b[31m Method")
    source = Source("S1", hidden, hidden.text)
    text = as_text(Answer("?", (Claim("It is.", (source.cite(0, len(hidden.text)),)),), (source,), usage=USAGE))
    assert long in text
    assert "\x1b" not in text
    assert "\u202e" not in text

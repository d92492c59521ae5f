"""Each repair rule on a case worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from ingestion import repair


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("plain text", "plain text"),
        ("e\ufb03cient \ufb01lter", "efficient filter"),  # ligatures
        ("a\u00a0b\u2003c", "a b c"),  # no-break and em space
        ("two\x0f\x8d words\x00", "two words"),  # control characters of symbol fonts
        ("soft\u00adhyphen", "softhyphen"),
        ("re\ufffemarkably", "remarkably"),  # U+FFFE never survives
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("\uf0b7 item", "• item"),
        ("glyph\ue123s", "glyphs"),  # private use
        ("well\u2010known", "well-known"),
        ("M\u00a8uller", "Müller"),
        ("Mart\u00b4\u0131nez", "Martínez"),
        ("Univ. Libre Universit\u00b4e", "Univ. Libre Université"),
        ("it\u00b4s, don\u00b4t", "it's, don't"),
        ("http://a.b/\u02dcname", "http://a.b/~name"),
        ("x\u00b2", "x2"),  # NFKC
        ("half \ud800 pair", "half pair"),
        ("  many   spaces ", "many spaces"),
        ("\x01\x02", ""),
    ],
)
def test_clean(raw: str, wanted: str) -> None:
    assert repair.clean(raw) == wanted


def test_dropped_counts_unusable_characters_only() -> None:
    assert repair.dropped("good text") == 0
    assert repair.dropped("a\x0fb\ue000c\ufffd") == 3
    assert repair.dropped("soft\u00adhyphen at line\ufffeend") == 0


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("it is re", "markably good", ""),  # `remarkably` stands elsewhere in the document
        ("the state-of-the", "art system", "-"),  # `state-of-the-art` does
        ("a self", "attention layer", "-"),  # `self-attention` more often than `selfattention`
        ("an unheard", "ofword", ""),  # neither stands anywhere, halves are no words: one word
        ("a closed", "form bound", "-"),  # both halves are words of their own
        ("the in", "put layer", ""),  # halves too short to be told from syllables
        ("the Gromov", "Wasserstein distance", "-"),  # a name with a capital
        ("COVID", "19 cases", "-"),  # digits
        ("in 2019", "2020 we", "-"),
        ("INTRO", "DUCTION", ""),
        ("value (x)", "axis", "-"),
        ("state", "of-the-art", "-"),
    ],
)
def test_join_asks_the_documents_own_words(before: str, after: str, wanted: str) -> None:
    words = Counter(
        {
            "remarkably": 2,
            "state-of-the-art": 1,
            "state": 3,
            "of": 9,
            "the": 9,
            "art": 1,
            "self-attention": 3,
            "selfattention": 1,
            "closed": 1,
            "form": 4,
            "in": 9,
            "put": 1,
        }
    )
    assert repair.join(before, after, words) == wanted


def test_vocabulary_leaves_out_both_halves_of_a_broken_word() -> None:
    lines = [("The graph interac", True), ("tions of well-known graph", False)]
    assert repair.vocabulary(lines) == {"the": 1, "graph": 2, "of": 1, "well-known": 1, "well": 1, "known": 1}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mi-", ("mi", True)),
        ("mi\u2010", ("mi", True)),
        ("mi", ("mi", False)),
        ("3-", ("3-", False)),
        ("-", ("-", False)),
    ],
)
def test_split_hyphen(text: str, wanted: tuple[str, bool]) -> None:
    assert repair.split_hyphen(text) == wanted

"""Content words and how rare they are, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.words import Rarity, content_words, function_terms
from retrieval.analysis import Analysed, tokens
from tests.unit.generation.bundled import bundled, rarity


def counted(*chunks: str) -> Rarity:
    """Rarity in chunks of plain words."""
    words = [chunk.split() for chunk in chunks]
    vocabulary = tuple(sorted({word for chunk in words for word in chunk}))
    ids = np.asarray([vocabulary.index(word) for chunk in words for word in chunk], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int64)
    return Rarity.from_counts(Analysed(vocabulary, ids, offsets), len(chunks))


def test_weights_are_those_of_the_formula():
    found = counted("a a b", "a", "c d")
    assert found["a"] == pytest.approx(math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)))  # n counts chunks, not occurrences
    assert found["a"] == pytest.approx(0.47000363)
    assert found["b"] == found["c"] == pytest.approx(math.log(1 + 2.5 / 1.5)) == pytest.approx(0.98082925)
    assert found["nowhere"] == pytest.approx(math.log(8)) == pytest.approx(2.07944154)  # n = 0: ln(1 + 3.5 / .5)
    assert ("a" in found, "nowhere" in found) == (True, False)


def test_a_share_is_the_weight_that_is_held():
    found = counted("a a b", "a", "c d")
    a, b, unknown = 0.47000363, 0.98082925, 2.07944154
    assert found.share(("a", "b"), {"b", "c"}) == pytest.approx(b / (a + b))
    assert found.share(("a", "b", "x"), frozenset("ab")) == pytest.approx((a + b) / (a + b + unknown))
    assert found.share(("a", "b"), {"a", "b"}) == 1
    assert found.share(("a",), set()) == 0
    assert found.share((), {"a"}) == 0


def test_an_empty_corpus_knows_nothing():
    found = Rarity.from_counts(Analysed((), np.zeros(0, np.int32), np.zeros(1, np.int64)), 0)
    assert found["a"] == pytest.approx(math.log(2))  # ln(1 + .5 / .5)
    assert "a" not in found


@given(st.sets(st.sampled_from("abcdx")), st.sets(st.sampled_from("abcdx")), st.permutations("abcdx"))
def test_more_words_never_hold_less(held, more, asked):
    found = counted("a a b", "a", "c d")
    small, large = found.share(tuple(asked), held), found.share(tuple(asked), held | more)
    assert 0 <= small <= large <= 1 + 1e-12


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does the BM25 constant k1 do, and which runs don't?", ("bm25", "constant", "k1", "run")),
        ("Rank the ranked ranks", ("rank",)),
        ("multi-agent", ("multi-ag", "multi", "agent")),
        ("Why is it so?", ()),
        ("", ()),
    ],
)
def test_content_words_are_analysed_once_and_without_function_words(text, expected):
    assert content_words(text) == expected


def test_content_words_are_terms_of_the_one_analyser():
    text = "How often does multi-agent retrieval with nDCG@5 = 0.35 beat BM25's saturation?"
    assert content_words(text) == tuple(dict.fromkeys(word for word in tokens(text) if word not in function_terms()))


@pytest.mark.parametrize("term", ["bm25", "fusion", "rank", "neighbour", "nowhere"])
def test_the_bundled_corpus_is_counted_by_chunk(term):
    held = sum(term in tokens(text) for text in bundled().corpus.texts)
    n = len(bundled().corpus)
    assert rarity()[term] == pytest.approx(math.log(1 + (n - held + 0.5) / (held + 0.5)), rel=1e-12)
    assert (term in rarity()) == (held > 0)

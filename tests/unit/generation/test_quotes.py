"""A quote is found although it is written a little differently, and not where it says something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.quotes import LEAST, Folded

TEXT = (
    "The eﬀect was sig\u00adnificant (p < .05) in 2003. 14 of them – “state-of-the-art” models – cost −5 % more"
    " than 3.14 ≠ 2 and p ≠ q did. Café au lait; rele- vance of 15 % results, < 5 % here. 検索の結果は良い。"
)
FOUND = {
    "effect was significant": "eﬀect was sig\u00adnificant",
    "THE EFFECT  WAS": "The eﬀect was",
    "“effect was significant.”": "eﬀect was sig\u00adnificant",
    "significant ( p < .05 ) in 2003.": "sig\u00adnificant (p < .05) in 2003",
    "14 of them - 'state-of-the-art'": "14 of them – “state-of-the-art",
    "... models - cost -5 % more": "models – cost −5 % more",
    "p ≠ q did. Cafe au lait": "p ≠ q did. Café au lait",
    "Café au lait": "Café au lait",
    "relevance of 15 % results": "rele- vance of 15 % results",
    "15 % results": "15 % results",
    "検索の結果": "検索の結果",
    "結果は良い": "結果は良い",
}
MISSING = [
    "significant (p > .05)",
    "significant (p < .05) in 200",
    "05) in 2003. 14 of them",  # parted from its point
    "p = q did. Cafe au lait",
    "5 % more than 3.14",  # parted from its sign
    "more than 3.1",
    "14 ≠ 2 and p",  # the 14 of 3.14, not the one of `14 of them`
    "5 % here and nowhere",
    "ffect was significant",
    "effect was signific",
    "effect ... significant",
    "",
    "...",
    "was",
]


@pytest.mark.parametrize(("quote", "stands"), FOUND.items())
def test_quotes_that_say_the_same_are_found_at_their_place(quote, stands):
    place = Folded.of(TEXT).find(quote)
    assert place is not None
    assert TEXT[slice(*place)] == stands


@pytest.mark.parametrize("quote", MISSING)
def test_quotes_that_say_something_else_or_nothing_are_not(quote):
    assert Folded.of(TEXT).find(quote) is None


def test_a_comparison_cannot_be_cut_off():
    assert Folded.of("in < 5 % of all cases").find("5 % of all cases") is None
    assert Folded.of("in < 5 % of all cases").find("< 5 % of all cases") == (3, 21)


def test_the_first_place_that_is_a_whole_word_counts():
    text = "unrelated documents; related documents"
    assert Folded.of(text).find("related documents") == (21, 38)


def test_accents_that_are_characters_of_their_own_belong_to_the_quote():
    text = "a cafe\u0301 au laite\u0301"
    assert Folded.of(text).find("café au laité") == (2, len(text))


WORDS = st.lists(
    st.sampled_from(["ranking", "the", "ﬁnds", "p", "−5", "3.14", "naïve", "of", "a"]), min_size=3, max_size=15
)


@given(WORDS, st.data())
def test_whole_words_are_found_however_they_are_written(texts, data):
    start = data.draw(st.integers(0, len(texts) - 1))
    chosen = texts[start : data.draw(st.integers(start, len(texts))) + 1]
    write = data.draw(
        st.sampled_from(
            [str.upper, lambda text: f"“{text}”", lambda text: text.replace(" ", "\n "), lambda text: f"{text}."]
        )
    )
    place = Folded.of(" ".join(texts)).find(write(" ".join(chosen)))
    letters = "".join(chosen).replace("−", "").replace(".", "").replace("ﬁ", "fi")
    if len(letters) < LEAST:
        assert place is None
    else:
        assert place is not None
        assert " ".join(texts)[slice(*place)].split() == chosen


@given(st.text(max_size=80), st.text(max_size=40))
def test_no_text_and_no_quote_is_an_error(text, quote):
    place = Folded.of(text).find(quote)
    assert place is None or 0 <= place[0] < place[1] <= len(text)

"""What texts become for every lexical stage. Stems are those of Porter (1980)."""

from __future__ import annotations

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval.analysis import STOP_WORDS, analysed, tokens
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++ and C# code", ["c++", "c#", "code"]),
        ("in C++, C#.", ["c++", "c#"]),
        ("F1@5", ["f1@5", "f1", "5"]),
        ("F1@5 of 3.5", ["f1@5", "f1", "5", "3.5"]),
        ("Ubuntu 20.04.", ["ubuntu", "20.04"]),
        ("1,024 tokens", ["1,024", "token"]),
        ("multi-agent", ["multi-ag", "multi", "agent"]),  # Porter on the whole: -ent goes from `multi-agent`
        ("state-of-the-art", ["state-of-the-art", "state", "art"]),  # stop words among the parts go
        ("COVID‐19 COVID-19", ["covid-19", "covid", "19"] * 2),  # U+2010 is a hyphen
        ("snake_case", ["snake", "case"]),
    ],
)
def test_technical_tokens(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't", ["don't"]),
        ("don’t", ["don't"]),  # the typographic apostrophe is the same word
        ("the model's", ["model"]),
        ("Wang’s", ["wang"]),
        ("T5's", ["t5"]),
    ],
)
def test_apostrophes(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("efﬁcient", ["effici"]),  # NFKC: the ligature U+FB01 is `fi`
        ("ＢＭ２５", ["bm25"]),  # full width
        ("x²", ["x2"]),
        ("Retrieval RETRIEVAL retrieval", ["retriev"] * 3),
        ("ponies caresses relational", ["poni", "caress", "relat"]),  # Porter's own examples
    ],
)
def test_one_form_for_one_word(text, expected):
    assert tokens(text) == expected


def test_stop_words_lone_letters_and_signs_are_nothing_and_digits_stay():
    assert len(STOP_WORDS) == 33  # Lucene's list
    assert tokens(" ".join(sorted(STOP_WORDS))) == []
    assert tokens("I x, Y; k = 60, 7 of 9") == ["60", "7", "9"]
    assert tokens("") == tokens("?! -- … @ #") == []


def test_order_and_repetition_stay():
    assert tokens("rank the chunks, then rank them") == ["rank", "chunk", "rank", "them"]


def test_a_corpus_is_its_tokens_chunk_by_chunk(tmp_path):
    texts = ["rank fusion rank", "", "the of", "C++ multi-agent fusion"]
    rows = [
        {**row, "chunk_id": f"{n:04}", "text": t}
        for n, (row, t) in enumerate(zip(corpus_rows(), texts, strict=False))
    ]
    found = analysed(Context(corpus_of(rows), ArtifactStore(tmp_path)))
    assert found.vocabulary == ("agent", "c++", "fusion", "multi", "multi-ag", "rank")
    assert found.offsets.tolist() == [0, 3, 3, 3, 8]
    for text, low, high in zip(texts, found.offsets, found.offsets[1:], strict=False):
        assert [found.vocabulary[number] for number in found.ids[low:high]] == tokens(text)
    assert found.counts.toarray()[0].tolist() == [0, 0, 1, 0, 0, 2]
    assert found.frequency.tolist() == [1, 1, 2, 1, 1, 1]
    asked = found.query_counts(["ranks rank unknown", "", "C++"]).toarray()
    assert np.array_equal(asked, [[0, 0, 0, 0, 0, 2], [0] * 6, [0, 1, 0, 0, 0, 0]])

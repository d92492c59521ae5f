"""Acronyms and what they stand for."""

from __future__ import annotations

import pytest

from ingestion.acronyms import expansion, expansions


@pytest.mark.parametrize(
    ("short", "before", "long"),
    [
        ("POMDP", "a partially observable Markov decision process", "partially observable Markov decision process"),
        ("SVM", "trained the support vector machine", "support vector machine"),
        ("AUC", "report the Area Under the Curve", "Area Under the Curve"),  # a function word has its letter or not
        ("NDCG", "the normalized discounted cumulative gain", "normalized discounted cumulative gain"),
        ("LSTM", "with long short-term memory", "long short-term memory"),  # parts of a hyphenated word
        ("NER", "named entity recognition problems", "named entity recognition"),  # a word behind is passed over
        ("XQZ", "the quick zebra", None),  # its letters do not occur
        ("AUC", "which we call", None),
        ("LTD", "LTP and LTD", None),
        ("ON", "only numbers", None),  # a function word in capitals is no acronym
        ("A", "alpha", None),
    ],
)  # fmt: skip
def test_the_words_before_the_brackets(short, before, long):
    assert expansion(short, before.split()) == long


def test_the_most_frequent_definition_wins_and_ties_go_by_spelling():
    texts = [
        "Reciprocal rank fusion (RRF) merges lists.",
        "The reciprocal rank fusion (RRF) is simple, and reciprocal rank fusion (RRF) is strong.",
        "MMR (maximal marginal relevance) diversifies.",
        "Figure 3 (see text) and (Smith et al., 2019) define nothing.",
    ]
    assert expansions(texts) == {"RRF": "reciprocal rank fusion", "MMR": "maximal marginal relevance"}
    assert expansions(reversed(texts)) == expansions(texts)

"""Filters: what passes, what is refused, and that every path into a ranking keeps to them."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.errors import FilterError
from retrieval.filters import Where, chunk_years
from tests.contract.conftest import corpus_of, corpus_rows


@pytest.fixture
def corpus():
    rows = corpus_rows()
    for number, row in enumerate(rows):
        row["section"] = ("1 Introduction", "2 Method", "")[number % 3]
        row["metadata_json"] = ('{"year": 2019}', '{"published": "2021-05-02T00:00:00Z"}', "{}")[number % 3]
    return corpus_of(rows)


def test_documents_by_name_stem_or_id(corpus):
    for name in ("d2.pdf", "d2"):
        keep = Where.read(document=name).mask(corpus)
        assert set(corpus.column("doc_id")[keep]) == {"d2"}
        assert keep.sum() == (corpus.column("doc_id") == "d2").sum()
    both = Where.read(document="d2,d3.pdf").mask(corpus)
    assert set(corpus.column("doc_id")[both]) == {"d2", "d3"}


def test_sections_by_a_part_of_their_heading(corpus):
    assert set(corpus.column("section")[Where.read(section="METHOD").mask(corpus)]) == {"2 Method"}
    assert not Where.read(section="appendix").mask(corpus).any()


@pytest.mark.parametrize(
    ("typed", "years"),
    [("2019", {2019}), ("2019-2021", {2019, 2021}), ("2020-", {2021}), ("-2020", {2019}), ("", {0, 2019, 2021})],
)
def test_years(corpus, typed, years):
    assert set(np.unique(chunk_years(corpus)[Where.read(year=typed).mask(corpus)]).tolist()) == years


def test_conditions_are_all_needed(corpus):
    where = Where.read(document="d1", section="intro", year="2019")
    keep = where.mask(corpus)
    assert 0 < keep.sum() < Where.read(document="d1").mask(corpus).sum()
    assert (keep == Where.read("d1").mask(corpus) & Where.read(section="intro").mask(corpus)).all()


def test_what_is_not_there_is_refused_with_the_nearest_name(corpus):
    with pytest.raises(FilterError, match=r"d2\.pfd.*did you mean 'd2.pdf'"):
        Where.read(document="d2.pfd").mask(corpus)
    for year in ("next", "-", "20", "2019-2020-2021"):
        with pytest.raises(FilterError, match="2019-2021"):
            Where.read(year=year)

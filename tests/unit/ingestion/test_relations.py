"""What the words between two entities say."""

from __future__ import annotations

import pytest

from ingestion.relations import relation


@pytest.mark.parametrize(
    ("between", "found"),
    [
        (" is a special case of the ", ("is_a", False)),
        (" and other ", ("is_a", False)),
        (" such as ", ("is_a", True)),  # methods such as BM25: BM25 is one of the methods
        (" consists of a ", ("part_of", True)),  # the index consists of postings: postings are the part
        (" is a component of our ", ("part_of", False)),
        (" uses the ", ("uses", False)),
        (", which relies on ", ("uses", False)),
        (" is widely used in ", ("uses", True)),  # BM25 is used in Lucene: Lucene uses BM25
        (" extends ", ("extends", False)),
        (" clearly outperforms the strong ", ("outperforms", False)),
        (" was evaluated on the ", ("evaluated_on", False)),
        (" introduces a new ", ("proposes", False)),
        (" compared with ", ("compared_with", False)),
        (" and ", None),
        (" ", None),
        (" (Smith, 2019) uses ", None),  # brackets end what is said of an entity
        (" uses words and many more words until the sixty characters are over ", None),
        (" does not use ", None),
    ],
)
def test_a_relation_and_its_direction(between, found):
    assert relation(between) == found

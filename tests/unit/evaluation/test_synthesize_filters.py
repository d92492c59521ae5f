"""Planted bad drafts of every kind are found, each for its reason, and good ones stay."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evaluation.schema import Evidence
from evaluation.synthesize import filters
from evaluation.synthesize.discriminating import SAME, ranks, runnable, sift_by_ranks
from evaluation.synthesize.draft import Draft
from evaluation.synthesize.filters import Limits, copied, dangling, generic, holds_answer, sift, without_duplicates
from evaluation.synthesize.sampling import SURPLUS, first, in_turn
from evaluation.synthesize.sentences import Prose
from ingestion.artifacts import ArtifactStore
from ingestion.graph import GraphSpec, build_graph
from retrieval.errors import RetrievalError
from tests.unit.evaluation.papers import corpus_of


def draft(
    query: str,
    answer: str = "x",
    entities: tuple[str, ...] = ("edge cliff",),
    quotes: tuple[str, ...] = ("q",),
    **said,
) -> Draft:
    rows = tuple(Evidence("", "a.pdf", 1, -1, -1, quote, 3, "synthetic:templates") for quote in quotes)
    told = {"kind": "single_hop", "template": "action", "drafted_by": "synthetic:templates", "evidence": rows, **said}
    return Draft(query=query, answer=answer, entities=entities, relations=(), **told)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("What does this method improve?", "this"),
        ("Why are these scores low?", "these"),
        ("What follows from the above?", "the above"),
        ("What is shown in Figure 3?", "Figure 3"),
        ("Which strategy wins in Table 2?", "Table 2"),
        ("What does Equation (4) say?", "Equation (4"),
        ("What is proved in Appendix B?", "Appendix B"),
        ("What do we measure?", "we"),
        ("How does our parser work?", "our"),
        ("What does it improve?", "it"),
        ("Why do they fail?", "they"),
        ("Why can an explanation not avoid it?", "it"),  # in one clause, no subject is its own object
        ("What accuracy does the proposed system reach?", "the proposed system"),
        ("What do the authors conclude?", "the authors"),
        ("How large is the training set?", "the training set"),
        ("What did the latter report?", "the latter"),
        ("What is said in the previous section?", "previous section"),
        ("Which of its words count?", "its"),
        ("Who wrote [12]?", "[12]"),
    ],
)
def test_references_that_point_out_of_the_question_are_found(query, word):
    assert dangling(query) == word


@pytest.mark.parametrize(
    "query",
    [
        "What is the edge cliff?",
        "How does BM25 treat chunks when they share no term with the query?",
        "How does BM25 weigh its terms?",
        "What does PPMI stand for, and what does it do?",
        "What is the corpus of the VERBMOBIL project used for?",
        "What is the set of holders that an entity has?",
        "Does a figure count as text?",
        "What do the terrorism examples reflect?",
        "How large is the Prague Dependency Treebank?",
    ],
)
def test_questions_that_can_be_understood_alone_are_left(query):
    assert dangling(query) == ""


def test_an_answer_that_points_elsewhere_is_dangling_too():
    assert filters.unexplained("to acquire this knowledge from text") == "answer: this"
    assert filters.unexplained("to find names as in Section 4") == "answer: Section 4"
    assert filters.unexplained("to find names") == ""


def test_a_question_that_says_its_answer_is_found():
    assert holds_answer(draft("Are the odd properties of the floor two odd properties?", "odd properties"))
    assert holds_answer(draft("How many odd properties has the floor?", "two odd properties")) == ""
    assert holds_answer(draft("What is the edge cliff?", "")) == ""


def test_a_question_about_what_half_of_the_documents_hold_is_generic():
    share = {"common": 0.4, "rare": 0.1}.__getitem__
    assert generic(draft("?", entities=("common",)), share, Limits(), 20) == "common stands in 40% of the documents"
    assert generic(draft("?", entities=("common", "rare")), share, Limits(), 20) == ""
    assert generic(draft("?", entities=("common",)), share, Limits(), 9) == ""  # 3.6 documents: fewer than four
    assert generic(draft("?", entities=()), share, Limits(), 20) == "names no entity of the corpus"


def test_wording_is_copied_where_more_than_a_share_of_the_words_is_the_evidences():
    quote = "The edge cliff punishes short lists whenever few passages match a rare query."
    # apart from the name: punish, short, list, rare, queri: 5 of 5; and reader, suffer, brief, result, rare: 1 of 5
    close = draft("When does the edge cliff punish short lists of a rare query?", quotes=(quote,))
    free = draft("Do readers suffer from brief results of the edge cliff for rare wording?", quotes=(quote,))
    assert copied(close, Limits()) == "100% of 5 words"
    assert copied(free, Limits()) == ""
    assert copied(free, Limits(copied=0.1)) == "17% of 6 words"
    assert (
        copied(draft("What does the edge cliff punish?", quotes=(quote,)), Limits()) == ""
    )  # one word, and the name


def test_near_duplicates_of_drafts_and_of_questions_that_are_there():
    existing = ["What is meant by the term edge cliff?"]
    drafts = [
        draft("What is the edge cliff?"),  # is there: {edge, cliff}
        draft("What does SVM stand for?"),
        draft("What does SVD stand for?"),  # another acronym
        draft("For what does SVM stand?"),  # the second once more
        draft("Which lists does the silent rule punish?"),
        draft("Which lists does the silent rule hide?"),  # 3 of 5 words
    ]
    found = without_duplicates(drafts, existing, Limits())
    assert [one.query for one in found.kept] == [drafts[at].query for at in (1, 2, 4, 5)]
    assert [(one.draft.query, one.detail) for one in found.dropped] == [
        ("What is the edge cliff?", existing[0]),
        ("For what does SVM stand?", "What does SVM stand for?"),
    ]
    assert len(without_duplicates(drafts, [], Limits(alike=0.5)).kept) == 4  # 3 of 5 words is too much now


def test_a_question_of_two_parts_is_no_duplicate_of_one_of_them():
    rows = tuple(Evidence("", "a.pdf", 1, -1, -1, "q", 3, "s", part) for part in "ab")
    both = draft("What does PPMI stand for, and what does it do?", evidence=rows)
    assert without_duplicates([draft("What does PPMI stand for?"), both], [], Limits()).dropped == ()


SENTENCE = "The edge cliff is the fall from the last retrieved place to none at all. "
FILLER = "Every strategy returns passages and every passage has a rank in its ranking. "


@pytest.fixture(scope="module")
def prose() -> Prose:
    papers = {f"p{at}.pdf": [FILLER * 3 + (SENTENCE * 3 if at == 0 else "")] for at in range(6)}
    corpus = corpus_of(papers)
    return Prose.of(corpus, build_graph(corpus, GraphSpec()))


def test_planted_drafts_are_all_found_and_counted(prose):
    bad = {
        filters.DANGLING: ["What does this method do to the edge cliff?", "Why does our edge cliff matter?"],
        filters.ANSWERED: ["Is the edge cliff the fall?", "How do rankings rank passages?"],
        filters.COPIED: ["Does the edge cliff fall from the last retrieved place to none?"],
        filters.DUPLICATE: ["What is meant by the edge cliff?"],
    }
    good = ["What is the edge cliff?", "How steep is the edge cliff?"]
    special = {
        "Is the edge cliff the fall?": {"answer": "the fall"},
        "How do rankings rank passages?": {"entities": ("ranking",)},  # in all six documents
    }
    queries = [*good, *(query for own in bad.values() for query in own)]
    drafts = [
        draft(query, **{"answer": "deep", "quotes": (SENTENCE,), **special.get(query, {})}) for query in queries
    ]
    found = sift(drafts, prose, [], Limits())
    assert [one.query for one in found.kept] == good
    assert {reason: [one.draft.query for one in found.dropped if one.reason == reason] for reason in bad} == bad


def test_what_everybody_has_at_the_top_or_nobody_finds_is_dropped():
    drafts = [draft(f"Q{at}?") for at in range(4)]
    table = {"bm25": np.array([1, 1, 0, 3]), "tfidf": np.array([1, 2, 0, 0])}
    found = sift_by_ranks(drafts, table, 50)
    assert [one.query for one in found.kept] == ["Q1?", "Q3?"]
    assert [(one.draft.query, one.reason, one.detail) for one in found.dropped] == [
        ("Q0?", SAME, "rank 1 for bm25, tfidf"),
        ("Q2?", SAME, "not within 50 for bm25, tfidf"),
    ]
    assert len(sift_by_ranks(drafts, {}, 50).kept) == 4


def test_ranks_are_those_of_the_evidence(tmp_path):
    papers = {"a.pdf": ["cliff cliff cliff edge."], "b.pdf": ["cliff edge rank list."], "c.pdf": ["nothing here."]}
    corpus = corpus_of(papers)
    stages, absent = runnable(["bm25", "tfidf"])
    assert absent == {}

    def evidence(doc: str, quote: str, part: str = "") -> Evidence:
        return Evidence("", doc, 1, -1, -1, quote, 3, "s", part)

    told = [
        ("cliff?", [evidence("b.pdf", "cliff edge rank list")]),  # a.pdf has more of it
        ("rank list?", [evidence("b.pdf", "cliff edge rank list")]),
        ("rank?", [evidence("c.pdf", "nothing here")]),
        ("cliff edge?", [evidence("a.pdf", "cliff cliff cliff", "a"), evidence("b.pdf", "rank list", "b")]),
    ]
    drafts = []
    for query, rows in told:
        one = draft(query)
        drafts.append(draft(query, evidence=tuple(Evidence(one.qid, *row_of(row)) for row in rows)))
    found = ranks(drafts, stages, corpus, ArtifactStore(tmp_path), 10)
    assert {name: row.tolist() for name, row in found.items()} == {"bm25": [2, 1, 0, 1], "tfidf": [2, 1, 0, 1]}
    with pytest.raises(RetrievalError, match="did you mean 'bm25'"):
        runnable(["bm52"])


def row_of(row: Evidence) -> tuple:
    return row.doc, row.page, row.char_start, row.char_end, row.quote, row.grade, row.source, row.part


def test_templates_and_documents_take_turns_and_the_seed_repeats():
    drafts = [draft(f"A{at}?", template="acronym") for at in range(20)]
    drafts += [draft(f"D{at}?", template="definition") for at in range(3)]
    ordered = in_turn(drafts, 1)
    assert Counter(one.template for one in ordered[:6]) == {"acronym": 3, "definition": 3}
    assert ordered == in_turn(drafts[::-1], 1)
    assert ordered != in_turn(drafts, 2)
    taken = first(ordered, 6)
    assert len(taken.kept) == 6
    assert {one.reason for one in taken.dropped} == {SURPLUS}
    rows = [
        draft(f"E{at}?", evidence=(Evidence("", f"d{at % 2 if at else 9}.pdf", 1, -1, -1, "q", 3, "s"),))
        for at in range(9)
    ]
    assert len({one.documents for one in in_turn(rows, 0)[:3]}) == 3

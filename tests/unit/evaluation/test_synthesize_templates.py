"""What every template makes of a sentence, worked out by hand, and what it must not make of others."""

from __future__ import annotations

import pytest

from evaluation.quotes import Text
from evaluation.synthesize.drafting import AMBIGUOUS, SOURCE, drafts_by_templates
from evaluation.synthesize.grammar import ACTIONS, is_plural, third_person
from evaluation.synthesize.sentences import Prose, is_prose
from evaluation.synthesize.templates import TEMPLATES
from evaluation.synthesize.templates.fact import Fact, Material, clause
from ingestion.graph import GraphSpec, build_graph
from tests.unit.evaluation.papers import corpus_of

# So that the graph knows the entities: each stands in many sentences of one document.
KNOWN = "The edge cliff helps. An edge cliff is here. No edge cliff is left. " * 2
OTHERS = "BM25 helps a lot. We like BM25 much. With BM25 all is well. Rank fusion helps. A rank fusion is near. " * 3
GATE = "The Query-Form Gate helps. Our Query-Form Gate works. A Query-Form Gate is near. " * 2


def prose_of(*texts: str) -> Prose:
    papers = {"a.pdf": [" ".join([*texts, KNOWN, OTHERS, GATE])]}
    papers |= {f"f{at}.pdf": ["Nothing of the kind stands in this other paper."] for at in range(6)}
    corpus = corpus_of(papers)
    return Prose.of(corpus, build_graph(corpus, GraphSpec()))


def facts_of(*texts: str) -> list[Fact]:
    prose = prose_of(*texts)
    wanted = set(texts)
    material = Material(prose)
    return [
        fact for one in prose.sentences if one.text in wanted for make in TEMPLATES for fact in make(one, material)
    ]


@pytest.mark.parametrize(
    ("sentence", "query", "answer", "template"),
    [
        ("The edge cliff is the fall from the last place to none; at fifty it is small.",
         "What is the edge cliff?", "the fall from the last place to none", "definition"),
        ("An edge cliff is a step between the last place and none.",
         "What is an edge cliff?", "a step between the last place and none", "definition"),
        ("Nodes in the tree with no children are called bare leaves.",
         "What are bare leaves?", "Nodes in the tree with no children", "naming"),
        ("We call this a floor inversion: of two query terms the commoner one weighs more.",
         "What is a floor inversion?", "of two query terms the commoner one weighs more", "naming"),
        ("We describe windowed Jaccard deduplication (WJD), which walks a ranking from its top.",
         "What does WJD stand for?", "windowed Jaccard deduplication", "acronym"),
        ("We describe windowed Jaccard deduplication (WJD), which walks a ranking from its top.",
         "What does windowed Jaccard deduplication do?", "walks a ranking from its top", "proposed"),
        ("We specify the Query-Form Gate (QFG), a rule that reads the weight from the question's form.",
         "What is the Query-Form Gate?", "a rule that reads the weight from the question's form", "apposition"),
        ("The edge cliff, the fall that follows the last place, vanishes with the depth.",
         "What is the edge cliff?", "the fall that follows the last place", "apposition"),
        ("Rank fusion was introduced by Cormack and Clarke in this form.",
         "Who introduced rank fusion?", "Cormack and Clarke", "origin"),
        ("Buckley and Voorhees [7] proposed rank fusion, which is simple.",
         "Who proposed rank fusion?", "Buckley and Voorhees", "origin"),
        ("However, rank fusion requires two rankings of the same passages.",
         "What does rank fusion require?", "two rankings of the same passages", "action"),
        ("The edge cliff depends on the depth of the ranking alone.",
         "What does the edge cliff depend on?", "the depth of the ranking alone", "action"),
        ("Rank fusion is used to merge rankings of several engines.",
         "What is rank fusion used for?", "to merge rankings of several engines", "purpose"),
        ("BM25 uses rank fusion to merge several fields of a page.",
         "What does BM25 use rank fusion for?", "to merge several fields of a page", "use"),
        ("A large depth softens much, but rank fusion reduces the edge cliff.", "", "", ""),  # no subject in front
        ("Rank fusion reduces the edge cliff when lists are long.",
         "What effect does rank fusion have on the edge cliff?",
         "reduces the edge cliff when lists are long", "effect"),
        ("Rank fusion is robust against outliers, because it never looks at scores.",
         "Why is rank fusion robust against outliers?", "it never looks at scores", "reason"),
        ("The edge cliff vanishes when the depth is without bound.",
         "When does the edge cliff vanish?", "when the depth is without bound", "condition"),
        ("The main drawback of rank fusion is the loss of all distances.",
         "What is the drawback of rank fusion?", "the loss of all distances", "side"),
        ("Rank fusion is more robust than BM25 on short questions.",
         "How does rank fusion compare with BM25?",
         "Rank fusion is more robust than BM25 on short questions", "comparison"),
        ("Unlike BM25, rank fusion is blind to scores.",
         "How does rank fusion differ from BM25?", "Unlike BM25, rank fusion is blind to scores", "comparison"),
        ("Rank fusion needs ranks alone, whereas BM25 needs counts of terms.",
         "How do rank fusion and BM25 differ?",
         "Rank fusion needs ranks alone, whereas BM25 needs counts of terms", "comparison"),
        ("BM25 has two free parameters, k1 and b.", "How many free parameters does BM25 have?", "two free parameters",
         "count"),
        ("BM25 achieves 86.3% accuracy on the default test.",
         "What accuracy is reported for BM25 on the default test?", "86.3%", "measured"),
        ("BM25 reaches a mean recall of 0.45 on long questions.",
         "What mean recall is reported for BM25 on long questions?", "0.45", "measured"),
        ("The edge cliff is set to 0.5 in all experiments.", "What is the edge cliff set to?", "0.5", "setting"),
        ("The edge cliff is 55 % at a depth of fifty.", "How large is the edge cliff?", "55 %", "amount"),
        ("The edge cliff was 0.55 in all four collections.", "How large is the edge cliff?", "0.55", "amount"),
    ],
)  # fmt: skip
def test_templates_ask_what_a_sentence_states(sentence, query, answer, template):
    found = {(fact.query, fact.answer, fact.template) for fact in facts_of(sentence)}
    assert (query, answer, template) in found if query else not found


@pytest.mark.parametrize(
    "sentence",
    [
        "The edge cliff is an important problem of all these lists.",  # judges
        "The edge cliff is the main reason for all of that.",
        "It is a step between the last place and none of them.",  # whose?
        "This edge cliff is a step between the last place and none.",
        "The tagset is a set of labels that has a hundred members.",  # the one that was spoken of
        "Rank fusion models facilitate the pairing of several lists.",  # a noun, not a verb
        "Rank fusion requires it because of the many other lists.",
        "The edge cliffs are 0.49, 0.46, 0.63 and 0.31 in four collections.",
        "We call the effect dilution, as others did before us.",
        "If two engines share rank fusion, the engine that is better wins, and we see it.",
        "We describe rank fusion, the value that counts most of all, and what follows.",
        "They describe Task Recall Precision Entities (TE) at length.",  # initials that the acronym lacks
    ],
)
def test_sentences_that_state_nothing_are_left_alone(sentence):
    assert facts_of(sentence) == []


def test_a_name_that_the_sentence_before_explains_has_both_as_evidence():
    before, sentence = "In a list of two the last score becomes nothing at all.", "We call this bottom erasure."
    prose = prose_of(before, sentence)
    (draft,) = [one for one in drafts_by_templates(prose).kept if one.template == "naming"]
    assert (draft.query, draft.answer) == ("What is meant by bottom erasure?", before.rstrip("."))
    assert [(row.quote, row.page, row.char_start, row.char_end) for row in draft.evidence] == [
        (f"{before} {sentence}", 1, 0, len(before) + 1 + len(sentence))
    ]


def test_drafts_carry_located_evidence_entities_relations_and_their_maker():
    sentence = "Rank fusion reduces the edge cliff when lists are long."
    lead = "Many ways exist of doing one thing."
    prose = prose_of(lead, sentence)
    (draft,) = [one for one in drafts_by_templates(prose).kept if one.template == "effect"]
    (row,) = draft.evidence
    assert (row.doc, row.page, row.char_start, row.char_end) == (
        "a.pdf",
        1,
        len(lead) + 1,
        len(lead) + 1 + len(sentence),
    )
    assert (row.quote, row.grade, row.source, draft.drafted_by) == (sentence, 3, SOURCE, "synthetic:templates")
    assert draft.entities == ("rank fusion", "edge cliff")
    assert draft.relations == (("rank fusion", "edge cliff"),)
    before, after = draft.around[0]
    assert before == lead
    assert after.startswith("The edge cliff helps.")
    text = Text(prose.library.texts[0].text, prose.library.texts[0].pages)
    assert text.find(row) == (row.char_start, row.char_end)


def test_equal_questions_are_one_draft_and_other_answers_make_an_acronym_ambiguous():
    papers = {
        "a.pdf": ["The stub advantage (SA) is small. The Silent Chunk Rule (SCR) forbids it all."],
        "b.pdf": ["The seed agreement (SA) is large. By the silent chunk rules (SCR) nothing is ranked."],
    }
    corpus = corpus_of(papers)
    found = drafts_by_templates(Prose.of(corpus, build_graph(corpus, GraphSpec())))
    assert [(one.draft.query, one.reason) for one in found.dropped] == [("What does SA stand for?", AMBIGUOUS)]
    (draft,) = [one for one in found.kept if one.template == "acronym"]
    assert draft.query == "What does SCR stand for?"
    assert sorted(row.doc for row in draft.evidence) == ["a.pdf", "b.pdf"]


def test_statements_among_others_answer_partly():
    prose = prose_of(
        "Rank fusion requires two rankings of one set.", "Rank fusion requires a constant that damps it."
    )
    (draft,) = [one for one in drafts_by_templates(prose).kept if one.query == "What does rank fusion require?"]
    assert [row.grade for row in draft.evidence] == [2, 2]


def test_questions_over_two_papers_have_a_part_of_each():
    repeated = "A word error is bad. The word error helps. No word error is left. " * 3
    other = "A set error is bad. The set error helps. No set error is left. " * 3
    papers = {
        "a.pdf": ["The word error is the share of words that are wrong. " + repeated],
        "b.pdf": ["The set error is the share of sets that have a fault. " + other],
    }
    papers |= {f"f{at}.pdf": ["Nothing of the kind stands in this other paper."] for at in range(6)}
    corpus = corpus_of(papers)
    found = drafts_by_templates(Prose.of(corpus, build_graph(corpus, GraphSpec()))).kept
    (draft,) = [one for one in found if one.template == "difference"]
    assert draft.kind == "multi_hop"
    assert {row.part: row.doc for row in draft.evidence} in (
        {"a": "a.pdf", "b": "b.pdf"},
        {"a": "b.pdf", "b": "a.pdf"},
    )
    assert draft.query in (
        "What is the difference between the set error and the word error?",
        "What is the difference between the word error and the set error?",
    )


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("The edge cliff is a step between two places.", True),
        ("the edge cliff is a step between two places.", False),  # a piece
        ("The edge cliff is a step between two places", False),
        ("The value x = 3 holds for all of the lists.", False),
        ("The iter- ations of all learners were counted here.", False),
        ("The list (of all places was counted in here.", False),
        ("A b c d holds for x y z in the lists.", False),
        ("Too short.", False),
    ],
)
def test_only_whole_sentences_of_prose_are_used(text, whole):
    assert is_prose(text) is whole


def test_the_little_grammar():
    assert [third_person(verb) for verb in ("require", "specify", "search", "address", "employ")] == [
        "requires", "specifies", "searches", "addresses", "employs",
    ]  # fmt: skip
    assert ACTIONS["specifies"] == "specify"
    assert [is_plural(word) for word in ("lists", "corpus", "basis", "loss", "gas", "list")] == [
        True, False, False, False, False, False,
    ]  # fmt: skip
    assert clause("the fall to none; it is small.") == "the fall to none"
    assert clause("a rule, which nobody knows.") == "a rule"

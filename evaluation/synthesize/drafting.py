"""Drafts by templates: every statement of the corpus that one of them recognises, equal questions put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaluation.benchmark import derived_qid
from evaluation.schema import Evidence
from evaluation.synthesize.draft import Draft, Dropped, Sifted
from evaluation.synthesize.sentences import Prose
from evaluation.synthesize.templates import TEMPLATES
from evaluation.synthesize.templates.fact import Fact, Material, Span
from evaluation.synthesize.templates.joined import joined
from ingestion.names import words

SOURCE = "synthetic:templates"
AMBIGUOUS = "ambiguous"
ANSWERS, PARTLY = 3, 2  # grades of evidence that answers its question (or part), and of one statement among others
STATEMENTS = ("action", "working")  # templates of which each sentence states one thing among others
ALIKE = 85.0  # of 100: spellings of one expansion differ in a hyphen or an ending
ONE_ANSWER = ("acronym", "count", "measured", "setting", "amount")  # templates whose question has one short answer


def drafts_by_templates(prose: Prose) -> Sifted:
    """Every draft that the templates make, by qid; questions with contradictory answers are dropped."""
    material = Material(prose)
    facts = [fact for sentence in prose.sentences for template in TEMPLATES for fact in template(sentence, material)]
    facts += list(joined(facts, prose))
    by_query: dict[str, list[Fact]] = {}
    for fact in facts:
        by_query.setdefault(fact.query.casefold(), []).append(fact)
    kept, dropped = [], []
    for own in by_query.values():
        draft = _draft(own, prose)
        answers = _answers(own)
        if len(answers) > 1:
            dropped.append(Dropped(draft, AMBIGUOUS, " or ".join(answers)))
        else:
            kept.append(draft)
    return Sifted(
        tuple(sorted(kept, key=lambda draft: draft.qid)), tuple(sorted(dropped, key=lambda one: one.draft.qid))
    )


def _answers(facts: Sequence[Fact]) -> list[str]:
    """The different answers of a question that must have one."""
    from rapidfuzz.fuzz import ratio

    found: list[str] = []
    for fact in facts if facts[0].template in ONE_ANSWER else facts[:1]:
        plain = " ".join(words(fact.answer.replace("-", " ")))
        if all(ratio(plain, " ".join(words(known.replace("-", " ")))) < ALIKE for known in found):
            found.append(fact.answer)
    return found


def _draft(facts: Sequence[Fact], prose: Prose) -> Draft:
    """One draft of facts that ask the same; the evidence of each is an alternative of the others."""
    first = facts[0]
    spans = list(dict.fromkeys(span for fact in facts for span in fact.spans))
    several = first.template in STATEMENTS and len({fact.answer for fact in facts}) > 1
    grade = PARTLY if several else ANSWERS
    return Draft(
        query=first.query,
        kind=first.kind,
        template=first.template,
        answer=first.answer,
        entities=first.entities,
        relations=tuple(dict.fromkeys(pair for fact in facts for pair in fact.relations)),
        evidence=tuple(replace(evidence_of(span, first.query, SOURCE, prose), grade=grade) for span in spans),
        drafted_by=SOURCE,
        around=tuple(prose.around(span.doc, span.start, span.end) for span in spans),
    )


def evidence_of(span: Span, query: str, source: str, prose: Prose) -> Evidence:
    """The judgment that a span answers a question, or a part of it."""
    library = prose.library
    at = library.on_page(span.doc, span.start, span.end)
    name = str(library.corpus.documents["doc_name"][span.doc].as_py())
    doc = name if library.row(name) == span.doc else str(library.corpus.documents["doc_id"][span.doc].as_py())
    base = Evidence(derived_qid(query), doc, at["page"], at["char_start"], at["char_end"], "", ANSWERS, source)
    return replace(base, quote=" ".join(span.text.split()), part=span.part)

"""Drafted questions that a reviewer has accepted, as questions to import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.importing.questions import Question, Said
from evaluation.importing.rows import QuestionsError
from evaluation.records import read_records
from evaluation.synthesize.draft import Draft, read_drafts, review_path
from evaluation.synthesize.review import ACCEPTED, REJECTED, Decision, all_decisions, decided


@dataclass(frozen=True)
class Accepted:
    """Questions by qid, what is said about reading them, and what is wrong."""

    questions: Mapping[str, Question]
    lines: list[str]
    problems: tuple[str, ...]


def is_drafts(path: Path) -> bool:
    """Whether a file holds drafts: its first line says who drafted it."""
    if not (path.is_file() and path.suffix == ".jsonl"):
        return False
    return "drafted_by" in next((record.data for record in read_records(path)), {})


def accepted(path: Path) -> Accepted:
    """The drafts that a reviewer accepted and none rejected, in their final wording, marked with who made them.

    Raises:
        QuestionsError: nobody has accepted anything.
        DraftError, BenchmarkError: a line is unreadable.
    """
    decisions = all_decisions(path)
    questions: dict[str, Question] = {}
    problems, counts = [], Counter[str]()
    for number, draft in enumerate(read_drafts(path), 1):
        own = decisions.get(draft.qid, [])
        state = _state(own)
        counts[state] += 1
        if state != ACCEPTED:
            continue
        question = _question(draft, [one for one in own if one.state == ACCEPTED], number)
        if question.qid in questions:
            problems.append(f"{question.place}: the question {question.text!r} is accepted twice; reject one of them")
        questions[question.qid] = question
    if not questions:
        raise QuestionsError(
            f"{path}: no draft is accepted ({review_path(path).name}); review them with"
            f" python -m evaluation.synthesize review={path}"
        )
    told = ", ".join(f"{counts[state]} {state}" for state in (ACCEPTED, REJECTED, "disputed", "undecided"))
    return Accepted(questions, [f"{path}: {sum(counts.values())} drafts: {told}"], tuple(problems))


def _state(decisions: list[Decision]) -> str:
    states = {decision.state for decision in decisions} - {""}
    return "disputed" if len(states) > 1 else next(iter(states), "undecided")


def _question(draft: Draft, decisions: list[Decision], number: int) -> Question:
    """The draft as the last of its reviewers worded it."""
    final = decided(draft, decisions[-1])
    place = f"draft {number}"
    fields = {
        "kind": final.kind,
        "answer": final.answer,
        "entities": list(final.entities),
        "relations": list(final.relations),
        "drafted_by": final.drafted_by,
        "reviewed_by": ", ".join(decision.source for decision in decisions),
    }
    if final.query != draft.query:
        fields["edited_by"] = decisions[-1].source
    evidence = [
        Said(row.doc, row.page, row.quote, row.grade, row.source, row.part, place, row.char_start, row.char_end)
        for row in final.evidence
    ]
    return Question(final.qid, final.query, place, False, fields, evidence)

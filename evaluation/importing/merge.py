"""What an import would do to a benchmark, worked out before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.evidence import document_stem
from evaluation.importing.divide import divide, shared_by_splits
from evaluation.importing.places import Finder, Found
from evaluation.importing.questions import LISTS, Question
from evaluation.importing.target import Target
from evaluation.records import Record
from evaluation.schema import Evidence

Span = tuple[str, str, str, int, int, int]  # qid, source, part, document row, start, end


@dataclass
class Merge:
    """New questions, fields for those that are there, new judgments by qid, and everything that was found.

    `known` counts judgments that were there already or stand twice. `questions_known` are those that were there.
    `leaks`: documents with questions in dev and in test. `problems`: what is refused, a line each.
    """

    found: list[Found] = field(default_factory=list)
    new: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    judgments: dict[str, list[Evidence]] = field(default_factory=dict)
    known: int = 0
    questions_known: int = 0
    split_of: dict[str, str] = field(default_factory=dict)
    divided: int = 0
    leaks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def apply(self, target: Target) -> None:
        """Bring it into the target's lines; writing is the target's own step."""
        for qid, fields in self.changed.items():
            target.change(qid, fields)
        for qid, (text, fields) in self.new.items():
            target.add(qid, text, fields)
        target.judge(self.judgments)


def merge(questions: Iterable[Question], target: Target, finder: Finder, auto: bool, seed: int) -> Merge:
    """Compare questions with what is there.

    Args:
        questions: of the file.
        target: where they go.
        finder: of the corpus.
        auto: divide questions without a split into dev and test.
        seed: of that division.

    Raises:
        BenchmarkError: what is there cannot be read.
    """
    plan = Merge()
    there = _Texts(target)
    asked = [(there.qid(question, plan.problems), question) for question in questions]
    placed = _placed(target, finder, {qid for qid, _ in asked})
    for qid, question in asked:
        _question(plan, target, qid, question)
        for said in question.evidence:
            _judgment(plan, placed, finder.find(qid, said))
    _splits(plan, target, finder, auto, seed)
    return plan


class _Texts:
    """The questions that are there, by their text."""

    def __init__(self, target: Target) -> None:
        self.by_text = {_plain(_text(record)): qid for qid, record in target.questions.items()}
        self.target = target

    def qid(self, question: Question, problems: list[str]) -> str:
        """The qid that a question has in the target."""
        same = self.by_text.get(question.text)
        there = self.target.questions.get(question.qid)
        if there is not None and _plain(_text(there)) != question.text:
            problems.append(
                f"{question.place}: qid {question.qid!r} is another question in {self.target.path}: {_text(there)!r}"
            )
        elif same is not None and same != question.qid and question.named:
            problems.append(
                f"{question.place}: this question is in {self.target.path} as {same!r}; give it that qid, or none"
            )
        return question.qid if same is None or question.named else same


def _text(record: Record) -> str:
    return record.required("query", "question")


def _plain(text: str) -> str:
    return " ".join(text.split())


def _question(plan: Merge, target: Target, qid: str, question: Question) -> None:
    """A question with its fields: new, or compared with the one that is there."""
    fields = {name: value for name, value in question.fields.items() if value}
    record = target.questions.get(qid)
    if record is None:
        plan.new[qid] = (question.text, fields)
        return
    plan.questions_known += 1
    for name, value in fields.items():
        before = record.data.get(name)
        if name in LISTS:
            had = [tuple(item) if isinstance(item, list) else item for item in before or []]
            if added := [item for item in value if item not in had]:
                plan.changed.setdefault(qid, {})[name] = [*had, *added]
        elif not before:
            plan.changed.setdefault(qid, {})[name] = value
        elif before != value:
            plan.problems.append(f"{question.place}: {name} of {qid!r} is {before!r} in {target.path}, not {value!r}")


def _placed(target: Target, finder: Finder, asked: set[str]) -> dict[Span, int]:
    """The grade of every judgment of these questions that is there and lies in the corpus."""
    placed = {}
    for row in target.rows():
        if row.qid in asked and (span := finder.library.find(row)):
            placed[(row.qid, row.source, row.part, *span)] = row.grade
    return placed


def _judgment(plan: Merge, placed: dict[Span, int], found: Found) -> None:
    """One piece of evidence: new, there already, or refused."""
    plan.found.append(found)
    row, place = found.evidence, f"{found.said.place}: {found.evidence.qid}"
    if found.how == "missing":
        page = f", page {found.said.page}" if found.said.page else ""
        quote = f": {found.said.quote[:80]!r}" if found.said.quote else ""
        plan.problems.append(f"{place}: {found.said.doc}{page}{quote}: {found.note}")
        return
    span: Span = (row.qid, row.source, row.part, *found.span)
    if span not in placed:
        placed[span] = row.grade
        plan.judgments.setdefault(row.qid, []).append(row)
    elif placed[span] == row.grade:
        plan.known += 1
    else:
        plan.problems.append(
            f"{place}: {row.source} gave grade {placed[span]} to the same span; keep one of the grades"
        )


def _splits(plan: Merge, target: Target, finder: Finder, auto: bool, seed: int) -> None:
    """The split of every question, stored or drawn; with some stored, none may lack one."""
    links = _links(plan, target, finder)
    stored = {qid: split for qid in links if (split := _split(plan, target, qid))}
    plan.split_of = dict(stored)
    if auto:
        division = divide(links, stored, seed)
        plan.split_of, plan.divided = dict(division.split_of), len(division.split_of) - len(stored)
        plan.problems.extend(
            f"{qid}: joins documents of dev and of test; give it a split by hand, or leave it out"
            for qid in division.torn
        )
        for qid in division.split_of.keys() - stored.keys():
            fields = plan.new[qid][1] if qid in plan.new else plan.changed.setdefault(qid, {})
            fields["split"] = division.split_of[qid]
    elif stored:
        plan.problems.extend(
            f"{qid}: no split, while other questions have one; fill in the column, or add split=auto"
            for qid in sorted(links.keys() - stored.keys())
        )
    plan.leaks = shared_by_splits(links, plan.split_of)


def _split(plan: Merge, target: Target, qid: str) -> str:
    if qid in plan.new:
        return str(plan.new[qid][1].get("split", ""))
    return target.questions[qid].text("split") or str(plan.changed.get(qid, {}).get("split", ""))


def _links(plan: Merge, target: Target, finder: Finder) -> dict[str, list[str]]:
    """The documents that answer each question, old and new, and its cluster."""
    links: dict[str, list[str]] = {qid: [] for qid in [*target.questions, *plan.new]}
    old: Sequence[Evidence] = list(target.rows())
    for row in [*old, *(row for rows in plan.judgments.values() for row in rows)]:
        if row.grade > 0 and row.qid in links:
            links[row.qid].append(_document(finder, row.doc))
    for qid, own in links.items():
        record = target.questions.get(qid)
        fields: Mapping[str, Any] = plan.new[qid][1] if record is None else record.data
        if fields.get("cluster"):
            own.append(str(fields["cluster"]))
    return links


def _document(finder: Finder, doc: str) -> str:
    row = finder.library.row(doc)
    return document_stem(doc if row is None else str(finder.library.corpus.documents["doc_name"][row].as_py()))

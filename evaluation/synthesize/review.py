"""The reviewer's desk: drafts in their order, and a file of decisions that only grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.judge.growing import Growing, whole_records
from evaluation.records import Record
from evaluation.synthesize.draft import Draft, read_drafts, renamed, review_path

ACCEPTED, REJECTED = "accepted", "rejected"
STATES = (ACCEPTED, REJECTED, "")
KEYS = {"qid", "state", "query", "kind", "source", "time", "undo"}


@dataclass(frozen=True)
class Decision:
    """What one reviewer says of a draft: its state (empty: undecided), and wording or kind where they were changed.

    `qid` is that of the wording that was drafted.
    """

    qid: str
    state: str = ""
    query: str = ""
    kind: str = ""
    source: str = ""


@dataclass
class Reviews(Growing[str, Decision]):
    """The decisions of one reviewer."""

    @staticmethod
    def open(path: Path, source: str) -> Reviews:
        """Take up a file where it stopped, or begin one.

        Raises:
            BenchmarkError: a line is unreadable.
        """
        reviews = Reviews(path, source)
        for record in whole_records(path):
            if (decision := decision_of(record)).source == source:
                reviews.remember(decision, undo=record.data.get("undo") is True)
        return reviews

    def key(self, row: Decision) -> str:
        """The draft that is decided about."""
        return row.qid

    def is_open(self, row: Decision) -> bool:
        """Whether nothing is decided or changed."""
        return not (row.state or row.query or row.kind)

    def opened(self, row: Decision) -> Decision:
        """The draft as it was drafted."""
        return Decision(row.qid, source=row.source)

    def as_record(self, row: Decision) -> dict[str, Any]:
        """The decision as a JSON object."""
        return {"qid": row.qid, "state": row.state, "query": row.query, "kind": row.kind, "source": row.source}


def decision_of(record: Record) -> Decision:
    """The decision of one line.

    Raises:
        BenchmarkError: an unknown key or state.
    """
    record.refuse_unknown_keys(KEYS)
    state = record.text("state")
    if state not in STATES:
        raise record.error(f"state {state!r}: must be {ACCEPTED}, {REJECTED} or empty")
    return Decision(
        record.required("qid"), state, record.text("query"), record.text("kind"), record.required("source")
    )


@dataclass(frozen=True)
class ReviewDesk:
    """Drafts, each known by its number from 0, and what the reviewer has decided."""

    drafts: tuple[Draft, ...]
    reviews: Reviews

    @staticmethod
    def open(path: Path, source: str) -> ReviewDesk:
        """The drafts of a file with the decisions beside it.

        Raises:
            DraftError, BenchmarkError: a file cannot be read.
        """
        return ReviewDesk(tuple(read_drafts(path)), Reviews.open(review_path(path), source))

    def decision(self, number: int) -> Decision:
        """What is decided about a draft."""
        qid = self.drafts[number].qid
        return self.reviews.current.get(qid, Decision(qid, source=self.reviews.source))

    def draft(self, number: int) -> Draft:
        """The draft in its present wording and kind."""
        return decided(self.drafts[number], self.decision(number))

    @property
    def counts(self) -> dict[str, int]:
        """How many drafts are in each state."""
        states = [self.decision(number).state for number in range(len(self.drafts))]
        return {state: states.count(state) for state in STATES}

    def first_open(self, behind: int = -1) -> int | None:
        """The first undecided draft behind a number, then from the start; None if there is none."""
        order = [*range(behind + 1, len(self.drafts)), *range(behind + 1)]
        return next((at for at in order if not self.decision(at).state), None)

    def decide(self, number: int, state: str) -> None:
        """Accept or reject a draft as it is worded now."""
        self.reviews.append(replace(self.decision(number), state=state))

    def reword(self, number: int, query: str) -> None:
        """Give a draft another wording; what was decided about the old one no longer counts."""
        self.reviews.append(replace(self.decision(number), query=" ".join(query.split()), state=""))

    def rekind(self, number: int, kind: str) -> None:
        """Give a draft another kind."""
        self.reviews.append(replace(self.decision(number), kind=kind))

    def undo(self) -> int | None:
        """Take the last decision back; returns the number of its draft, None where nothing is left to take back."""
        number = {draft.qid: at for at, draft in enumerate(self.drafts)}
        while (decision := self.reviews.undo()) is not None:
            if decision.qid in number:
                return number[decision.qid]
        return None


def decided(draft: Draft, decision: Decision) -> Draft:
    """The draft in the wording and kind of a decision."""
    return renamed(draft, decision.query or draft.query, decision.kind or draft.kind)


def all_decisions(path: Path) -> Mapping[str, list[Decision]]:
    """What every reviewer has decided in the end about the drafts of a file, by the draft's qid.

    Raises:
        BenchmarkError: a line is unreadable.
    """
    records = list(whole_records(review_path(path)))
    found: dict[str, list[Decision]] = {}
    for source in dict.fromkeys(record.text("source") for record in records):
        for qid, decision in Reviews.open(review_path(path), source).current.items():
            found.setdefault(qid, []).append(decision)
    return found

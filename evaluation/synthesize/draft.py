"""A drafted question with its evidence, and the files of drafts: what was kept for review, and what was dropped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evaluation.benchmark import derived_qid
from evaluation.errors import EvaluationError
from evaluation.evidence import read_evidence
from evaluation.records import Record, read_records
from evaluation.schema import Evidence
from ingestion.artifacts import write_atomic

KEYS = {
    "qid", "query", "kind", "template", "answer", "entities", "relations", "evidence", "around", "drafted_by",
    "reason", "detail",
}  # fmt: skip
Pair = tuple[str, str]


class DraftError(EvaluationError):
    """A file of drafts cannot be read or written; the message names file and line and says what to do."""


@dataclass(frozen=True)
class Draft:
    """A question that a template or a model made from evidence.

    `template`: its name. `entities`, `relations`: labels of the graph. `evidence` rows without part are alternatives.
    `drafted_by`: `synthetic:templates` or `llm:<model>`. `around`: for every piece of evidence the text before and
    after it.
    """

    query: str
    kind: str
    template: str
    answer: str
    entities: tuple[str, ...]
    relations: tuple[Pair, ...]
    evidence: tuple[Evidence, ...]
    drafted_by: str
    around: tuple[Pair, ...] = ()

    @cached_property
    def qid(self) -> str:
        """The id that a benchmark gives to this wording."""
        return derived_qid(self.query)

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents of the evidence, each once."""
        return tuple(dict.fromkeys(row.doc for row in self.evidence))


@dataclass(frozen=True)
class Dropped:
    """A draft that a filter dropped: its reason, and what in the draft it is."""

    draft: Draft
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Sifted:
    """What filters left, in order, and what they dropped."""

    kept: tuple[Draft, ...]
    dropped: tuple[Dropped, ...] = field(default=())


def dropped_path(path: Path) -> Path:
    """Where the dropped drafts stand: `drafts.dropped.jsonl` beside `drafts.jsonl`."""
    return path.with_name(f"{path.stem}.dropped.jsonl")


def review_path(path: Path) -> Path:
    """Where the decisions of reviewers are stored: `drafts.review.jsonl` beside `drafts.jsonl`."""
    return path.with_name(f"{path.stem}.review.jsonl")


def write_drafts(path: Path, sifted: Sifted) -> None:
    """Write the kept drafts, and beside them the dropped ones with their reasons.

    Raises:
        DraftError: reviewers have decided about other drafts there.
    """
    kept = "".join(_line(as_record(draft)) for draft in sifted.kept)
    if review_path(path).exists() and not (path.exists() and path.read_bytes() == kept.encode()):
        raise DraftError(f"{review_path(path)} holds decisions about other drafts; name another file with out=<file>")
    dropped = [as_record(one.draft) | {"reason": one.reason, "detail": one.detail} for one in sifted.dropped]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(dropped_path(path), "".join(map(_line, dropped)))
    write_atomic(path, kept)


def read_drafts(path: Path) -> list[Draft]:
    """The drafts of a file, in its order.

    Raises:
        DraftError: it is not there, or holds none.
        BenchmarkError: a line is unreadable.
    """
    if not path.is_file():
        raise DraftError(f"{path}: no such file; make one with python -m evaluation.synthesize out={path}")
    drafts = [draft_of(record) for record in read_records(path)]
    if not drafts:
        raise DraftError(f"{path}: no drafts")
    return drafts


def as_record(draft: Draft) -> dict[str, Any]:
    """The draft as a JSON object."""
    evidence = [
        {
            "doc": row.doc, "page": row.page, "char_start": row.char_start, "char_end": row.char_end,
            "quote": row.quote, "grade": row.grade, "source": row.source, "part": row.part,
        }
        for row in draft.evidence
    ]  # fmt: skip
    named = {name: getattr(draft, name) for name in ("qid", "query", "kind", "template", "answer", "drafted_by")}
    lists = {name: [list(pair) for pair in getattr(draft, name)] for name in ("relations", "around")}
    return {**named, "entities": list(draft.entities), **lists, "evidence": evidence}


def draft_of(record: Record) -> Draft:
    """The draft of one line.

    Raises:
        BenchmarkError: an unknown key, or something is missing.
    """
    record.refuse_unknown_keys(KEYS)
    query = record.required("query")
    rows = tuple(read_evidence(part, derived_qid(query)) for part in record.records("evidence"))
    if not rows:
        raise record.error("a draft needs evidence")
    return Draft(
        query=query,
        kind=record.text("kind"),
        template=record.text("template"),
        answer=record.text("answer"),
        entities=record.texts("entities"),
        relations=record.pairs("relations"),
        evidence=rows,
        drafted_by=record.required("drafted_by"),
        around=record.pairs("around"),
    )


def renamed(draft: Draft, query: str, kind: str) -> Draft:
    """The draft in another wording or kind; its evidence follows the new id."""
    moved = replace(draft, query=query, kind=kind)
    return replace(moved, evidence=tuple(replace(row, qid=moved.qid) for row in draft.evidence))


def united(parts: Iterable[Sifted]) -> Sifted:
    """The last part's kept drafts, with everything that any part dropped, in order."""
    known: Sequence[Sifted] = list(parts)
    return Sifted(known[-1].kept, tuple(one for part in known for one in part.dropped))


def _line(content: object) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"

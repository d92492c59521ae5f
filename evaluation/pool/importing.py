"""Judgments from a pool added to a benchmark's evidence: all of them, or nothing when one is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.judging import load_chunks
from evaluation.locate import Library
from evaluation.options import CORPUS_KEYS, Options, RefusedError, read_options
from evaluation.pool.evidence_file import EvidenceFile, Place
from evaluation.pool.file import Passage, read_judgments
from evaluation.replay import request_of
from evaluation.schema import Evidence
from evaluation.sources import SOURCE, check_source
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import ingest_configured
from ingestion.schema import Corpus

KEYS = ("import", "into", "source", "replace", "runs")
NOT_FOUND = "not in the corpus; name the one that was judged with runs=<results folder> or corpus.path=<folder>"
LISTED = 20  # refused rows that are printed
Span = tuple[str, str, int, int, int]  # qid, source, document row, start, end


@dataclass(frozen=True)
class Plan:
    """What an import would do: new judgments, changed ones with their places, how many are there, what is refused."""

    new: tuple[Evidence, ...]
    changed: tuple[tuple[Place, Evidence], ...]
    known: int
    problems: tuple[str, ...]


def import_judgments(arguments: Sequence[str]) -> int:
    """`python -m evaluation.pool import=... into=...`; returns the exit code.

    Raises:
        RefusedError: rows are refused, with the list; nothing was written.
        EvaluationError, IngestionError: a file cannot be read, or a key is wrong.
    """
    options = read_options(arguments, KEYS, CORPUS_KEYS)
    source = check_source(options.values.get("source", "hand"))
    path = Path(options.required("import", "<pool.judgments.jsonl>"))
    target = EvidenceFile.open(Path(options.required("into", "<benchmark folder or questions.jsonl>")))
    judgments = read_judgments(path, source)
    found = plan(judgments.rows, target, _corpus(options), options.flag("replace"))
    _refuse(path, [*judgments.problems, *found.problems])
    target.change(found.changed)
    target.add(found.new)
    target.write()
    grades = Counter(row.grade for row in found.new)
    spread = ", ".join(f"{count} of grade {grade}" for grade, count in sorted(grades.items())) or "none"
    print(f"{target.path}: {len(found.new)} judgments added ({spread}), {len(found.changed)} replaced")
    print(f"{found.known} were there already, {judgments.open} rows have no grade")
    return 0


def plan(rows: Iterable[Passage], target: EvidenceFile, corpus: Corpus, replace_old: bool = False) -> Plan:
    """Compare judgments with what is there; spans are compared by where they lie in the corpus, not by their text.

    Raises:
        BenchmarkError: evidence that is there cannot be read.
    """
    library, rows = Library(corpus), list(rows)
    there = _there(target, library, {(row.qid, row.source) for row in rows})
    new: dict[Span, Evidence] = {}
    changed: dict[Span, tuple[Place, Evidence]] = {}
    known, problems = 0, []
    for row in rows:
        span, evidence = _located(row, library)
        problem = _problem(row, target)
        if problem or span is None:
            problems.append(f"{_name(row)}: {problem or NOT_FOUND}")
            continue
        before = new.get(span) or (changed.get(span) or there.get(span) or (None, None))[1]
        if before is None:
            new[span] = evidence
        elif before.grade == evidence.grade:
            known += 1
        elif replace_old and span in there and span not in changed:
            changed[span] = there[span][0], evidence
        else:
            remedy = "keep one of the rows" if span in new or span in changed else "add replace=true"
            problems.append(f"{_name(row)}: {row.source} gave grade {before.grade} too; {remedy}")
    return Plan(tuple(new.values()), tuple(changed.values()), known, tuple(problems))


def _there(target: EvidenceFile, library: Library, asked: set[tuple[str, str]]) -> dict[Span, tuple[Place, Evidence]]:
    """The quotes that these sources judged for these questions, by their span."""
    found = {}
    for place, evidence in target.rows():
        span = library.find(evidence) if evidence.quote and (evidence.qid, evidence.source) in asked else None
        if span:
            found[(evidence.qid, evidence.source, *span)] = place, evidence
    return found


def _located(row: Passage, library: Library) -> tuple[Span | None, Evidence]:
    """Where a row lies, and the judgment with its place as it is in this corpus."""
    grade = row.grade or 0
    said = Evidence(row.qid, row.doc_name, row.page, row.char_start, row.char_end, row.quote, grade, row.source)
    place = library.find(said)
    if place is None:
        return None, said
    at = library.on_page(*place)
    found = replace(said, page=at["page"], char_start=at["char_start"], char_end=at["char_end"])
    return (row.qid, row.source, *place), found


def _problem(row: Passage, target: EvidenceFile) -> str:
    if row.qid not in target.qids:
        return f"no such question in {target.path}"
    if not SOURCE.fullmatch(row.source):
        return f"source {row.source!r} must be hand, hand:<name>, llm:<model> or imported:<set>"
    return ""


def _name(row: Passage) -> str:
    return f"{row.qid}: {row.doc_name}, page {row.page}: {row.quote[:60]!r}"


def _refuse(path: Path, problems: Sequence[str]) -> None:
    if problems:
        more = [f"  and {len(problems) - LISTED} more"] if len(problems) > LISTED else []
        lines = [f"{path}: {len(problems)} rows are refused, nothing was written:"]
        raise RefusedError("\n".join([*lines, *(f"  {problem}" for problem in problems[:LISTED]), *more]))


def _corpus(options: Options) -> Corpus:
    """The corpus of a results folder, or of the configuration."""
    if "runs" in options.values:
        request = request_of(Path(options.values["runs"]))
        return load_chunks(request, ArtifactStore(request.artifacts))
    plain = to_plain(load(options.overrides))
    store = ArtifactStore(Path(plain["artifacts"]))
    return ingest_configured(plain, store)

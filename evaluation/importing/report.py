"""What an import did, in the words of the terminal."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evaluation.importing.merge import Merge
from evaluation.importing.places import Found, short
from evaluation.importing.questions import Read
from evaluation.importing.rows import Rows
from evaluation.quotes import SIMILARITY

LISTED = 20  # lines of one kind that are printed
FEWEST_CLUSTERS = 10  # below it no comparison gets a verdict


def reading(path: Path, rows: Rows, read: Read) -> list[str]:
    """What was read of the file."""
    used = ", ".join(f"{name} as {field}" if name != field else name for name, field in rows.columns.items())
    lines = [f"{path}: {len(rows.records)} rows, {len(read.questions)} questions; columns: {used}"]
    if rows.ignored:
        lines.append(f"columns that were not read: {', '.join(rows.ignored)}")
    if read.filled_down:
        lines.append(f"{_count(read.filled_down, 'row')} without a question: evidence of the one above")
    return lines


def findings(plan: Merge, ungraded: int, grade: int) -> list[str]:
    """How every piece of evidence was found."""
    ways = ("exact", "similar", "page", "document")
    by = {how: [found for found in plan.found if found.how == how] for how in ways}
    lines = [f"{_count(len(by['exact']), 'quote')} found exactly"]
    if by["similar"]:
        lines.append(f"{_count(len(by['similar']), 'quote')} found with differences; check that they say the same:")
        lines += _some([_similar(found) for found in sorted(by["similar"], key=lambda one: one.similarity)])
    moved = [found for found in plan.found if found.moved]
    if moved:
        lines.append(f"{_count(len(moved), 'page')} corrected:")
        lines += _some(
            [f"{one.evidence.qid}: {one.evidence.doc}, page {one.moved}: is on {one.evidence.page}" for one in moved]
        )
    if by["page"]:
        lines.append(f"{_count(len(by['page']), 'piece')} of evidence without a quote: the whole page is judged")
    if by["document"]:
        lines.append(
            f"{_count(len(by['document']), 'piece')} of evidence without quote and page: the whole document is judged"
        )
    if ungraded:
        lines.append(f"{_count(ungraded, 'piece')} of evidence without a grade: {grade} (grade= sets another)")
    return lines


def _similar(found: Found) -> str:
    row = found.evidence
    pieces = "; in pieces, of which the longest counts" if found.similarity < SIMILARITY else ""
    numbers = "; NUMBERS DIFFER" if found.other_numbers else ""
    at = f"{row.qid}: {found.similarity:.0f} % alike{pieces}{numbers}, {row.doc}, page {row.page}"
    return f"{at}\n      quote: {short(found.said.quote)!r}\n      there: {short(found.text)!r}"


def written(into: Path, plan: Merge) -> list[str]:
    """What was added, and how the questions are divided."""
    added = sum(map(len, plan.judgments.values()))
    lines = [
        f"{into}: {_count(len(plan.new), 'question')} added, {plan.questions_known} there already;"
        f" {_count(added, 'judgment')} added, {plan.known} there already"
    ]
    if plan.changed:
        lines.append(f"{_count(len(plan.changed), 'question')} there got fields that they lacked")
    empty = [qid for qid in plan.new if qid not in plan.judgments]
    if empty:
        lines.append(f"{_count(len(empty), 'question')} without evidence: kept, and left out of relevance means")
    if plan.split_of:
        counts = Counter(plan.split_of.values())
        drawn = f", {plan.divided} of them drawn by document" if plan.divided else ""
        lines.append(f"split: {', '.join(f'{count} {split}' for split, count in sorted(counts.items()))}{drawn}")
    if plan.leaks:
        lines.append(
            f"{_count(len(plan.leaks), 'document')} with questions in dev and in test, so that what is tuned on dev"
            f" has seen them: {', '.join(plan.leaks[:5])}"
        )
    return lines


def command(into: Path, overrides: Sequence[str], plan: Merge) -> str:
    """What runs the evaluation on the benchmark."""
    split = ["split=dev"] if plan.split_of and set(plan.split_of.values()) == {"dev"} else []
    words = ["python", "run_eval.py", "suite=core", *overrides, f"benchmark.path={into}", *split]
    return shlex.join(words)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _some(lines: Sequence[str]) -> list[str]:
    more = [f"   and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return [*(f"   {line}" for line in lines[:LISTED]), *more]

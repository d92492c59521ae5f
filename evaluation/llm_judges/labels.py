"""Hand labels: a blind random sample to fill in, and what was filled in.

A row shows texts and no names, and is found again by a code of its texts alone; so a label cannot stray to another
answer, equal texts are labelled once, and whoever labels cannot favour a generator. Every distinct text is drawn with
the same chance, as prediction-powered inference needs it; of a pair either answer may be shown first.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.errors import BenchmarkError, EvaluationError
from evaluation.llm_judges.journal import NONE
from evaluation.llm_judges.kinds import Item, Kind
from evaluation.llm_judges.prompt import Showing
from evaluation.records import Record, read_records
from evaluation.schema import Grades8
from ingestion.artifacts import write_atomic

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet calculate a cell


class LabelError(EvaluationError):
    """A file of labels cannot be used or written; the message names file and line."""


@dataclass(frozen=True)
class Labels:
    """Hand labels of items: `verdicts` int8 [n_items], -1 for none.

    `open` rows are not filled in yet, `strange` ones are of texts that are not among the items.
    """

    verdicts: Grades8
    open: int
    strange: int


def text_code(showing: Showing) -> str:
    """16 hex digits of sha256 over the kind and the texts in the order in which they are shown."""
    return hashlib.sha256(json.dumps([showing.kind.name, showing.data]).encode()).hexdigest()[:16]


def draw(kind: Kind, items: Sequence[Item], n: int, seed: int) -> list[Showing]:
    """At most n distinct items in random order, pairs in random order of their answers."""
    distinct = {text_code(Showing(kind, item)): item for item in items}
    ordered = [distinct[code] for code in sorted(distinct)]
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(ordered))[:n].tolist()
    exchanged = rng.integers(0, kind.orders, len(chosen)).tolist()
    return [Showing(kind, ordered[at], order) for at, order in zip(chosen, exchanged, strict=True)]


def write_sample(path: Path, showings: Sequence[Showing]) -> None:
    """Write items to label, as CSV where the name ends so, else as JSON lines.

    Raises:
        LabelError: a file is there, which may hold labels, or there is nothing to label.
    """
    if not showings:
        raise LabelError("there is nothing to label")
    if path.exists():
        raise LabelError(f"{path} is there already and may hold labels; name another file with sample=<file>")
    rows = [{"code": text_code(one), **json.loads(one.data), "label": None} for one in showings]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_atomic(path, _as_csv(rows) if _is_csv(path) else "".join(lines))


def read_labels(path: Path, kind: Kind, items: Sequence[Item]) -> Labels:
    """The labels of a sample that was filled in.

    Raises:
        LabelError: there is no such file, or no label is of these items.
        BenchmarkError: a line is unreadable, or its label is none of the choices.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for row, item in enumerate(items):
        for order in range(kind.orders):
            places.setdefault(text_code(Showing(kind, item, order)), []).append((row, order))
    verdicts = np.full(len(items), NONE, dtype=np.int8)
    unfilled = strange = 0
    for record in _records(path):
        code, label = record.required("code"), _label(record, kind)
        if label is None:
            unfilled += 1
            continue
        strange += code not in places
        for row, order in places.get(code, []):
            verdicts[row] = kind.best - label if order else label
    if (verdicts == NONE).all():
        raise LabelError(
            f"{path}: no label is of an item of this run ({unfilled} rows without a label, {strange} of other texts);"
            " fill in the label column of a file that sample= wrote for this run"
        )
    return Labels(verdicts, unfilled, strange)


def _label(record: Record, kind: Kind) -> int | None:
    """The row of the choice; None where the label is empty."""
    value = record.data.get("label")
    text = "" if value is None else str(value).strip().lower()
    choices = [str(choice) for choice in kind.choices]
    if text and text not in choices:
        raise record.error(f"label {text!r}: must be one of {', '.join(choices)}, or empty")
    return choices.index(text) if text else None


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _records(path: Path) -> Iterable[Record]:
    if not path.is_file():
        raise LabelError(f"{path}: no such file")
    return _csv_records(path) if _is_csv(path) else read_records(path)


def _csv_records(path: Path) -> Iterable[Record]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"{path}: not UTF-8 ({error}); save it as CSV UTF-8") from error
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in rows:
            yield Record(path, rows.line_num, row)
    except csv.Error as error:
        raise BenchmarkError(f"{path}, line {rows.line_num}: no CSV ({error})") from error


def _as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """CSV with a byte order mark, so that spreadsheets read UTF-8; a blank in front of what they would calculate."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([_cell(value) for value in row.values()])
    return "\ufeff" + sheet.getvalue()


def _cell(value: object) -> str:
    text = "\n\n".join(value) if isinstance(value, list) else "" if value is None else str(value)
    return f" {text}" if text.startswith(FORMULA) else text

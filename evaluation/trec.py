"""TREC files: runs (qid, Q0, id, rank, score, tag), judgments (qid, 0, id, grade) and topics.

An id with white space or `%` is written with `%XX` escapes, and its line says so by `%` behind the second column,
which every reader of the format skips. All other lines are plain.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt

from evaluation.beir import refuse_unknown
from evaluation.errors import BenchmarkError, RunFileError
from evaluation.records import MAX_GRADE, grade_of, read_lines, read_records
from evaluation.schema import Benchmark, DocumentJudgment, Qrels
from ingestion.artifacts import write_atomic
from retrieval.schema import Floats, Ints, Queries, Run, make_run

ESCAPED = re.compile(r"[%\s]")
Names = npt.NDArray[np.object_]


@dataclass(frozen=True)
class OutsideRun:
    """A run made elsewhere, in trec_eval's order: score descending, ties by id descending.

    `qids` object [n_queries] and `ids` object [n_ids], ascending, name what `query` and `item` (int32 [n_rows])
    count. Rows are sorted by query and rank. `duplicates` rows were dropped; `tied` is the share of rows that share
    their score with another row of their query.
    """

    path: Path
    qids: Names
    ids: Names
    query: Ints
    item: Ints
    duplicates: int
    tied: float

    def to_run(self, qids: Sequence[str], row_of: Mapping[str, int]) -> tuple[Run, dict[str, int]]:
        """The run over these queries (in their order) and id rows, and what is worth reporting, counted.

        Ids without a row get rows beyond the known ones: they hold their rank and answer nothing.
        """
        query_row = {qid: row for row, qid in enumerate(qids)}
        query = np.asarray([query_row.get(qid, -1) for qid in self.qids], dtype=np.int32)[self.query]
        beyond = max(row_of.values(), default=-1) + 1
        item = np.asarray([row_of.get(name, beyond + row) for row, name in enumerate(self.ids)], dtype=np.int32)
        known = query >= 0
        query, chunk = query[known], item[self.item[known]]
        counts = {
            "duplicate rows were dropped": self.duplicates,
            "rows share their score with another": round(self.tied * len(self.query)),
            "queries of the run are not in the benchmark": len(set(self.qids) - query_row.keys()),
            "queries of the benchmark are not in the run": len(query_row.keys() - set(self.qids)),
            "ids of the run are not in the corpus": int((item >= beyond).sum()),
        }
        position = np.arange(len(query), dtype=np.float64)
        return make_run(query, chunk, -position, depth=max(len(query), 1)), counts


def read_run(path: Path) -> OutsideRun:
    """Read a run file, plain or `.gz`. Its rank column and the order of its lines do not count.

    Scores are compared in single precision, as trec_eval keeps them. Of an id that stands twice in a query the first
    in this order stays.

    Raises:
        RunFileError: the file is empty or unreadable, a line has not six columns, or a score is not finite.
    """
    query_codes: dict[bytes, int] = {}
    item_codes: dict[bytes, int] = {}
    queries, items, scores = [], [], []
    for _, fields in _rows(path, 6):
        queries.append(query_codes.setdefault(fields[0], len(query_codes)))
        items.append(item_codes.setdefault(fields[2], len(item_codes)))
        scores.append(fields[4])
    if not queries:
        raise RunFileError(f"{path}: no rows; a run has lines of qid, Q0, id, rank, score, tag")
    qids, query = _sorted_codes(query_codes, queries)
    ids, item = _sorted_codes(item_codes, items)
    values = _scores(scores)
    for bad in np.flatnonzero(np.isnan(values)).tolist():
        where = f"score {scores[bad].decode()!r} of query {qids[query[bad]]!r}, document {ids[item[bad]]!r}"
        raise RunFileError(f"{path}: {where} is not a finite number")
    order = np.lexsort((-item, -values, query))
    query, item, values = query[order], item[order], values[order]
    first = np.sort(np.unique(query.astype(np.int64) << 32 | item, return_index=True)[1])
    duplicates = len(query) - len(first)
    query, item, values = query[first], item[first], values[first]
    return OutsideRun(path, qids, ids, query, item, duplicates, _tied(query, values))


def write_run(path: Path, run: Run, queries: Queries, ids: Sequence[str] | Names, tag: str) -> None:
    """Write a run whose scores fall by 1 with every rank, so that no reader sees a tie. Equal runs, equal bytes."""
    top = int(run.rank.max(initial=0)) + 1
    mark = re.sub(r"\s", "_", tag)
    qid_of, id_of = [_escaped(qid) for qid in queries.qid], _escaped_rows(run.chunk, ids)
    columns = zip(run.query.tolist(), run.chunk.tolist(), run.rank.tolist(), strict=True)
    lines = [
        f"{qid_of[query]} {_second('Q0', queries.qid[query], ids[chunk])} {id_of[chunk]} {rank} {top - rank} {mark}\n"
        for query, chunk, rank in columns
    ]
    write_atomic(path, "".join(lines))


def read_qrels(path: Path) -> tuple[DocumentJudgment, ...]:
    """Read a judgment file of four columns (qid, ignored, id, grade), plain or `.gz`, sorted by qid and id.

    A negative grade counts as 0.

    Raises:
        RunFileError: the file is unreadable, a line has not four columns, its grade is not a whole number up to 127,
            or a pair stands twice with different grades.
    """
    grades: dict[tuple[str, str], int] = {}
    for number, fields in _rows(path, 4):
        qid, _, doc_id, text = (field.decode() for field in fields)
        grade = grade_of(text)
        if grade is None:
            raise RunFileError(f"{path}, line {number}: grade {text!r} is not a whole number up to {MAX_GRADE}")
        if grades.setdefault((qid, doc_id), grade) != grade:
            raise RunFileError(f"{path}, line {number}: {qid!r} and {doc_id!r} stand twice, with different grades")
    return tuple(DocumentJudgment(qid, doc_id, grade) for (qid, doc_id), grade in sorted(grades.items()))


def write_qrels(path: Path, qrels: Qrels, queries: Queries, ids: Sequence[str] | Names) -> None:
    """Write judgments of chunks as a TREC file. Classes of chunks (`credit=once`) have no place in this format."""
    qid_of, id_of = [_escaped(qid) for qid in queries.qid], _escaped_rows(qrels.chunk, ids)
    columns = zip(qrels.query.tolist(), qrels.chunk.tolist(), qrels.grade.tolist(), strict=True)
    lines = [
        f"{qid_of[query]} {_second('0', queries.qid[query], ids[chunk])} {id_of[chunk]} {grade}\n"
        for query, chunk, grade in columns
    ]
    write_atomic(path, "".join(lines))


def load_trec(topics: Path | None, judgments: Path) -> Benchmark:
    """Topics (qid TAB text, or JSON lines with qid or _id, and query or text) and a judgment file by document id.

    Only judged topics count. Without topics the queries have ids but no text: enough to judge runs made elsewhere.

    Raises:
        BenchmarkError: a topic is unreadable or stands twice, or a judged query has no topic.
        RunFileError: the judgment file is unreadable.
    """
    documents = read_qrels(judgments)
    judged = {row.qid for row in documents}
    texts = dict.fromkeys(judged, "")
    if topics is not None:
        texts = {qid: text for qid, text in _topics(topics) if qid in judged}
        refuse_unknown(judged - texts.keys(), judgments, topics)
    return Benchmark(judgments.stem, Queries.of(list(texts), list(texts.values())), documents=documents)


def _topics(path: Path) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for number, qid, text in _topic_rows(path):
        if qid in seen:
            raise BenchmarkError(f"{path}, line {number}: query {qid!r} stands twice; ids must be unique")
        seen.add(qid)
        yield qid, text


def _topic_rows(path: Path) -> Iterator[tuple[int, str, str]]:
    if path.name.removesuffix(".gz").endswith((".jsonl", ".json")):
        for record in read_records(path):
            yield record.line, record.required("qid", "_id"), record.text("query", "text", "question")
        return
    for number, line in read_lines(path):
        qid, tab, text = line.partition("\t")
        if not tab or not qid.strip():
            raise BenchmarkError(f"{path}, line {number}: no tab; a topic is one line of qid<TAB>text")
        yield number, qid.strip(), text.strip()


def _rows(path: Path, columns: int) -> Iterator[tuple[int, list[bytes]]]:
    """Line number and fields of every line that is not blank; ids that the line says are escaped come back whole."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as handle:
            for number, line in enumerate(handle, 1):
                line.decode()
                fields = line.removeprefix(codecs.BOM_UTF8).split()
                if len(fields) != columns and fields:
                    raise RunFileError(f"{path}, line {number}: {len(fields)} columns; {columns} are needed")
                if fields:
                    if fields[1].endswith(b"%"):
                        fields[0], fields[2] = (
                            unquote(fields[0].decode()).encode(),
                            unquote(fields[2].decode()).encode(),
                        )
                    yield number, fields
    except UnicodeDecodeError as error:
        raise RunFileError(f"{path}: not UTF-8 ({error})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise RunFileError(f"{path}: cannot be read ({error})") from error


def _sorted_codes(codes: Mapping[bytes, int], rows: Sequence[int]) -> tuple[Names, Ints]:
    """Names in byte order, as strcmp has it, and each row's place among them."""
    names = sorted(codes)
    place = np.empty(len(names), dtype=np.int32)
    place[[codes[name] for name in names]] = np.arange(len(names))
    decoded = np.empty(len(names), dtype=object)
    decoded[:] = [name.decode() for name in names]
    return decoded, place[rows]


def _scores(texts: Sequence[bytes]) -> Floats:
    """The scores as trec_eval keeps them, rounded to single precision; NaN where a text is no finite number."""
    try:
        values = np.asarray(texts).astype(np.float64)
    except ValueError:
        values = np.asarray([float(text) if _finite(text) else np.nan for text in texts])
    values[~np.isfinite(values)] = np.nan
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _finite(text: bytes) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _tied(query: Ints, score: Floats) -> float:
    """Share of rows that have a neighbour of the same query and score."""
    same = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    return float((np.append(same, False) | np.append(False, same)).mean())


def _escaped(name: str) -> str:
    return ESCAPED.sub(lambda match: quote(match[0], safe=""), name)


def _escaped_rows(rows: Ints, ids: Sequence[str] | Names) -> dict[int, str]:
    return {row: _escaped(str(ids[row])) for row in np.unique(rows).tolist()}


def _second(plain: str, *names: str) -> str:
    return f"{plain}%" if any(ESCAPED.search(name) for name in names) else plain

"""A finished run's corpus and judgments in BEIR layout: what was one chunk becomes one document."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.replay import Replay
from ingestion.artifacts import write_atomic
from ingestion.schema import Corpus

LINE_BREAKS = ("\n", "\r")


class ExportError(EvaluationError):
    """The run cannot be written in this layout; the message says why and what to do."""


def write_beir(folder: Path, found: Replay) -> None:
    """Write `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv` and a README.

    Raises:
        ExportError: there is no corpus, an id holds a line break, or a question's own document was left out of its
            ranking and is no document of this layout.
    """
    corpus, queries = found.judged.corpus, found.judged.benchmark.queries
    if corpus is None:
        raise ExportError(f"{found.judged.benchmark.name}: only ids were judged, there are no texts; choose to=trec")
    _refuse_line_breaks([*corpus.chunk_ids, *queries.qid])
    own = _own_documents(found, corpus)
    write_atomic(folder / "corpus.jsonl", _lines(_documents(corpus)))
    write_atomic(folder / "queries.jsonl", _lines(_questions(found, own)))
    for split in sorted(set(queries.split)):
        write_atomic(folder / "qrels" / f"{split}.tsv", _judgments(found, split))
    write_atomic(folder / "README.txt", _readme(folder, found, corpus))


def _documents(corpus: Corpus) -> Iterable[Mapping[str, Any]]:
    """One record a chunk. Readers join title and text, so a title is given only where the text begins with it."""
    titles = dict(zip(*(corpus.documents[name].to_pylist() for name in ("doc_id", "title")), strict=True))
    for row in corpus.chunks.to_pylist():
        title, text = titles.get(row["doc_id"], ""), row["text"]
        if title and text.startswith(f"{title} "):
            text = text[len(title) + 1 :]
        else:
            title = ""
        place = {"document": row["doc_name"], "page": row["page_start"], "section": row["section"]}
        yield {
            "_id": row["chunk_id"],
            "title": title,
            "text": text,
            "metadata": place | json.loads(row["metadata_json"]),
        }


def _questions(found: Replay, own: Mapping[str, str]) -> Iterable[Mapping[str, Any]]:
    """One record a question; `paper_id` is its own document where that was left out, `doc_id` its cluster."""
    queries = found.judged.benchmark.queries
    for qid, query, kind, split, cluster in zip(
        queries.qid, queries.query, queries.kind, queries.split, queries.cluster, strict=True
    ):
        metadata = {"kind": kind, "split": split, "doc_id": cluster if cluster != qid else ""}
        metadata |= {"paper_id": own.get(qid, "")}
        yield {"_id": qid, "text": query, "metadata": {name: value for name, value in metadata.items() if value}}


def _judgments(found: Replay, split: str) -> str:
    """The judgments of a split as BEIR's loader reads them: tab-separated, an id with a tab or quote in quotes."""
    qrels, queries = found.judged.qrels, found.judged.benchmark.queries
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(["query-id", "corpus-id", "score"])
    wanted = np.asarray([name == split for name in queries.split])[qrels.query]
    for query, chunk, grade in zip(qrels.query[wanted], qrels.chunk[wanted], qrels.grade[wanted], strict=True):
        writer.writerow([queries.qid[query], found.judged.ids[chunk], int(grade)])
    return text.getvalue()


def _own_documents(found: Replay, corpus: Corpus) -> dict[str, str]:
    """The document that each question left out of its ranking, by qid."""
    own = {qid: sorted(names) for qid, names in found.judged.benchmark.exclude.items() if names}
    known = set(corpus.chunk_ids)
    for qid, names in own.items():
        if len(names) > 1 or names[0] not in known:
            raise ExportError(
                f"query {qid!r} leaves {', '.join(names)} out of its ranking, which this layout cannot say; "
                "choose to=trec"
            )
    return {qid: names[0] for qid, names in own.items()}


def _refuse_line_breaks(ids: Sequence[str]) -> None:
    broken = [name for name in ids if any(mark in name for mark in LINE_BREAKS)]
    if broken:
        raise ExportError(f"id {broken[0]!r} holds a line break, which a TSV file cannot hold; choose to=trec")


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _readme(folder: Path, found: Replay, corpus: Corpus) -> str:
    splits = sorted(set(found.judged.benchmark.queries.split))
    split = splits[0] if len(splits) == 1 else "all"
    return (
        f"{found.judged.benchmark.name} in BEIR layout: {len(corpus)} documents, each one chunk of the run "
        f"{found.manifest['run_id']}, and {len(found.judged.benchmark.queries)} questions.\n\n"
        "Judgments are of chunks, each by itself (credit=each): overlapping chunks that cover the same span count "
        "each.\nScore strategies of ours over it:\n"
        f"  python run_eval.py benchmark=beir benchmark.path={folder} split={split} eval.credit=each\n"
    )

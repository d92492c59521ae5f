"""What calibrations are fitted on: every extract of the passages of every question, with features and label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.answers.labels import SHARED, UNJUDGED
from evaluation.evidence import read_evidence
from evaluation.judging import Judged
from evaluation.locate import Library, locate
from evaluation.records import read_records
from evaluation.schema import Evidence as JudgedSpan
from evaluation.schema import Longs, Spans
from generation.extracts import extracts
from generation.features import Asked, claim_features, document_shares
from generation.schema import Evidence
from generation.words import Rarity
from retrieval.schema import Queries

SAME = 0.6  # overlap over union from which an extract counts as the one that was judged


def read_extracts(path: Path, queries: Queries) -> tuple[JudgedSpan, ...]:
    """Judged extracts of these questions, in the format of `evidence.jsonl`; none where there is no file.

    Raises:
        BenchmarkError: a line is unreadable.
    """
    if not path.is_file():
        return ()
    rows = [read_evidence(record, record.identifier("qid")) for record in read_records(path)]
    known = set(queries.qid)
    return tuple(row for row in rows if row.qid in known)


def located_extracts(path: Path, judged: Judged) -> Spans | None:
    """The same, found in the corpus; None where there are none."""
    rows = read_extracts(path, judged.benchmark.queries)
    if not rows or judged.corpus is None:
        return None
    return locate(replace(judged.benchmark, evidence=rows), judged.corpus)


def examples(evidence: Sequence[Evidence], judged: Judged, extra: Spans | None, rarity: Rarity) -> pd.DataFrame:
    """One row per extract: row (of the question), qid, cluster, source, start, end, grade and the features.

    `grade`: of the judged extract that it is, else the best of the judged spans that it overlaps, else -1.
    """
    assert judged.corpus is not None
    library, queries = Library(judged.corpus), judged.benchmark.queries
    rows = []
    for query, own in enumerate(evidence):
        asked = Asked(own.question, rarity)
        shares = document_shares(asked, own.sources)
        for source in own.sources:
            passage, doc = source.passage, library.row(source.passage.doc_name)
            for extract in extracts(source.text, passage.section):
                start, end = passage.char_start + extract.start, passage.char_start + extract.end
                grade = grade_of(judged.spans, extra, query, doc, start, end)
                features = claim_features(asked, extract, source, shares[passage.doc_name])
                place = {"source": source.id, "start": extract.start, "end": extract.end, "grade": grade}
                own_keys = {"row": query, "qid": queries.qid[query], "cluster": queries.cluster[query]}
                rows.append({**own_keys, **place, **features})
    return pd.DataFrame(rows)


def grade_of(spans: Spans | None, extra: Spans | None, query: int, doc: int | None, start: int, end: int) -> int:
    """Grade of a stretch of text as an answer to a question; -1 where nobody judged it."""
    if extra is not None:
        rows, shared = _overlapping(extra, query, doc, start, end)
        union = np.maximum(extra.end[rows], end) - np.minimum(extra.start[rows], start)
        alike = shared / union
        if len(rows) and alike.max() >= SAME:
            return int(extra.grade[rows[alike.argmax()]])
    if spans is None:
        return UNJUDGED
    rows, shared = _overlapping(spans, query, doc, start, end)
    enough = shared >= SHARED * np.minimum(spans.end[rows] - spans.start[rows], end - start)
    return int(spans.grade[rows[enough]].max(initial=UNJUDGED))


def _overlapping(spans: Spans, query: int, doc: int | None, start: int, end: int) -> tuple[Longs, Longs]:
    """Rows of the judged spans of a question that overlap a stretch, and by how many characters."""
    near = (spans.query == query) & (spans.doc == (-1 if doc is None else doc))
    rows = np.flatnonzero(near & (spans.start < end) & (spans.end > start))
    return rows, np.minimum(spans.end[rows], end) - np.maximum(spans.start[rows], start)

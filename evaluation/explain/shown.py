"""What readers of a report see of the rankings: the top of each with its grades, the questions, and the passages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evaluation.arms import Arm
from evaluation.judging import Judged
from evaluation.pairs import look_up, pairs

SHOWN = ["strategy", "qid", "rank", "chunk_id", "grade"]
QUESTIONS = ["qid", "query", "kind", "cluster"]
PASSAGES = ["chunk_id", "document", "pages", "section", "text"]
UNJUDGED = -1


def shown(arms: Sequence[Arm], judged: Judged, k: int = 10) -> pd.DataFrame:
    """The first k chunks of every ranking, by strategy, query and rank; columns `SHOWN`.

    `grade` int8 is the chunk's own, whether an earlier one shows the same or not; -1: unjudged.
    """
    qrels, qids = judged.qrels, np.asarray(judged.benchmark.queries.qid, dtype=object)
    known = pairs(qrels.query, qrels.chunk)
    tables = []
    for arm in arms:
        if arm.run is None:
            continue
        top = arm.run.rank <= k
        query, chunk = arm.run.query[top], arm.run.chunk[top]
        grade = np.full(len(chunk), UNJUDGED, dtype=np.int8)
        found, row = look_up(known, pairs(query, chunk))
        grade[found] = qrels.grade[row]
        cells = {"qid": qids[query], "rank": arm.run.rank[top], "chunk_id": judged.ids[chunk], "grade": grade}
        tables.append(pd.DataFrame({"strategy": np.full(len(chunk), arm.name, dtype=object), **cells}, columns=SHOWN))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=SHOWN)


def questions(judged: Judged) -> pd.DataFrame:
    """The questions as they were asked, by qid; columns `QUESTIONS`."""
    queries = judged.benchmark.queries
    return pd.DataFrame({name: list(getattr(queries, name)) for name in QUESTIONS}, columns=QUESTIONS)


def passages(judged: Judged, shown: pd.DataFrame) -> pd.DataFrame:
    """Where the chunks of `shown` stand and what they say, by chunk_id; columns `PASSAGES`.

    `pages` is `3` or `3-4`. An id that the corpus lacks (of an outside run) has empty columns. Chunks of another
    chunking than this one are left out: the benchmark over that one knows them.
    """
    n_chunks = 0 if judged.corpus is None else len(judged.corpus)
    row_of = {str(name): row for row, name in enumerate(judged.ids)}
    wanted = [name for name in sorted(set(shown["chunk_id"])) if name in row_of]
    inside = [row_of[name] for name in wanted if row_of[name] < n_chunks]
    cells = dict(zip([judged.ids[row] for row in inside], _read(judged, inside), strict=True))
    return pd.DataFrame([(name, *cells.get(name, ("", "", "", ""))) for name in wanted], columns=PASSAGES)


def _read(judged: Judged, rows: Sequence[int]) -> list[tuple[str, str, str, str]]:
    """Document, pages, section and text of chunks."""
    if judged.corpus is None:
        return []
    columns = ("doc_name", "page_start", "page_end", "section", "text")
    table = judged.corpus.chunks.select(columns).take(np.asarray(rows, dtype=np.int64))
    cells = zip(*(table[name].to_pylist() for name in columns), strict=True)
    return [
        (name, str(first) if first == last else f"{first}-{last}", section, text)
        for name, first, last, section, text in cells
    ]

"""Gold as a chunk id: of every judged span one chunk answers, its copies in overlapping chunks count as wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evaluation.beliefs.claims import ONE_CHUNK
from evaluation.grades import grade_matrix
from evaluation.metrics import ndcg
from evaluation.replay import Replay
from evaluation.schema import Qrels


def one_chunk_each(qrels: Qrels) -> Qrels:
    """The judgments as a benchmark of chunk ids has them: of every class its best chunk, the first of equal ones."""
    relevant = np.flatnonzero(qrels.grade > 0)
    order = relevant[
        np.lexsort((qrels.chunk[relevant], -qrels.grade[relevant], qrels.group[relevant], qrels.query[relevant]))
    ]
    pairs = np.stack([qrels.query[order], qrels.group[order]])
    first = np.ones(len(order), dtype=bool)
    first[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    kept = np.sort(order[first])
    return Qrels(
        qrels.query[kept], qrels.chunk[kept], qrels.grade[kept], qrels.group[kept], qrels.parts[kept], qrels.n_parts
    )


def values(part: Replay) -> pd.DataFrame:
    """nDCG@5 of every arm of a run under such judgments; columns strategy, qid, metric, value."""
    qids = part.judged.benchmark.queries.qid
    qrels = one_chunk_each(part.judged.qrels)
    rows = []
    for name, run in part.runs.items():
        found = ndcg(grade_matrix(run, qrels, len(qids), "each"), 5)
        rows += [(name, qid, ONE_CHUNK, value) for qid, value in zip(qids, found.tolist(), strict=True)]
    return pd.DataFrame(rows, columns=["strategy", "qid", "metric", "value"])

"""`credit=once` in files that know no classes: judgments and rankings under ids that plain trec_eval credits once.

A class of several chunks that cover the same span becomes one entry with an id of its own. In a ranking its first
chunk bears that id, a later one an id that nobody judged: it holds its rank and answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation.grades import REPEAT, grade_matrix
from evaluation.schema import Qrels
from retrieval.schema import Run, make_run

CLASS, REPEATED = "class-", "repeat-"
Names = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Classes:
    """Judgments by class. `n_ids` rows are those of the collection, as many again are classes, then repeats.

    `names` object [3 * n_ids]: their ids. A class is named after its first chunk, and has that chunk's row + `n_ids`;
    a class of one chunk keeps that chunk's row. `qrels`: one row per class with its best grade, and the chunks of
    grade 0. `members`: query, chunk, grade, entry (the row of its class), best (the grade of its class); one row per
    relevant chunk.
    """

    names: Names
    n_ids: int
    qrels: Qrels
    members: pd.DataFrame


def as_classes(qrels: Qrels, ids: Names) -> Classes:
    """The judgments with one row per class."""
    relevant = qrels.grade > 0
    members = pd.DataFrame(
        {"query": qrels.query[relevant], "chunk": qrels.chunk[relevant], "grade": qrels.grade[relevant]}
    )
    by_class = members.groupby([members["query"], qrels.group[relevant]])
    first = by_class["chunk"].transform("min")
    members["entry"] = np.where(by_class["chunk"].transform("size") > 1, first + len(ids), first).astype(np.int32)
    members["best"] = by_class["grade"].transform("max")
    entries = members.drop_duplicates(["query", "entry"])
    query = np.concatenate([entries["query"], qrels.query[~relevant]]).astype(np.int32)
    chunk = np.concatenate([entries["entry"], qrels.chunk[~relevant]]).astype(np.int32)
    grade = np.concatenate([entries["best"], qrels.grade[~relevant]]).astype(np.int8)
    order = np.lexsort((chunk, query))
    query, chunk, grade = query[order], chunk[order], grade[order]
    alone = np.where(grade > 0, np.arange(len(order)), -1).astype(np.int32)
    plain = Qrels(query, chunk, grade, alone, np.zeros(len(order), np.int64), qrels.n_parts)
    return Classes(_names(ids), len(ids), plain, members)


def through_classes(run: Run, qrels: Qrels, classes: Classes) -> tuple[Run, pd.DataFrame]:
    """A ranking in which a class stands once, and where the chunk that leads it has less than the best grade.

    The latter has columns query, entry, rank, grade, best: our measures credit the grade of the chunk that is shown,
    files of classes can only credit the best one. Only nDCG sees the difference.
    """
    grades = grade_matrix(run, qrels, len(qrels.n_parts), "once").grades[run.query, run.rank - 1]
    rows = pd.DataFrame({"query": run.query, "chunk": run.chunk, "rank": run.rank, "grade": grades})
    found = rows.merge(classes.members.drop(columns="grade"), how="left", on=["query", "chunk"])
    repeated = (found["grade"] == REPEAT).to_numpy()
    entry = found["entry"].fillna(found["chunk"]).to_numpy().astype(np.int32)
    chunk = np.where(repeated, run.chunk + 2 * classes.n_ids, entry)
    lower = found[~repeated & (found["grade"] < found["best"])]
    ranked = make_run(run.query, chunk, -run.rank.astype(np.float64), depth=max(len(run), 1))
    return ranked, lower[["query", "entry", "rank", "grade", "best"]].astype(np.int32)


def _names(ids: Names) -> Names:
    """The ids, then those of classes and repeats, with prefixes that no id of the collection begins with."""
    plain = [str(name) for name in ids]
    prefixes = ["", _unused(CLASS, plain), _unused(REPEATED, plain)]
    return np.asarray([prefix + name for prefix in prefixes for name in plain], dtype=object)


def _unused(prefix: str, ids: list[str]) -> str:
    while any(name.startswith(prefix) for name in ids):
        prefix = f"{prefix}-"
    return prefix

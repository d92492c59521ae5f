"""A finished run as TREC files that other tools score to our values: `qrels.trec` and `runs/<strategy>.trec`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.export.classes import CLASS, REPEATED, Classes, as_classes, through_classes
from evaluation.grades import Credit
from evaluation.replay import Replay
from evaluation.schema import Qrels
from evaluation.trec import Names, write_qrels, write_run
from ingestion.artifacts import write_atomic
from retrieval.schema import Run

NOTHING_RELEVANT = "qrels_nothing_relevant.trec"
TREC_EVAL = {
    "nDCG": "ndcg", "RR": "recip_rank", "R": "recall", "P": "P", "Success": "success", "AP": "map", "Bpref": "bpref",
}  # fmt: skip
CUT = {"ndcg": "ndcg_cut", "map": "map_cut"}  # trec_eval's names with a cutoff
OUTSIDE = {*TREC_EVAL, "Judged", "nDCG(dcg='exp-log2')"}  # families that ir-measures knows
USUAL = ("nDCG@5", "RR", "R@5")  # where a run has none of them


@dataclass(frozen=True)
class Trec:
    """Judgments and rankings over `names`; `lower`: where a class is led by less than its best grade."""

    names: Names
    qrels: Qrels
    runs: Mapping[str, Run]
    lower: pd.DataFrame


def as_trec(found: Replay, credit: Credit) -> Trec:
    """The judgments and rankings that plain trec_eval scores as `credit` says."""
    judged = found.judged
    if credit == "each":
        return Trec(judged.ids, judged.qrels, found.runs, pd.DataFrame())
    classes = as_classes(judged.qrels, judged.ids)
    pairs = {arm: through_classes(run, judged.qrels, classes) for arm, run in found.runs.items()}
    lower = pd.concat([_named(arm, rows, classes, found) for arm, (_, rows) in pairs.items()], ignore_index=True)
    return Trec(classes.names, classes.qrels, {arm: run for arm, (run, _) in pairs.items()}, lower)


def write_trec(folder: Path, found: Replay, credit: Credit) -> None:
    """Write `qrels.trec`, `runs/` and a README; judgments of questions without anything relevant stand apart.

    So the averages of other tools are over the same questions as ours.
    """
    trec, queries = as_trec(found, credit), found.judged.benchmark.queries
    answered = np.isin(trec.qrels.query, trec.qrels.query[trec.qrels.grade > 0])
    write_qrels(folder / "qrels.trec", _rows(trec.qrels, answered), queries, trec.names)
    if not answered.all():
        write_qrels(folder / NOTHING_RELEVANT, _rows(trec.qrels, ~answered), queries, trec.names)
    for arm, run in trec.runs.items():
        write_run(folder / "runs" / f"{arm}.trec", run, queries, trec.names, arm)
    if len(trec.lower):
        write_atomic(folder / "lower_grades.csv", trec.lower.to_csv(index=False, lineterminator="\n"))
    if credit == "once":
        write_atomic(folder / "classes.csv", _members(found).to_csv(index=False, lineterminator="\n"))
    write_atomic(folder / "README.txt", _readme(found, credit, trec, bool(answered.all())))


def _rows(qrels: Qrels, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Qrels:
    columns = {name: getattr(qrels, name)[keep] for name in ("query", "chunk", "grade", "group", "parts")}
    return replace(qrels, **columns)


def _named(arm: str, rows: pd.DataFrame, classes: Classes, found: Replay) -> pd.DataFrame:
    """Rows of `through_classes` with names: strategy, qid, class, rank, grade, best."""
    qids = np.asarray(found.judged.benchmark.queries.qid, dtype=object)
    names = {"strategy": arm, "qid": qids[rows["query"]], "class": classes.names[rows["entry"]]}
    return pd.DataFrame({**names, **{name: rows[name].to_numpy() for name in ("rank", "grade", "best")}})


def _members(found: Replay) -> pd.DataFrame:
    """What the classes of several chunks hold: qid, class, chunk_id, grade."""
    judged = found.judged
    classes = as_classes(judged.qrels, judged.ids)
    rows = classes.members[classes.members["entry"] >= classes.n_ids]
    qids = np.asarray(judged.benchmark.queries.qid, dtype=object)
    return pd.DataFrame(
        {
            "qid": qids[rows["query"]],
            "class": classes.names[rows["entry"]],
            "chunk_id": judged.ids[rows["chunk"]],
            "grade": rows["grade"].to_numpy(),
        }
    )


def _readme(found: Replay, credit: Credit, trec: Trec, all_answered: bool) -> str:
    arm = next(iter(trec.runs), "<strategy>")
    judged, request = found.judged, found.request
    names = [metric.name for metric in request.metrics if metric.family in OUTSIDE] or list(USUAL)
    flags, quoted = " ".join(_flags(names)), " ".join(f'"{name}"' if "(" in name else name for name in names)
    prose = [
        f"qrels.trec and runs/ hold {len(trec.runs)} rankings of {judged.benchmark.name}, split {request.split}, "
        f"{len(judged.benchmark.queries)} questions (run {found.manifest['run_id']}).",
        *_on_credit(credit, request.evaluation["credit"], trec),
        "Scores fall by 1 with every rank: no reader sees a tie, and all see our order. An id with white space or % "
        "is written with %XX escapes, and the second column of its line then ends in %.",
        "-c below counts a question that a ranking does not answer as 0, as we do; ir_measures always does. "
        "pytrec_eval drops such a question: average over the questions of qrels.trec.",
    ]
    if not all_answered:
        prose.append(f"Questions with nothing relevant are in {NOTHING_RELEVANT}: they have no value but Judged.")
    commands = [
        f"trec_eval -c -q {flags} qrels.trec runs/{arm}.trec",
        f"ir_measures -q qrels.trec runs/{arm}.trec {quoted}",
    ]
    return "\n\n".join([*(textwrap.fill(text, 110) for text in prose), *commands]) + "\n"


def _on_credit(credit: Credit, measured: str, trec: Trec) -> list[str]:
    """What the reader must know about classes."""
    if credit == "each":
        found = ["credit=each: ids are chunk ids, and every judged chunk counts."]
    else:
        found = [
            "credit=once: chunks that cover the same span are one class, credited at its first chunk in a ranking. A "
            f"class of several chunks is {CLASS}<its first chunk>; later chunks of it in a ranking are "
            f"{REPEATED}<chunk>, which nobody judged; classes.csv lists the classes. All measures agree with ours "
            "but Judged, for which we count a repeat as judged."
        ]
    if len(trec.lower):
        found.append(
            f"{len(trec.lower)} times a class is led by a chunk with less than its best grade (lower_grades.csv). We "
            "credit the chunk's own grade, these files can only credit the best: nDCG of those questions is higher "
            "here than ours."
        )
    if credit != measured:
        found.append(f"The results folder was measured with credit={measured}: its values are not these.")
    return found


def _flags(names: list[str]) -> list[str]:
    """The `-m` options of trec_eval for our metrics; it has no reciprocal rank with a cutoff and no Judged."""
    flags = []
    for name in names:
        family, _, k = name.partition("@")
        if family in TREC_EVAL and not (family == "RR" and k):
            base = TREC_EVAL[family]
            flags.append(f"-m {CUT.get(base, base)}.{k}" if k else f"-m {base}")
    return flags

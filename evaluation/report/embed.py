"""The data behind the per-query table as compact JSON: every text once, everything else as whole numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.metrics import looked_at
from evaluation.report.comparisons import cells
from evaluation.report.view import order, pairs

SCALE = 1_000_000  # values are kept to six places
NONE = -(10**9)  # no value: below any that a metric can have


def payload(findings: Findings) -> dict[str, Any]:
    """What `page.js` reads.

    `values[metric][strategy][question]` in units of 1/SCALE, None without a value; `shown[strategy][question]` is
    [passage, grade, passage, grade, ...] by rank; `fates[strategy][question]` is [grade, stage, path, best rank,
    final rank, ...] by piece of evidence. Names stand in lists and are numbered.
    """
    names = order(findings)
    questions = findings.questions
    if not len(questions) or not names:
        return {"strategies": names, "questions": []}
    qids = [str(qid) for qid in questions["qid"]]
    passages = findings.passages
    return {
        "strategies": names,
        "scale": SCALE,
        "none": NONE,
        "k": looked_at(findings.primary),
        "questions": [[*row] for row in questions[["qid", "query", "kind", "cluster"]].astype(str).to_numpy()],
        "metrics": _metrics(findings),
        "values": [_values(findings.per_query, metric, names, qids) for metric in _metrics(findings)],
        "passages": _passages(passages),
        "shown": _shown(findings.shown, names, qids, passages),
        **_fates(findings.losses, names, qids),
        "first": _first_pair(findings, names),
        "cells": _cells(findings, names),
    }


def as_json(content: Mapping[str, Any]) -> str:
    """JSON that cannot end a script element or be cut by a line separator, whatever its strings hold."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
    for character in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _metrics(findings: Findings) -> list[str]:
    there = set(findings.per_query["metric"])
    return [name for name in table.shown_metrics(findings.summary, findings.primary) if name in there]


def _values(per_query: pd.DataFrame, metric: str, names: Sequence[str], qids: Sequence[str]) -> list[list[int]]:
    rows = per_query[per_query["metric"] == metric]
    wide = np.full((len(names), len(qids)), np.nan)
    row, column = _codes(rows["strategy"], names), _codes(rows["qid"], qids)
    known = (row >= 0) & (column >= 0)
    wide[row[known], column[known]] = rows["value"].to_numpy(np.float64)[known]
    whole = np.where(np.isnan(wide), NONE, np.round(np.nan_to_num(wide) * SCALE))
    out: list[list[int]] = whole.astype(np.int64).tolist()
    return out


def _codes(column: pd.Series, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Place of each entry in `names`, -1 for one that is not there."""
    return pd.Index(names).get_indexer(pd.Index(column.astype(str))).astype(np.int64)


def _passages(passages: pd.DataFrame) -> list[list[str]]:
    if not len(passages):
        return []
    return [[*row] for row in passages[["document", "pages", "section", "text"]].fillna("").astype(str).to_numpy()]


def _shown(
    shown: pd.DataFrame, names: Sequence[str], qids: Sequence[str], passages: pd.DataFrame
) -> list[list[list[int]]]:
    """Passages and grades of every ranking's top, by strategy and question."""
    out: list[list[list[int]]] = [[[] for _ in qids] for _ in names]
    if not len(shown) or not len(passages):
        return out
    rows = shown.sort_values(["strategy", "qid", "rank"], kind="stable")
    arm, query = _codes(rows["strategy"], names), _codes(rows["qid"], qids)
    passage = _codes(rows["chunk_id"], [str(name) for name in passages["chunk_id"]])
    known = (arm >= 0) & (query >= 0)
    table_ = np.stack([arm, query, passage, rows["grade"].to_numpy(np.int64)], axis=1)[known]
    for at, of, what, grade in table_.tolist():
        out[at][of] += [what, grade]
    return out


def _fates(losses: pd.DataFrame, names: Sequence[str], qids: Sequence[str]) -> dict[str, Any]:
    """What became of each piece of evidence, by strategy and question."""
    out: list[list[list[int]]] = [[[] for _ in qids] for _ in names]
    if not len(losses):
        return {"stages": [], "paths": [], "fates": out}
    rows = losses.sort_values(["strategy", "qid", "evidence"], kind="stable")
    stages, paths = sorted(set(rows["stage"])), sorted(set(rows["path"].astype(str)))
    arm, query = _codes(rows["strategy"], names), _codes(rows["qid"], qids)
    coded = rows.assign(stage=_codes(rows["stage"], stages), path=_codes(rows["path"], paths))
    facts = coded[["grade", "stage", "path", "best_rank", "final_rank"]].to_numpy(np.int64)
    known = (arm >= 0) & (query >= 0)
    for at, of, fact in zip(arm[known].tolist(), query[known].tolist(), facts[known].tolist(), strict=True):
        out[at][of] += fact
    return {"stages": stages, "paths": paths, "fates": out}


def _first_pair(findings: Findings, names: Sequence[str]) -> list[int]:
    """The two strategies that the table opens with: a declared pair, else the leader and the next best."""
    rows = pairs(findings)
    declared = rows[rows["family"] == "declared"] if len(rows) else rows
    if len(declared) and set(declared.iloc[0][["a", "b"]]) <= set(names):
        return [names.index(declared.iloc[0]["a"]), names.index(declared.iloc[0]["b"])]
    leader = findings.verdict.leader if findings.verdict.leader in names else names[0]
    others = [name for name in (*findings.verdict.group, *findings.verdict.beaten, *names) if name != leader]
    first = next((name for name in others if name in names), leader)
    return [names.index(leader), names.index(first)]


def _cells(findings: Findings, names: Sequence[str]) -> list[list[int]]:
    """Row and column of every cell of the matrix, in the order in which it is drawn."""
    rows = cells(findings)
    if not len(rows):
        return []
    return [[names.index(a), names.index(b)] for a, b in zip(rows["a"], rows["b"], strict=True)]

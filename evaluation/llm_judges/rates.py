"""What a judge's verdicts say about each generator: rates as judged, and corrected by hand labels. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluation.llm_judges.corrected import Corrected, prediction_powered, rogan_gladen
from evaluation.llm_judges.journal import NONE
from evaluation.llm_judges.kinds import Item, Kind
from evaluation.llm_judges.verdicts import Resampling
from evaluation.schema import Grades8
from evaluation.stats import Bools, intervals
from retrieval.schema import Floats

SCORE = "score"  # mean of verdicts, 0 for the worst and 1 for the best; a tie is one half
MEASURED = ("measure", "n", "failed", "verdicts", "mean", "lo", "hi", "clusters", "interval", "note")
CORRECTIONS = ("corrected", "ppi")


@dataclass(frozen=True)
class Judged:
    """Items with their verdicts and hand labels, int8 [n_items] each, -1 for none."""

    kind: Kind
    items: tuple[Item, ...]
    verdicts: Grades8
    labels: Grades8

    @property
    def clusters(self) -> list[str]:
        """What is resampled together: source documents, [n_items]."""
        return [item.cluster for item in self.items]


def measures(kind: Kind) -> tuple[str, ...]:
    """What is told about a group: the share of the best verdict, and the mean where there are verdicts between."""
    return (kind.positive, SCORE) if kind.best > 1 else (kind.positive,)


def rates(judged: Judged, how: Resampling) -> pd.DataFrame:
    """One row per group and measure, groups in alphabetical order.

    Columns: those of the group; `measure`; `n` judged and `failed` items (which count nowhere else); `verdicts`, how
    many of each, worst first, such as `3/1/16`; `mean`, `lo`, `hi` over `clusters`; `interval`, its method; `note`.
    With hand labels also `corrected`, `corrected_lo`, `corrected_hi`, `corrected_note` (Rogan and Gladen; shares
    only) and `ppi`, `ppi_lo`, `ppi_hi`, `ppi_note`, and `labelled`, the group's rows with a label.
    """
    names = [item.key[: len(judged.kind.group)] for item in judged.items]
    members = {group: np.asarray([name == group for name in names], dtype=np.bool_) for group in sorted(set(names))}
    rows = [
        dict(zip(judged.kind.group, group, strict=True)) | _row(judged, member, measure, how)
        for group, member in members.items()
        for measure in measures(judged.kind)
    ]
    return pd.DataFrame(rows, columns=[*judged.kind.group, *_columns(judged)])


def _columns(judged: Judged) -> list[str]:
    if (judged.labels == NONE).all():
        return list(MEASURED)
    ends = [f"{name}{end}" for name in CORRECTIONS for end in ("", "_lo", "_hi", "_note")]
    return [*MEASURED, *ends, "labelled"]


def _row(judged: Judged, member: Bools, measure: str, how: Resampling) -> dict[str, object]:
    there = member & (judged.verdicts != NONE)
    share = measure == judged.kind.positive
    values = _values(judged.verdicts, judged.kind, share)
    clusters = np.asarray(judged.clusters)
    found = intervals(values[None, there], clusters[there], how.seed, how.resamples, how.confidence, binary=[share])
    counts = np.bincount(judged.verdicts[there], minlength=len(judged.kind.choices))
    row: dict[str, object] = {
        "measure": measure,
        "n": int(there.sum()),
        "failed": int((member & ~there).sum()),
        "verdicts": "/".join(map(str, counts)),
        "mean": float(found.mean[0]),
        "lo": float(found.lo[0]),
        "hi": float(found.hi[0]),
        "clusters": int(found.n_clusters[0]),
        "interval": found.method[0],
        "note": "too few documents" if found.too_few[0] else "",
    }
    if (judged.labels == NONE).all():
        return row
    return row | _corrections(judged, there, share, values, how)


def _corrections(judged: Judged, there: Bools, share: bool, values: Floats, how: Resampling) -> dict[str, object]:
    """Both corrections: Rogan and Gladen's with the labels of all groups, the other with the group's own."""
    labels, clusters = _values(judged.labels, judged.kind, share), np.asarray(judged.clusters)
    none = Corrected(np.nan, np.nan, np.nan, 0, 0)
    usable = judged.verdicts != NONE
    gladen = powered = none
    if there.any():
        powered = prediction_powered(values[there], labels[there], clusters[there], how.confidence)
        if share:
            gladen = rogan_gladen(values[usable], labels[usable], clusters[usable], there[usable], how.confidence)
    cells: dict[str, object] = {}
    for name, found in zip(CORRECTIONS, (gladen, powered), strict=True):
        cells |= {
            name: found.value,
            f"{name}_lo": found.lo,
            f"{name}_hi": found.hi,
            f"{name}_note": found.note,
        }
    return cells | {"labelled": powered.labelled}


def _values(verdicts: Grades8, kind: Kind, share: bool) -> Floats:
    """Verdicts as numbers in 0..1, float64 [n_items], NaN for none: 1 for the best only, or in even steps."""
    numbers = (verdicts == kind.best).astype(np.float64) if share else verdicts / kind.best
    return np.where(verdicts == NONE, np.nan, numbers)


def verdict_table(judged: Judged, votes: Grades8, reasons: Sequence[tuple[str, ...]]) -> pd.DataFrame:
    """One row per item.

    Columns: those of the kind's key; `cluster`; `verdict` and `label` by the names of the kind, empty for none;
    `votes`, all of them by order and repeat, such as `2,2,1|0,-,1`, with `-` for a call that failed; `reason`, the
    judge's first.
    """
    said = [*judged.kind.names, ""]
    rows = [
        dict(zip(judged.kind.key, item.key, strict=True))
        | {
            "cluster": item.cluster,
            "verdict": said[verdict],
            "label": said[label],
            "votes": "|".join(",".join("-" if v == NONE else str(v) for v in repeats) for repeats in orders),
            "reason": why[0] if why else "",
        }
        for item, verdict, label, orders, why in zip(
            judged.items, judged.verdicts.tolist(), judged.labels.tolist(), votes.tolist(), reasons, strict=True
        )
    ]
    return pd.DataFrame(rows, columns=[*judged.kind.key, "cluster", "verdict", "label", "votes", "reason"])

"""What every answer is worth: one value per strategy, generator, context, question and metric.

What a refusal counts for each metric; `-` is no value, which no mean contains:

| metric | answered | refused | unanswerable, answered | unanswerable, refused |
| --- | --- | --- | --- | --- |
| citation precision | share of citations | - | 0 | - |
| citation precision judged | share of judged citations | - | 0 | - |
| source precision | share of citations of a relevant passage | - | 0 | - |
| citation recall | share of needed parts | 0 | - | - |
| answer F1, answer exact, numbers | against the reference | 0 | - | - |
| faithfulness, supported claims | share of claims | - | share of claims | - |
| verbatim | share of quotes | - | share of quotes | - |
| refusal accuracy | 1 | 0 | 0 | 1 |
| refused | 0 | 1 | 0 | 1 |

A failed call has no value at all: it is counted. Without context nothing can be cited, so citations, faithfulness and
support have no value there. `numbers` is for numeric questions. A question of which nobody knows whether it can be
answered has neither precision, recall nor refusal accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from evaluation.answers import citations, correctness, refusal
from evaluation.answers.faithfulness import Supports, by_words, supported
from evaluation.answers.questions import CANNOT, NUMERIC, UNKNOWN, Questions
from evaluation.answers.tables import GROUP, KEY, NONE, Tables, answered
from evaluation.stats import intervals
from retrieval.schema import Floats

PRECISION, PRECISION_JUDGED, RECALL = "citation precision", "citation precision judged", "citation recall"
F1, EXACT, NUMBERS, FAITHFUL = "answer F1", "answer exact", "numbers", "faithfulness"
SUPPORTED, VERBATIM, ACCURACY, REFUSED = "supported claims", "verbatim", "refusal accuracy", "refused"
LENGTH, SOURCES = "cited characters", "source precision"
METRICS = (
    *(PRECISION, PRECISION_JUDGED, SOURCES, RECALL, F1, EXACT, NUMBERS, FAITHFUL, SUPPORTED, VERBATIM),
    *(ACCURACY, REFUSED, LENGTH),
)  # fmt: skip
BINARY = (EXACT, ACCURACY, REFUSED)
VALUES = [*KEY, "metric", "value"]
SUMMARY = [*GROUP, "metric", "n", "mean", "lo", "hi", "clusters", "interval", "note"]


def values(
    tables: Tables, labelled: pd.DataFrame, questions: Questions, supports: Supports = by_words
) -> pd.DataFrame:
    """Columns strategy, generator, context, qid, metric, value, sorted by metric in the order of `METRICS`.

    Args:
        tables: what generators said.
        labelled: their citations with labels (`labels.label`).
        questions: see there.
        supports: what decides on faithfulness (`faithfulness.supported`).
    """
    given = answered(tables.answers).reset_index(drop=True)
    found = {
        **_citation_values(given, labelled, questions),
        **_reference_values(given, questions),
        **_claim_values(given, tables, supports),
        ACCURACY: refusal.accuracy(given, questions.table["state"]),
        REFUSED: refusal.refused(given),
    }
    parts = [given[KEY].assign(metric=metric, value=found[metric]) for metric in METRICS]
    return pd.concat(parts, ignore_index=True).dropna(subset="value")[VALUES].reset_index(drop=True)


def summarise(found: pd.DataFrame, questions: Questions, seed: int, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Mean and interval of every strategy, generator, context and metric, resampled by source document.

    `settings`: `resamples`, `confidence` and `interval`, as `conf/eval/` has them.
    """
    if found.empty:
        return pd.DataFrame(columns=SUMMARY)
    index = [*GROUP, "metric"]
    wide = found.pivot_table(index=index, columns="qid", values="value", sort=False)
    wide = wide.reindex(columns=list(questions.table.index))
    names = wide.index.get_level_values("metric")
    got = intervals(
        wide.to_numpy(np.float64),
        questions.table["cluster"].to_numpy(dtype=str),
        seed,
        resamples=int(settings["resamples"]),
        confidence=float(settings["confidence"]),
        method=settings["interval"],
        binary=names.isin(BINARY),
    )
    table = wide.index.to_frame(index=False).assign(
        n=got.n,
        mean=got.mean,
        lo=got.lo,
        hi=got.hi,
        clusters=got.n_clusters,
        interval=got.method,
        note=np.where(got.too_few, "too few documents", ""),
    )
    return table[SUMMARY]


def _citation_values(given: pd.DataFrame, labelled: pd.DataFrame, questions: Questions) -> dict[str, Floats]:
    """What citations are worth; without context, and for questions that nobody judged, they have no value."""
    table = questions.table
    unknown = (table["state"].loc[given["qid"]] == UNKNOWN).to_numpy()
    without = (given["context"] == NONE).to_numpy()
    found = {
        PRECISION: citations.precision(given, labelled),
        PRECISION_JUDGED: citations.precision_judged(given, labelled),
        SOURCES: citations.source_precision(given, labelled),
        RECALL: citations.recall(given, labelled, table["needed"]),
    }
    masked = {name: np.where(unknown | without, np.nan, value) for name, value in found.items()}
    plain = {VERBATIM: citations.verbatim(given, labelled), LENGTH: citations.length(given, labelled)}
    return masked | {name: np.where(without, np.nan, value) for name, value in plain.items()}


def _reference_values(given: pd.DataFrame, questions: Questions) -> dict[str, Floats]:
    """Answers against references; a refusal says nothing, so it is worth 0."""
    of = questions.table.loc[given["qid"]]
    refused, texts = given["refused"].to_numpy(bool), given["text"].to_numpy(dtype=object)
    rows = list(zip(texts, of["reference"], of["kind"], of["state"] == CANNOT, refused, strict=True))
    out = {F1: np.full(len(rows), np.nan), EXACT: np.full(len(rows), np.nan), NUMBERS: np.full(len(rows), np.nan)}
    for at, (text, reference, kind, cannot, silent) in enumerate(rows):
        if not reference or cannot:
            continue
        out[F1][at] = 0.0 if silent else correctness.token_f1(str(text), str(reference))
        out[EXACT][at] = 0.0 if silent else correctness.exact(str(text), str(reference))
        if kind == NUMERIC:
            out[NUMBERS][at] = correctness.numbers("" if silent else str(text), str(reference))
    return out


def _claim_values(given: pd.DataFrame, tables: Tables, supports: Supports) -> dict[str, Floats]:
    """Share of claims that their quotes support, and that cite anything; claims without context cannot."""
    claims = tables.claims[tables.claims["context"] != NONE]
    place = pd.MultiIndex.from_frame(given[KEY])
    rows = claims[KEY].assign(
        faithful=supported(claims, tables.citations, supports), cited=claims["supported"].to_numpy(np.float64)
    )
    means = rows.groupby(KEY)[["faithful", "cited"]].mean().reindex(place)
    return {FAITHFUL: means["faithful"].to_numpy(np.float64), SUPPORTED: means["cited"].to_numpy(np.float64)}

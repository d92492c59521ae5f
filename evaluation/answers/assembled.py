"""From what generators said to everything that a report shows about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from evaluation.answers import calibrated, compared, refusals, values
from evaluation.answers.costs import costs
from evaluation.answers.faithfulness import Supports, by_words
from evaluation.answers.findings import AnswerFindings
from evaluation.answers.labels import label, label_claims
from evaluation.answers.questions import Questions
from evaluation.answers.tables import RETRIEVED, Tables
from evaluation.judging import Judged
from evaluation.rules import Rules


def assemble(
    tables: Tables,
    judged: Judged,
    rules: Rules,
    settings: Mapping[str, Any],
    seed: int,
    supports: Supports = by_words,
    primary: str = values.F1,
    yardstick: str = compared.FIRST,
) -> AnswerFindings:
    """Label, measure, compare and calibrate.

    Args:
        tables: what generators said (`Tables.of`).
        judged: the benchmark over its corpus.
        rules: alpha, margin and the like of comparisons; its primary metric is replaced by `primary`.
        settings: `resamples`, `confidence` and `interval`, as `conf/eval/` has them.
        seed: of resampling, flips and the null of the calibration error.
        supports: what decides on faithfulness.
        primary: the metric of the verdicts.
        yardstick: the generator that the others are measured against; it is drawn only where it is alone.

    Raises:
        EvaluationError: a citation lies outside of its document, or names an unknown question or document.
    """
    questions, queries = Questions.of(judged), judged.benchmark.queries
    labelled = label(tables.citations, judged, questions)
    claims = label_claims(tables.claims, labelled, questions)
    found = values.values(tables, labelled, questions, supports)
    summary = values.summarise(found, questions, seed, settings)
    own = replace(rules, primary=primary)
    risk = refusals.coverage(tables.answers, found, questions)
    resamples, confidence = int(settings["resamples"]), float(settings["confidence"])
    strategy, generator = _shown(summary, claims, primary, yardstick)
    return AnswerFindings(
        strategy=strategy,
        generator=generator,
        primary=primary,
        answers=tables.answers,
        claims=claims,
        citations=labelled,
        values=found,
        summary=summary,
        costs=costs(tables.answers),
        lift=compared.lift(found, queries, own, seed),
        generators=compared.generators(found, queries, own, seed),
        against_first=compared.against_first(found, questions, seed, settings, yardstick),
        calibration=calibrated.calibration(claims, seed),
        bins=calibrated.bins(claims, seed, confidence),
        levels=calibrated.by_level(claims, seed, resamples, confidence),
        order=calibrated.order(claims, seed, resamples, confidence),
        refusals=refusals.chosen(tables.answers, questions, risk, confidence),
        tradeoff=refusals.tradeoff(tables.answers, questions),
        coverage=risk,
    )


def _shown(summary: pd.DataFrame, claims: pd.DataFrame, primary: str, yardstick: str) -> tuple[str, str]:
    """The strategy and generator to draw: the best by the primary metric (ties by name), though not the yardstick.

    Of those with probabilities rather than others. Where the primary metric has no value, the first by name.
    """
    with_probability = claims[pd.to_numeric(claims["probability"], errors="coerce").notna()]
    calibrated_pairs = set(with_probability[["strategy", "generator"]].itertuples(index=False, name=None))
    own = summary[summary["context"] == RETRIEVED]
    rows = own[own["metric"] == primary]
    rows = rows if len(rows) else own[own["metric"] == values.REFUSED].assign(mean=0.0)
    rows = rows.sort_values(["mean", "strategy", "generator"], ascending=[False, True, True])
    pairs = [(str(s), str(g)) for s, g in rows[["strategy", "generator"]].itertuples(index=False, name=None)]
    pairs = [pair for pair in pairs if pair[1] != yardstick] or pairs
    first = [pair for pair in pairs if pair in calibrated_pairs] or pairs
    return first[0] if first else ("", "")

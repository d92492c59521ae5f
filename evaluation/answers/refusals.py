"""Refusal of every strategy and generator: the whole trade-off, where the generator stands on it, and risk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from evaluation.answers import curves, refusal
from evaluation.answers.questions import ABLE, CANNOT, Questions
from evaluation.answers.tables import KEY, RETRIEVED, answered
from evaluation.answers.values import PRECISION
from evaluation.stats import wilson

OF = ["strategy", "generator"]
TRADEOFF, COVERAGE = [*OF, *curves.TRADEOFF], [*OF, *curves.COVERAGE]
CHOSEN = [*OF, "right", "right_lo", "right_hi", "unanswerable", "wrong", "wrong_lo", "wrong_hi", "answerable", "area"]
CHOSEN += ["despite", "despite_lo", "despite_hi", "held", "risk_area"]


def tradeoff(answers: pd.DataFrame, questions: Questions) -> pd.DataFrame:
    """Shares of refusals over all thresholds of the refusal score, columns `TRADEOFF`; no rows without a score."""
    parts = [
        _curve(own, questions).assign(strategy=group[0], generator=group[1])[TRADEOFF]
        for group, own in _groups(answers, questions)
    ]
    return _joined(parts, TRADEOFF)


def chosen(answers: pd.DataFrame, questions: Questions, coverage: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """What each generator refused, columns `CHOSEN`.

    `right`, `wrong`: shares of the `unanswerable` and `answerable` questions that were refused, with Wilson's
    intervals; `despite`: of the `held` answerable questions of which a passage that was given holds an answer, the
    share that was refused all the same; `area` under the whole curve (.5 is chance), `risk_area` under that of risk
    and coverage.
    """
    rows = []
    for group, own in _groups(answers, questions):
        counts = refusal.rates(own, questions.table["state"])
        shares: list[float] = []
        for said, total in (counts[CANNOT], counts[ABLE]):
            shares += _share(said, total, confidence)
        risk = coverage[(coverage["strategy"] == group[0]) & (coverage["generator"] == group[1])]
        held = own[(own["held"] == 1) & (questions.table["state"].loc[own["qid"]] == ABLE).to_numpy()]
        despite = _share(int(held["refused"].sum()), len(held), confidence)
        areas = (curves.area(_curve(own, questions)), curves.area_under_risk(risk))
        rows.append((*group, *shares, areas[0], *despite, areas[1]))
    counts_of = dict.fromkeys(("unanswerable", "answerable", "held"), int)
    return pd.DataFrame(rows, columns=CHOSEN).astype(counts_of)


def _share(said: int, total: int, confidence: float) -> list[float]:
    """A share with Wilson's interval, and of how many."""
    lo, hi = wilson([said], [total], confidence)
    return [said / total if total else float("nan"), float(lo[0]), float(hi[0]), total]


def coverage(answers: pd.DataFrame, values: pd.DataFrame, questions: Questions) -> pd.DataFrame:
    """Risk of the most confident answers against their share, columns `COVERAGE`.

    The confidence of an answer is its refusal score, its risk the share of its citations that are not relevant, over
    the questions that were answered.
    """
    precision = values[values["metric"] == PRECISION].set_index(KEY)["value"]
    parts = []
    for group, own in _groups(answers, questions):
        loss = 1 - precision.reindex(pd.MultiIndex.from_frame(own[KEY])).to_numpy(np.float64)
        curve = curves.risk_coverage(own["score"].to_numpy(np.float64), loss)
        parts.append(curve.assign(strategy=group[0], generator=group[1])[COVERAGE])
    return _joined(parts, COVERAGE)


def _curve(own: pd.DataFrame, questions: Questions) -> pd.DataFrame:
    cannot = (questions.table["state"].loc[own["qid"]] == CANNOT).to_numpy()
    return curves.tradeoff(own["score"].to_numpy(np.float64), cannot)


def _groups(answers: pd.DataFrame, questions: Questions) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Answers from retrieval to questions of which it is known whether they can be answered."""
    own = answered(answers)
    known = questions.table["state"].loc[own["qid"]].isin([ABLE, CANNOT]).to_numpy()
    own = own[known & (own["context"] == RETRIEVED).to_numpy()]
    for (strategy, generator), rows in own.groupby(OF, sort=True):
        yield (str(strategy), str(generator)), rows


def _joined(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    kept = [part for part in parts if len(part)]
    return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=columns)

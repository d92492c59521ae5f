"""From development questions to a confidence file: the claim model, its recalibration, the refusal model, thresholds.

Three steps, each on probabilities of questions whose document the step before had not seen: a logistic regression
over all extracts; Platt scaling (Platt 1999) on the claims that would be chosen, since the best of many looks better
than it is; a logistic regression of whether the evidence holds an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logit

from evaluation.answers.curves import area, choose, tradeoff
from evaluation.answers.examples import PLACE
from evaluation.answers.fitted import apply
from evaluation.answers.fitting import PLACES, Model, fit_logistic
from evaluation.answers.labels import UNJUDGED
from evaluation.answers.questions import Questions
from evaluation.errors import EvaluationError
from generation.extracts import quotes_of
from generation.features import Asked, question_features
from generation.generators.grounded import Candidate, Grounded
from generation.schema import Evidence
from generation.words import Rarity
from retrieval.schema import Floats

STRENGTH = 0.3  # scikit-learn's C
HIGH, MEDIUM = 0.8, 0.5  # what the levels promise: at least four claims in five, at least every other one


@dataclass(frozen=True)
class Sample:
    """The passages of development questions under one strategy, with the labelled extracts of all of them."""

    arm: str
    evidence: Sequence[Evidence]
    table: pd.DataFrame


def fit(samples: Sequence[Sample], questions: Questions, rarity: Rarity, seed: int, most_wrong: float) -> Model:
    """The content of a confidence file, and what the fit saw out of fold under `fitted`.

    Args:
        samples: under one or more strategies; a question has the same weight in each.
        questions: of the same benchmark.
        rarity: of the corpus.
        seed: of the folds.
        most_wrong: share of development questions that may be refused although their passages hold an answer.

    Raises:
        EvaluationError: too few documents or labels.
    """
    table = pd.concat([sample.table.assign(arm=sample.arm) for sample in samples], ignore_index=True)
    names = [column for column in table.columns if column not in (*PLACE, "arm")]
    right = (table["grade"] >= questions.least).to_numpy(np.float64)
    claim = fit_logistic(table[names], right, list(table["cluster"]), seed, STRENGTH)
    table = table.assign(out=claim.out_of_fold, right=right)
    chosen = pd.concat([_chosen(sample, table[table["arm"] == sample.arm]) for sample in samples], ignore_index=True)
    scaled = fit_logistic(
        pd.DataFrame({"logit": logit(chosen["out"])}), chosen["right"], list(chosen["cluster"]), seed
    )
    table = table.assign(out=apply(scaled.model, {"logit": logit(table["out"])}))
    asked = pd.concat([_asked(sample, table[table["arm"] == sample.arm], rarity) for sample in samples])
    features = asked.drop(columns=["qid", "cluster", "holds"])
    answerable = fit_logistic(features, asked["holds"], list(asked["cluster"]), seed)
    curve = tradeoff(answerable.out_of_fold, (asked["holds"] == 0).to_numpy())
    refuse = choose(curve, most_wrong)
    if np.isnan(refuse):
        raise EvaluationError("no threshold keeps to the share of wrong refusals; raise most_wrong")
    return {
        "claim": _recalibrated(claim.model, scaled.model),
        "answerable": _plain(answerable.model),
        "refuse": round(refuse, 6),
        "high": HIGH,
        "medium": MEDIUM,
        "fitted": _seen(table, chosen, scaled.out_of_fold, curve, refuse),
    }


def _chosen(sample: Sample, rows: pd.DataFrame) -> pd.DataFrame:
    """The extracts that the generator would choose by out-of-fold probabilities."""
    picked = []
    for own, evidence in _by_question(sample, rows):
        ranked = _candidates(own, evidence)
        keys = {(one.source.id, one.extract.start, one.extract.end) for one in Grounded().choose(ranked)}
        places = zip(own["source"], own["start"], own["end"], strict=True)
        picked.append(own[[place in keys for place in places]])
    return pd.concat(picked, ignore_index=True)


def _asked(sample: Sample, rows: pd.DataFrame, rarity: Rarity) -> pd.DataFrame:
    """One row per question: whether its passages hold an answer, and what speaks for that, out of fold."""
    found = []
    for own, evidence in _by_question(sample, rows):
        ranked = _candidates(own, evidence)
        sources = [candidate.source for candidate in ranked]
        probabilities = [candidate.probability for candidate in ranked]
        features = question_features(Asked(evidence.question, rarity), evidence, sources, probabilities)
        key = {"qid": own["qid"].iloc[0], "cluster": own["cluster"].iloc[0], "holds": own["right"].max()}
        found.append({**key, **features})
    return pd.DataFrame(found)


def _by_question(sample: Sample, rows: pd.DataFrame) -> list[tuple[pd.DataFrame, Evidence]]:
    """Questions that have an extract, with their evidence."""
    groups = dict(list(rows.groupby("row")))
    return [(groups[row], evidence) for row, evidence in enumerate(sample.evidence) if row in groups]


def _candidates(own: pd.DataFrame, evidence: Evidence) -> list[Candidate]:
    by_place = {
        (source.id, extract.start, extract.end): (source, extract)
        for source in evidence.sources
        for extract in quotes_of(source.passage).extracts
    }
    places = zip(own["source"], own["start"], own["end"], own["out"], strict=True)
    found = [Candidate(*by_place[(source, start, end)], float(out), 0.0) for source, start, end, out in places]
    return sorted(found, key=lambda candidate: candidate.order)


def _recalibrated(claim: Model, scaled: Model) -> Model:
    """The claim model whose log-odds are stretched and shifted as Platt scaling says: still one logistic model."""
    own = scaled["features"]["logit"]
    slope = own["weight"] / own["scale"]
    shift = scaled["intercept"] - slope * own["mean"]
    features = {
        name: {**each, "weight": round(slope * each["weight"], PLACES)} for name, each in claim["features"].items()
    }
    return {"intercept": round(slope * claim["intercept"] + shift, PLACES), "features": features}


def _plain(model: Model) -> Model:
    return {key: model[key] for key in ("intercept", "features")}


def _seen(
    table: pd.DataFrame, chosen: pd.DataFrame, probability: Floats, curve: pd.DataFrame, refuse: float
) -> Model:
    """What the fit saw on development questions, out of fold: for whoever reads the file."""
    point = curve[curve["threshold"] == refuse].iloc[0]
    return {
        "arms": sorted(set(table["arm"])),
        "questions": int(table["qid"].nunique()),
        "documents": int(table["cluster"].nunique()),
        "extracts": len(table),
        "labelled": int((table["grade"] != UNJUDGED).sum()),
        "claims": len(chosen),
        "right claims": int(chosen["right"].sum()),
        "brier": round(float(np.mean((probability - chosen["right"].to_numpy()) ** 2)), 4),
        "refused right": round(float(point["right"]), 4),
        "refused wrong": round(float(point["wrong"]), 4),
        "area": round(area(curve), 4),
    }

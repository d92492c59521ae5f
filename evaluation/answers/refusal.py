"""Refusals: right on questions that the documents do not answer, wrong on the others."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evaluation.answers.questions import ABLE, CANNOT
from retrieval.schema import Floats


def accuracy(answers: pd.DataFrame, state: pd.Series) -> Floats:
    """1 where an unanswerable question was refused or an answerable one answered, else 0, float64 [n_answers].

    `state` [qid]: see `Questions`; NaN where nobody knows whether the question can be answered.
    """
    of = state.loc[answers["qid"]].to_numpy(dtype=object)
    right = answers["refused"].to_numpy(bool) == (of == CANNOT)
    return np.where(np.isin(of, [ABLE, CANNOT]), right.astype(np.float64), np.nan)


def refused(answers: pd.DataFrame) -> Floats:
    """1 for a refusal, 0 for an answer."""
    return answers["refused"].to_numpy(bool).astype(np.float64)


def rates(answers: pd.DataFrame, state: pd.Series) -> dict[str, tuple[int, int]]:
    """How many of the unanswerable and of the answerable questions were refused: `state` to (refused, questions)."""
    of = state.loc[answers["qid"]].to_numpy(dtype=object)
    said = answers["refused"].to_numpy(bool)
    return {name: (int(said[of == name].sum()), int((of == name).sum())) for name in (CANNOT, ABLE)}

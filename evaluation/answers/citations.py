"""Citation precision and recall of answers (ALCE, Gao et al., EMNLP 2023), by judged spans instead of a model."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd

from evaluation.answers.labels import UNJUDGED
from evaluation.answers.tables import KEY
from evaluation.stats import Bools
from retrieval.schema import Floats


def precision(answers: pd.DataFrame, labelled: pd.DataFrame) -> Floats:
    """Share of each answer's citations that are relevant; unjudged ones count as wrong. Float64 [n_answers].

    0 for an answer that cites nothing, and to an unanswerable question; NaN for a refusal, which claims nothing.
    """
    found = _share(answers, labelled["relevant"], labelled)
    return np.where(_refused(answers), np.nan, np.nan_to_num(found))


def source_precision(answers: pd.DataFrame, labelled: pd.DataFrame) -> Floats:
    """The same by passages, each citation counted: the cited chunk is relevant, wherever in it the quote stands."""
    found = _share(answers, labelled["source_relevant"], labelled)
    return np.where(_refused(answers), np.nan, np.nan_to_num(found))


def precision_judged(answers: pd.DataFrame, labelled: pd.DataFrame) -> Floats:
    """The same among citations of judged text; NaN also where an answer cites none."""
    known = labelled[labelled["grade"] > UNJUDGED]
    return np.where(_refused(answers), np.nan, _share(answers, known["relevant"], known))


def recall(answers: pd.DataFrame, labelled: pd.DataFrame, needed: pd.Series) -> Floats:
    """Share of the parts of a question that its answer's citations cover, float64 [n_answers].

    `needed` [qid] int64 holds the parts as bits; a question of one part has 0 or 1. A refusal covers nothing; NaN
    where nothing is needed, so for unanswerable questions.
    """
    covered = labelled.groupby(KEY)["parts"].agg(lambda parts: np.bitwise_or.reduce(parts.to_numpy(np.int64)))
    got = covered.reindex(pd.MultiIndex.from_frame(answers[KEY]), fill_value=0).to_numpy(np.int64)
    wanted = needed.loc[answers["qid"]].to_numpy(np.int64)
    count = np.bitwise_count(wanted).astype(np.float64)
    held = np.bitwise_count(got & wanted).astype(np.float64)
    share: Floats = np.divide(held, count, out=np.full(len(count), np.nan), where=count > 0)
    return share


def verbatim(answers: pd.DataFrame, labelled: pd.DataFrame) -> Floats:
    """Share of each answer's quotes that are the text of their place; NaN for an answer that cites nothing."""
    return _share(answers, labelled["verbatim"], labelled)


def length(answers: pd.DataFrame, labelled: pd.DataFrame) -> Floats:
    """Characters that each answer cites: who cites more finds more. NaN for a refusal."""
    total = labelled.groupby(KEY)["length"].sum()
    found = total.reindex(pd.MultiIndex.from_frame(answers[KEY]), fill_value=0).to_numpy(np.float64)
    return np.where(_refused(answers), np.nan, found)


def _refused(answers: pd.DataFrame) -> Bools:
    return cast(Bools, answers["refused"].to_numpy(bool))


def _share(answers: pd.DataFrame, hits: pd.Series, rows: pd.DataFrame) -> Floats:
    """Mean of `hits` over each answer's rows, NaN where it has none."""
    means = rows.assign(hit=hits.astype(np.float64)).groupby(KEY)["hit"].mean()
    return cast(Floats, means.reindex(pd.MultiIndex.from_frame(answers[KEY])).to_numpy(np.float64))

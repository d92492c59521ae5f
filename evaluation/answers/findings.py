"""Everything that was found about answers, as the report and the files show it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class AnswerFindings:
    """The tables about answers; any may be empty but the first four.

    `strategy`, `generator`: whose calibration and refusals are drawn; tables have all. `primary`: the metric that
    comparisons are decided on.
    `answers`, `claims`, `citations`: see `tables.Tables`; claims with `right` and `cluster` (`labels.label_claims`),
    citations with `grade`, `relevant`, `parts`, `verbatim`, `length` (`labels.label`).
    `values`: strategy, generator, context, qid, metric, value. `summary`: their means (`values.SUMMARY`).
    `costs`: see `costs.COSTS`. `lift`, `generators`, `against_first`: see `compared`.
    `calibration`, `bins`, `levels`, `order`: see `calibrated`. `refusals`, `tradeoff`, `coverage`: see `refusals`.
    """

    strategy: str
    generator: str
    primary: str
    answers: pd.DataFrame
    claims: pd.DataFrame
    citations: pd.DataFrame
    values: pd.DataFrame
    summary: pd.DataFrame
    costs: pd.DataFrame
    lift: pd.DataFrame
    generators: pd.DataFrame
    against_first: pd.DataFrame
    calibration: pd.DataFrame
    bins: pd.DataFrame
    levels: pd.DataFrame
    order: pd.DataFrame
    refusals: pd.DataFrame
    tradeoff: pd.DataFrame
    coverage: pd.DataFrame

    def of_strategy(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of the strategy that is drawn."""
        return table[table["strategy"] == self.strategy].reset_index(drop=True)

    def of_shown(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of the strategy and generator that are drawn."""
        own = (table["strategy"] == self.strategy) & (table["generator"] == self.generator)
        return table[own].reset_index(drop=True)

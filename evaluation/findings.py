"""Everything that a run found, as its report and its tables show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from evaluation.ablation import Ablation
from evaluation.answers.findings import AnswerFindings
from evaluation.factorial import Factorial
from evaluation.verdict import Verdict


@dataclass(frozen=True)
class Findings:
    """The tables of one run; all but the first four may be empty.

    `manifest`, `arms`: as in `manifest.json` and `arms.json`.
    `summary`: strategy, metric, n, mean, lo, hi, clusters, interval, note.
    `per_query`: strategy, qid, metric, value.
    `comparisons`: metric, a, b, n, diff, lo, hi, p, p_adjusted, wins, ties, losses, detectable, verdict, clusters,
    effect, p_hsd, p_equivalent, needed, family, sentence; one row per pair and metric, diff = a - b.
    `effects`: of a factorial suite (effect, metric, n, diff, lo, hi, clusters, interval, note).
    `kinds`: strategy, metric, kind, n, mean, lo, hi, clusters, note; the summary by kind of question.
    `losses`: strategy, qid, evidence, grade, stage, path, best_rank, final_rank; one row per piece of relevant
    evidence (`evidence`: its class within the query, from 0). `stage`: `found`, or where it was lost: `extraction`,
    `chunking`, `candidates`, `fusion`, `dedup`, `mmr`, `reranker`, `below k`. `path`: the stage's path in the
    strategy. Ranks from 1, 0 for none.
    `shares`: strategy, share, value, count, total; share is `duplicates`, `unjudged` or `truncated`, value in [0, 1].
    `questions`: qid, query, kind, cluster.
    `shown`: strategy, qid, rank, chunk_id, grade; the top of every ranking. Grade -1 is unjudged.
    `passages`: chunk_id, document, pages, section, text; what `shown` names.
    `readings`: how many distinct configurations have read this split of these judgments so far, this run included;
    0 where it is not counted (dev). `chance`: what the best of that many equal strategies would lead the average
    one by. `answers`: what generators made of the rankings, where any ran.
    """

    manifest: Mapping[str, Any]
    arms: Mapping[str, Mapping[str, Any]]
    summary: pd.DataFrame
    per_query: pd.DataFrame
    verdict: Verdict
    comparisons: pd.DataFrame = field(default_factory=pd.DataFrame)
    effects: pd.DataFrame = field(default_factory=pd.DataFrame)
    kinds: pd.DataFrame = field(default_factory=pd.DataFrame)
    losses: pd.DataFrame = field(default_factory=pd.DataFrame)
    shares: pd.DataFrame = field(default_factory=pd.DataFrame)
    questions: pd.DataFrame = field(default_factory=pd.DataFrame)
    shown: pd.DataFrame = field(default_factory=pd.DataFrame)
    passages: pd.DataFrame = field(default_factory=pd.DataFrame)
    readings: int = 0
    chance: float = 0.0
    factorial: Factorial | None = None
    ablation: Ablation | None = None
    answers: AnswerFindings | None = None

    @property
    def primary(self) -> str:
        """The metric that orders the table and carries the verdict."""
        return str(self.manifest["primary"])

"""Where the relevant evidence of every strategy ended, counted by stage."""

from __future__ import annotations

import pandas as pd

from evaluation.findings import Findings
from evaluation.report.view import order

FOUND = "found"
STAGES = (FOUND, "below k", "reranker", "mmr", "dedup", "fusion", "candidates", "chunking", "extraction")


def stages(findings: Findings) -> list[str]:
    """The stages that occur, from the end of a pipeline to its beginning."""
    there = set(findings.losses["stage"])
    return [name for name in STAGES if name in there] + sorted(there - set(STAGES))


def loss_counts(findings: Findings) -> pd.DataFrame:
    """Pieces of relevant evidence by strategy (index, in the order of the leaderboard) and stage (columns)."""
    counts = pd.crosstab(findings.losses["strategy"], findings.losses["stage"])
    return counts.reindex(
        index=[name for name in order(findings) if name in counts.index], columns=stages(findings), fill_value=0
    )

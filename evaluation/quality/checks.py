"""What a benchmark should be able to show, each with the figure that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from evaluation.quality.discrimination import best, disagreement
from evaluation.schema import Benchmark
from evaluation.stats import MIN_CLUSTERS

COPIED, JUDGED, CEILING, APART_SHARE = 0.2, 0.95, 0.9, 0.15


@dataclass(frozen=True)
class Check:
    """One property: what was found, what is asked for, and whether it holds."""

    name: str
    found: str
    asked: str
    holds: bool


def split_documents(benchmark: Benchmark) -> frozenset[str]:
    """Documents that answer questions of more than one split."""
    split_of = dict(zip(benchmark.queries.qid, benchmark.queries.split, strict=True))
    seen: dict[str, set[str]] = {}
    for row in benchmark.evidence:
        if row.grade > 0 and row.part:
            seen.setdefault(row.doc, set()).add(split_of[row.qid])
    kinds = zip(benchmark.queries.cluster, benchmark.queries.split, strict=True)
    for document, split in kinds:
        seen.setdefault(document, set()).add(split)
    return frozenset(document for document, splits in seen.items() if len(splits) > 1)


def checks(
    words: pd.DataFrame,
    benchmark: Benchmark,
    per_query: pd.DataFrame,
    summary: pd.DataFrame,
    families: Mapping[str, str],
    leaders: pd.DataFrame,
    metric: str,
) -> list[Check]:
    """The checks of a benchmark and of one run of many strategies over its test questions.

    Args:
        words: see `questions.wording`.
        benchmark: all splits.
        per_query: of the run: strategy, qid, metric, value.
        summary: of the run.
        families: of every arm that ran, see `kinship.family`.
        leaders: see `discrimination.leaders`.
        metric: the primary one.
    """
    paraphrase = words.loc[words["kind"] == "paraphrase", "shared"]
    both = sorted(split_documents(benchmark))
    judged = summary[summary["metric"] == "Judged@5"].sort_values("mean")
    top, mean = best(per_query, families, metric)
    lexical, dense, share = disagreement(per_query, families)
    leading = sorted({name for cell in leaders["leader"] for name in cell.split(", ")})
    documents = int(summary.loc[summary["metric"] == metric, "clusters"].max())
    found = [
        Check("documents behind the questions", str(documents), f">= {MIN_CLUSTERS}", documents >= MIN_CLUSTERS),
        Check("documents in two splits", ", ".join(both) or "none", "none", not both),
        Check(
            "lowest Judged@5 of an arm",
            f"{judged['mean'].iloc[0]:.3f} ({judged['strategy'].iloc[0]})",
            f">= {JUDGED}",
            float(judged["mean"].iloc[0]) >= JUDGED,
        ),
        Check(f"best {metric}, oracle apart", f"{mean:.3f} ({top})", f"<= {CEILING}", mean <= CEILING),
        Check(
            f"questions on which {lexical} and {dense} differ in RR by .5 or more",
            f"{share:.1%}",
            f">= {APART_SHARE:.0%}",
            share >= APART_SHARE,
        ),
        Check("families that lead on a kind", f"{len(leading)}: {', '.join(leading)}", ">= 2", len(leading) > 1),
    ]
    if len(paraphrase):
        common = float(paraphrase.mean())
        found.insert(
            2,
            Check(
                "content words a paraphrase shares with its evidence", f"{common:.3f}", f"< {COPIED}", common < COPIED
            ),
        )
    return found

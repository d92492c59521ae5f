"""The values of every collection, read from results folders `<collection>-<run>`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evaluation.beliefs import one_chunk
from evaluation.beliefs.claims import Claim
from evaluation.benchmark import load_benchmark
from evaluation.errors import RequestError
from evaluation.replay import replay, request_of
from retrieval.fusers.adaptive import ACRONYM, COINED
from retrieval.schema import Queries

RUNS = ("beliefs", "alpha", "overlap")


@dataclass(frozen=True)
class Collection:
    """One collection: name, split, questions, and the values of every run (strategy, qid, metric, value)."""

    name: str
    split: str
    queries: Queries
    runs: Mapping[str, pd.DataFrame]

    def values(self, claim: Claim) -> pd.DataFrame:
        """Values of the claim's metric over the questions that it is about: questions by arms."""
        per_query = self.runs[claim.run]
        chosen = per_query[per_query["metric"] == claim.metric]
        table = chosen.pivot_table(index="qid", columns="strategy", values="value")
        return table[table.index.isin(self.where(claim.where))]

    def lacks(self, claim: Claim) -> str:
        """Why the claim cannot be tested here; empty if it can."""
        if claim.run not in self.runs:
            return "a document is one chunk" if claim.run == "overlap" else f"no results {self.name}-{claim.run}"
        measured = self.runs[claim.run]["metric"].unique()
        return "" if claim.metric in measured else f"no gold for {claim.metric}"

    @property
    def answered(self) -> tuple[int, int]:
        """Questions that have a relevant passage, and the documents that they come from."""
        per_query = self.runs["beliefs"]
        judged = per_query[(per_query["metric"] == "RR") & per_query["value"].notna()]["qid"].unique()
        return len(judged), int(self.clusters.loc[judged].nunique())

    @property
    def clusters(self) -> pd.Series:
        """Source document of every question, by qid."""
        return pd.Series(list(self.queries.cluster), index=list(self.queries.qid))

    def where(self, wanted: str) -> frozenset[str]:
        """Questions that a claim is about: all, those of a kind, or those that name a coined term.

        A benchmark that knows kinds says `jargon`; elsewhere the form of a word decides (`ColBERTv2`, `RM3`, `SVM`).
        """
        rows = list(zip(self.queries.qid, self.queries.query, self.queries.kind, strict=True))
        if not wanted:
            return frozenset(qid for qid, _, _ in rows)
        if wanted == "coined" and not any(self.queries.kind):
            return frozenset(qid for qid, text, _ in rows if COINED.search(text) or ACRONYM.search(text))
        kind = "jargon" if wanted == "coined" else wanted
        return frozenset(qid for qid, _, found in rows if found == kind)


def read_collections(folder: Path) -> list[Collection]:
    """Every collection of which there are results, by name, the bundled one first.

    Raises:
        RequestError: there are none.
        ReplayError: results cannot be brought back.
    """
    names = sorted({path.parent.name.rpartition("-")[0] for path in folder.glob("*-beliefs/per_query.parquet")})
    if not names:
        raise RequestError(f"{folder}: no results <collection>-beliefs; run python benchmarks/collections.py first")
    return [_collection(folder, name) for name in sorted(names, key=lambda name: (name != "bundled", name))]


def _collection(folder: Path, name: str) -> Collection:
    request = request_of(folder / f"{name}-beliefs")
    runs = {}
    for run in RUNS:
        results = folder / f"{name}-{run}"
        if (results / "per_query.parquet").is_file():
            runs[run] = pd.read_parquet(results / "per_query.parquet")
    if "overlap" in runs:
        part = replay(folder / f"{name}-overlap")[0]
        runs["overlap"] = pd.concat([runs["overlap"], one_chunk.values(part)], ignore_index=True)
    queries = load_benchmark(request.benchmark, request.split).queries
    return Collection(name, request.split, queries, runs)

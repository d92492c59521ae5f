"""Arms with their values to findings: means, comparisons, verdict, effects, and where evidence was lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from evaluation.arms import Arm
from evaluation.compare import compare
from evaluation.explain.diagnosis import losses, shares
from evaluation.explain.shown import passages, questions, shown
from evaluation.explain.subsets import kinds
from evaluation.factorial import effects
from evaluation.findings import Findings
from evaluation.judging import Judged
from evaluation.ledger import Reading, chance, is_sealed, readers, record
from evaluation.measure import summarise
from evaluation.metrics import looked_at
from evaluation.request import Request
from evaluation.results import arms_json
from evaluation.rules import Rules
from evaluation.table import shown_metrics
from evaluation.verdict import suite_verdict
from ingestion.artifacts import fingerprint

SHOWN = 10  # ranks that a report shows


@dataclass(frozen=True)
class Part:
    """The arms over one way of chunking, with their values; `label` names the chunker where several are compared."""

    label: str
    judged: Judged
    arms: Sequence[Arm]
    per_query: pd.DataFrame


def collect(request: Request, parts: Sequence[Part], manifest: Mapping[str, Any]) -> Findings:
    """Everything that the run found; reads of a sealed split are entered into the ledger.

    Raises:
        LedgerError: the ledger cannot be read or written.
    """
    judged, arms = parts[0].judged, [arm for part in parts for arm in part.arms]
    queries, settings = judged.benchmark.queries, request.evaluation
    per_query = pd.concat([part.per_query for part in parts], ignore_index=True)
    summary = summarise(per_query, judged, request)
    same = identical(arms)
    rules = Rules.read(settings, [arm.name for arm in arms])
    described = [name for name in shown_metrics(summary, rules.primary) if not name.startswith("Judged")]
    compared = compare(per_query, queries, rules, request.seed, same, described)
    seen = len(_read(request, parts, manifest))
    k = looked_at(rules.primary)
    tops = _each(parts, lambda part: shown(part.arms, part.judged, max(SHOWN, k)))
    found = None
    if request.factorial is not None:
        found = effects(per_query, request.factorial, queries, settings, request.seed)
    return Findings(
        manifest=manifest,
        arms=arms_json(arms),
        summary=summary,
        per_query=per_query,
        verdict=suite_verdict(compared, summary, rules, same),
        comparisons=compared,
        effects=pd.DataFrame() if found is None else found,
        kinds=kinds(per_query, queries, settings, request.seed),
        losses=_each(parts, lambda part: losses(part.arms, part.judged, k, float(settings["min_coverage"]))),
        shares=_each(parts, lambda part: shares(part.arms, part.judged, k)),
        questions=questions(judged),
        shown=tops,
        passages=_each(parts, lambda part: passages(part.judged, tops)).drop_duplicates("chunk_id"),
        readings=seen,
        chance=chance(seen, compared, rules.primary),
        factorial=request.factorial,
        ablation=request.ablation,
    )


def identical(arms: Sequence[Arm]) -> dict[str, str]:
    """The first arm whose ranking an arm repeats, by name; arms that repeat none are not in it."""
    first: dict[str, str] = {}
    same = {arm.name: first.setdefault(arm.run.fingerprint, arm.name) for arm in arms if arm.run is not None}
    return {name: original for name, original in same.items() if name != original}


def _read(request: Request, parts: Sequence[Part], manifest: Mapping[str, Any]) -> set[str]:
    """The configurations that have read this split, after entering this run; empty for a split that is open."""
    if not is_sealed(request.split):
        return set()
    ran = {arm.name: _digest(part, arm) for part in parts for arm in part.arms if arm.run is not None}
    benchmark = manifest["benchmark"]
    reading = Reading(
        manifest["time"], manifest["run_id"], benchmark["name"], benchmark["digest"], request.split, ran
    )
    record(request.ledger, reading)
    return readers(request.ledger, benchmark["digest"], request.split)


def _digest(part: Part, arm: Arm) -> str:
    """What an arm was: its configuration over these chunks; the ranking itself for a run made elsewhere."""
    corpus = part.judged.corpus
    own = {"config": arm.config, "corpus": corpus.fingerprint if corpus else ""}
    return fingerprint(own if arm.stages or arm.run is None else arm.run.fingerprint)[:16]


def _each(parts: Sequence[Part], make: Callable[[Part], pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([make(part) for part in parts], ignore_index=True)

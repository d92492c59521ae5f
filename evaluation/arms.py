"""One arm: a strategy of ours or a run made elsewhere. It ran and proves it, or it is absent with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.judging import Judged, without_excluded
from evaluation.request import ArmSpec
from evaluation.trec import OutsideRun
from retrieval.errors import ModelLoadError, RetrievalError
from retrieval.models import NeedsModel
from retrieval.schema import Run
from retrieval.stage import Context, HasInputs, Remembered, Retriever, components, walk

RAN, ABSENT, FAILED = "ran", "absent", "failed"


@dataclass(frozen=True)
class Arm:
    """What became of an arm. `stages` holds what every stage did, by path; times in seconds, sizes in bytes."""

    name: str
    state: str
    reason: str = ""
    run: Run | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, Remembered] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def noting(self, note: str) -> Arm:
        """The same arm with one more note for the table."""
        return replace(self, notes=[*self.notes, note])

    def facts(self) -> dict[str, Any]:
        """The arm's entry in `arms.json`."""
        facts: dict[str, Any] = {"state": self.state, "reason": self.reason, "config": dict(self.config)}
        if self.run is not None:
            facts |= {"fingerprint": self.run.fingerprint, "notes": list(self.notes), **self.cost}
        return facts


def absence(stage: Retriever) -> str | None:
    """Why a strategy cannot run here (a model or package is missing), or None."""
    reasons = [part.missing() for _, part in components(stage) if isinstance(part, NeedsModel)]
    return next((reason for reason in reasons if reason), None)


def run_arm(ctx: Context, spec: ArmSpec, judged: Judged) -> Arm:
    """Run a strategy over all queries, or say why it is absent or failed; never raises for one arm's fault."""
    reason = absence(spec.stage)
    if reason:
        return Arm(spec.name, ABSENT, f"did not run: {reason}", config=spec.config)
    queries = judged.benchmark.queries
    try:
        parts = {path: ctx.remembered(part, queries) for path, part in walk(spec.stage)}
    except ModelLoadError as error:  # seen only when the hub was asked
        return Arm(spec.name, ABSENT, f"did not run: {error}", config=spec.config)
    except RetrievalError as error:
        return Arm(spec.name, FAILED, f"{type(error).__name__}: {error}", config=spec.config)
    run = without_excluded(list(parts.values())[-1].run, judged, ctx.depth)
    cost = {**_cost(list(parts.values())), **_liveness(run, len(queries)), "backend": _backend(spec.stage)}
    cost["models"] = _models(ctx, spec.stage)
    facts = {path: {name: [fact.value, fact.of] for name, fact in part.facts.items()} for path, part in parts.items()}
    cost["facts"] = {path: said for path, said in facts.items() if said}
    notes = [text for part in parts.values() for name, fact in part.facts.items() if (text := fact.text(name))]
    return Arm(spec.name, RAN, run=run, config=spec.config, stages=parts, cost=cost, notes=notes)


def outside_arm(name: str, outside: OutsideRun, judged: Judged) -> Arm:
    """A run made elsewhere as an arm: its order as trec_eval has it, its ties and duplicates reported."""
    row_of = {str(name): row for row, name in enumerate(judged.ids)}
    run, counts = outside.to_run(judged.benchmark.queries.qid, row_of)
    run = without_excluded(run, judged, int(run.rank.max(initial=1)))
    if judged.corpus is not None:
        counts["ids are not in the corpus"] = int((np.unique(run.chunk) >= len(judged.corpus)).sum())
    notes = [f"{count} {what}" for what, count in counts.items() if count]
    cost = {**_liveness(run, len(judged.benchmark.queries)), "backend": "outside run"}
    return Arm(name, RAN, run=run, config={"outside": str(outside.path)}, cost=cost, notes=notes)


def _cost(parts: Sequence[Remembered]) -> dict[str, Any]:
    """Sums over the distinct stages: latency of single queries, batch seconds, and the indexes they share."""
    single: npt.NDArray[np.float64] = np.sum([part.single for part in parts], axis=0)
    indexes = {name: cost for part in parts for name, cost in part.indexes.items()}
    return {
        "latency_p50_ms": float(np.percentile(single, 50) * 1000),
        "latency_p95_ms": float(np.percentile(single, 95) * 1000),
        "latency_sample": len(single),
        "search_seconds": sum(part.seconds for part in parts),
        "index_bytes": sum(size for size, _ in indexes.values()),
        "index_seconds": sum(seconds for _, seconds in indexes.values()),
    }


def _liveness(run: Run, n_queries: int) -> dict[str, Any]:
    answered = len(np.unique(run.query))
    return {"answered": answered / n_queries if n_queries else 0.0, "empty": n_queries - answered, "ranked": len(run)}


def _models(ctx: Context, stage: Retriever) -> dict[str, str]:
    """Digest of the weights of every model inside a strategy, by name."""
    given = [(part, part.inputs(ctx)) for _, part in components(stage) if isinstance(part, HasInputs)]
    return {str(part.model): inputs["weights"] for part, inputs in given if "weights" in inputs}  # type: ignore[attr-defined]


def _backend(stage: Retriever) -> list[str]:
    """The classes that did the work, in order, each once."""
    return list(dict.fromkeys(type(part).__name__ for _, part in components(stage)))

"""What a results folder becomes in MLflow, without MLflow: entries with tags, parameters, metrics and files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.answers import files
from evaluation.tracked.folder import Results
from evaluation.tracked.values import finite, measures, split_parameters, standing
from ingestion.config import flatten

RUN_ID = "rankproof.run_id"
LONGEST_TAG = 8000  # characters; MLflow refuses longer ones
LONGEST_NOTE = 7500


@dataclass(frozen=True)
class Entry:
    """One run of MLflow. Times in milliseconds since 1970; `ran` is whether it shows as finished or failed.

    An arm lasts as long as its stages took when they ran, remembered or not.
    """

    name: str
    start: int
    end: int
    ran: bool
    tags: Mapping[str, str]
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float]
    files: Sequence[Path] = ()


def parent(results: Results) -> Entry:
    """The run over all arms: the verdict and the table as its description, and every parameter that no arm varies."""
    manifest, verdict = results.manifest, results.verdict
    start, end = results.times()
    settings = flatten({key: value for key, value in manifest["config"].items() if key != "strategy"})
    shared, _ = split_parameters(results)
    tags = _tags(results) | {"level": "parent", "mlflow.note.content": _note(results)}
    tags |= {"verdict": verdict.get("state", ""), "leader": verdict.get("leader", "")}
    tags |= {"sentence": verdict.get("sentence", "")}
    metrics = {"arms": float(len(results.arms))}
    means = results.means(results.primary)["mean"]
    if tags["leader"] in means.index:
        metrics["leader_primary"] = float(means[tags["leader"]])
    parameters = settings | {f"strategy.{key}": value for key, value in shared.items()}
    return Entry(manifest["name"], start, end, True, _filled(tags), parameters, metrics)


def children(results: Results) -> list[Entry]:
    """One run per arm, the worst first, so that MLflow's order (newest first) shows the best on top."""
    means = results.means(results.primary)["mean"].dropna()
    order = sorted(results.arms, key=lambda name: (-float(means.get(name, float("-inf"))), name))
    start, _ = results.times()
    _, own = split_parameters(results)
    return [_child(results, name, start + place, own[name]) for place, name in enumerate(reversed(order))]


def _child(results: Results, name: str, start: int, parameters: Mapping[str, Any]) -> Entry:
    arm, folder = results.arms[name], results.folder
    stands, metrics = standing(results, name)
    tags = _tags(results) | {"level": "arm", "state": str(arm["state"]), "reason": str(arm.get("reason") or "")}
    tags |= {"ranking": str(arm.get("fingerprint") or ""), "against_leader": stands.get("verdict", "")}
    tags |= _models(arm)
    answered = files.measures(results.answers, name, _first_asked(results)) if len(results.answers) else {}
    notes = [*arm.get("notes", []), str(arm.get("reason") or ""), stands.get("sentence", "")]
    tags["mlflow.note.content"] = "\n\n".join(note for note in notes if note)
    written = [folder / "runs" / f"{name}.trec", folder / "traces" / f"{name}.parquet"]
    return Entry(
        name,
        start,
        start + int(float(arm.get("search_seconds") or 0) * 1000),
        arm["state"] == "ran",
        _filled(tags),
        {**parameters, "strategy": name, **_stages(arm)},
        finite({**measures(results, name), **answered, **metrics}),
        [path for path in written if path.is_file()],
    )


def _first_asked(results: Results) -> str:
    """The generator that was asked for first, whose figures stand under short names; empty for older folders."""
    asked = (results.manifest.get("answers") or {}).get("asked", [])
    return str(asked[0]) if asked else ""


def _models(arm: Mapping[str, Any]) -> dict[str, str]:
    """The models of an arm in one tag, and where they are known the digests of their weights in a tag each."""
    digests = arm.get("models") or {}
    named = [
        str(value) for key, value in flatten(arm.get("config") or {}).items() if key.rpartition(".")[2] == "model"
    ]
    names = sorted({*named, *digests})
    return {"models": ", ".join(names), **{f"weights.{_key(name)}": str(digest) for name, digest in digests.items()}}


def dataset(results: Results) -> dict[str, str]:
    """The judged corpus as MLflow's dataset: name, digest, source_type, source, profile; JSON where it is nested."""
    manifest = results.manifest
    benchmark, corpus, config = manifest["benchmark"], manifest["corpus"], manifest["config"]
    places = {
        "benchmark": (config.get("benchmark") or {}).get("path"),
        "corpus": (config.get("corpus") or {}).get("path"),
    }
    counts = {**benchmark, **corpus}
    counts = {key: value for key, value in counts.items() if isinstance(value, int)}
    return {
        "name": str(benchmark["name"]),
        "digest": f"{benchmark['digest'][:8]}-{(corpus['fingerprint'] or '')[:8]}".strip("-"),
        "source_type": "local",
        "source": json.dumps(places, sort_keys=True),
        "profile": json.dumps(counts, sort_keys=True),
    }


def _stages(arm: Mapping[str, Any]) -> dict[str, str]:
    """The classes that did the work, in order, in one word."""
    backend = arm.get("backend") or []
    stages = backend if isinstance(backend, str) else ", ".join(backend)
    return {"stages": stages} if stages else {}


def _tags(results: Results) -> dict[str, str]:
    """What a person filters by: run, split, digests, code version."""
    manifest = results.manifest
    commit, _, _ = str(manifest["code"]).partition("+")
    return {
        RUN_ID: manifest["run_id"],
        "split": manifest["split"],
        "benchmark": manifest["benchmark"]["name"],
        "benchmark_digest": manifest["benchmark"]["digest"][:16],
        "corpus_digest": (manifest["corpus"]["fingerprint"] or "")[:16],
        "primary": results.primary,
        "code": manifest["code"],
        "mlflow.source.name": "run_eval.py",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": commit if re.fullmatch("[0-9a-f]{7,}", commit) else "",
    }


def _note(results: Results) -> str:
    """The verdict and the report in Markdown, cut at a line where it is long."""
    text, sentence = results.report, str(results.verdict.get("sentence", ""))
    if sentence and sentence not in text:
        text = f"**{sentence}**\n\n{text}"
    if len(text) <= LONGEST_NOTE:
        return text
    return text[:LONGEST_NOTE].rpartition("\n")[0] + "\n\n(cut: the artifact report.md has all of it)"


def _filled(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags that say something, cut where MLflow would refuse them."""
    return {key: value[:LONGEST_TAG] for key, value in tags.items() if value}


def _key(name: str) -> str:
    """A name in the letters that MLflow allows in keys."""
    return re.sub(r"[^\w\-. :/]", "_", name)

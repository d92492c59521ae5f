"""A finished run brought back from its results folder: the request, the judged corpus, every ranking.

Rankings are read from `runs/<strategy>.trec`, so nothing is searched again; the corpus comes from its artifacts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from evaluation.errors import EvaluationError
from evaluation.judging import Inputs, Judged, prepare, read_inputs
from evaluation.request import BRINGS_CORPUS, Request, read_request
from evaluation.trec import OutsideRun, read_run
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, nearest, to_plain
from retrieval.schema import Run, empty_run

PATHS = ("corpus.path", "benchmark.path", "benchmark.queries", "benchmark.qrels", "artifacts")


class ReplayError(EvaluationError):
    """A results folder cannot be brought back; the message names the file or digest and says what to do."""


@dataclass(frozen=True)
class Replay:
    """The arms of a finished run over one way of chunking; `label` names the chunker where several were compared.

    `request` is the run's own (for this chunker), `manifest` as in `manifest.json`. `judged.ids` names the rows that
    `runs` speak of; `runs` holds the ranking of every arm that ran, by name, in alphabetical order.
    """

    label: str
    request: Request
    manifest: Mapping[str, Any]
    judged: Judged
    runs: Mapping[str, Run]


def request_of(folder: Path, moved: Mapping[str, str] | None = None) -> Request:
    """The request that left this results folder behind; `out` is the folder, outside runs are the copies in it.

    Args:
        folder: a results folder.
        moved: new places of what has moved since, by key of `PATHS`.

    Raises:
        ReplayError: it is no results folder, or `moved` has another key.
        RequestError, ConfigError: what it names is not there any more.
    """
    manifest, arms = _read(folder, "manifest.json"), _read(folder, "arms.json")
    default = to_plain(load())
    plain = _complete(manifest["config"], default, moved or {})
    outside = {
        name: folder / "runs" / f"{name}.trec"
        for name, arm in arms.items()
        if "outside" in arm["config"] and "chunker" not in arm["config"]
    }
    request = read_request(OmegaConf.create(plain), _typed(plain, default, manifest), outside)
    return replace(request, out=folder)


def replay(folder: Path, moved: Mapping[str, str] | None = None, same_judgments: bool = True) -> tuple[Replay, ...]:
    """The run's corpus, judgments and rankings, once for every chunker that it compared.

    Args:
        folder: a results folder.
        moved: new places of what has moved since, by key of `PATHS`.
        same_judgments: refuse judgments that are not those of the run; a pool that tops them up allows others.

    Raises:
        ReplayError: the folder is not whole, or corpus or judgments have changed since.
        EvaluationError, IngestionError: a file that the run names cannot be read.
    """
    request = request_of(folder, moved)
    manifest, arms = _read(folder, "manifest.json"), _read(folder, "arms.json")
    inputs = read_inputs(request)
    if same_judgments:
        _check_digest("judgments", inputs.benchmark.digest, manifest["benchmark"]["digest"])
    store = ArtifactStore(request.artifacts)
    found = []
    for label, wanted in request.chunkings().items():
        names = [name for name, arm in arms.items() if arm["state"] == "ran" and _is_over(arm, label, wanted)]
        rankings = {name: _ranking(folder / "runs" / f"{name}.trec") for name in sorted(names)}
        known = {name: ranking for name, ranking in rankings.items() if ranking is not None}
        judged = prepare(wanted, Inputs(inputs.benchmark, known), store)
        expected = manifest["chunkings"][label] if label else manifest["corpus"]["fingerprint"]
        _check_digest("chunks", judged.corpus.fingerprint if judged.corpus else None, expected)
        found.append(Replay(label, wanted, manifest, judged, _runs(rankings, judged)))
    return tuple(found)


def _read(folder: Path, name: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((folder / name).read_text())
    except (OSError, ValueError) as error:
        raise ReplayError(f"{folder}: no results folder of run_eval.py ({name}: {error})") from error
    return content


def _complete(recorded: Mapping[str, Any], default: Mapping[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    """The recorded configuration with present defaults for keys that it did not have yet, and with moved paths.

    Generators are left out: their answers lie in the folder, and to ask them again may need keys and money.
    """
    plain = {**default, **recorded, "eval": {**default["eval"], **recorded["eval"]}, "plan": False}
    plain |= {"generator": None, "generators": []}
    for key, path in moved.items():
        if key not in PATHS:
            raise ReplayError(f"{key}: unknown key{nearest(key, PATHS)}")
        group, _, name = key.rpartition(".")
        if group:
            plain[group] = {**plain[group], name: path}
        else:
            plain[name] = path
    return plain


def _typed(plain: Mapping[str, Any], default: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    """What must have been typed: the strategy's name, and a corpus of one's own (with its questions)."""
    typed = []
    if plain["strategy"] and not plain["ablation"]:
        typed.append(f"strategy={manifest['name']}")
    if plain["corpus"] != default["corpus"] and not _brings_corpus(manifest["config"]):
        typed += [f"corpus.path={plain['corpus']['path']}", f"benchmark.path={plain['benchmark']['path']}"]
    return typed


def _brings_corpus(recorded: Mapping[str, Any]) -> bool:
    """Whether the corpus was the benchmark's own, so that it moves with it."""
    folder = Path(recorded["benchmark"]["path"] or "")
    return recorded["corpus"]["path"] in {str(folder / inner) for inner in BRINGS_CORPUS.values()}


def _is_over(arm: Mapping[str, Any], label: str, request: Request) -> bool:
    """Whether an arm of `arms.json` ran over the request's chunker; all did where only one was used."""
    described = {"kind": type(request.chunker).__name__, **asdict(request.chunker)}  # type: ignore[call-overload]
    return not label or arm["config"].get("chunker") == described


def _ranking(path: Path) -> OutsideRun | None:
    """The rows of a run file; None for an arm that ran and found nothing."""
    if not path.is_file():
        raise ReplayError(f"{path}: not there, though its arm ran; run it again")
    return read_run(path) if path.stat().st_size else None


def _runs(rankings: Mapping[str, OutsideRun | None], judged: Judged) -> dict[str, Run]:
    row_of = {str(name): row for row, name in enumerate(judged.ids)}
    qids = judged.benchmark.queries.qid
    return {name: ranking.to_run(qids, row_of)[0] if ranking else empty_run() for name, ranking in rankings.items()}


def _check_digest(what: str, now: str | None, then: str | None) -> None:
    if now != then:
        raise ReplayError(
            f"the {what} have changed since this run ({str(then)[:12]} then, {str(now)[:12]} now); run it again, or "
            f"bring back the {what} that it read"
        )

"""`--config-name nightly`: run anew, compare with the baseline or replace it; exit code, text and files say so."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote

import pandas as pd

from evaluation.arms import RAN
from evaluation.explain.shown import passages
from evaluation.judging import Inputs, Judged, prepare
from evaluation.regression.baseline import check_comparable, is_there, read_baseline, write_baseline
from evaluation.regression.pace import Timing, as_json, measure
from evaluation.regression.ruling import IMPOSSIBLE, PASSED, REGRESSED, Ruling, costs, judge
from evaluation.regression.settings import Gate
from evaluation.regression.snapshot import MEASURED, BaselineError, Snapshot, of_results
from evaluation.regression.table import as_lines
from evaluation.request import Request
from evaluation.results import write_json
from ingestion.artifacts import ArtifactStore, write_atomic

Timings = Mapping[str, Sequence[Timing]]


def check_baseline(gate: Gate | None, request: Request) -> None:
    """Refuse to start where there is a gate and nothing to compare with.

    Raises:
        BaselineError: the baseline is missing, damaged or from another format.
    """
    if gate is not None and gate.baseline == "compare" and not request.plan:
        read_baseline(gate.path(request))


@contextmanager
def working_store(gate: Gate | None, request: Request) -> Iterator[ArtifactStore]:
    """Where indexes and rankings are kept: the usual folder, or for the gate an empty one that is then removed."""
    if gate is None or not gate.fresh:
        yield ArtifactStore(request.artifacts)
        return
    request.artifacts.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".gate-", dir=request.artifacts) as folder:
        yield ArtifactStore(Path(folder))


def guard(gate: Gate, request: Request, inputs: Inputs, store: ArtifactStore, code: int) -> int:
    """Compare a run that has just written its results with the baseline, or update that; returns the exit code.

    The results folder gets `measured.json`, `gate.md` and, where a comparison is possible, `gate.json`.

    Args:
        gate: the bounds.
        request: what was run.
        inputs: its questions.
        store: where its indexes are.
        code: exit code of the run itself.

    Returns:
        At least `code`; 1: something changed or regressed; 2: the comparison is impossible.
    """
    desk = Desk(gate, request, prepare(request, inputs, store), store)
    arms = json.loads((request.out / "arms.json").read_text())
    ran = [spec.name for spec in request.arms if arms[spec.name]["state"] == RAN]
    now = _measured(desk, {}, ran, 1)
    try:
        return _update(desk, now, code) if gate.baseline == "update" else max(code, _compare(desk, now))
    except BaselineError as error:
        write_atomic(request.out / "gate.md", f"# gate: no comparison\n\n{error}\n")
        print(f"gate: {error}", file=sys.stderr)
        return IMPOSSIBLE


@dataclass(frozen=True)
class Desk:
    """What the gate works with: its bounds, the request with its judged corpus, and where the indexes are."""

    gate: Gate
    request: Request
    judged: Judged
    store: ArtifactStore


def _measured(desk: Desk, before: Timings, names: Sequence[str], rounds: int) -> Snapshot:
    """Time strategies, write what was measured so far beside the results; returns the results as they are then."""
    found = measure(desk.request, desk.judged, desk.store, names, rounds)
    timings = {name: (*before.get(name, ()), *found.get(name, ())) for name in {**before, **found}}
    queries = desk.judged.benchmark.queries
    clusters = dict(zip(queries.qid, queries.cluster, strict=True))
    write_json(desk.request.out / MEASURED, {"clusters": clusters, "timings": as_json(timings)})
    return of_results(desk.request.out)


def _compare(desk: Desk, now: Snapshot) -> int:
    gate, then = desk.gate, read_baseline(desk.gate.path(desk.request))
    check_comparable(now, then)
    found = costs(now, then, gate)
    if found["slower"].any():
        now = _measured(desk, now.timings, found["strategy"][found["slower"]].tolist(), gate.remeasure)
    ruling = judge(now, then, gate)
    _say(desk, ruling, now, then)
    return ruling.code


def _update(desk: Desk, now: Snapshot, code: int) -> int:
    """Write a new baseline of what ran; the old one stays where an arm failed, or one that it has did not run."""
    folder = desk.gate.path(desk.request)
    then = _readable(folder)
    lost = [f"{name}: {now.absent[name]}" for name in sorted(now.absent.keys() & then.arms.keys())] if then else []
    if code or lost:
        why = "; ".join(lost) or "not every arm ran"
        print(f"gate: {folder} is left as it was: {why}", file=sys.stderr)
        print("update it where every arm of it runs, or take those arms out of the suite", file=sys.stderr)
        return REGRESSED
    timed = [name for name, timings in now.timings.items() if timings]
    now = _measured(desk, now.timings, timed, desk.gate.remeasure)
    if then is not None and then.identity == now.identity:
        _say(desk, judge(now, then, desk.gate), now, then)
    write_baseline(folder, now)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"gate: baseline of {len(now.arms)} strategies written, {size / 1000:.0f} kB; commit {folder}")
    return PASSED


def _readable(folder: Path) -> Snapshot | None:
    """The old baseline; None where there is none, or none that this version reads: an update replaces it."""
    try:
        return read_baseline(folder) if is_there(folder) else None
    except BaselineError as error:
        print(f"gate: replaced: {error}", file=sys.stderr)
        return None


def _where(ruling: Ruling, judged: Judged) -> dict[str, str]:
    """Document and page of the chunks that the report of the gate names."""
    firsts = [change.first for change in ruling.changed if change.first is not None]
    names = sorted({unquote(name) for place in firsts for name in (place.then, place.now) if name})
    if not names:
        return {}
    found = passages(judged, pd.DataFrame({"chunk_id": names}))
    rows = zip(found["chunk_id"], found["document"], found["pages"], strict=True)
    return {name: f"{document}, page {pages}" for name, document, pages in rows if document}


def _say(desk: Desk, ruling: Ruling, now: Snapshot, then: Snapshot) -> None:
    """Print the report of the gate, and write it beside the results."""
    gate, out, where = desk.gate, desk.request.out, _where(ruling, desk.judged)
    print("\n" + "\n".join(as_lines(ruling, now, then, gate, where)))
    write_atomic(out / "gate.md", "\n".join(as_lines(ruling, now, then, gate, where, markdown=True)) + "\n")
    content = {
        "code": ruling.code,
        "gate": asdict(gate),
        "changes": [asdict(change) for change in ruling.changed],
        "declines": json.loads(ruling.declined.to_json(orient="records")),
        "costs": json.loads(ruling.costs.to_json(orient="records")),
        "causes": list(ruling.causes),
    }
    write_json(out / "gate.json", content)

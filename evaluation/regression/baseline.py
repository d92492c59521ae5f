"""The committed baseline: three text files that git can compare, written all together or not at all.

`baseline.json` holds digests, versions, sizes and times, `values.csv` a row per strategy and question, `top.csv` the
first 20 chunk ids per strategy and question. Nothing in them names a place on the machine that wrote them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.regression.pace import as_json, from_json
from evaluation.regression.snapshot import KEYS, BaselineError, BaselineWriteError, Kept, Snapshot

FORMAT = 1
FILES = ("baseline.json", "values.csv", "top.csv")
ACCEPT = "baseline=update writes a new baseline"
_SHOWN = 12  # digits of a digest in a message


def is_there(folder: Path) -> bool:
    """Whether a baseline of any format is in the folder."""
    return (folder / FILES[0]).is_file()


def read_baseline(folder: Path) -> Snapshot:
    """The baseline in a folder.

    Raises:
        BaselineError: it is missing, damaged or from another format.
    """
    if not is_there(folder):
        raise BaselineError(f"{folder}: no baseline; {ACCEPT}")
    try:
        content = json.loads((folder / FILES[0]).read_text(encoding="utf-8"))
        found = content.get("format") if isinstance(content, dict) else None
        if found != FORMAT:
            raise BaselineError(f"{folder}: a baseline of format {found}, this version reads {FORMAT}; {ACCEPT}")
        snapshot = _snapshot(content, folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BaselineError(f"{folder}: the baseline cannot be read ({error!r}); {ACCEPT}") from error
    unknown = {*snapshot.values.index.get_level_values(0), *snapshot.top["strategy"]} - snapshot.arms.keys()
    if unknown or not set(snapshot.values.columns) <= set(snapshot.identity["metrics"]):
        raise BaselineError(f"{folder}: its files do not fit each other; bring them back from git, or {ACCEPT}")
    return snapshot


def write_baseline(folder: Path, snapshot: Snapshot) -> None:
    """Put the snapshot in place of what is in the folder; if anything fails, the old baseline stays.

    Raises:
        BaselineWriteError: the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
            new, old = Path(temporary) / "new", Path(temporary) / "old"
            new.mkdir()
            for name, text in _texts(snapshot).items():
                _write(new / name, text)
            _swap(folder, new, old)
    except OSError as error:
        raise BaselineWriteError(
            f"{folder}: the baseline cannot be written ({error}); the old one is untouched"
        ) from error


def check_comparable(now: Snapshot, then: Snapshot) -> None:
    """Refuse a comparison of runs over different questions, texts or measures.

    Raises:
        BaselineError: a line for everything that differs, package versions as likely causes, and the remedy.
    """
    keys = [key for key in now.identity if now.identity[key] != then.identity.get(key)]
    if not keys:
        return
    lines = [f"{key} changed: {_said(key, then)} in the baseline, {_said(key, now)} now" for key in keys]
    packages = package_changes(now, then)
    lines += [f"versions that differ: {', '.join(packages)}"] if packages else []
    raise BaselineError("no comparison is possible\n" + "\n".join(lines) + f"\nif that is meant: {ACCEPT}")


def package_changes(now: Snapshot, then: Snapshot) -> list[str]:
    """Versions of packages that differ, such as `numpy 2.4.5 -> 2.4.6`; `none` where one is not installed."""
    new, old = now.about["packages"], then.about["packages"]
    names = sorted(name for name in {*new, *old} if new.get(name) != old.get(name))
    return [f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}" for name in names]


def _said(key: str, snapshot: Snapshot) -> str:
    """A value of the identity in words: digests cut, with the counts that they stand for."""
    value, about = snapshot.identity.get(key), snapshot.about
    if key == "corpus":
        return f"{about['chunks']} chunks of {about['documents']} documents ({str(value)[:_SHOWN]})"
    if key == "judgments":
        return f"{about['queries']} questions ({str(value)[:_SHOWN]})"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _snapshot(content: Mapping[str, Any], folder: Path) -> Snapshot:
    arms = {
        name: Kept(
            fingerprint=str(arm["fingerprint"]),
            stages=str(arm["stages"]),
            backend=tuple(arm["backend"]),
            index_bytes=None if arm["index_bytes"] is None else int(arm["index_bytes"]),
            timings=from_json(arm["timings"]),
        )
        for name, arm in content["arms"].items()
    }
    return Snapshot(
        name=content["name"],
        identity=content["identity"],
        about=content["about"],
        arms=arms,
        values=_read_values(folder / FILES[1]),
        top=pd.read_csv(folder / FILES[2], dtype=str, keep_default_na=False),
    )


def _read_values(path: Path) -> pd.DataFrame:
    metrics = [name for name in pd.read_csv(path, nrows=0).columns if name not in KEYS]
    table = pd.read_csv(
        path,
        dtype=dict.fromkeys(KEYS, str) | dict.fromkeys(metrics, "float64"),
        keep_default_na=False,
        na_values={name: [""] for name in metrics},
    )
    return table.set_index(KEYS).sort_index()


def _texts(snapshot: Snapshot) -> dict[str, str]:
    """The content of the three files, by name."""
    arms = {
        name: {
            "fingerprint": arm.fingerprint,
            "stages": arm.stages,
            "backend": list(arm.backend),
            "neural": arm.neural,
            "index_bytes": arm.index_bytes,
            "timings": as_json({name: arm.timings})[name],
        }
        for name, arm in snapshot.arms.items()
    }
    head = {
        "format": FORMAT,
        "name": snapshot.name,
        "identity": dict(snapshot.identity),
        "about": dict(snapshot.about),
        "arms": arms,
    }
    return {
        FILES[0]: json.dumps(head, indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        FILES[1]: snapshot.values.reset_index().to_csv(index=False, lineterminator="\n", float_format="%.10g"),
        FILES[2]: snapshot.top.sort_values(KEYS).to_csv(index=False, lineterminator="\n"),
    }


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())


def _swap(folder: Path, new: Path, old: Path) -> None:
    """Put `new` where `folder` is; what was there moves to `old`, and back if anything stops the second step."""
    try:
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise

"""The artifact store: built once, atomic, verified, shared."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from ingestion.artifacts import MANIFEST, ArtifactStore, fingerprint, write_atomic
from ingestion.errors import CacheError


@dataclass(frozen=True)
class Stage:
    VERSION: ClassVar[int] = 1
    k: int = 60


@dataclass(frozen=True)
class Newer:
    VERSION: ClassVar[int] = 2
    k: int = 60


def writes(text: str, calls: list[str]):
    def build(folder: Path) -> None:
        calls.append(text)
        (folder / "data.txt").write_text(text)

    return build


def reads(folder: Path) -> str:
    return (folder / "data.txt").read_text()


def test_fingerprint_ignores_key_order_and_sees_every_difference():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    values = [1, 1.5, "1", True, None, [1], {"1": 1}, Stage(), Stage(k=61), Newer()]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint((1, 2)) == fingerprint([1, 2])
    with pytest.raises(TypeError, match="set"):
        fingerprint({1, 2})
    with pytest.raises(ValueError, match="JSON"):
        fingerprint(float("nan"))


def test_equal_specs_are_built_once_in_a_process_and_across_stores(tmp_path):
    calls: list[str] = []
    store = ArtifactStore(tmp_path)
    for _ in range(3):
        assert store.get("index", {"k": 1}, writes("one", calls), reads) == "one"
    assert ArtifactStore(tmp_path).get("index", {"k": 1}, writes("two", calls), reads) == "one"
    assert store.get("index", {"k": 2}, writes("three", calls), reads) == "three"
    assert calls == ["one", "three"]


def test_a_failed_build_leaves_nothing_behind(tmp_path):
    def fails(folder: Path) -> None:
        (folder / "data.txt").write_text("half")
        raise RuntimeError("power cut")

    store = ArtifactStore(tmp_path)
    with pytest.raises(RuntimeError, match="power cut"):
        store.ensure("index", {"k": 1}, fails)
    assert not store.has("index", {"k": 1})
    assert [path for path in tmp_path.rglob("*") if path.is_dir() and path.name != "index"] == []


@pytest.mark.parametrize("damage", ["content", "manifest", "missing"])
def test_a_damaged_artifact_does_not_exist(tmp_path, damage):
    calls: list[str] = []
    folder = ArtifactStore(tmp_path).ensure("index", {"k": 1}, writes("good", calls))
    if damage == "content":
        (folder / "data.txt").write_text("evil")
    elif damage == "manifest":
        (folder / MANIFEST).write_text("{")
    else:
        (folder / "data.txt").unlink()
    store = ArtifactStore(tmp_path)
    assert store.get("index", {"k": 1}, writes("good", calls), reads) == "good"
    assert calls == ["good", "good"]
    assert store.damaged == [f"index/{folder.name}"]


def test_manifest_lists_every_file_with_its_digest(tmp_path):
    def build(folder: Path) -> None:
        (folder / "part").mkdir()
        (folder / "part" / "a.txt").write_bytes(b"abc")

    folder = ArtifactStore(tmp_path).ensure("index", {"k": 1}, build)
    manifest = json.loads((folder / MANIFEST).read_text())
    # sha256 of b"abc" (FIPS 180-2, appendix B.1)
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert manifest["files"] == {"part/a.txt": {"sha256": digest, "bytes": 3}}
    assert manifest["bytes"] == 3


def test_own_seconds_leave_nested_builds_out(tmp_path, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("ingestion.artifacts.time.perf_counter", lambda: next(clock))
    store = ArtifactStore(tmp_path)
    with store.timed() as outer, store.timed() as inner:  # outer from 0, inner 10 to 20
        pass
    assert inner == [10.0]
    assert outer == [20.0]  # 0 to 30, less the inner 10


def test_two_processes_build_one_artifact_once(tmp_path):
    program = """
import sys, time
from pathlib import Path
from ingestion.artifacts import ArtifactStore
root = Path(sys.argv[1])
def build(folder):
    time.sleep(.5)
    with (root / "calls").open("a") as handle:
        handle.write("x")
    (folder / "data.txt").write_text("same")
ArtifactStore(root).ensure("index", {"k": 1}, build)
"""
    runs = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    assert (tmp_path / "calls").read_text() == "x"


def test_write_atomic_keeps_the_old_file_when_writing_fails(tmp_path):
    path = tmp_path / "table.csv"
    write_atomic(path, "old")
    with pytest.raises(TypeError):
        write_atomic(path, 5)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert [child.name for child in tmp_path.iterdir()] == ["table.csv"]


def test_a_folder_that_cannot_be_written_is_a_cache_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="artifacts="):
        ArtifactStore(tmp_path / "file").ensure("index", {"k": 1}, writes("x", []))

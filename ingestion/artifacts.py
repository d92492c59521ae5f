"""Everything is built once: fingerprints, and a content-addressed, atomic, verified store of folders.

An artifact is a folder named by the fingerprint of its spec. It is built in a temporary folder under a lock;
`manifest.json` with the sha256 of every file is written last, flushed, and the folder is renamed into place.
A folder without a valid manifest does not exist.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from ingestion.errors import CacheError

T = TypeVar("T")
MANIFEST = "manifest.json"


def fingerprint(value: object) -> str:
    """Sha256 (hex) of a value made of dataclasses, mappings, sequences, strings, numbers, booleans and None.

    A dataclass counts as its class name, its `VERSION` and its fields, recursively. Mappings are sorted by key.

    Raises:
        TypeError: the value holds something without a canonical form (a set, an array, an object).
    """
    text = json.dumps(_canonical(value), sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        content = {f.name: _canonical(getattr(value, f.name)) for f in fields(value)}
        return {"class": type(value).__name__, "version": getattr(value, "VERSION", 1), "fields": content}
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"no fingerprint for {type(value).__name__}: {value!r}")


def file_digest(path: Path) -> str:
    """Sha256 (hex) of a file's bytes, read in blocks."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@dataclass(frozen=True)
class Built:
    """What the store knows of one artifact: own build time in seconds (nested builds excluded) and size in bytes."""

    kind: str
    key: str
    seconds: float
    size: int
    cached: bool


@dataclass
class ArtifactStore:
    """Content-addressed folders below `root`, shared by processes, with an in-memory layer for this process."""

    root: Path
    built: dict[str, Built] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    _memory: dict[str, object] = field(default_factory=dict)
    _nested: list[float] = field(default_factory=lambda: [0.0])

    def key(self, kind: str, spec: Mapping[str, object]) -> str:
        """The first 32 hex digits of the fingerprint of kind and spec: the artifact's folder name."""
        return fingerprint({"kind": kind, "spec": spec})[:32]

    def folder(self, kind: str, spec: Mapping[str, object]) -> Path:
        """Where the artifact is, or would be."""
        return self.root / kind / self.key(kind, spec)

    def has(self, kind: str, spec: Mapping[str, object]) -> bool:
        """Whether a folder with a readable manifest is there (its files are verified when it is loaded)."""
        return _manifest(self.folder(kind, spec)) is not None

    def specs(self, kind: str) -> list[dict[str, Any]]:
        """The specs of all artifacts of a kind that are on disk, by folder name."""
        found = [_manifest(folder) for folder in sorted((self.root / kind).glob("[!.]*")) if folder.is_dir()]
        return [manifest["spec"] for manifest in found if manifest is not None]

    def canonical(self, spec: Mapping[str, object]) -> dict[str, Any]:
        """A spec as `specs` gives it: dataclasses as mappings."""
        return json.loads(json.dumps(_canonical(spec)))  # type: ignore[no-any-return]

    def remove(self, kind: str, spec: Mapping[str, object]) -> None:
        """Delete an artifact that nobody needs again."""
        folder = self.folder(kind, spec)
        self.built.pop(f"{kind}/{folder.name}", None)
        shutil.rmtree(folder, ignore_errors=True)

    def whole(self, kind: str, spec: Mapping[str, object]) -> Path | None:
        """The artifact's folder if all its files are as they were written, else None; a damaged one is removed."""
        folder = self.folder(kind, spec)
        if not folder.is_dir():
            return None
        with FileLock(folder.with_suffix(".lock")):
            return folder if self._valid(folder) else None

    def get(
        self,
        kind: str,
        spec: Mapping[str, object],
        build: Callable[[Path], None],
        load: Callable[[Path], T],
    ) -> T:
        """Load the artifact of this spec; build it first where it is missing or damaged.

        Args:
            kind: subfolder, a plain word such as `bm25` or `vectors`.
            spec: everything the content depends on (parameters, input fingerprints, versions).
            build: writes the files into the empty folder that it is given.
            load: reads the finished folder; its result is shared in memory, so nobody may change it.

        Raises:
            CacheError: the folder cannot be written.
        """
        folder = self.folder(kind, spec)
        name = f"{kind}/{folder.name}"
        if name not in self._memory:
            with self.timed():
                self.ensure(kind, spec, build)
                self._memory[name] = load(folder)
        return self._memory[name]  # type: ignore[return-value]

    def ensure(self, kind: str, spec: Mapping[str, object], build: Callable[[Path], None]) -> Path:
        """Make sure that the artifact is on disk and whole; returns its folder."""
        folder = self.folder(kind, spec)
        name = f"{kind}/{folder.name}"
        if name in self.built:
            return folder
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with self.timed(), FileLock(folder.with_suffix(".lock")):
                cached = self._valid(folder)
                if not cached:
                    self._build(folder, kind, spec, build)
        except OSError as error:
            raise CacheError(
                f"cannot write artifact {folder}: {error}; free space or set artifacts=<folder>"
            ) from error
        manifest = _manifest(folder) or {}
        self.built[name] = Built(kind, folder.name, manifest["seconds"], manifest["bytes"], cached)
        return folder

    def _valid(self, folder: Path) -> bool:
        manifest = _manifest(folder)
        if manifest is not None and all(_same(folder / name, entry) for name, entry in manifest["files"].items()):
            return True
        if folder.exists():
            self.damaged.append(f"{folder.parent.name}/{folder.name}")
            shutil.rmtree(folder)
        return False

    def _build(self, folder: Path, kind: str, spec: Mapping[str, object], build: Callable[[Path], None]) -> None:
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name[:8]}-", dir=folder.parent))
        try:
            with self.timed() as own:
                build(temporary)
            paths = [path for path in sorted(temporary.rglob("*")) if path.is_file()]
            files: dict[str, dict[str, object]] = {
                path.relative_to(temporary).as_posix(): {
                    "sha256": file_digest(path),
                    "bytes": path.stat().st_size,
                }
                for path in paths
            }
            size = sum(_on_disk(path) for path in paths)
            manifest = {
                "kind": kind,
                "spec": _canonical(spec),
                "seconds": own[0],
                "bytes": size,
                "files": files,
            }
            write_atomic(temporary / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True))
            temporary.chmod(0o755)
            temporary.rename(folder)
            _sync(folder.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    @contextmanager
    def timed(self) -> Iterator[list[float]]:
        """Own seconds of the block, in a list of one: what nested blocks, builds and loads took is theirs."""
        own = [0.0]
        start = time.perf_counter()
        self._nested.append(0.0)
        try:
            yield own
        finally:
            total = time.perf_counter() - start
            own[0] = total - self._nested.pop()
            self._nested[-1] += total


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: temporary neighbour, flush to disk, rename."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _on_disk(path: Path) -> int:
    """Bytes that a file takes; an engine may reserve far more than it fills."""
    stat = path.stat()
    return min(stat.st_size, 512 * getattr(stat, "st_blocks", stat.st_size))


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    wanted = {"kind", "spec", "seconds", "bytes", "files"}
    return content if isinstance(content, dict) and wanted <= content.keys() else None


def _same(path: Path, entry: Mapping[str, Any]) -> bool:
    return path.is_file() and path.stat().st_size == entry["bytes"] and file_digest(path) == entry["sha256"]


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

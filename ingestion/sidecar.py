"""What people know of their papers beyond the PDF: `metadata.jsonl` in the corpus folder, one line per file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ingestion.config import nearest
from ingestion.errors import ConfigError

SIDECAR = "metadata.jsonl"


def read_sidecar(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Metadata by file name as canonical JSON, without the `file` key; empty where there is no such file.

    A line is `{"file": "paper.pdf", "year": 2021, ...}`, the file named by its path below the folder.

    Raises:
        ConfigError: a line is no JSON object, names no file of the folder or one again; with its place.
    """
    path = folder / SIDECAR
    if not path.is_file():
        return {}
    known, found = set(names), dict[str, str]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            name, text = _entry(f"{path}:{number}", line, known)
            if name in found:
                raise ConfigError(f"{path}:{number}: {name!r} stands twice; give each file one line")
            found[name] = text
    return found


def _entry(place: str, line: str, known: set[str]) -> tuple[str, str]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{place}: no JSON ({error})") from error
    name = entry.pop("file", None) if isinstance(entry, dict) else None
    if not isinstance(name, str):
        raise ConfigError(
            f'{place}: write one object per line with a file, such as {{"file": "a.pdf", "year": 2021}}'
        )
    if name not in known:
        raise ConfigError(f"{place}: no file {name!r} in this corpus{nearest(name, known)}"[:300])
    return name, json.dumps(entry, ensure_ascii=False, sort_keys=True)

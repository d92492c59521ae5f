"""What several experiments share: a collection as an evaluation sees it, and figures as lines of text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from evaluation.judging import Judged, prepare, read_inputs
from evaluation.request import read_request
from ingestion.artifacts import ArtifactStore
from ingestion.config import load


def judged_collection(name: str, artifacts: Path) -> Judged:
    """Corpus and judgments of a collection: the test split, of CL-SciSumm the graded one."""
    overrides = ["suite=core", f"artifacts={artifacts}"]
    if name == "clscisumm":
        overrides += ["benchmark=clscisumm", "split=graded"]
    else:
        overrides += ["benchmark=beir", f"benchmark.path={os.environ['RANKPROOF_DATA']}/beir/{name}"]
    request = read_request(load(overrides), overrides, {})
    return prepare(request, read_inputs(request), ArtifactStore(artifacts))


def text(value: Any, depth: int = 0) -> str:
    """JSON with a line for every innermost object, keys sorted, numbers to four places."""
    if not isinstance(value, dict):
        return json.dumps(round(value, 4) if isinstance(value, float) else value)
    inner = ",\n" + " " * (depth + 1) if any(isinstance(part, dict) for part in value.values()) else ", "
    body = inner.join(f"{json.dumps(key)}: {text(value[key], depth + 1)}" for key in sorted(value))
    return "{" + (inner.lstrip(",") if "\n" in inner else "") + body + "}"

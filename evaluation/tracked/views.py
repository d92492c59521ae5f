"""Views of the runs table that MLflow's UI offers under "Views", as it stores them itself: tags of the experiment."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence

NOTE = (
    "One run per call of `run_eval.py`, with one run per strategy inside it (open it with +). **Views > arms** shows "
    "all strategies side by side, **Views > verdicts** the calls with what they found. The files in `results/` are "
    "the truth; `python -m evaluation.tracking sync` writes them here again."
)
WIDTHS = {"tags.`sentence`": 560, "params.`stages`": 220, "tags.`leader`": 160}
SHARED_VIEW = "mlflow.sharedViewState.rankproof-"


def views() -> dict[str, str]:
    """The views `arms` (strategies, best first) and `verdicts` (calls, newest first), by tag."""
    arms = [
        "tags.`primary`",
        "metrics.`primary`",
        "metrics.`primary_lo`",
        "metrics.`primary_hi`",
        "metrics.`in_top_group`",
        "metrics.`diff_to_leader`",
        "metrics.`latency_p50_ms`",
        "metrics.`index_bytes`",
        "tags.`against_leader`",
        "params.`stages`",
        "attributes.`Dataset`",
    ]
    verdicts = [
        "tags.`verdict`",
        "tags.`leader`",
        "metrics.`leader_primary`",
        "metrics.`arms`",
        "tags.`sentence`",
        "attributes.`Dataset`",
    ]
    return {
        f"{SHARED_VIEW}arms": _view("arms", "tags.level = 'arm'", "metrics.`primary`", arms),
        f"{SHARED_VIEW}verdicts": _view("verdicts", "tags.level = 'parent'", "attributes.start_time", verdicts),
    }


def _view(name: str, where: str, order: str, columns: Sequence[str]) -> str:
    """A saved view as the UI of MLflow 3 writes it: its state deflated, in base64."""
    state = {
        "searchFilter": where,
        "orderByKey": order,
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(columns),
        "columnOrder": list(columns),
        "columnWidths": WIDTHS,
    }
    packed = base64.b64encode(zlib.compress(json.dumps(state).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": 0, "updatedAt": 0, "state": f"deflate;{packed}"})

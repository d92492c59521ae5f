"""The sections that say what ran: liveness and cost of every arm, manifest and configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.report.html import board, listing, section
from evaluation.report.view import order

SHORT = 12  # characters of a fingerprint


def liveness(findings: Findings) -> str:
    """Proof that every arm ran, what it cost, and who did not run and why."""
    rows = [_facts(name, findings.arms[name]) for name in order(findings)]
    absent = table.not_run(findings.arms)
    return section(
        "liveness",
        "Liveness and cost",
        "Every arm proves that it ran: what answered, from which index, how fast; a fingerprint is a ranking.",
        board(pd.DataFrame(rows), name="Liveness and cost") if rows else "",
        f"<h3>Did not run</h3>{listing(absent, 'said')}" if absent else "",
    )


def _facts(name: str, arm: Mapping[str, Any]) -> dict[str, str]:
    backend = arm.get("backend", "")
    return {
        "strategy": name,
        "backend": backend if isinstance(backend, str) else ", ".join(str(part) for part in backend),
        "answered": _number(arm.get("answered"), "{:.1%}"),
        "index MB": _number(arm.get("index_bytes"), "{:.1f}", 1e-6),
        "index s": _number(arm.get("index_seconds"), "{:.1f}"),
        "search s": _number(arm.get("search_seconds"), "{:.1f}"),
        "p50 ms": _number(arm.get("latency_p50_ms"), "{:.1f}"),
        "p95 ms": _number(arm.get("latency_p95_ms"), "{:.1f}"),
        "fingerprint": str(arm.get("fingerprint", ""))[:SHORT],
        "notes": "; ".join(str(note) for note in arm.get("notes", [])),
    }


def _number(value: float | None, form: str, unit: float = 1.0) -> str:
    return "-" if value is None else form.format(value * unit)


def manifest(findings: Findings) -> str:
    """Everything that the results depend on, folded."""
    content = {key: value for key, value in findings.manifest.items() if key != "config"}
    return section(
        "manifest",
        "Manifest and configuration",
        "Digests, versions and settings: what it takes to repeat this run.",
        _folded("Manifest", content),
        _folded("Configuration", findings.manifest.get("config", {})),
    )


def _folded(name: str, content: object) -> str:
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    return f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"

"""Copy figures of results on public collections into `sources/measured/collections.json`, where papers read them.

``python corpus/measure.py <folder>`` reads the results folders `<folder>/<collection>-<suite>` that
`benchmarks/collections.py` leaves. Papers read the file while they are set, so that nobody types a number.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

TARGET = Path(__file__).resolve().parent / "sources" / "measured" / "collections.json"
DIGITS = 4
PAIR = ["n", "diff", "lo", "hi", "p", "p_adjusted", "wins", "ties", "losses", "detectable", "verdict"]
PRIMARY = "nDCG@5"
SUITES = ("core", "alpha", "rrf_k", "mmr_lambda")
METRICS = ["nDCG@5", "nDCG@10", "RR", "R@1", "R@5", "R@100", "AP", "Success@5", "Judged@5"]


def figures(results: Path) -> dict[str, Any]:
    """One run: its questions and documents, every arm's metrics (`[mean, lo, hi]`), and pairs on nDCG@5.

    Of the core suite all pairs, of others those with BM25, or with the first arm of a sweep.
    """
    summary = pd.read_parquet(results / "summary.parquet")
    pairs = pd.read_parquet(results / "comparisons.parquet")
    pairs = pairs[pairs.metric == PRIMARY]
    first = summary[summary.metric == PRIMARY].iloc[0]
    if not results.name.endswith("-core"):
        base = "bm25" if (summary.strategy == "bm25").any() else first.strategy
        pairs = pairs[(pairs.a == base) | (pairs.b == base)]
    kept = summary[summary.metric.isin(METRICS)]
    return {
        "questions": int(first.n),
        "documents": int(first.clusters),
        "arms": {
            str(arm): {str(row.metric): _plain([row.mean, row.lo, row.hi]) for row in rows.itertuples()}
            for arm, rows in kept.groupby("strategy", sort=True)
        },
        "pairs": {
            f"{row.a} - {row.b}": {name: _plain(getattr(row, name)) for name in PAIR} for row in pairs.itertuples()
        },
    }


def _plain(value: Any) -> Any:
    """A number or a list of numbers, rounded; anything else as it is."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return None if value != value else round(value, DIGITS)
    return value.item() if hasattr(value, "item") else value


def _text(value: Any, depth: int = 0) -> str:
    """JSON with one line per arm and pair, so that a change shows as lines."""
    if depth == 4 or not isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    pad = " " * (depth + 1)
    lines = ",\n".join(f"{pad}{json.dumps(key)}: {_text(value[key], depth + 1)}" for key in sorted(value))
    return "{\n" + lines + "\n" + " " * depth + "}"


def measured(folder: Path) -> Mapping[str, Any]:
    """All runs below a folder, by collection and suite."""
    found: dict[str, dict[str, Any]] = {}
    for results in sorted(path.parent for path in folder.glob("*/summary.parquet")):
        collection, _, suite = results.name.partition("-")
        if suite not in SUITES or collection == "bundled":  # a report that quotes its own corpus would never settle
            continue
        found.setdefault(collection, {})[suite] = figures(results)
    return found


def main(arguments: Sequence[str]) -> int:
    """Write the file; 2 if there are no results."""
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    found = measured(Path(arguments[0]))
    if not found:
        print(f"{arguments[0]}: no results; run python benchmarks/collections.py first", file=sys.stderr)
        return 2
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(_text(found) + "\n")
    print(f"{TARGET.name}: {', '.join(sorted(found))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

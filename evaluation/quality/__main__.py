"""`python -m evaluation.quality`: what a benchmark can tell, before anybody believes what it tells."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from evaluation.benchmark import load_benchmark
from evaluation.errors import RequestError
from evaluation.options import Options, read_options, run_command
from evaluation.quality.checks import checks
from evaluation.quality.discrimination import leaders
from evaluation.quality.kinship import family
from evaluation.quality.page import check_table, page
from evaluation.quality.questions import by_kind, wording
from evaluation.quality.second import judged_again
from evaluation.replay import request_of
from evaluation.table import as_text
from ingestion.artifacts import write_atomic

USAGE = """usage: python -m evaluation.quality runs=<results folder> [second=<judgments>] [out=<page.md>]
           [artifacts=<folder>]

Says what a benchmark can tell: questions by kind and split, how much they repeat the words of their evidence, how
much of the rankings is judged, whether the best strategy leaves room, whether strategies differ, and how far a second
judge agrees. The results folder should hold many strategies of several families (suite=core). second= is a file of
judgments made blind (see evaluation.pool, unjudged=false), by default second.jsonl beside the questions. Exits with 1
if a check fails."""
KEYS = ("runs", "second", "out", "artifacts")


def main(arguments: Sequence[str]) -> int:
    """Print the checks, write the page; 1 if a check fails."""
    return run_command("quality", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, KEYS)
    folder = Path(options.required("runs", "<results folder>"))
    moved = {"artifacts": options.values["artifacts"]} if "artifacts" in options.values else {}
    request = request_of(folder, moved)
    benchmark = load_benchmark(request.benchmark, "all")
    if not benchmark.evidence:
        raise RequestError(f"{benchmark.name} is judged by document; quality needs questions with quotes")
    manifest, arms = (json.loads((folder / name).read_text()) for name in ("manifest.json", "arms.json"))
    per_query, summary = (pd.read_parquet(folder / f"{name}.parquet") for name in ("per_query", "summary"))
    families = {name: family(arm["config"]) for name, arm in arms.items() if arm["state"] == "ran"}
    metric, words = str(request.evaluation["primary"]), wording(benchmark)
    kind_of = dict(zip(words["qid"], words["kind"], strict=True))
    table = leaders(per_query, kind_of, families, metric)
    found = checks(words, benchmark, per_query, summary, families, table, metric)
    print(as_text(check_table(found)))
    second = _second(options, Path(request.benchmark.path or ""))
    again = judged_again(request, load_benchmark(request.benchmark, request.split), second) if second else None
    if again:
        print(f"judged again by a second judge: kappa {again[1].kappa.value:.3f}, n {again[1].n}")
    if "out" in options.values:
        text = page(benchmark, manifest, found, by_kind(words), table, metric, again)
        write_atomic(Path(options.values["out"]), text)
        print(options.values["out"])
    return 0 if all(check.holds for check in found) else 1


def _second(options: Options, path: Path) -> Path | None:
    """The second judge's file: the named one, or `second.jsonl` of a benchmark's folder where it is there."""
    if "second" in options.values:
        named = Path(options.values["second"])
        if not named.is_file():
            raise RequestError(f"second={named}: no such file")
        return named
    beside = path / "second.jsonl"
    return beside if beside.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

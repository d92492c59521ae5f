"""Run the suites that papers, docs/findings.md and the tables of the docs are made of, on every collection.

    python benchmarks/collections.py [runs=results/collections] [only=bundled,scifact]

The bundled corpus and, where RANKPROOF_DATA is set, SciFact, CSFCube, Cranfield, CACM, NPL, MED and CL-SciSumm. What
has finished is not run again, so that an interrupted run goes on. Then:

    python corpus/measure.py results/collections              # figures of the papers
    python -m evaluation.beliefs runs=results/collections     # docs/findings.md
    python -m evaluation.publish runs=results/collections     # tables of README and docs, docs/answers.md too
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from evaluation.options import read_options
from evaluation.runner import run
from ingestion.config import load

TEXT = ("scifact", "csfcube", "cranfield", "cacm", "npl", "med")
SUITES = {
    "core": ["suite=core"],
    "beliefs": ["suite=beliefs"],
    "alpha": ["ablation=alpha"],
    "rrf_k": ["ablation=rrf_k"],
    "mmr_lambda": ["ablation=mmr_lambda"],
}
OVERLAP = ["suite=dedup", "chunker=fixed", "chunker.words=100", "chunker.overlap=80"]


def jobs(wanted: Sequence[str], data: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Name and arguments of every run."""
    places = {"bundled": [], **({"clscisumm": ["benchmark=clscisumm", "split=graded"]} if data else {})}
    if data:
        places |= {name: ["benchmark=beir", f"benchmark.path={data / 'beir' / name}"] for name in TEXT}
    for suite, arguments in SUITES.items():
        for name, place in places.items():
            if not wanted or name in wanted:
                yield f"{name}-{suite}", [*arguments, *place]
    for name in ("bundled", "clscisumm"):
        if name in places and (not wanted or name in wanted):
            yield f"{name}-overlap", [*OVERLAP, *places[name]]
    if not wanted or "bundled" in wanted:
        yield "bundled-answers", ["strategy=bm25", "generator=grounded"]
        read = ["confidence=minilm", "answers.contexts=[retrieved]"]
        yield "bundled-answers-minilm", ["strategy=rrf_dense", "generator=grounded", *read]


def main(arguments: Sequence[str]) -> int:
    """Run what has no results yet; the number of runs that failed."""
    options = read_options(arguments, ("runs", "only", "artifacts"))
    folder = Path(options.values.get("runs", "results/collections"))
    data = os.environ.get("RANKPROOF_DATA")
    if not data:
        print("RANKPROOF_DATA is not set: the bundled corpus only")
    kept = [f"artifacts={options.values['artifacts']}"] if "artifacts" in options.values else []
    failed = 0
    for name, chosen in tqdm(list(jobs(options.names("only"), Path(data) if data else None)), unit="run"):
        if (folder / name / "summary.parquet").is_file():
            continue
        start = time.perf_counter()
        common = ["allow_missing=true", "tracking=none", f"ledger={folder / 'ledger.jsonl'}", f"out={folder / name}"]
        typed = [*chosen, *common, *kept]
        code = run(load(typed), typed, {}, None).code
        tqdm.write(f"{name}: exit {code}, {time.perf_counter() - start:.0f} s")
        failed += code != 0
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""`python -m evaluation.beliefs`: common beliefs about retrieval, tested on every collection with results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation.beliefs.chart import chart
from evaluation.beliefs.claims import BELIEFS, Claim
from evaluation.beliefs.page import Tested, overview, page
from evaluation.beliefs.ruling import FLIPS, NOT_TESTED, Ruling, rule
from evaluation.beliefs.values import Collection, read_collections
from evaluation.options import read_options, run_command
from evaluation.table import as_text
from ingestion.artifacts import write_atomic

USAGE = """usage: python -m evaluation.beliefs runs=<folder> [out=docs/findings.md] [seed=42]

Tests eight beliefs about retrieval on every collection in <folder>, which `python benchmarks/collections.py` fills
with results folders <collection>-beliefs, <collection>-alpha and <collection>-overlap. Writes the page and, in
figures/ beside it, a chart of all differences. "Undecided" is an answer."""


def main(arguments: Sequence[str]) -> int:
    """Write the page; returns the exit code."""
    return run_command("beliefs", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, ("runs", "out", "seed"))
    out = Path(options.values.get("out", "docs/findings.md"))
    tested = tested_on(Path(options.required("runs", "<folder>")), options.number("seed", 42))
    figure = out.parent / "figures" / f"{out.stem}.svg"
    figure.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(figure, chart(tested))
    write_atomic(out, page(tested, f"figures/{figure.name}"))
    print(as_text(overview(tested)))
    print(out)
    return 0


def tested_on(folder: Path, seed: int, flips: int = FLIPS) -> Tested:
    """Every claim on every collection below a folder."""
    collections = read_collections(folder)
    rulings = {
        (belief.key, at, collection.name): _ruling(claim, collection, seed, flips)
        for collection in collections
        for belief in BELIEFS
        for at, claim in enumerate(belief.claims)
    }
    return Tested(collections, rulings)


def _ruling(claim: Claim, collection: Collection, seed: int, flips: int) -> Ruling:
    if why := collection.lacks(claim):
        return Ruling(NOT_TESTED, why=why)
    return rule(claim, collection.values(claim), collection.clusters, seed, flips)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m evaluation.publish`: tables of README and docs, written from results; nobody types a number.

A page marks the place of a table by the name of a results folder:

    <!-- results: bundled-core -->
    <!-- /results -->

and that of the tables about answers by `answers` instead of `results`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from evaluation.answers import published
from evaluation.errors import RequestError
from evaluation.options import read_options, run_command
from evaluation.table import as_markdown
from ingestion.artifacts import write_atomic

USAGE = """usage: python -m evaluation.publish runs=<folder> into=[README.md,docs/benchmark.md]

Fills every place `<!-- results: <name> -->` ... `<!-- /results -->` of the pages with the table of the results folder
<folder>/<name>: every strategy with its intervals, N, split and verdict; and every place `<!-- answers: <name> -->`
... `<!-- /answers -->` with the tables about its answers."""
PLACE = re.compile(r"(<!-- (results|answers): ([\w.-]+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)
COLUMNS = ("RR", "R@5", "Judged@5")


def main(arguments: Sequence[str]) -> int:
    """Fill the pages; returns the exit code."""
    return run_command("publish", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, ("runs", "into"))
    folder = Path(options.required("runs", "<folder>"))
    pages = {Path(name): _read(Path(name)) for name in options.names("into")}
    if not pages:
        raise RequestError("into is missing; name the pages: into=[README.md]")
    filled = {path: fill(text, folder, str(path)) for path, text in pages.items()}
    for path, text in filled.items():
        write_atomic(path, text)
        print(f"{path}: {len(PLACE.findall(text))} tables")
    return 0


def _read(path: Path) -> str:
    if not path.is_file():
        raise RequestError(f"into: no file {path}")
    return path.read_text()


def fill(text: str, folder: Path, page: str) -> str:
    """The page with every table in its place.

    Raises:
        RequestError: the page marks no place, or results that a place names are not there.
    """
    if not PLACE.search(text):
        raise RequestError(f"{page}: no <!-- results: <name> --> ... <!-- /results -->")

    def filled(place: re.Match[str]) -> str:
        results = folder / place[3]
        file, made = ("summary.parquet", table) if place[2] == "results" else (published.FILE, published.table)
        if not (results / file).is_file():
            raise RequestError(f"{page}: no {place[2]} in {results}")
        return f"{place[1]}{made(results)}\n{place[4]}"

    return PLACE.sub(filled, text)


def table(results: Path) -> str:
    """Sentences and table of one run: what was compared on what, the verdict, every strategy with its interval."""
    manifest, verdict = (json.loads((results / name).read_text()) for name in ("manifest.json", "verdict.json"))
    summary = pd.read_parquet(results / "summary.parquet")
    primary = str(manifest["config"]["eval"]["primary"])
    first = summary[summary["metric"] == primary].sort_values(["mean", "strategy"], ascending=[False, True])
    rows = [_row(summary, str(row.strategy), primary) for row in first.itertuples()]
    benchmark, split = manifest["benchmark"], manifest["config"]["split"]
    said = (
        f"`suite={manifest['name']}`, split `{split}`: {int(first['n'].max())} questions from "
        f"{int(first['clusters'].max())} documents of {benchmark['name']}. Means with 95 % intervals."
    )
    return f"{said}\n\n**{verdict['sentence']}**\n\n{as_markdown(pd.DataFrame(rows))}"


def _row(summary: pd.DataFrame, strategy: str, primary: str) -> dict[str, str]:
    rows = summary[summary["strategy"] == strategy].to_dict("records")
    own = {str(row["metric"]): row for row in rows}
    top = own[primary]
    cells = {primary: f"{top['mean']:.3f} [{top['lo']:.3f}, {top['hi']:.3f}]"}
    cells |= {name: f"{own[name]['mean']:.3f}" for name in COLUMNS if name in own}
    return {"strategy": strategy, **cells}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

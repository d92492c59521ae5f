"""The figures of a benchmark as a Markdown page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evaluation.agreement.__main__ import report
from evaluation.agreement.kappa import Agreement
from evaluation.quality.checks import Check
from evaluation.schema import Benchmark
from evaluation.table import as_markdown

MARK = {True: "yes", False: "**no**"}


def check_table(checks: Sequence[Check]) -> pd.DataFrame:
    """The checks as text."""
    rows = [{"question": c.name, "found": c.found, "asked": c.asked, "holds": MARK[c.holds]} for c in checks]
    return pd.DataFrame(rows)


def judgment_table(benchmark: Benchmark) -> pd.DataFrame:
    """Judged spans by grade and source, as text."""
    counts = Counter((row.source or "not said", row.grade) for row in benchmark.evidence)
    grades = sorted({grade for _, grade in counts})
    names = sorted({name for name, _ in counts})
    rows = [{"source": n, **{f"grade {g}": str(counts[n, g]) for g in grades}} for n in names]
    return pd.DataFrame(rows)


def rounded(table: pd.DataFrame, digits: int = 3) -> pd.DataFrame:
    """A table as text, floats with a fixed number of digits, `-` for none."""
    return table.map(lambda cell: _cell(cell, digits))


def _cell(cell: Any, digits: int) -> str:
    if isinstance(cell, float):
        return "-" if cell != cell else f"{cell:.{digits}f}"
    return str(cell)


def page(
    benchmark: Benchmark,
    manifest: Mapping[str, Any],
    checks: Sequence[Check],
    kinds: pd.DataFrame,
    leaders: pd.DataFrame,
    metric: str,
    second: tuple[str, Agreement] | None,
) -> str:
    """The whole page."""
    run = manifest["benchmark"]
    judge = ["nobody yet"]
    if second is not None:
        judge = ["```", report(second[1], (second[0], "second pass"), "chunk"), "```"]
        if second[0].startswith("llm:"):
            judge += ["", "A model that agrees with itself is steady; whether it is right, others must say."]
    lines = [
        f"# What {benchmark.name} can tell",
        "",
        f"{len(benchmark.queries)} questions, {len(benchmark.evidence)} judged spans. Scores are those of "
        f"`suite={manifest['name']}` on `split={manifest['config']['split']}`; {run['judged']} of {run['queries']} "
        "questions there have a relevant passage.",
        "",
        as_markdown(check_table(checks)),
        "",
        "## Questions by kind",
        "",
        "`mean`, `max`: share of a question's content words that its answering evidence (grade 2 and up) holds.",
        "",
        as_markdown(rounded(kinds)),
        "",
        f"## Who leads where: {metric} of the best strategy of every family",
        "",
        as_markdown(rounded(leaders)),
        "",
        "## Judged spans",
        "",
        as_markdown(judgment_table(benchmark)),
        "",
        "## Judged again, blind",
        "",
        *judge,
        "",
    ]
    return "\n".join(lines)

"""`python -m evaluation.agreement`: whether two sources judge alike, and whether they would rank strategies alike."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.agreement.judged_twice import Shared, by_chunk, by_span, view
from evaluation.agreement.kappa import Agreement, Estimate, agreement
from evaluation.agreement.rank_correlation import PLACES, tau_ap, tau_b
from evaluation.errors import RequestError
from evaluation.fairness import distinct
from evaluation.grades import Credit, grade_matrix
from evaluation.judging import prepare, read_inputs
from evaluation.metrics import Metric, evaluate, parse_metric
from evaluation.options import CORPUS_KEYS, Options, read_options, run_command
from evaluation.replay import PATHS, Replay, replay
from evaluation.request import read_request
from evaluation.schema import Qrels
from evaluation.sources import SourceError, sources
from evaluation.table import TOO_FEW, as_text
from ingestion.artifacts import ArtifactStore
from ingestion.config import load
from retrieval.schema import Queries, Run

USAGE = """usage: python -m evaluation.agreement a=<source> b=<source> [unit=chunk|span]
           [benchmark.path=<folder or file>] [corpus.path=<folder>] [split=all]
       python -m evaluation.agreement a=<source> b=<source> [unit=chunk|span] runs=<results folder>

Compares the grades of what both sources have judged. unit=chunk (default): the grade that each one's spans give to a
chunk, as the metrics see it; unit=span: pairs of spans that share at least half of the longer one. With runs=, also
the order of that run's strategies by each source's judgments alone. Without a= and b= the sources are listed."""
KEYS = ("a", "b", "unit", "runs")
WORST, SHOWN = 10, 90  # disagreements that are listed, and characters of their texts
Pair = tuple[str, str]


@dataclass(frozen=True)
class Orders:
    """Strategies under the judgments of a and of b, over the n questions that both can score.

    `table`: strategy, a, b (means of the metric), rank_a, rank_b; best of a first. `tau_ap` takes a as reference.
    """

    metric: str
    n: int
    table: pd.DataFrame
    tau_b: float
    tau_ap: float


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; returns the exit code."""
    return run_command("agreement", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, KEYS, CORPUS_KEYS)
    unit = options.values.get("unit", "chunk")
    if unit not in ("chunk", "span"):
        raise RequestError(f"unit={unit}: must be chunk or span")
    parts = _parts(options)
    if not {"a", "b"} & options.values.keys():
        known = sources(parts[0].judged.benchmark)
        print("\n".join(f"{name}: {count} judged spans" for name, count in known.items()) or "no source is named")
        return 0
    names = options.required("a", "<source>"), options.required("b", "<source>")
    for part in parts:
        _compare(part, names, unit)
    return 0


def _compare(part: Replay, names: Pair, unit: str) -> None:
    """Print what both sources say about one corpus, and about the order of the run's strategies."""
    settings, queries = part.request.evaluation, part.judged.benchmark.queries
    a, b = (view(name, part.judged, float(settings["min_coverage"])) for name in names)
    shared = by_chunk(a, b) if unit == "chunk" else by_span(a, b)
    if not len(shared.query):
        raise SourceError(
            f"{names[0]} and {names[1]} have judged no {unit} in common; let one judge the other's pool"
        )
    clusters = np.asarray(queries.cluster, dtype=str)[shared.query]
    how = int(settings["resamples"]), float(settings["confidence"])
    print(report(agreement(shared.a, shared.b, clusters, part.request.seed, *how), names, unit))
    print("\n".join(worst(shared, queries, names)))
    if part.runs:
        metric = parse_metric(str(settings["primary"]))
        found = orders(part.runs, (a.judged.qrels, b.judged.qrels), len(queries), metric, settings["credit"])
        print(orders_text(found, names))


def _parts(options: Options) -> Sequence[Replay]:
    """The run of a results folder, or the configured corpus and benchmark as a run without rankings.

    Raises:
        RequestError: a key contradicts the results folder.
    """
    if "runs" not in options.values:
        split = [] if any(text.startswith("split=") for text in options.overrides) else ["split=all"]
        config = load(["suite=smoke", *split, *options.overrides])  # its corpus and benchmark count, nothing is run
        request = read_request(config, options.overrides, {})
        judged = prepare(request, read_inputs(request), ArtifactStore(request.artifacts))
        return (Replay("", request, {}, judged, {}),)
    moved = {key: value for key, _, value in (text.partition("=") for text in options.overrides)}
    for key in moved:
        if key not in PATHS:
            raise RequestError(f"{key}: the results folder says so; what may have moved is {', '.join(PATHS)}")
    return replay(Path(options.values["runs"]), moved, same_judgments=False)


def orders(
    runs: Mapping[str, Run], qrels: tuple[Qrels, Qrels], n_queries: int, metric: Metric, credit: Credit = "once"
) -> Orders:
    """Score strategies by the judgments of a and of b; equal rankings count once.

    Raises:
        SourceError: no question has a relevant judgment of both.
        MetricError: the metric reads texts.
    """
    arms, _ = distinct(runs)
    values = np.stack(
        [
            np.stack([evaluate(grade_matrix(run, judged, n_queries, credit), [metric])[0] for run in arms.values()])
            for judged in qrels
        ]
    )
    both = ~np.isnan(values).any(axis=(0, 1))
    if not both.any():
        raise SourceError("no question has a relevant judgment of both sources, so strategies cannot be compared")
    a, b = values[:, :, both].mean(axis=2)
    table = pd.DataFrame({"strategy": list(arms), "a": a, "b": b}).sort_values(
        ["a", "strategy"], ascending=[False, True], ignore_index=True
    )
    for name in ("a", "b"):
        table[f"rank_{name}"] = table[name].round(PLACES).rank(ascending=False, method="min").astype(int)
    return Orders(metric.name, int(both.sum()), table, tau_b(a, b), tau_ap(a, b))


def report(found: Agreement, names: Pair, unit: str) -> str:
    """Contingency table and coefficients as text."""
    corner, grades = f"{names[0]} \\ {names[1]}", range(len(found.table))
    rows = [{corner: str(at), **{str(to): str(found.table[at, to]) for to in grades}} for at in grades]
    lines = [
        f"{found.n} {unit}s judged by both, from questions about {found.clusters} source documents",
        "",
        as_text(pd.DataFrame(rows)),
        "",
        f"same grade    {_text(found.raw)}",
        f"kappa         {_text(found.kappa)}",
        f"linear kappa  {_text(found.linear)}: a difference of grades counts by its size",
        f"binary kappa  {_text(found.binary)}: relevant (1 and up) or not",
    ]
    one_sided = [name for name, zeros in zip(names, _zeros(found), strict=True) if zeros in (0, found.n)]
    if one_sided:
        lines.append(f"{' and '.join(one_sided)}: all relevant or none, so binary kappa cannot say anything")
    return "\n".join(lines + ([f"{TOO_FEW} ({found.clusters} < 10) for these intervals"] if found.too_few else []))


def _zeros(found: Agreement) -> tuple[int, int]:
    """How many of the items each source calls not relevant."""
    return int(found.table[0].sum()), int(found.table[:, 0].sum())


def worst(shared: Shared, queries: Queries, names: Pair) -> list[str]:
    """The largest disagreements as lines of text."""
    gap = np.abs(shared.a.astype(np.int64) - shared.b)
    order = np.lexsort((np.arange(len(gap)), -gap))[: min(WORST, int((gap > 0).sum()))]
    lines = []
    for row in order.tolist():
        text = shared.text[row] if len(shared.text[row]) <= SHOWN else f"{shared.text[row][:SHOWN]}..."
        query = int(shared.query[row])
        grades = f"{names[0]} {shared.a[row]}, {names[1]} {shared.b[row]}"
        lines += [f"  {queries.qid[query]}: {grades}: {queries.query[query]}", f"      {text}"]
    return ["", "largest disagreements:", *lines] if lines else ["", "no disagreement"]


def orders_text(found: Orders, names: Pair) -> str:
    """The two orders of strategies as text."""
    cells = pd.DataFrame(
        {
            "strategy": found.table["strategy"],
            names[0]: found.table["a"].map("{:.3f}".format),
            "rank": found.table["rank_a"].astype(str),
            names[1]: found.table["b"].map("{:.3f}".format),
            "rank ": found.table["rank_b"].astype(str),
        }
    )
    return "\n".join(
        [
            "",
            f"{found.metric} over {found.n} questions that both sources can score; equal rankings count once",
            as_text(cells),
            f"Kendall's tau-b {found.tau_b:.3f}, tau_ap {found.tau_ap:.3f} (top counts more; {names[0]} as truth)",
        ]
    )


def _text(value: Estimate) -> str:
    if np.isnan(value.value):
        return "undefined (both give one grade only)"
    interval = "" if np.isnan(value.lo) else f" [{value.lo:.3f} {value.hi:.3f}]"
    gaps = f" ({value.undefined} resamples without a value)" if value.undefined else ""
    return f"{value.value:.3f}{interval}{gaps}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

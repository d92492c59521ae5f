"""`python -m evaluation.calibration`: do the statistics keep their promises? Checked on simulated benchmarks.

Intervals must cover the true mean as often as they say, tests must find nothing where there is nothing, and find what
they are said to detect. The benchmarks are those of `evaluation.simulated`, whose true means are known.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from evaluation.errors import RequestError
from evaluation.families import holm, step_down, tukey
from evaluation.options import FAILURE, read_options, run_command
from evaluation.power import detectable, standard_error
from evaluation.randomise import equivalence, flips_for, sign_flips
from evaluation.results import write_table
from evaluation.schema import Longs
from evaluation.simulated import MODELS, Layout, Model
from evaluation.stats import Bools, Method, intervals
from retrieval.schema import Floats

USAGE = """usage: python -m evaluation.calibration [simulations=2000] [seed=0] [out=<folder>]

Simulates benchmarks whose truth is known and measures how often intervals cover it, how often tests find a difference
where there is none, and how often they find one as large as the detectable one. Prints a table, writes it to
<folder>/calibration.csv and .parquet if asked to, and exits with 1 if a figure is out of its band; known limits are
shown and do not count. With fewer simulations figures scatter more: one standard error is .5 % at 2000 and 1.5 % at
200."""

ALPHA = 0.05
MARGIN = 0.1
LIFT = 0.2  # by which half of a family is better
FAMILY = 18  # equal systems: 153 pairs
FLIPS = 5_000  # of a single test; those of a family are as many as it needs
ROUNDS = 2_000
RESAMPLES = 10_000
_BATCH = 100  # simulated benchmarks that share their resamples or flips
_FAMILIES = 10  # the same of families
SINGLE = (Layout(50), Layout(100), Layout(300))
CLUSTERED = Layout(20, 9)
UNLIKE = (
    "Tukey's HSD supposes systems that differ in their mean at most. Where some vary more than others it tells those "
    "apart too often; verdicts rest on sign flips, corrected by Holm or max-T, which hold."
)
SHARES = np.linspace(0.05, 0.95, 19)  # true means of 0/1 metrics


@dataclass(frozen=True)
class Check:
    """One promise: `measure(simulations, seed)` must lie between `lo` and `hi`.

    With a `limit` it need not: the statistic is known not to hold there, the figure says how far off it is.
    """

    name: str
    setting: str
    measure: Callable[[int, int], float]
    lo: float
    hi: float
    limit: str = ""


def coverage(model: Model, layout: Layout, method: Method, simulations: int, seed: int) -> float:
    """Share of benchmarks whose 95 % interval covers the true mean."""
    covered = []
    for size, rng in _batches(simulations, seed, model.name, layout):
        found = intervals(model.observed(rng, size, layout), layout.clusters, _seed(rng), RESAMPLES, method=method)
        covered.append((found.lo <= model.mean) & (model.mean <= found.hi))
    return _share(covered)


def wilson_coverage(layout: Layout, simulations: int, seed: int) -> float:
    """The same for 0/1 metrics, whose true means are spread evenly over `SHARES`."""
    covered = []
    for size, rng in _batches(simulations, seed, "0/1", layout):
        truth = rng.choice(SHARES, size)
        values = (rng.random((size, len(layout.clusters))) < truth[:, None]).astype(np.float64)
        found = intervals(values, layout.clusters, _seed(rng), resamples=1, binary=np.ones(size, dtype=np.bool_))
        covered.append((found.lo <= truth) & (truth <= found.hi))
    return _share(covered)


def false_alarms(model: Model, layout: Layout, simulations: int, seed: int) -> float:
    """Share of pairs of equally good systems that the paired test finds different."""
    found = []
    for size, rng in _batches(simulations, seed, model.name, layout):
        values = model.systems(rng, size, 2, layout)
        found.append(_paired(values[:, 0] - values[:, 1], layout, _seed(rng)) <= ALPHA)
    return _share(found)


def power(model: Model, layout: Layout, simulations: int, seed: int) -> float:
    """Share of benchmarks that find a true difference as large as another such benchmark calls detectable."""
    found = []
    for size, rng in _batches(simulations, seed, model.name, layout):
        first, second = (model.systems(rng, size, 2, layout) for _ in range(2))
        error = standard_error(first[:, 0] - first[:, 1], layout.clusters)
        truth = detectable(error, layout.documents, ALPHA, 0.8)
        found.append(_paired(second[:, 0] - second[:, 1] + truth[:, None], layout, _seed(rng)) <= ALPHA)
    return _share(found)


def false_equivalence(model: Model, layout: Layout, simulations: int, seed: int) -> float:
    """Share of benchmarks that find systems equivalent which differ by exactly the margin."""
    found = []
    for size, rng in _batches(simulations, seed, model.name, layout):
        values = model.systems(rng, size, 2, layout)
        apart, pairs = _against_zero(values[:, 0] - values[:, 1] + MARGIN)
        found.append(equivalence(apart, pairs, layout.clusters, _seed(rng), FLIPS, MARGIN) <= ALPHA)
    return _share(found)


def family_alarms(model: Model, layout: Layout, simulations: int, seed: int) -> float:
    """Share of benchmarks of equally good systems with any pair found different (all pairs, Holm)."""
    pairs = np.asarray(list(combinations(range(FAMILY), 2)))
    found = []
    for size, rng in _batches(simulations, seed, model.name, layout, _FAMILIES):
        values = model.systems(rng, size, FAMILY, layout).reshape(size * FAMILY, -1)
        every = (np.arange(size)[:, None, None] * FAMILY + pairs).reshape(-1, 2)
        p = sign_flips(values, every, layout.clusters, _seed(rng), flips_for(len(pairs), ALPHA))
        found.append(np.asarray([(holm(row) <= ALPHA).any() for row in p.reshape(size, -1)]))
    return _share(found)


def step_down_alarms(model: Model, layout: Layout, lift: float, simulations: int, seed: int) -> float:
    """The same by step-down max-T, among systems of which half are better by `lift`."""
    pairs = np.asarray(list(combinations(range(FAMILY), 2)))
    equal = (
        (pairs[:, 0] < FAMILY // 2) == (pairs[:, 1] < FAMILY // 2) if lift else np.ones(len(pairs), dtype=np.bool_)
    )
    found = []
    for size, rng in _batches(simulations, seed, model.name, layout, _FAMILIES):
        values = model.systems(rng, size, FAMILY, layout)
        values[:, FAMILY // 2 :] += lift
        corrected = [step_down(one, pairs, layout.clusters, _seed(rng), FLIPS).p for one in values]
        found.append(np.asarray([(p[equal] <= ALPHA).any() for p in corrected]))
    return _share(found)


def tukey_alarms(model: Model, layout: Layout, simulations: int, seed: int) -> float:
    """The same by randomised Tukey HSD."""
    found = []
    for size, rng in _batches(simulations, seed, model.name, layout, _FAMILIES):
        values = model.systems(rng, size, FAMILY, layout)
        ranges = [tukey(one, layout.clusters, _seed(rng), ROUNDS) for one in values]
        found.append(np.asarray([(p <= ALPHA).any() for p in ranges]))
    return _share(found)


def checks() -> list[Check]:
    """Every promise with its band."""
    listed = []
    for model in MODELS:
        for layout in SINGLE:
            at = f"{model.name}, {layout}"
            listed.append(Check("BCa covers", at, partial(coverage, model, layout, "bca"), 0.93, 0.97))
            listed.append(Check("percentile covers", at, partial(coverage, model, layout, "percentile"), 0.92, 0.97))
        at = f"{model.name}, {CLUSTERED}"
        listed.append(Check("BCa covers", at, partial(coverage, model, CLUSTERED, "bca"), 0.90, 1.0))
        listed.append(Check("percentile covers", at, partial(coverage, model, CLUSTERED, "percentile"), 0.90, 1.0))
        for layout in (*SINGLE, CLUSTERED):
            at = f"{model.name}, {layout}"
            listed.append(Check("false alarm", at, partial(false_alarms, model, layout), 0.035, 0.065))
            listed.append(Check("power at detectable", at, partial(power, model, layout), 0.75, 0.85))
        for layout in (Layout(100), CLUSTERED):
            exact = f"{model.name}, {layout}"
            listed.append(
                Check("equivalent at the margin", exact, partial(false_equivalence, model, layout), 0.0, 0.06)
            )
            at = f"{model.name}, {FAMILY} systems, {layout}"
            listed.append(Check("any false, Holm", at, partial(family_alarms, model, layout), 0.0, 0.06))
            listed.append(Check("any false, max-T", at, partial(step_down_alarms, model, layout, 0.0), 0.0, 0.06))
            half = f"{at}, half of them better"
            listed.append(Check("any false, max-T", half, partial(step_down_alarms, model, layout, LIFT), 0.0, 0.06))
            limit = UNLIKE if len(model.marginals) > 1 else ""
            listed.append(Check("any false, Tukey", at, partial(tukey_alarms, model, layout), 0.0, 0.06, limit))
    listed += [Check("Wilson covers", f"0/1, {at}", partial(wilson_coverage, at), 0.93, 0.97) for at in SINGLE]
    return sorted(listed, key=lambda check: check.name)


def calibrate(listed: Sequence[Check], simulations: int, seed: int) -> pd.DataFrame:
    """Columns check, setting, figure, lo, hi, ok, limit; one row a check, with a progress bar."""
    rows = []
    for check in tqdm(listed, desc="checks", unit="check", disable=None):
        figure = check.measure(simulations, seed)
        inside = check.lo <= figure <= check.hi
        rows.append((check.name, check.setting, figure, check.lo, check.hi, inside, check.limit))
    return pd.DataFrame(rows, columns=["check", "setting", "figure", "lo", "hi", "ok", "limit"])


def readable(table: pd.DataFrame) -> str:
    """The table as text, one line a check, and why known limits are what they are."""
    shown = pd.DataFrame(
        {
            "check": table["check"],
            "setting": table["setting"],
            "figure": table["figure"].map("{:.4f}".format),
            "allowed": [f"{row.lo:.3f} to {row.hi:.3f}" for row in table.itertuples()],
            "ok": np.select([table["ok"], table["limit"] != ""], ["ok", "known limit"], "OUT OF BAND"),
        }
    )
    limits = [f"known limit: {text}" for text in table.loc[~table["ok"], "limit"].unique() if text]
    return "\n".join([shown.to_string(index=False), *limits])


def main(arguments: Sequence[str]) -> int:
    """Run every check; returns the exit code (1 if a figure is out of its band, 2 for a wrong request)."""
    return run_command("calibration", USAGE, arguments, _run)


def _run(arguments: Sequence[str]) -> int:
    options = read_options(arguments, ("simulations", "seed", "out"))
    seed = options.values.get("seed", "0")
    if options.words or not seed.isdecimal():
        wrong = options.words[0] if options.words else f"seed={seed}"
        raise RequestError(f"{wrong}: write simulations=<number> seed=<whole number from 0> out=<folder>")
    simulations = options.number("simulations", 2_000)
    table = calibrate(checks(), simulations, int(seed))
    print(readable(table))
    if options.values.get("out"):
        folder = Path(options.values["out"])
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder, "calibration", table)
    missed = int((~table["ok"] & (table["limit"] == "")).sum())
    print(f"{len(table)} checks with {simulations} simulations each: {missed or 'none'} out of band")
    return FAILURE if missed else 0


def _paired(differences: Floats, layout: Layout, seed: int) -> Floats:
    """P-values of differences [n, n_questions] against 0."""
    return sign_flips(*_against_zero(differences), layout.clusters, seed, FLIPS)


def _against_zero(differences: Floats) -> tuple[Floats, Longs]:
    """Differences as values of series of which each is paired with a last one of zeros."""
    n = len(differences)
    pairs = np.stack([np.arange(n, dtype=np.int64), np.full(n, n, dtype=np.int64)], axis=1)
    return np.vstack([differences, np.zeros(differences.shape[1])]), pairs


def _batches(
    simulations: int, seed: int, name: str, layout: Layout, most: int = _BATCH
) -> Iterator[tuple[int, np.random.Generator]]:
    """Sizes of batches with their generators; a check's benchmarks do not depend on which other checks are made."""
    place = zlib.crc32(f"{name}, {layout}".encode())
    for batch, start in enumerate(range(0, simulations, most)):
        yield min(most, simulations - start), np.random.default_rng([seed, place, batch])


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _share(found: Sequence[Bools]) -> float:
    return float(np.concatenate(found).mean())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

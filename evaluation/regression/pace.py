"""Latencies in units of a calibration loop: neither a slower machine nor other users of it may raise an alarm.

What counts is the time that a query would take on an idle processor. Linux tells how long each thread waited for one
(`/proc/self/task/*/schedstat`). What the searching thread waited is taken off the clock; what its helpers waited may
have held it up or not, so a latency lies between two figures. Waiting for a server, a disk or a sleep counts. On a
system that does not tell, both figures are the time on the clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from evaluation.judging import Judged, oracle_run
from evaluation.request import Request
from ingestion.artifacts import ArtifactStore
from retrieval.schema import Queries
from retrieval.stage import LATENCY_SAMPLE, Context, Retriever

OWN, ALL = Path("/proc/thread-self/schedstat"), Path("/proc/self/task")
CALIBRATIONS, LOW = 101, 0.1
READINGS = 10  # of clock and waiting, until they belong together
PASSES, SECONDS = 3, 4.0  # over the sample in a round; none begins after so many seconds, apart from the first
_DIGITS = 4  # kept of a time; more is noise, and would make every new baseline differ more than it says


@dataclass(frozen=True)
class Timing:
    """A strategy's median latency, from `low` to `high`, and one unit of the calibration loop, in milliseconds."""

    low_ms: float
    high_ms: float
    unit_ms: float


def elapsed_ms(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds that the work takes, at least and at most, if nobody else uses the processors."""
    helpers = _helpers_waited_ms()
    high = _own_ms(work)
    held = sum(now - helpers.get(name, 0.0) for name, now in _helpers_waited_ms().items())
    return max(high - held, 0.0), high


def calibrate() -> float:
    """Milliseconds of one unit: counting 1,500 words in Python, a sort and sums in numpy.

    A low quantile of many, as latencies are the fastest of several; without BLAS, which brings threads of its own.
    """
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in rng.integers(0, 300, 1_500).tolist()]
    matrix, scores = rng.standard_normal((256, 256)).astype(np.float32), rng.standard_normal(3_000)

    def unit() -> None:
        counts: dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        np.argsort(scores, kind="stable")
        np.sqrt(matrix * matrix).sum(axis=0)

    return float(np.quantile([_own_ms(unit) for _ in range(CALIBRATIONS)], LOW))


def measure(
    request: Request, judged: Judged, store: ArtifactStore, names: Sequence[str], rounds: int
) -> dict[str, tuple[Timing, ...]]:
    """Search single queries anew, nothing but the indexes remembered; outside runs have no timings.

    Args:
        request: whose arms are measured.
        judged: corpus and questions.
        store: where the indexes are.
        names: which arms.
        rounds: how often.

    Returns:
        One timing per round, by name.
    """
    found: dict[str, list[Timing]] = {name: [] for name in names}
    if judged.corpus is None:
        return dict.fromkeys(found, ())
    given = {"oracle": oracle_run(judged.qrels, len(judged.corpus), request.depth)}
    ctx = Context(judged.corpus, store, request.depth, request.seed, given, remember=False)
    for _ in range(rounds):
        for spec in request.arms:
            if spec.name in found:
                before = calibrate()
                low, high = _latency_ms(ctx, spec.stage, judged.benchmark.queries)
                found[spec.name].append(Timing(*map(_rounded, (low, high, min(before, calibrate())))))
    return {name: tuple(timings) for name, timings in found.items()}


def ratio(now: Sequence[Timing], then: Sequence[Timing]) -> tuple[float, float] | None:
    """How many times slower, at least and at most, in units of the calibration loop; None where a side lacks timings.

    The fastest measurement of either side counts: what disturbs one can only make it slower.
    """
    if not now or not then:
        return None
    old = min(one.high_ms / one.unit_ms for one in then)
    low, high = (
        min(side) for side in zip(*((t.low_ms / t.unit_ms, t.high_ms / t.unit_ms) for t in now), strict=True)
    )
    return (low / old, high / old) if old > 0 else None


def as_json(timings: Mapping[str, Sequence[Timing]]) -> dict[str, list[list[float]]]:
    """Rows of latency, at least and at most, and unit in milliseconds, by strategy."""
    return {name: [list(astuple(one)) for one in timings[name]] for name in sorted(timings)}


def from_json(rows: Sequence[Sequence[float]]) -> tuple[Timing, ...]:
    """What `as_json` wrote for one strategy.

    Raises:
        ValueError, TypeError: it is something else.
    """
    return tuple(Timing(float(low), float(high), float(unit)) for low, high, unit in rows)


def _latency_ms(ctx: Context, stage: Retriever, queries: Queries) -> tuple[float, float]:
    """Medians over a sample of queries, each searched alone through all stages, at the fastest of three passes."""
    sample = np.linspace(0, len(queries) - 1, min(LATENCY_SAMPLE, len(queries))).astype(int).tolist()
    singles = [queries.take([row]) for row in sample]
    stage.search(ctx.inside(), singles[0])  # loads what is loaded once
    fastest = np.full((len(singles), 2), np.inf)
    start = time.perf_counter()
    for number in range(PASSES):
        if number and time.perf_counter() - start > SECONDS:
            break
        times = np.asarray([elapsed_ms(partial(stage.search, ctx.inside(), one)) for one in singles])
        fastest = np.where((times[:, 1] < fastest[:, 1])[:, None], times, fastest)
    low, high = np.median(fastest, axis=0)
    return float(low), float(high)


def _own_ms(work: Callable[[], object]) -> float:
    """Milliseconds on the clock, without those in which this thread waited for a processor."""
    start = _own_clock_ms()
    work()
    return max(_own_clock_ms() - start, 0.0)


def _own_clock_ms() -> float:
    """A clock that stands still while this thread waits for a processor.

    A thread that is put off between the two readings would seem to have waited during the work, or not at all: both
    are read again until nothing came between them.
    """
    waited = _waited_ms(OWN)
    for _ in range(READINGS):
        clock, before = time.perf_counter() * 1000, waited
        waited = _waited_ms(OWN)
        if waited == before:
            break
    return clock - waited


def _waited_ms(path: Path) -> float:
    """Milliseconds that a thread has waited for a processor since it began; 0 where the system does not tell."""
    try:
        return int(path.read_text().split()[1]) / 1e6  # nanoseconds: on a processor, waiting for one; then turns
    except (FileNotFoundError, ProcessLookupError):  # another system, or the thread has just ended
        return 0.0


def _helpers_waited_ms() -> dict[str, float]:
    """The same for every other thread of this process, by its number."""
    own = str(threading.get_native_id())
    return {path.parent.name: _waited_ms(path) for path in ALL.glob("*/schedstat") if path.parent.name != own}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")

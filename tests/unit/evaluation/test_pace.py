"""Latencies of the gate: measured anew, in units of the calibration loop, without waiting for a processor."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from evaluation.judging import prepare, read_inputs
from evaluation.regression import pace
from evaluation.regression.pace import Timing, as_json, elapsed_ms, from_json, measure, ratio
from evaluation.request import ArmSpec, read_request
from ingestion.artifacts import ArtifactStore
from ingestion.config import load
from retrieval.schema import Queries, Run, make_run
from retrieval.stage import Context, Pipeline


@dataclass
class Clock:
    """A clock that goes on by a millisecond whenever somebody looks, and by as much as somebody waits."""

    now: float = 0.0

    def perf_counter(self) -> float:
        self.now += 0.001
        return self.now


CLOCK = Clock()


@dataclass(frozen=True)
class Sleepy:
    """A first stage that waits as a server would let it wait."""

    seconds: float

    def search(self, ctx: Context, queries: Queries) -> Run:
        CLOCK.now += self.seconds * len(queries)
        return make_run(range(len(queries)), [0] * len(queries), [1.0] * len(queries), ctx.depth)


@pytest.fixture
def judged(tmp_path):
    """A request and its judged corpus of two documents and two questions."""
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    for file, texts in (("corpus", ("rank fusion", "document length")), ("queries", ("fusion", "length"))):
        rows = [{"_id": str(number), "title": "", "text": text} for number, text in enumerate(texts)]
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n0\t0\t1\n1\t1\t1\n")
    typed = ["benchmark=beir", f"benchmark.path={folder}", "suite=smoke", f"artifacts={tmp_path / 'artifacts'}"]
    request = read_request(load(typed), typed, {})
    return request, prepare(request, read_inputs(request), ArtifactStore(request.artifacts))


def test_a_stage_that_waits_four_times_as_long_is_that_much_slower(judged, tmp_path, monkeypatch):
    """Looking twice takes 1 ms: queries take 10 + 1 and 40 + 1 ms, a unit of the loop 1 ms."""
    monkeypatch.setattr(pace, "time", CLOCK)
    monkeypatch.setattr(pace, "OWN", tmp_path / "none")
    monkeypatch.setattr(pace, "ALL", tmp_path / "none")
    request, corpus = judged
    stages = {"quick": Sleepy(0.01), "slow": Sleepy(0.04), "behind": Pipeline(Sleepy(0.01), ())}
    request = replace(request, arms=tuple(ArmSpec(name, stage, {}) for name, stage in stages.items()))
    found = measure(request, corpus, ArtifactStore(request.artifacts), ["quick", "slow"], 2)
    assert {name: len(timings) for name, timings in found.items()} == {"quick": 2, "slow": 2}
    assert [(one.low_ms, one.high_ms, one.unit_ms) for one in found["quick"]] == [pytest.approx((11, 11, 1))] * 2
    assert ratio(found["slow"], found["quick"]) == pytest.approx((41 / 11, 41 / 11))
    assert from_json(json.loads(json.dumps(as_json(found)))["slow"]) == found["slow"]


def test_rankings_that_are_remembered_are_searched_again(judged):
    request, corpus = judged
    request = replace(request, arms=tuple(spec for spec in request.arms if spec.name == "rrf"))
    store = ArtifactStore(request.artifacts)
    measure(request, corpus, store, ["rrf"], 1)
    assert not (request.artifacts / "runs").exists()


def test_a_ratio_is_of_the_fastest_measurements_in_units_of_the_loop():
    then, now = (Timing(1.0, 4.0, 0.2), Timing(2.0, 9.0, 0.1)), (Timing(70.0, 80.0, 0.1), Timing(15.0, 30.0, 0.5))
    assert ratio(now, then) == pytest.approx(((15 / 0.5) / (4 / 0.2), (30 / 0.5) / (4 / 0.2)))
    assert ratio((), then) is None
    assert ratio(now, ()) is None


def test_waiting_for_a_processor_does_not_count_and_waiting_for_anything_else_does(tmp_path, monkeypatch):
    times, own, helper = iter([1.0, 1.5, 2.0, 2.5]), tmp_path / "schedstat", tmp_path / "task" / "77" / "schedstat"
    helper.parent.mkdir(parents=True)
    own.write_text("123 40000000 7\n")
    helper.write_text("5 1000000 1\n")
    monkeypatch.setattr(pace.time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(pace, "OWN", own)
    monkeypatch.setattr(pace, "ALL", tmp_path / "task")

    def work() -> None:
        own.write_text("999 340000000 9\n")
        helper.write_text("6 51000000 2\n")

    # half a second on the clock; the thread waited 340 - 40 = 300 ms for a processor, its helper 51 - 1 = 50 ms
    assert elapsed_ms(work) == pytest.approx((150, 200))
    monkeypatch.setattr(pace, "OWN", tmp_path / "none")
    monkeypatch.setattr(pace, "ALL", tmp_path / "none")
    assert elapsed_ms(lambda: None) == pytest.approx((500, 500))


def test_a_thread_put_off_between_two_readings_is_read_again(monkeypatch):
    """The clock says 1.0, then 300 ms of waiting are told that it does not hold yet: the second pair agrees."""
    times, waits = iter([1.0, 1.3, 2.3]), iter([40.0, 340.0, 340.0, 340.0, 340.0])
    monkeypatch.setattr(pace.time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(pace, "_waited_ms", lambda _: next(waits))
    monkeypatch.setattr(pace, "_helpers_waited_ms", dict)
    # from 1.3 to 2.3 s on the clock, 340 ms waited before and after: the work took a whole second
    assert elapsed_ms(lambda: None) == pytest.approx((1000, 1000))

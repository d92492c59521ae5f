"""The limiter: hand-worked windows, first come first served, late settling, threads; why it is no token bucket."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from generation.errors import CancelledError, ContextOverflowError, RequestError
from generation.router.clock import SystemClock
from generation.router.limits import Limiter, Limits
from tests.clocks import SimulatedClock, ThreadedClock


def limiter(clock, margin=0.0, **limits):
    return Limiter(Limits(**limits), clock, margin=margin, name="openai/direct")


def fullest(times, amounts, window=60.0):
    """The most that any half-open window holds, by trying the window that begins at each event."""
    return max(sum(a for t, a in zip(times, amounts, strict=True) if s <= t < s + window) for s in times)


class Bucket:
    """A token bucket as in most clients: full at the start, refilled steadily."""

    def __init__(self, per_minute):
        self.capacity, self.level, self.last = per_minute, float(per_minute), 0.0

    def allows(self, now):
        self.level = min(self.capacity, self.level + (now - self.last) * self.capacity / 60.0)
        self.last = now
        if self.level < 1.0:
            return False
        self.level -= 1.0
        return True


def test_a_bucket_lets_nearly_twice_its_capacity_pass_and_the_window_does_not():
    bucket, sent = Bucket(10), []
    for second in range(120):
        while bucket.allows(float(second)):
            sent.append(float(second))
    # By hand: 10 at once, then one each 6 s, at 6, 12, ..., 54: 19 within the first minute.
    assert fullest(sent, [1] * len(sent)) == 19

    clock = SimulatedClock()
    mine = limiter(clock, rpm=10)
    times = [mine.acquire(1, 1).sent for _ in range(30)]
    assert times == [0.0] * 10 + [60.0] * 10 + [120.0] * 10
    assert fullest(times, [1] * 30) == 10


def test_a_request_waits_until_enough_of_the_old_ones_have_left_the_window():
    clock = SimulatedClock()
    mine = limiter(clock, input_tpm=100)
    assert mine.acquire(60, 1).sent == 0.0
    clock.advance(10)
    assert mine.acquire(30, 1).sent == 10.0
    # 60 + 30 + 10 fit at once; 50 more need the first 60 to go (at 60 s); 41 more only once the 30 go too (at 70 s).
    assert mine.acquire(10, 1).sent == 10.0
    assert mine.acquire(50, 1).sent == 60.0
    assert mine.acquire(41, 1).sent == 70.0


def test_the_margin_lengthens_the_window():
    clock = SimulatedClock()
    mine = limiter(clock, margin=0.5, rpm=1)
    assert [mine.acquire(1, 1).sent for _ in range(3)] == [0.0, 60.5, 121.0]


def test_output_is_reserved_at_its_maximum_and_given_back():
    clock = SimulatedClock()
    mine = limiter(clock, output_tpm=8_000, output_weight=5.0)
    first = mine.acquire(10, 1_600)  # 8,000 counted: all of it
    clock.advance(5)
    mine.settle(first, 10, 600)  # 3,000 counted: 5,000 are free, which are 1,000 tokens
    assert mine.used() == (1, 10, 600)
    assert mine.acquire(10, 1_000).sent == 5.0
    assert mine.acquire(10, 1).sent == 60.0


def test_settling_to_more_than_was_reserved_makes_later_requests_wait():
    clock = SimulatedClock()
    mine = limiter(clock, input_tpm=100)
    first = mine.acquire(10, 1)
    clock.advance(1)
    mine.settle(first, 95, 1)
    assert mine.acquire(5, 1).sent == 1.0
    assert mine.acquire(6, 1).sent == 60.0  # 95 + 5 + 6 do not fit before the first has left


def test_a_request_counts_from_the_time_it_was_sent_however_late_it_is_settled():
    clock = SimulatedClock()
    mine = limiter(clock, input_tpm=100)
    first = mine.acquire(100, 1)
    clock.advance(59)
    mine.settle(first, 40, 1)
    assert mine.used() == (1, 40, 1)
    clock.advance(1)
    assert mine.used() == (0, 0, 0)


def test_what_runs_longer_than_a_window_keeps_its_output_until_it_is_settled():
    clock = ThreadedClock()
    mine = limiter(clock, output_tpm=100)
    sent = []

    def long_one():
        ticket = mine.acquire(1, 80)
        clock.sleep(90)
        mine.settle(ticket, 1, 80)

    def short_one():
        clock.sleep(1)
        sent.append(mine.acquire(1, 30).sent)

    clock.run([long_one, short_one])
    assert sent == [90.0]
    assert mine.used() == (1, 1, 30)


def test_a_withdrawn_request_counts_nothing():
    clock = SimulatedClock()
    mine = limiter(clock, rpm=1, input_tpm=10, output_tpm=10)
    mine.withdraw(mine.acquire(10, 10))
    assert mine.used() == (0, 0, 0)
    assert mine.acquire(10, 10).sent == 0.0


def test_a_big_request_is_not_overtaken_by_small_ones():
    clock = ThreadedClock()
    mine = limiter(clock, input_tpm=100)
    order = []

    def asks(name, after, tokens):
        def job():
            clock.sleep(after)
            order.append((name, mine.acquire(tokens, 1).sent))

        return job

    jobs = [asks("first", 1, 50), asks("big", 2, 100)] + [asks(f"small {n}", 3 + n, 10) for n in range(5)]
    clock.run(jobs)
    # The small ones would have fitted beside the first; the big one came before them and goes at 61 s, they at 121 s.
    assert order == [("first", 1.0), ("big", 61.0)] + [(f"small {n}", 121.0) for n in range(5)]


def test_what_could_never_fit_is_refused_by_name():
    mine = limiter(SimulatedClock(), input_tpm=100, output_tpm=100, output_weight=5.0)
    with pytest.raises(ContextOverflowError, match=r"openai/direct.*101 tokens.*100 a minute.*DIRECT_INPUT_TPM"):
        mine.acquire(101, 1)
    with pytest.raises(ContextOverflowError, match=r"at most 20 output tokens or raise OPENAI_DIRECT_OUTPUT_TPM"):
        mine.acquire(1, 21)
    assert mine.acquire(100, 20).sent == 0.0


@pytest.mark.parametrize(
    "wrong", [{"rpm": 0}, {"input_tpm": -1}, {"output_weight": 0.0}, {"output_weight": float("inf")}]
)
def test_impossible_limits_are_refused(wrong):
    with pytest.raises(RequestError, match=next(iter(wrong))):
        Limits(**wrong)


def test_a_wait_can_be_cancelled_and_leaves_its_place_to_the_next():
    clock, stop = ThreadedClock(), []
    mine = limiter(clock, input_tpm=100)
    sent = []

    def holder():
        mine.acquire(50, 1)

    def cancels():
        clock.sleep(1)
        with pytest.raises(CancelledError):
            mine.acquire(100, 1, cancelled=lambda: bool(stop))
        sent.append(("cancelled", clock.now()))

    def next_one():
        clock.sleep(2)
        sent.append(("next", mine.acquire(10, 1).sent))

    def caller():
        clock.sleep(10)
        stop.append(True)

    clock.run([holder, cancels, next_one, caller])
    assert [name for name, _ in sent] in (["cancelled", "next"], ["next", "cancelled"])
    assert all(10.0 <= moment <= 10.2 for _, moment in sent)


def test_those_who_wait_give_up_when_a_request_is_settled():
    clock, shut = ThreadedClock(), []
    mine = limiter(clock, rpm=1)
    ended = []

    def waits():
        clock.sleep(1)
        with pytest.raises(CancelledError):
            mine.acquire(1, 1, given_up=lambda: bool(shut))
        ended.append(clock.now())

    def shuts():
        ticket = mine.acquire(1, 1)
        clock.sleep(5)
        shut.append(True)
        mine.settle(ticket, 1, 1)

    clock.run([shuts] + [waits] * 5)
    assert ended == [5.0] * 5


def test_random_traffic_never_passes_a_limit_whatever_is_settled():
    """Independent check: every window over the log of sent requests, with the larger of reserved and true numbers."""
    rng = np.random.default_rng(7)
    clock = SimulatedClock()
    mine = limiter(clock, rpm=20, input_tpm=3_000, output_tpm=1_000)
    log, running = [], []
    for _ in range(400):
        clock.advance(float(rng.exponential(1.0)))
        if running and rng.random() < 0.7:
            ticket, inputs, outputs = running.pop(int(rng.integers(len(running))))
            mine.settle(ticket, inputs, outputs)
        inputs, most = int(rng.integers(1, 400)), int(rng.integers(1, 100))
        while True:  # a single thread settles what runs, where only that makes room
            try:
                ticket = mine.acquire(inputs, most)
                break
            except AssertionError:
                mine.settle(*running.pop(0))
        outputs = int(rng.integers(0, most + 1))
        running.append((ticket, inputs, outputs))
        log.append((ticket.sent, inputs, outputs))
    times, inputs, outputs = zip(*log, strict=True)
    assert fullest(times, [1] * len(log)) <= 20
    assert fullest(times, inputs) <= 3_000
    assert fullest(times, outputs) <= 1_000
    assert fullest(times, inputs) > 2_500  # it was a test: the limits did bind


def test_ten_thousand_requests_are_quick():
    clock = SimulatedClock()
    mine = limiter(clock, rpm=500, input_tpm=100_000, output_tpm=100_000)
    begin = time.process_time()
    for _ in range(10_000):
        ticket = mine.acquire(100, 100)
        mine.settle(ticket, 100, 50)
    assert time.process_time() - begin < 5.0  # measured .1 s
    assert clock.now() == 60.0 * (10_000 / 500 - 1)


def test_real_threads_in_real_time_keep_a_window_of_one_second():
    clock = SystemClock()
    mine = Limiter(Limits(rpm=20), clock, window=1.0, margin=0.3)
    times, lock = [], threading.Lock()

    def work():
        for _ in range(5):
            mine.acquire(1, 1)
            with lock:
                times.append(time.monotonic())

    threads = [threading.Thread(target=work) for _ in range(12)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(times) == 60
    assert fullest(times, [1] * 60, window=1.0) <= 20
    assert time.monotonic() - begin >= 2 * 1.3  # 3 windows, the last of them not waited for

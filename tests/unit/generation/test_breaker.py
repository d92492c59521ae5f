"""The breaker: each change of state by hand, one probe of ten threads, and what comes late."""

from __future__ import annotations

import math
import threading

import pytest

from generation.errors import AuthError, CapacityError, ProviderError, QuotaError
from generation.router.breaker import CLOSED, HALF_OPEN, OPEN, Breaker
from tests.clocks import SimulatedClock


@pytest.fixture
def clock():
    return SimulatedClock()


@pytest.fixture
def breaker(clock):
    return Breaker(clock)


def fail(breaker, times):
    return [breaker.fail(breaker.admit()) for _ in range(times)]


def test_it_opens_at_the_third_failure_in_a_row(breaker):
    assert fail(breaker, 2) == [False, False]
    assert breaker.status().state == CLOSED
    assert fail(breaker, 1) == [True]
    assert breaker.status() == type(breaker.status())(OPEN, 60.0, CapacityError)
    assert breaker.admit() is None


def test_a_success_in_between_begins_the_count_anew(breaker):
    fail(breaker, 2)
    breaker.succeed(breaker.admit())
    assert fail(breaker, 3) == [False, False, True]


def test_it_is_half_open_when_the_cool_down_is_over(breaker, clock):
    fail(breaker, 3)
    clock.advance(59.999)
    assert breaker.refuses()
    clock.advance(0.001)
    assert breaker.status().state == HALF_OPEN
    assert not breaker.refuses()


def test_ten_threads_at_recovery_send_one_probe(breaker, clock):
    fail(breaker, 3)
    clock.advance(60)
    barrier, got = threading.Barrier(10), []

    def work():
        barrier.wait()
        got.append(breaker.admit())

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    probes = [admission for admission in got if admission is not None]
    assert len(probes) == 1
    breaker.succeed(probes[0])
    assert breaker.status().state == CLOSED
    assert breaker.admit() is not None


def test_a_probe_that_fails_opens_it_for_another_cool_down_at_once(breaker, clock):
    fail(breaker, 3)
    clock.advance(61)
    assert breaker.fail(breaker.admit(), ProviderError)
    assert breaker.status() == type(breaker.status())(OPEN, 60.0, ProviderError)


def test_a_probe_that_is_cancelled_gives_its_place_back(breaker, clock):
    fail(breaker, 3)
    clock.advance(60)
    probe = breaker.admit()
    assert breaker.admit() is None
    breaker.release(probe)
    again = breaker.admit()
    assert again is not None
    breaker.release(probe)  # told twice: the place is another's now
    assert breaker.admit() is None
    breaker.succeed(again)
    assert breaker.status().state == CLOSED


def test_what_was_sent_before_it_opened_neither_closes_nor_prolongs_it(breaker, clock):
    late = [breaker.admit() for _ in range(5)]
    fail(breaker, 3)
    clock.advance(30)
    breaker.succeed(late[0])
    assert not any(breaker.fail(admission) for admission in late[1:4])
    assert breaker.status().seconds == 30.0
    clock.advance(30)
    probe = breaker.admit()
    breaker.succeed(late[4])
    assert breaker.status().state == HALF_OPEN
    breaker.succeed(probe)
    assert breaker.status().state == CLOSED


def test_quota_opens_long_and_a_wrong_key_for_good(breaker, clock):
    breaker.open_for(3_600.0, QuotaError)
    clock.advance(3_599)
    assert breaker.status() == type(breaker.status())(OPEN, 1.0, QuotaError)
    breaker.open_for(math.inf, AuthError)
    clock.advance(1e9)
    assert breaker.status() == type(breaker.status())(OPEN, math.inf, AuthError)


def test_a_shorter_opening_does_not_shorten_a_longer_one(breaker):
    breaker.open_for(3_600.0, QuotaError)
    breaker.open_for(60.0, CapacityError)
    assert breaker.status() == type(breaker.status())(OPEN, 3_600.0, QuotaError)

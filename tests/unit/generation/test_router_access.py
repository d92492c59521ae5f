"""Models that a key may not use, filters that refuse, and what an error says of all that was asked for it."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from generation.errors import AuthError, CapacityError, ModelAccessError, ProviderError, RateLimitError, RefusedError
from generation.router.breaker import CLOSED, OPEN
from generation.router.lanes import Lanes, LaneSettings
from generation.router.limits import Limits
from generation.router.retry import RetryPolicy
from generation.router.router import Router
from generation.router.routes import RouteSettings
from generation.router.state import StateFile, read_states
from generation.tokens import estimate
from tests.clocks import SimulatedClock, ThreadedClock
from tests.unit.generation.scripted import BIG, CALL, OK, OTHER, SMALL, A, B, Scripted, build, outcomes

ONE = RouteSettings("anthropic", "direct", ("big",))
PATIENT = RetryPolicy(attempts=1, base=0.0, breaker_wait=90.0)


def test_a_model_that_is_refused_is_left_alone_and_its_route_goes_on():
    router, client, _ = build({BIG: [ModelAccessError("no right to big")], SMALL: [OK]})
    assert outcomes(router.ask(CALL)) == [("big", "failed", "ModelAccessError"), ("small", "answered", "")]
    assert router.lanes.of(A).breaker.status().state == CLOSED
    assert outcomes(router.ask(CALL)) == [("big", "skipped", "ModelAccessError"), ("small", "answered", "")]
    assert client.names == [BIG, SMALL, SMALL]


def test_a_key_that_is_refused_closes_the_route_for_all_its_models():
    router, client, _ = build({BIG: [AuthError("wrong key")], OTHER: [OK]})
    router.ask(CALL)
    assert router.lanes.of(A).breaker.status().state == OPEN
    assert outcomes(router.ask(CALL))[:2] == [("big", "skipped", "AuthError"), ("small", "skipped", "AuthError")]
    assert client.names == [BIG, OTHER, OTHER]


def test_nobody_waits_for_a_model_that_is_refused():
    router, client, clock = build({BIG: [ModelAccessError("no such model")]}, (ONE,), policy=PATIENT)
    for said in ("no such model. Remedy: correct the model's name", "no such model .so it said before"):
        with pytest.raises(ModelAccessError, match=f"anthropic/direct, big: ModelAccessError: {said}"):
            router.ask(CALL)
    assert (client.names, clock.now()) == ([BIG], SimulatedClock().now())


def test_those_who_wait_for_a_limit_learn_that_the_model_is_refused():
    clock = ThreadedClock()
    narrow = RouteSettings("anthropic", "direct", ("big",), Limits(rpm=1))
    router, client, _ = build({BIG: [ModelAccessError("no")]}, (narrow,), clock, seconds=5.0)
    errors = []

    def ask():
        try:
            router.ask(CALL)
        except ModelAccessError as error:
            errors.append(str(error))

    clock.run([ask, ask])
    assert client.names == [BIG]
    assert sum("so it said before" in error for error in errors) == 1
    assert len(errors) == 2


def test_a_filter_that_refuses_is_asked_once_and_is_no_breakage():
    router, client, _ = build({BIG: [RefusedError("filtered")], SMALL: [OK]})
    for _ in range(4):
        assert outcomes(router.ask(CALL)) == [("big", "failed", "RefusedError"), ("small", "answered", "")]
    assert client.names == [BIG, SMALL] * 4
    status = router.lanes.of(A).breaker.status()
    assert status.state == CLOSED


def test_a_refusal_of_all_is_a_refusal_with_its_remedy():
    router, client, _ = build({BIG: [RefusedError("filtered")]}, (ONE,))
    with pytest.raises(RefusedError, match=r"big: RefusedError: filtered\. Remedy: put the question or"):
        router.ask(CALL)
    assert client.names == [BIG]


def test_a_probe_that_is_filtered_shows_that_the_server_works():
    script = {BIG: [CapacityError("x"), CapacityError("x"), CapacityError("x"), RefusedError("filtered")]}
    router, _, clock = build(script, (ONE,), settings=LaneSettings(failures=3, cooldown=60.0))
    for _ in range(2):
        with pytest.raises(CapacityError):
            router.ask(CALL)
    assert router.lanes.of(ONE).breaker.status().state == OPEN
    clock.advance(60.0)
    with pytest.raises(RefusedError):
        router.ask(CALL)
    assert router.lanes.of(ONE).breaker.status().state == CLOSED


@pytest.mark.parametrize("error", [CapacityError("x"), RateLimitError("x", 1e6), ProviderError("x")])
def test_an_error_has_all_attempts_with_what_they_cost(error):
    router, client, _ = build({BIG: [error], SMALL: [error], OTHER: [error]}, price_of_one=0.25)
    with pytest.raises(type(error)) as caught:
        router.ask(CALL)
    sent = [attempt for attempt in caught.value.attempts if attempt.outcome == "failed"]
    assert [f"{one.target.name}:{one.target.model}" for one in sent] == client.names
    free = isinstance(error, RateLimitError)  # the server did nothing for a 429
    assert sum(one.cost for one in sent) == (0.0 if free else 0.25 * len(client.names))


def test_the_last_of_the_calls_under_way_tells_how_the_routes_stand(tmp_path):
    now = [1_000.0]
    file = StateFile(tmp_path / "state.json", wall=lambda: now[0])
    router, _, _ = build(
        {BIG: [OK, CapacityError("x")]}, (ONE,), state=file, policy=RetryPolicy(attempts=3, base=0.0)
    )
    router.ask(CALL)
    with pytest.raises(CapacityError):
        router.ask(CALL)  # within the same second, in which nothing would be due
    (state,) = read_states(file.path, now[0])
    assert (state.requests, state.breaker, state.last_error, state.failures) == (4, "open", "CapacityError", 3)
    assert state.open_until == 1_060.0


def test_many_calls_at_once_leave_the_state_after_the_last_of_them(tmp_path):
    class Slow(Scripted):
        def complete(self, *arguments):
            entered.wait()
            return OK

    entered = threading.Barrier(8)
    file = StateFile(tmp_path / "state.json", wall=lambda: 1_000.0)
    router = Router((ONE,), Slow(SimulatedClock(), {}), state=file)
    written = []
    write = file.write
    file.write = lambda states: (written.append(states[0].requests), write(states))
    threads = [threading.Thread(target=router.ask, args=(CALL,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written[-1] == 8
    assert read_states(file.path, 1_000.0)[0].requests == 8


@dataclass
class Letters(Scripted):
    """A client with a tokenizer of one model: a token a letter."""

    def tokens_of(self, target, text):
        return len(text) if target.model == "big" else None


def test_tokens_are_counted_by_the_first_model_that_is_asked_or_estimated():
    text = "heteroscedasticity in 2019"
    clock = SimulatedClock()
    unset = RouteSettings("gemini", "direct", ("big",), configured=False)
    assert Router((A, B), Letters(clock, {})).count_tokens(text) == 26
    assert Router((B, A), Letters(clock, {})).count_tokens(text) == estimate(text) == 8
    assert Router((unset, B), Letters(clock, {})).count_tokens(text) == 8
    assert Router((), Letters(clock, {})).count_tokens(text) == 8
    assert Router((A,), Scripted(clock, {})).count_tokens(text) == 8


def test_lanes_of_one_route_are_shared_by_routers_that_are_given_them():
    clock = SimulatedClock()
    lanes = Lanes(clock)
    first = Router((ONE,), Scripted(clock, {BIG: [AuthError("wrong key")]}), lanes)
    second = Router((ONE,), Scripted(clock, {BIG: [OK]}), lanes, spending=first.spending)
    with pytest.raises(AuthError):
        first.ask(CALL)
    with pytest.raises(AuthError, match="needs a new key"):
        second.ask(CALL)
    assert second.spending is first.spending

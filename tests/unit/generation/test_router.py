"""The router over a scripted client: retry, fallback, 429, quota, keys, and one probe of ten threads."""

from __future__ import annotations

import numpy as np
import pytest

from generation.errors import (
    AuthError,
    CapacityError,
    ContextOverflowError,
    ProviderError,
    QuotaError,
    RateLimitError,
)
from generation.router.lanes import LaneSettings
from generation.router.limits import Limits
from generation.router.retry import RetryPolicy
from generation.router.routes import RouteSettings
from generation.router.spending import Caps, Spending
from tests.clocks import SimulatedClock, ThreadedClock
from tests.unit.generation.scripted import BIG, CALL, OK, OTHER, SMALL, A, B, build, outcomes


def test_the_first_route_answers():
    router, client, _ = build({BIG: [OK]}, price_of_one=0.25)
    routed = router.ask(CALL)
    assert (routed.reply, routed.target.name, routed.cached, routed.cost) == (OK, "anthropic/direct", False, 0.25)
    assert outcomes(routed) == [("big", "answered", "")]
    assert (routed.attempts[0].input_tokens, routed.attempts[0].output_tokens) == (10, 3)
    assert client.names == [BIG]


def test_capacity_is_retried_with_jitter_then_the_next_model_then_the_next_route():
    broken = CapacityError("overloaded")
    script = {BIG: [broken], SMALL: [broken], OTHER: [OK]}
    policy = RetryPolicy(attempts=3, base=1.0, longest=1.5)
    settings, rng = LaneSettings(failures=9), np.random.default_rng(5)
    router, client, clock = build(script, policy=policy, settings=settings, rng=rng)
    routed = router.ask(CALL)
    assert client.names == [BIG] * 3 + [SMALL] * 3 + [OTHER]
    # Full jitter by an equal generator: before repetition 1 from 0 to 1, before repetition 2 from 0 to min(1.5, 2).
    rng = np.random.default_rng(5)
    waits = [rng.uniform(0, most) for most in (1.0, 1.5, 1.0, 1.5)]
    assert clock.now() == pytest.approx(sum(waits))
    assert routed.seconds == pytest.approx(sum(waits))
    assert [one.error for one in routed.attempts] == ["CapacityError"] * 6 + [""]


def test_the_breaker_opens_at_the_third_failure_and_the_route_is_passed_over_then():
    router, client, clock = build({BIG: [CapacityError("x")], SMALL: [CapacityError("x")], OTHER: [OK]})
    assert outcomes(router.ask(CALL))[-1] == ("other", "answered", "")
    assert clock.now() == np.random.default_rng(0).uniform(0, 0.5)  # the third failure is not waited for
    assert client.names == [BIG, BIG, SMALL, OTHER]  # two tries of the first model, the third failure opens
    assert outcomes(router.ask(CALL)) == [
        ("big", "skipped", "CapacityError"),
        ("small", "skipped", "CapacityError"),
        ("other", "answered", ""),
    ]


def test_one_probe_of_ten_threads_at_recovery():
    clock = ThreadedClock()
    script = {OTHER: [CapacityError("x")] * 3 + [OK]}
    router, client, _ = build(script, (B,), clock, seconds=2.0, policy=RetryPolicy(attempts=3, base=0.0))
    answered, refused = [], []

    def work():
        try:
            answered.append(router.ask(CALL))
        except CapacityError as error:
            refused.append(str(error))

    clock.run([work])
    assert len(client.sent) == 3

    def later():
        clock.sleep(60.0)
        work()

    clock.run([later] * 10)
    assert (len(answered), len(client.sent)) == (1, 4)
    assert len(refused) == 1 + 9
    assert all("one request is trying it now" in text for text in refused[1:])
    clock.run([work] * 10)  # closed again
    assert len(answered) == 11


def test_a_request_that_was_never_sent_takes_no_place(monkeypatch):
    """The breaker opens for good while a request waits for its turn: nothing of that request may count."""
    clock = SimulatedClock()
    spending = Spending(Caps(run=1.0), clock=clock)
    route = RouteSettings("openai", "azure", ("other",), Limits(rpm=1))
    router, client, _ = build({OTHER: [OK]}, (route,), clock, spending=spending, price_of_one=1.0)
    lane = router.lanes.of(route)
    monkeypatch.setattr(lane.breaker, "admit", lambda: None)
    with pytest.raises(RateLimitError, match="shut for a moment"):
        router.ask(CALL)
    assert client.sent == []
    assert lane.limiter.used() == (0, 0, 0)
    monkeypatch.undo()
    assert router.ask(CALL).cost == 1.0


def test_429_fails_over_at_once_and_does_not_count_as_breakage():
    limited = RateLimitError("slow down", 30.0)
    router, client, clock = build({BIG: [limited, OK], OTHER: [OK]})
    for _ in range(5):
        routed = router.ask(CALL)
        assert routed.target.model == "other"
    assert clock.now() == 0.0
    assert client.names.count(BIG) == 1  # left alone for as long as it asked, also its second model
    (anthropic, _) = router.lanes.states(lambda: 0.0)
    assert (anthropic.breaker, anthropic.last_error) == ("closed", "RateLimitError")
    clock.advance(30)
    assert router.ask(CALL).target.model == "big"


def test_429_of_the_only_route_is_waited_for_as_long_as_it_asked():
    router, client, _ = build({OTHER: [RateLimitError("x", 7.0), RateLimitError("x", 11.0), OK]}, (B,))
    routed = router.ask(CALL)
    assert [moment for _, moment in client.sent] == [0.0, 7.0, 18.0]
    assert routed.seconds == 18.0


def test_429_for_longer_than_the_bound_is_raised_with_its_time():
    router, _, clock = build({OTHER: [RateLimitError("x", 61.0)]}, (B,))
    with pytest.raises(RateLimitError, match=r"openai/azure, other: RateLimitError.*wait 61\.0 s") as caught:
        router.ask(CALL)
    assert caught.value.retry_after == 61.0
    assert clock.now() == 0.0


def test_a_server_that_always_says_429_is_given_up():
    # No time at all: .5 s, doubled up to 8 s. No time said: 10 s each. Both end before 60 s are passed.
    for after, moments in [
        (0.0, [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 23.5, 31.5, 39.5, 47.5, 55.5]),
        (None, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]),
    ]:
        router, client, _ = build({OTHER: [RateLimitError("x", after)]}, (B,))
        with pytest.raises(RateLimitError):
            router.ask(CALL)
        assert [moment for _, moment in client.sent] == moments


@pytest.mark.parametrize(
    ("error", "seconds", "state"),
    [(QuotaError("paid out"), 3_600.0, "half open"), (AuthError("no"), 1e9, "open")],
)
def test_quota_opens_long_and_a_wrong_key_for_good_without_any_retry(error, seconds, state):
    router, client, clock = build({BIG: [error], OTHER: [OK]})
    assert outcomes(router.ask(CALL)) == [
        ("big", "failed", type(error).__name__),
        ("small", "skipped", type(error).__name__),
        ("other", "answered", ""),
    ]
    clock.advance(seconds - 0.1)
    router.ask(CALL)
    assert client.names == [BIG, OTHER, OTHER]
    clock.advance(0.1)
    assert router.lanes.states(lambda: 0.0)[0].breaker == state


def test_a_prompt_that_is_too_long_goes_to_another_model_only():
    same = RouteSettings("anthropic", "bedrock", ("big", "huge"))
    long = [ContextOverflowError("long")]
    script = {BIG: long, SMALL: long, "anthropic/bedrock:huge": [OK]}
    router, client, _ = build(script, (A, same))
    assert router.ask(CALL).target.model == "huge"
    assert client.names == [BIG, SMALL, "anthropic/bedrock:huge"]
    router, _, _ = build({BIG: long, SMALL: long}, (A,))
    with pytest.raises(ContextOverflowError, match="shorten the context"):
        router.ask(CALL)


def test_a_request_above_a_routes_own_limit_goes_to_another_route():
    narrow = RouteSettings("anthropic", "direct", ("big",), Limits(output_tpm=99))
    router, client, _ = build({OTHER: [OK]}, (narrow, B))
    assert router.ask(CALL).target.model == "other"
    router, client, _ = build({}, (narrow,))
    with pytest.raises(ContextOverflowError, match=r"at most 99 output tokens or raise ANTHROPIC_DIRECT") as caught:
        router.ask(CALL)
    assert type(caught.value) is ContextOverflowError
    assert client.sent == []


def test_a_broken_reply_is_tried_once_more_then_the_next_route():
    router, client, _ = build({BIG: [ProviderError("json")], SMALL: [ProviderError("json")], OTHER: [OK]})
    assert router.ask(CALL).target.model == "other"
    assert client.names == [BIG, BIG, SMALL, OTHER]

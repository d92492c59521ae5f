"""What a call through the router does besides: streaming, cache, caps, cancelling, the log, the state, threads."""

from __future__ import annotations

import logging
import threading

import pytest

from generation.errors import (
    AuthError,
    CancelledError,
    CapacityError,
    ContextOverflowError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RequestError,
    SpendingCapError,
)
from generation.router.cache import ReplyCache
from generation.router.clock import SystemClock
from generation.router.lanes import Lanes, LaneSettings
from generation.router.limits import Limits
from generation.router.retry import RetryPolicy
from generation.router.router import Router
from generation.router.routes import RouteSettings
from generation.router.spending import Caps, Spending, spent_on
from generation.router.state import StateFile, read_states
from generation.router.wire import Reply
from tests.clocks import SimulatedClock, ThreadedClock
from tests.unit.generation.scripted import BIG, CALL, OK, OTHER, SMALL, A, B, Scripted, build, outcomes


def test_pieces_of_an_attempt_that_failed_are_called_back_before_the_next():
    script = {
        BIG: [("six", "ty", CapacityError("dropped")), ("sixty", ProviderError("cut"))],
        OTHER: [("sixty ", OK)],
    }
    chain = (RouteSettings("anthropic", "direct", ("big",)), B)
    router, _, _ = build(script, chain)
    seen = []
    router.ask(CALL, seen.append, lambda reason: seen.append(f"<{reason}>"))
    assert seen == ["six", "ty", "<CapacityError>", "sixty", "<ProviderError>", "sixty "]


def test_without_a_way_to_call_back_nothing_follows_pieces_that_went_out():
    router, client, _ = build({BIG: [("six", CapacityError("dropped"))], OTHER: [OK]})
    with pytest.raises(CapacityError, match="anthropic/direct, big: CapacityError: dropped"):
        router.ask(CALL, lambda piece: None)
    assert client.names == [BIG]


def test_a_call_can_wait_for_a_route_that_is_left_alone_where_no_other_can_answer():
    script = {OTHER: [CapacityError("x")] * 3 + [OK]}
    for patience, wanted in [(0.0, None), (59.9, None), (60.0, 60.0)]:
        policy = RetryPolicy(attempts=3, base=0.0, breaker_wait=patience)
        router, client, clock = build({OTHER: list(script[OTHER])}, (B,), policy=policy)
        with pytest.raises(CapacityError):
            router.ask(CALL)
        if wanted is None:
            with pytest.raises(CapacityError, match=r"left alone, it failed several times; tried again in 60\.0 s"):
                router.ask(CALL)
            assert len(client.sent) == 3
        else:
            assert router.ask(CALL).seconds == wanted
    router, _, clock = build({OTHER: [AuthError("x")]}, (B,), policy=RetryPolicy(breaker_wait=1e9))
    for _ in range(2):
        with pytest.raises(AuthError):
            router.ask(CALL)
    assert clock.now() == 0.0


def test_those_who_wait_while_one_probes_go_on_after_it():
    clock = ThreadedClock()
    policy = RetryPolicy(attempts=3, base=0.5, breaker_wait=90.0)
    script = {OTHER: [CapacityError("x")] * 3 + [OK]}
    router, client, _ = build(script, (B,), clock, seconds=2.0, policy=policy)
    ended = []

    def breaks():
        with pytest.raises(CapacityError):
            router.ask(CALL)

    def later():
        clock.sleep(30.0)
        router.ask(CALL)
        ended.append(clock.now())

    clock.run([breaks] + [later] * 10)
    moments = [moment for _, moment in client.sent]
    assert len(ended) == 10
    assert sum(1 for moment in moments[3:] if moment < moments[3] + 2.0) == 1  # nobody beside the probe


def test_a_check_makes_a_whole_reply_a_broken_one(tmp_path):
    def check(reply):
        if "end" not in reply.text:
            raise ProviderError("without its end")

    script = {BIG: [OK], SMALL: [OK], OTHER: [Reply("end", 1, 1)]}
    router, client, _ = build(script, cache=ReplyCache(tmp_path))
    assert router.ask(CALL, check=check).reply.text == "end"
    assert client.names == [BIG, BIG, SMALL, SMALL, OTHER]  # the server has worked: its breaker stays closed
    assert router.lanes.states(lambda: 0.0)[0].breaker == "closed"
    assert len(list(tmp_path.rglob("*.json"))) == 1


def test_when_all_fail_the_message_lists_each_with_its_remedy():
    closed = RouteSettings("gemini", "direct", ("g",), configured=False, missing="set GEMINI_API_KEY")
    script = {BIG: [AuthError("401")], OTHER: [CapacityError("503")]}
    router, _, _ = build(script, (A, closed, B))
    with pytest.raises(CapacityError) as caught:
        router.ask(CALL)
    lines = str(caught.value).splitlines()
    assert lines == [
        "no route gave a reply:",
        "- anthropic/direct, big: AuthError: 401. Remedy: set a valid key with the right to this model",
        "- anthropic/direct, small: AuthError: anthropic/direct needs a new key: it was refused before; set one and "
        "start again. Remedy: set a valid key with the right to this model",
        "- openai/azure, other: CapacityError: 503. Remedy: try again later, or configure another route",
        "- gemini/direct: not configured; set GEMINI_API_KEY",
    ]


def test_nothing_configured_is_said_with_what_to_set():
    closed = RouteSettings("gemini", "direct", ("g",), configured=False, missing="set GEMINI_API_KEY")
    with pytest.raises(AuthError, match="gemini/direct: not configured; set GEMINI_API_KEY"):
        build({}, (closed,))[0].ask(CALL)
    with pytest.raises(AuthError, match="the chain of routes is empty"):
        build({}, ())[0].ask(CALL)


def test_a_cached_reply_costs_nothing_and_asks_nobody(tmp_path):
    router, client, _ = build({BIG: [OK]}, cache=ReplyCache(tmp_path), price_of_one=1.0)
    assert router.ask(CALL).cost == 1.0
    seen = []
    again = router.ask(CALL, seen.append)
    assert (again.reply, again.cached, again.cost, seen) == (OK, True, 0.0, ["sixty seconds"])
    assert outcomes(again) == [("big", "cached", "")]
    assert len(client.sent) == 1


def test_a_cache_that_cannot_be_written_does_not_cost_the_reply(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    router, _, _ = build({BIG: [OK]}, cache=ReplyCache(tmp_path / "file" / "folder"))
    assert router.ask(CALL).reply == OK
    assert "a reply cannot be stored" in caplog.text


def test_failures_and_truncated_replies_are_not_cached(tmp_path):
    cut = Reply("sixty", 10, 100, "length")
    router, client, _ = build({OTHER: [CapacityError("x"), cut, OK]}, (B,), cache=ReplyCache(tmp_path))
    assert [router.ask(CALL).reply for _ in range(3)] == [cut, OK, OK]
    assert len(client.sent) == 3


def test_numbers_that_cannot_be_true_are_replaced_by_the_estimate():
    long = " ".join(["word"] * 90)
    for said, counted in [
        (Reply(long, 10, 90), (10, 90, True)),
        (Reply(long, 0, 0), (4 + 1, 90, False)),
        (Reply(long, 5, 29), (5, 90, False)),  # 29 x 3 < 90
        (Reply(long, 5, 30), (5, 30, True)),
        (Reply(long, 5, 1_000, counted=False), (5, 1_000, False)),
        (Reply(long, 2, 20, counted=False), (5, 90, False)),
    ]:
        router, _, _ = build({OTHER: [said]}, (B,))
        reply = router.ask(CALL).reply
        assert (reply.input_tokens, reply.output_tokens, reply.counted) == counted
        used = router.lanes.of(B).limiter.used()
        assert (used.input_tokens, used.output_tokens) == counted[:2]


def test_a_request_that_broke_off_counts_in_full_and_a_refused_one_no_output():
    router, _, _ = build({OTHER: [CapacityError("timeout")]}, (B,), policy=RetryPolicy(attempts=1))
    with pytest.raises(CapacityError):
        router.ask(CALL)
    assert router.lanes.of(B).limiter.used() == (1, 5, 100)
    router, _, _ = build({OTHER: [QuotaError("x")]}, (B,))
    with pytest.raises(QuotaError):
        router.ask(CALL)
    assert router.lanes.of(B).limiter.used() == (1, 5, 0)


def test_a_client_that_may_produce_more_than_asked_is_reserved_for_that():
    class Thinking(Scripted):
        def most_output(self, target, call):
            return max(call.max_output_tokens, 8_192)

    def router(limit):
        clock = SimulatedClock()
        route = RouteSettings("openai", "azure", ("other",), Limits(output_tpm=limit))
        return Router((route,), Thinking(clock, {OTHER: [OK]}), Lanes(clock))

    assert router(8_192).ask(CALL).reply == OK
    with pytest.raises(ContextOverflowError, match="8,192 tokens"):
        router(8_191).ask(CALL)


def test_a_spending_cap_ends_the_call_before_anything_is_sent(tmp_path):
    spending = Spending(Caps(day=1.0), tmp_path, today=lambda: "2026-01-31")
    router, client, _ = build({BIG: [OK]}, spending=spending, price_of_one=0.4)
    router.ask(CALL)
    router.ask(CALL)
    with pytest.raises(SpendingCapError):
        router.ask(CALL)
    assert len(client.sent) == 2
    assert spent_on(tmp_path, "2026-01-31") == (0.8, 2)
    router, client, _ = build({BIG: [OK]}, spending=Spending(Caps(run=1.0)), price_of_one=None)
    with pytest.raises(SpendingCapError, match="no price of model 'big'"):
        router.ask(CALL)
    assert client.sent == []


def test_sixteen_threads_spend_no_more_than_the_cap():
    clock = ThreadedClock()
    spending = Spending(Caps(run=1.0), clock=clock)
    router, client, _ = build({OTHER: [OK]}, (B,), clock, seconds=1.0, spending=spending, price_of_one=0.03)
    ended = []

    def work():
        with pytest.raises(SpendingCapError):
            while True:
                router.ask(CALL)
        ended.append(True)

    clock.run([work] * 16)
    assert len(ended) == 16
    assert len(client.sent) == 33
    assert spending.spent == 0.99


def test_cancelling_reaches_the_wait_for_a_429_and_for_a_limit():
    for script, limits in [([RateLimitError("x", 50.0)], Limits()), ([OK], Limits(rpm=1))]:
        clock = SimulatedClock()
        router, client, _ = build({OTHER: script}, (RouteSettings("openai", "azure", ("other",), limits),), clock)
        if limits.rpm:
            router.ask(CALL)
        with pytest.raises(CancelledError):
            router.ask(CALL, cancelled=lambda clock=clock: clock.now() >= 5.0)
        assert 5.0 <= clock.now() <= 5.2
        assert len(client.sent) == 1


def test_a_cancelled_probe_gives_its_place_back():
    router, _, clock = build({OTHER: [CapacityError("x")] * 3 + [CancelledError("c"), OK]}, (B,))
    for _ in range(2):
        with pytest.raises(CapacityError):
            router.ask(CALL)
    clock.advance(60)
    with pytest.raises(CancelledError):
        router.ask(CALL)
    assert router.ask(CALL).reply == OK


def test_an_error_of_the_caller_leaves_no_place_taken():
    router, _, clock = build({OTHER: [CapacityError("x")] * 3 + [("piece", OK)]}, (B,))
    for _ in range(2):
        with pytest.raises(CapacityError):
            router.ask(CALL)
    clock.advance(60)
    with pytest.raises(ZeroDivisionError):
        router.ask(CALL, lambda piece: 1 / 0)
    assert router.ask(CALL, lambda piece: None).reply == OK


def test_those_who_wait_for_a_route_that_breaks_go_to_the_next_one():
    clock = ThreadedClock()
    first = RouteSettings("anthropic", "direct", ("big",), Limits(rpm=1))
    router, client, _ = build(
        {BIG: [QuotaError("x")], OTHER: [OK]}, (first, B), clock, seconds=3.0, settings=LaneSettings(margin=0.0)
    )
    moments = []

    def work():
        router.ask(CALL)
        moments.append(clock.now())

    clock.run([work] * 5)
    # One asks the first route and hears at 3 s that its quota is used up; all five then go to the other: 3 s more.
    assert client.names == [BIG] + [OTHER] * 5
    assert moments == [6.0] * 5


def test_every_call_is_logged_without_prompt_text_or_message(caplog):
    router, _, _ = build(
        {BIG: [QuotaError("SERVERTEXT")], OTHER: [OK, ProviderError("SERVERTEXT")]}, price_of_one=0.5
    )
    with caplog.at_level(logging.INFO, "rankproof.router"):
        router.ask(CALL)
        with pytest.raises(ProviderError):
            router.ask(CALL)
    first, second = (record.getMessage() for record in caplog.records)
    assert first == (
        "route=openai/azure model=other seconds=0.000 input_tokens=10 output_tokens=3 cost=0.500000 cached=False "
        "attempts=3 tried=anthropic/direct:big:failed:QuotaError,anthropic/direct:small:skipped:QuotaError,"
        "openai/azure:other:answered"
    )
    assert second.startswith("no reply: ProviderError")
    for text in ("PROMPT", "SERVERTEXT", "sixty"):
        assert text not in caplog.text


def test_other_processes_see_how_the_routes_stand(tmp_path):
    state = StateFile(tmp_path / "state.json", wall=lambda: 1_000.0)
    router, _, _ = build({BIG: [QuotaError("SERVERTEXT")], OTHER: [OK]}, state=state, price_of_one=0.5)
    router.ask(CALL)
    anthropic, openai = read_states(tmp_path / "state.json", now=1_001.0)
    assert (anthropic.breaker, anthropic.open_until, anthropic.last_error) == ("open", 4_600.0, "QuotaError")
    assert (anthropic.requests, anthropic.failures, anthropic.cost) == (1, 1, 0.0)
    assert (openai.minute_requests, openai.minute_input_tokens, openai.requests, openai.cost) == (1, 10, 1, 0.5)
    assert "SERVERTEXT" not in (tmp_path / "state.json").read_text()


def test_routers_that_share_lanes_share_limits_and_a_contradiction_is_refused():
    clock = SimulatedClock()
    route = RouteSettings("openai", "azure", ("other",), Limits(rpm=1))
    lanes = Lanes(clock)
    client = Scripted(clock, {OTHER: [OK]})
    Router((route,), client, lanes).ask(CALL)
    Router((route,), client, lanes).ask(CALL)
    assert [moment for _, moment in client.sent] == [0.0, 61.0]
    with pytest.raises(RequestError, match="one set of limits"):
        Router((B,), client, lanes).ask(CALL)


def test_one_router_serves_many_real_threads():
    router, _, _ = build({OTHER: [OK]}, (B,), clock=SystemClock())
    got = []
    threads = [threading.Thread(target=lambda: got.append(router.ask(CALL).reply)) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [OK] * 32

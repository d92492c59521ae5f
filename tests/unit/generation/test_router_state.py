"""The state file: what one process writes and another one reads, aged by hand; broken files; many writers."""

from __future__ import annotations

import json
import threading

import pytest

from generation.errors import RequestError
from generation.router.state import RouteState, StateFile, read_states


def test_no_file_is_no_use(tmp_path):
    assert read_states(tmp_path / "state.json", now=0.0) == ()


def test_two_processes_are_added_up_and_the_later_one_tells_the_breaker(tmp_path):
    path = tmp_path / "router" / "state.json"
    first = RouteState("openai/direct", "open", 1_030.0, "CapacityError", 3, 300, 30, 5, 500, 50, 0.25, 2)
    second = RouteState("openai/direct", "closed", None, "", 1, 100, 10, 2, 200, 20, 0.5, 0)
    other = RouteState("gemini/vertex", requests=1)
    StateFile(path, wall=lambda: 1_000.0, process="1").write([first])
    StateFile(path, wall=lambda: 1_010.0, process="2").write([second, other])
    gemini, openai = read_states(path, now=1_020.0)
    assert gemini == RouteState("gemini/vertex", requests=1, written=1_010.0)
    wanted = RouteState("openai/direct", "closed", None, "CapacityError", 4, 400, 40, 7, 700, 70, 0.75, 2, 1_010.0)
    assert openai == wanted


def test_time_that_has_passed_is_taken_into_account(tmp_path):
    path = tmp_path / "state.json"
    state = RouteState("openai/direct", "open", 1_060.0, "QuotaError", 3, 300, 30, 5, 500, 50)
    StateFile(path, wall=lambda: 1_000.0).write([state])
    (young,) = read_states(path, now=1_059.0)
    assert (young.breaker, young.open_until, young.minute_requests) == ("open", 1_060.0, 3)
    (old,) = read_states(path, now=1_060.0)
    assert (old.breaker, old.open_until, old.minute_requests, old.requests) == ("half open", None, 0, 5)
    assert read_states(path, now=1_000.0 + 86_400) == ()


def test_a_route_that_needs_a_new_key_stays_open(tmp_path):
    path = tmp_path / "state.json"
    StateFile(path, wall=lambda: 0.0).write([RouteState("openai/direct", "open", None, "AuthError")])
    (state,) = read_states(path, now=80_000.0)
    assert (state.breaker, state.open_until, state.last_error) == ("open", None, "AuthError")


def test_a_process_replaces_what_it_wrote_and_drops_what_is_a_day_old(tmp_path):
    path = tmp_path / "state.json"
    StateFile(path, wall=lambda: 0.0, process="old").write([RouteState("openai/direct", requests=100)])
    mine = StateFile(path, wall=lambda: 90_000.0, process="mine")
    mine.write([RouteState("openai/direct", requests=1)])
    mine.write([RouteState("openai/direct", requests=2)])
    assert list(json.loads(path.read_text())["processes"]) == ["mine"]
    assert read_states(path, now=90_000.0)[0].requests == 2


def test_it_is_due_once_a_second(tmp_path):
    now = [0.0]
    state = StateFile(tmp_path / "state.json", wall=lambda: now[0])
    assert state.due()
    state.write([])
    now[0] = 0.9
    assert not state.due()
    now[0] = 1.0
    assert state.due()


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"version": 2, "processes": {}}', '{"version": 1, "processes": {"1": [{"route": 3}]}}'],
)
def test_a_broken_file_is_named_with_its_remedy_and_a_writer_replaces_it(tmp_path, caplog, content):
    path = tmp_path / "state.json"
    path.write_text(content)
    with pytest.raises(RequestError, match=r"state\.json is not a router's state.*remove it"):
        read_states(path, now=0.0)
    StateFile(path, wall=lambda: 0.0).write([RouteState("openai/direct")])
    assert "is not a router's state" in caplog.text
    assert len(read_states(path, now=0.0)) == 1


def test_many_writers_lose_nothing(tmp_path):
    path = tmp_path / "state.json"

    def work(number):
        for count in range(1, 6):
            mine = StateFile(path, wall=lambda: 0.0, process=str(number))
            mine.write([RouteState("openai/direct", requests=count)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_states(path, now=0.0)[0].requests == 8 * 5

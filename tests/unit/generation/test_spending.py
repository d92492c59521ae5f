"""Spending caps: what is reserved, settled, refused; sixteen threads; two processes and a crash."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from generation.errors import RequestError, SpendingCapError
from generation.router.spending import Caps, Spending, nano, spent_on
from generation.router.wire import Target

TARGET = Target("openai", "direct", "gpt-x")


def test_a_cap_counts_what_is_reserved_until_it_is_settled():
    spending = Spending(Caps(run=1.0))
    hold = spending.reserve(TARGET, 0.7)
    spending.settle(hold, 0.1)
    assert spending.spent == 0.1
    spending.settle(spending.reserve(TARGET, 0.9), 0.9)  # .1 + .9 reach the cap and do not pass it
    with pytest.raises(SpendingCapError, match=r"direct: 'gpt-x' may cost up to \$0\.010000.*run: \$1\.000000"):
        spending.reserve(TARGET, 0.01)


def test_tenths_add_up_exactly():
    spending = Spending(Caps(run=0.3))
    for _ in range(3):
        spending.settle(spending.reserve(TARGET, 0.1), 0.1)
    assert spending.spent == 0.3
    assert nano(0.1 + 0.2) == 300_000_000


def test_what_is_released_costs_nothing():
    spending = Spending(Caps(run=1.0, run_requests=1))
    spending.release(spending.reserve(TARGET, 1.0))
    spending.settle(spending.reserve(TARGET, 1.0), 1.0)
    with pytest.raises(SpendingCapError, match="1 requests spent of"):
        spending.reserve(TARGET, 0.0)


def test_an_unknown_price_is_refused_where_dollars_are_capped():
    with pytest.raises(SpendingCapError, match=r"direct: no price of model 'gpt-x' is known.*'gpt-x: \{input: 1"):
        Spending(Caps(run=1.0)).reserve(TARGET, None)
    spending = Spending(Caps(run_requests=1))
    spending.settle(spending.reserve(TARGET, None), None)
    assert spending.spent == 0.0


def spend_by_threads(spending, reserved, cost):
    """Sixteen threads that go on until they are refused."""

    def work():
        with pytest.raises(SpendingCapError):
            while True:
                spending.settle(spending.reserve(TARGET, reserved), cost)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("by_day", [False, True])
def test_sixteen_threads_pass_no_cap_and_use_it_up_to_one_request(tmp_path, by_day):
    caps = Caps(day=1.0) if by_day else Caps(run=1.0)
    spending = Spending(caps, tmp_path if by_day else None, today=lambda: "2026-01-31")
    spend_by_threads(spending, reserved=0.05, cost=0.03)
    # By hand: refused when .95 is passed; 32 x .03 = .96.
    assert spending.spent == 0.96


@pytest.mark.parametrize("by_day", [False, True])
def test_a_server_that_charges_more_than_was_asked_passes_a_cap_by_at_most_one_request(tmp_path, by_day):
    """The first sixteen are all under way when the first is settled: 16 x .05 = .8; from then on .05 is reserved."""
    caps = Caps(day=1.0) if by_day else Caps(run=1.0)
    spending = Spending(caps, tmp_path if by_day else None, today=lambda: "2026-01-31")
    spend_by_threads(spending, reserved=0.04, cost=0.05)
    assert 0.95 <= spending.spent <= 1.0 + 0.05


def test_what_once_cost_more_than_was_asked_is_reserved_at_that_from_then_on():
    spending = Spending(Caps(run=0.099))
    other = Target("openai", "direct", "gpt-y")
    spending.settle(spending.reserve(TARGET, 0.04), 0.05)
    with pytest.raises(SpendingCapError, match=r"may cost up to \$0\.050000"):  # 1.25 x .04, and .049 are left
        spending.reserve(TARGET, 0.04)
    spending.settle(spending.reserve(other, 0.04), 0.04)


def test_reservations_that_are_settled_for_less_let_the_others_go_on():
    """Worst case 1, true cost .1: the ones that cannot all be reserved at once wait instead of being refused."""
    spending = Spending(Caps(run=2.0))
    done = []

    def work():
        hold = spending.reserve(TARGET, 1.0)
        spending.settle(hold, 0.1)
        done.append(True)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 10
    assert spending.spent == 1.0


def test_a_days_sum_is_kept_over_processes_and_a_new_day_begins_at_nothing(tmp_path):
    script = (
        "from pathlib import Path; from generation.router.spending import *;"
        "from generation.router.wire import Target;"
        f"s = Spending(Caps(day=1.0), Path({str(tmp_path)!r}), today=lambda: '2026-01-31');"
        "t = Target('openai', 'direct', 'gpt-x');"
        "s.settle(s.reserve(t, .5), .25); s.reserve(t, .5)"  # the second is never settled: the process ends
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert spent_on(tmp_path, "2026-01-31") == (0.75, 2)
    day = ["2026-01-31"]
    spending = Spending(Caps(day=1.0), tmp_path, today=lambda: day[0])
    spending.settle(spending.reserve(TARGET, 0.25), 0.2)
    with pytest.raises(SpendingCapError, match=r"day: \$0\.950000 and 3 requests spent of \$1\.000000"):
        spending.reserve(TARGET, 0.1)
    assert spending.spent == 0.2
    before_midnight = spending.reserve(TARGET, 0.05)
    day[0] = "2026-02-01"
    spending.settle(spending.reserve(TARGET, 1.0), 1.0)
    spending.settle(before_midnight, 0.04)
    assert spent_on(tmp_path, "2026-01-31") == (0.99, 4)
    assert spent_on(tmp_path, "2026-02-01") == (1.0, 1)


def test_a_line_cut_short_is_forgotten_and_a_broken_one_is_named(tmp_path):
    spending = Spending(Caps(day=1.0), tmp_path, today=lambda: "2026-01-31")
    spending.settle(spending.reserve(TARGET, 0.5), 0.5)
    path = tmp_path / "spending-2026-01-31.jsonl"
    with path.open("a") as handle:
        handle.write('{"request": "x", "nanodol')
    assert spent_on(tmp_path, "2026-01-31") == (0.5, 1)
    assert path.read_text().endswith("\n")
    with path.open("a") as handle:
        handle.write(json.dumps({"request": "x", "nanodollars": -5}) + "\n")
    with pytest.raises(RequestError, match=r"spending-2026-01-31\.jsonl, line 3"):
        spent_on(tmp_path, "2026-01-31")


def test_a_removed_file_begins_the_day_anew(tmp_path):
    spending = Spending(Caps(day=1.0), tmp_path, today=lambda: "2026-01-31")
    spending.settle(spending.reserve(TARGET, 1.0), 1.0)
    (tmp_path / "spending-2026-01-31.jsonl").unlink()
    spending.settle(spending.reserve(TARGET, 0.9), 0.9)
    assert spent_on(tmp_path, "2026-01-31") == (0.9, 1)


def test_impossible_caps_are_refused():
    with pytest.raises(RequestError, match="needs a folder"):
        Spending(Caps(day=1.0))
    with pytest.raises(RequestError, match="cap run is nan"):
        Caps(run=float("nan"))

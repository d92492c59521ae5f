"""The limiter: what a request costs in time, and how far 10,000 simulated requests use the limits of six routes.

Printed: microseconds per request for one thread and for 64 that contend (real clock, limits that do not bind), and by
route the fullest window of 60 seconds and the share of each limit that was used. Asked: no window above a limit, and
at least 95 % of the one that binds. Run with `python -m benchmarks.router_limits`.
"""

from __future__ import annotations

import threading
import time

from generation.router.clock import SystemClock
from generation.router.limits import Limiter, Limits
from tests.traffic import RESOURCES, default_routes, fullest, no_fault, simulate, use

REQUESTS, THREADS = 10_000, 64
WIDE = Limits(10**9, 10**9, 10**9)


def send(limiter: Limiter, count: int) -> None:
    for _ in range(count):
        limiter.settle(limiter.acquire(1_000, 500), 900, 200)


def microseconds(threads: int) -> float:
    limiter = Limiter(WIDE, SystemClock())
    workers = [threading.Thread(target=send, args=(limiter, REQUESTS // threads)) for _ in range(threads)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.perf_counter() - begin) / (REQUESTS // threads * threads) * 1e6


def main() -> None:
    print(
        f"acquire and settle: {microseconds(1):.1f} us, {THREADS} threads: {microseconds(THREADS):.1f} us a request"
    )
    begin = time.perf_counter()
    log, replies, errors = simulate(no_fault)
    seconds = time.perf_counter() - begin
    print(f"{len(replies)} replies, {len(errors)} errors in {seconds:.1f} s\n")
    print(f"{'route':20}{'requests':>9}" + "".join(f"{name + ' fullest':>26}{'used':>7}" for name in RESOURCES))
    for name, route in default_routes().items():
        most, used = fullest(log[name], route), use(log[name], route)
        cells = [f"{most[r]:>15,.0f} /{getattr(route.limits, r):>9,}{used[r]:>7.1%}" for r in RESOURCES]
        print(f"{name:20}{len(log[name]):>9}" + "".join(cells))


if __name__ == "__main__":
    main()

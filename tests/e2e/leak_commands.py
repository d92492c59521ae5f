"""The commands that ask a model, in a process full of keys with a crash at its end; for `test_key_leaks_commands.py`.

`python -m tests.e2e.leak_commands ask|run_eval [unguarded]` reads `{"arguments", "times", "crash"}`; unguarded,
nothing is redacted.
"""

from __future__ import annotations

import json
import runpy
import sys
from typing import NoReturn

from ingestion.config import ROOT


def main(command: str, guarded: bool) -> None:
    """Run a command, then crash with words that nobody catches."""
    if not guarded:
        from generation.router.secrets import Redactor

        Redactor.redact = lambda self, text: text  # type: ignore[method-assign]
    given = json.load(sys.stdin)
    {"ask": ask, "run_eval": evaluate}[command](given["arguments"], given["times"], given["crash"])


def ask(arguments: list[str], times: int, crash: str) -> NoReturn:
    """Ask so often."""
    from generation.__main__ import main

    codes = [main(["ask", *arguments, *(["--stream"] if number % 2 else [])]) for number in range(times)]
    print("codes", *codes)
    raise RuntimeError(crash)


def evaluate(arguments: list[str], times: int, crash: str) -> None:
    """One run; it crashes within Hydra's job, when everything is written and logged."""
    from evaluation import runner

    track = runner.track

    def crashing(request: runner.Request) -> NoReturn:
        track(request)
        raise RuntimeError(crash)

    runner.track = crashing
    sys.argv = ["run_eval.py", *arguments]
    runpy.run_path(str(ROOT / "run_eval.py"), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], "unguarded" not in sys.argv)

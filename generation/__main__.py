"""`python -m generation ask | providers`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

USAGE = """usage: python -m generation ask "question" [strategy=bm25] [provider=anthropic] [--json] [--stream]
       python -m generation providers [router=<file>] [--json]     routes to language models: ready, limits, breaker

Each has its own --help."""
COMMANDS = {"ask": "generation.ask_command", "providers": "generation.router.providers_command"}
STOPPED = 130  # what a shell says of a program that Ctrl-C ended


def main(arguments: Sequence[str]) -> int:
    """Run a command; returns its exit code (2 for an unknown one, 130 where Ctrl-C ended it)."""
    if not arguments or arguments[0] not in COMMANDS:
        print(USAGE)
        return 0 if set(arguments) & {"-h", "--help"} else 2
    try:
        return int(importlib.import_module(COMMANDS[arguments[0]]).main(arguments[1:]))
    except KeyboardInterrupt:
        print("generation: stopped; what was shown so far is no whole answer", file=sys.stderr)
        return STOPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

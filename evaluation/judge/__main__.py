"""`python -m evaluation.judge`: judge the passages of a pool with keys, on a local page or in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation.errors import RequestError
from evaluation.judge.desk import Desk
from evaluation.judge.generator import configured_generator
from evaluation.judge.journal import Journal
from evaluation.judge.llm import judge_pool
from evaluation.judge.server import JudgeServer
from evaluation.judge.terminal import judge_in_terminal
from evaluation.options import Options, read_options, run_command
from evaluation.pool.file import journal_path, read_pool
from evaluation.sources import check_source

USAGE = """usage: python -m evaluation.judge <pool.jsonl> [source=hand:<name>] [port=0] [terminal=false]
       python -m evaluation.judge <pool.jsonl> by=llm:<model> [router=<file>]

Prints the address of a page on this machine, and serves it until Ctrl-C; terminal=true asks here instead. Keys: 0 to
3 judge and go on, arrows or j and k move, u takes back, space or enter skips. Every judgment is stored at once in
<pool>.judgments.jsonl; the command takes up where it stopped, and sources are kept apart.

by=llm:<model> has a language model judge what it has not judged yet: a model as its route has it, or exactly, such as
by=llm:openai/azure:<model>. `python -m generation providers` shows the routes.

Then: python -m evaluation.pool import=<pool>.judgments.jsonl into=<benchmark>"""
KEYS = ("source", "port", "terminal", "by", "router")


def main(arguments: Sequence[str]) -> int:
    """Judge a pool; returns the exit code."""
    return run_command("judge", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, KEYS)
    if len(options.words) != 1:
        raise RequestError("name one pool: python -m evaluation.judge pool.jsonl")
    path = Path(options.words[0])
    source = check_source(options.values.get("by", options.values.get("source", "hand")))
    if ("by" in options.values) != source.startswith("llm"):
        raise RequestError(
            "by=llm:<model> asks a language model, source=hand:<name> a person; give the one that fits"
        )
    passages = tuple(read_pool(path))
    desk = Desk(passages, Journal.open(journal_path(path), source))
    if "by" in options.values:
        return judge_pool(
            desk, configured_generator(source.partition(":")[2], router_file=options.values.get("router"))
        )
    if options.flag("terminal"):
        judge_in_terminal(desk, sys.stdin, sys.stdout)
        return 0
    return _serve(desk, options)


def _serve(desk: Desk, options: Options) -> int:
    port = options.values.get("port", "0")
    if not port.isdecimal() or int(port) > 65535:
        raise RequestError(f"port={port}: must be a number from 0 (any free one) to 65535")
    try:
        server = JudgeServer(desk, int(port))
    except OSError as error:
        raise RequestError(f"port={port}: {error.strerror}; leave port= out to take a free one") from error
    print(f"{desk.done} of {len(desk.passages)} passages judged as {desk.journal.source}; stop with Ctrl-C")
    print(server.address, flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(f"\n{desk.done} of {len(desk.passages)} judged; stored in {desk.journal.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m retrieval compare`: what several strategies answer to one question, side by side.

Ranks are compared, never scores: a score is private to the stage that made it.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from ingestion.config import load, to_plain
from ingestion.errors import ConfigError
from retrieval.api import Hit, Ranked, Searcher
from retrieval.arguments import read
from retrieval.build import build_strategy, strategy_config
from retrieval.compare_page import page

USAGE = """usage: python -m retrieval compare "question" [suite=core] [corpus.path=papers/] [k=5] [out=compare.html]

Prints the best k chunks of every strategy of a suite (or suite.strategies=[bm25,rrf]) with document, page, section,
and where each stage put them; out=<file> writes the same as one HTML page that opens offline.
where.document=<name,...> where.section=<text> where.year=2019-2021 restrict all of them alike."""
SNIPPET = 200  # characters of a chunk in the terminal


def main(arguments: Sequence[str]) -> int:
    """Compare by hand; returns the exit code.

    Raises:
        ConfigError, IngestionError, RetrievalError: what is wrong, and the remedy.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    asked = read(arguments, k=5)
    if any(override.startswith("strategy=") for override in asked.overrides):
        raise ConfigError("compare takes suite=<name> or suite.strategies=[<name>,<name>], not strategy=")
    plain = to_plain(load([override for override in asked.overrides if not override.startswith("out=")]))
    stages = {str(name): build_strategy(strategy_config(str(name))) for name in plain["suite"]["strategies"]}
    searcher = Searcher.open(plain["corpus"]["path"], overrides=asked.overrides)
    ranked = searcher.compare(asked.question, stages, asked.k, asked.where)
    print(as_text(ranked))
    out = next((override.partition("=")[2] for override in asked.overrides if override.startswith("out=")), None)
    if out:
        Path(out).write_text(page(asked.question, ranked, searcher.corpus), encoding="utf-8")
        print(f"\n{out} opens in any browser")
    return 0


def as_text(ranked: Sequence[Ranked]) -> str:
    """A block per ranking; strategies with equal hits share one, those that could not run come last."""
    width = min(118, shutil.get_terminal_size().columns)
    blocks = []
    for names, hits in grouped(ranked):
        head = ", ".join(names)
        body = [_line(hit, width) for hit in hits] or ["   nothing found"]
        blocks.append("\n".join([f"== {head}", *body]))
    absent = [f"{answer.strategy}: {answer.reason}" for answer in ranked if answer.reason]
    return "\n\n".join([*blocks, *(["\n".join(absent)] if absent else [])])


def grouped(ranked: Sequence[Ranked]) -> list[tuple[list[str], tuple[Hit, ...]]]:
    """Strategies with the same chunks in the same order together, in the order in which they were given."""
    groups: dict[tuple[str, ...], tuple[list[str], tuple[Hit, ...]]] = {}
    for answer in ranked:
        if not answer.reason:
            key = tuple(hit.chunk_id for hit in answer.hits)
            groups.setdefault(key, ([], answer.hits))[0].append(answer.strategy)
    return list(groups.values())


def _line(hit: Hit, width: int) -> str:
    text = textwrap.shorten(hit.text, SNIPPET, placeholder=" ...")
    body = textwrap.fill(text, width, initial_indent="      ", subsequent_indent="      ")
    return f"   {hit.rank}. {hit.place}   [{hit.came_from}]\n{body}"

"""`python -m retrieval "question" strategy=rrf corpus.path=papers/`: ranked chunks, stage by stage."""

from __future__ import annotations

import importlib
import shutil
import sys
import textwrap
from collections.abc import Sequence

from ingestion.config import load, to_plain
from ingestion.errors import ConfigError, IngestionError
from retrieval.api import Hit, Searcher
from retrieval.arguments import read
from retrieval.build import build_strategy, check_strategy
from retrieval.errors import FilterError, RetrievalError, StageConfigError, StrategyNotFoundError

USAGE = """usage: python -m retrieval "question" [strategy=bm25] [corpus.path=papers/] [k=10] [key=value ...]
       python -m retrieval compare "question" [suite=core] [out=compare.html]     strategies side by side
       python -m retrieval qdrant-status [url=http://localhost:6333]               what a Qdrant holds

Prints the best chunks with document, page, section and text, and where every stage of the strategy put them.
A score is private to its stage: compare ranks. Parameters: strategy.then.mmr.lam=.5, chunker=page, ...
where.document=<name,...> where.section=<text> where.year=2019-2021 restrict what may be shown.
Strategies are the files in conf/strategy/."""
COMMANDS = {"compare": "compare", "qdrant-status": "qdrant_status"}


def main(arguments: Sequence[str]) -> int:
    """Search by hand; returns the exit code (0 found or nothing found, 1 a failure, 2 a wrong request)."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    try:
        if arguments[0] in COMMANDS:
            command = importlib.import_module(f"retrieval.{COMMANDS[arguments[0]]}")
            return int(command.main(arguments[1:]))
        hits = _search(arguments)
    except (ConfigError, StrategyNotFoundError, StageConfigError, FilterError) as error:
        print(f"retrieval: {error}", file=sys.stderr)
        return 2
    except (IngestionError, RetrievalError) as error:
        print(f"retrieval: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("\n\n".join(as_text(hit) for hit in hits) or "nothing found: no chunk that may be shown fits the question")
    return 0


def _search(arguments: Sequence[str]) -> list[Hit]:
    """The hits of one question; the configuration is checked before the corpus is read."""
    asked = read(arguments, k=10)
    rest = list(asked.overrides)
    if not any(override.startswith("strategy=") for override in rest):
        rest.insert(0, "strategy=bm25")
    check_strategy(rest)
    plain = to_plain(load(rest))
    stage = build_strategy(plain["strategy"])
    searcher = Searcher.open(plain["corpus"]["path"], overrides=rest)
    return searcher.search_stage(asked.question, stage, asked.k, asked.where)


def as_text(hit: Hit) -> str:
    """A hit as a paragraph, wrapped to the terminal."""
    width = min(100, shutil.get_terminal_size().columns)
    where = f"{hit.rank}. {hit.place}"
    stages = "   ".join(f"{stage.stage} {stage.rank} ({stage.score:.4g})" for stage in hit.stages)
    body = textwrap.fill(hit.text, width, initial_indent="   ", subsequent_indent="   ")
    return f"{where}   [{hit.chunk_id}]\n   {stages}\n{body}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

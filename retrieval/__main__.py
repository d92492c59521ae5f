"""`python -m retrieval "question" strategy=rrf corpus.path=papers/`: ranked chunks, stage by stage."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

from ingestion.config import load, to_plain
from ingestion.errors import ConfigError, IngestionError
from retrieval.api import Hit, Searcher
from retrieval.build import build_strategy, check_strategy
from retrieval.errors import RetrievalError, StageConfigError, StrategyNotFoundError

USAGE = """usage: python -m retrieval "question" [strategy=bm25] [corpus.path=papers/] [k=10] [key=value ...]

Prints the best chunks with document, page, section and text, and where every stage of the strategy put them.
A score is private to its stage: compare ranks. Parameters: strategy.then.mmr.lam=.5, chunker=page, ...
Strategies are the files in conf/strategy/."""


def main(arguments: Sequence[str]) -> int:
    """Search by hand; returns the exit code (0 found or nothing found, 1 a failure, 2 a wrong request)."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    question, *overrides = arguments
    try:
        hits = _search(question, overrides)
    except (ConfigError, StrategyNotFoundError, StageConfigError) as error:
        print(f"retrieval: {error}", file=sys.stderr)
        return 2
    except (IngestionError, RetrievalError) as error:
        print(f"retrieval: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(
        "\n\n".join(as_text(hit) for hit in hits)
        or "nothing found: no chunk shares an indexed term with the question"
    )
    return 0


def _search(question: str, overrides: Sequence[str]) -> list[Hit]:
    """The hits of one question; the configuration is checked before the corpus is read."""
    k, rest = 10, []
    for override in overrides:
        key, _, value = override.partition("=")
        if key != "k":
            rest.append(override)
        elif value.isdecimal() and int(value) > 0:
            k = int(value)
        else:
            raise ConfigError(f"k={value!r}: must be a whole number from 1")
    if not any(override.startswith("strategy=") for override in rest):
        rest.insert(0, "strategy=bm25")
    check_strategy(rest)
    plain = to_plain(load(rest))
    stage = build_strategy(plain["strategy"])
    searcher = Searcher.open(plain["corpus"]["path"], overrides=rest)
    return searcher.search_stage(question, stage, k)


def as_text(hit: Hit) -> str:
    """A hit as a paragraph, wrapped to the terminal."""
    width = min(100, shutil.get_terminal_size().columns)
    where = f"{hit.rank}. {hit.doc_name}, page {hit.page}" + (f", § {hit.section}" if hit.section else "")
    stages = "   ".join(f"{stage.stage} {stage.rank} ({stage.score:.4g})" for stage in hit.stages)
    body = textwrap.fill(hit.text, width, initial_indent="   ", subsequent_indent="   ")
    return f"{where}   [{hit.chunk_id}]\n   {stages}\n{body}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

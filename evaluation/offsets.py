"""`python -m evaluation.offsets`: write page and offsets of every quote into a benchmark's `evidence.jsonl`.

Run it after papers or questions changed; `make corpus` does. Quotes are found again anyway when a benchmark is read;
with offsets that is exact, and quotes that are not in the text show at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation.errors import EvaluationError
from evaluation.locate import write_offsets
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.errors import IngestionError
from ingestion.pipeline import ingest_configured

USAGE = """usage: python -m evaluation.offsets [benchmark.path=<folder>] [corpus.path=<folder>]

Writes page, char_start and char_end of every quote into <folder>/evidence.jsonl; lists the quotes that are not in the
corpus, and exits with 1 if there are any. Defaults: the bundled benchmark and corpus."""


def main(arguments: Sequence[str]) -> int:
    """Fill the offsets; returns the exit code (1 if a quote is missing, 2 for a wrong request)."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    try:
        plain = to_plain(load(arguments))
        store = ArtifactStore(Path(plain["artifacts"]))
        corpus = ingest_configured(plain, store)
        orphans = write_offsets(Path(plain["benchmark"]["path"]), corpus)
    except (EvaluationError, IngestionError) as error:
        print(f"offsets: {error}", file=sys.stderr)
        return 2
    for row in orphans:
        print(f"not in the corpus: {row.qid}: {row.doc}, page {row.page}: {row.quote!r}", file=sys.stderr)
    print(f"{plain['benchmark']['path']}/evidence.jsonl: offsets written, {len(orphans)} quotes not found")
    return 1 if orphans else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The command `python -m ingestion corpus.path=<folder>`: read PDFs, keep their tables, say what failed.

Exit codes: 0 done (files that failed are listed), 1 the run failed, 2 the request is wrong and nothing was started.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingestion.errors import ConfigError, IngestionError

USAGE = """\
python -m ingestion corpus.path=<folder or PDF> [key=value ...]

Reads PDFs into tables of chunks, documents and pages; what was read before is not read again.

  chunker=sentence|page|fixed      how text is cut; chunker.max_words=120 sets a parameter
  store=parquet|lance|qdrant       where the tables are kept; store.path=<folder>
  ingest.timeout=60                seconds for one file
  ingest.memory_mb=2048            address space of a worker process
  ingest.max_pages=2000            a longer file is refused
  ingest.workers=0                 processes, 0: one per CPU
  ingest.strict=true               a file that cannot be read makes the command fail
  artifacts=<folder>               where extractions are kept
  out=<folder>                     where extraction.parquet (quality and removed lines by page) is written

python -m ingestion graph [<entity>] corpus.path=<folder>     the knowledge graph, or what surrounds an entity
"""


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    if not arguments or (arguments[0] != "graph" and {"-h", "--help"} & set(arguments)):
        print(USAGE, end="")
        return 0
    try:
        if arguments[0] == "graph":
            from ingestion.graph_command import main as graph

            return graph(arguments[1:])
        _run(arguments)
    except ConfigError as error:
        return _fail(error, 2)
    except IngestionError as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from the last finished file", file=sys.stderr)
        return 130
    return 0


def _fail(error: IngestionError, code: int) -> int:
    lines = [line for line in str(error).splitlines() if line.strip()]
    print("\n".join(["ingestion: " + lines[0], *lines[1:3]] if lines else ["ingestion failed"]), file=sys.stderr)
    return code


def _run(arguments: Sequence[str]) -> None:
    from omegaconf import OmegaConf

    from ingestion import config
    from ingestion.artifacts import ArtifactStore
    from ingestion.compose import build_chunker, build_ingest, build_store
    from ingestion.pipeline import check_strict, regime
    from ingestion.report import summary, write_report
    from ingestion.sync import sync

    for argument in arguments:
        if "=" not in argument:
            raise ConfigError(f"{argument!r}: write key=value, such as corpus.path=papers/; see --help")
    plain: Any = OmegaConf.to_container(config.load(arguments), resolve=True)
    folder, artifacts = Path(plain["corpus"]["path"]), ArtifactStore(Path(plain["artifacts"]))
    spec, chunker = build_ingest(plain["ingest"]), build_chunker(plain["chunker"])
    store = build_store(_placed(plain["store"], artifacts.root, folder, regime(chunker)))
    done = sync(folder, spec, chunker, artifacts, store)
    documents = store.documents()
    chunks = sum(table.num_rows for table in store.scan("chunks", ["doc_id"]))
    lines = [
        summary(documents, chunks, store.scan("pages", ["doc_id", "page", "quality"]), done.duplicates),
        f"{done.added} added, {done.replaced} replaced, {done.retried} tried again, {done.removed} removed,"
        f" {done.unchanged} unchanged",
        f"store: {getattr(store, 'url', None) or getattr(store, 'path', 'in memory, gone with this process')}",
    ]
    store.close()
    if plain["out"]:
        lines.append(f"report: {write_report(folder, artifacts, Path(plain['out']))}")
    print("\n".join(lines))
    if spec.strict:
        check_strict(documents)


def _placed(store: Mapping[str, Any], artifacts: Path, corpus: Path, regime: str) -> dict[str, Any]:
    """The store's parameters, with a folder for this corpus and way of chunking where none is named."""
    values = dict(store)
    if "path" in values and values["path"] is None and not values.get("url"):
        kind = str(values.get("_target_", "")).split(".")[-2:-1]
        place = hashlib.sha256(str(corpus.resolve()).encode()).hexdigest()[:8]
        values["path"] = str(artifacts / "stores" / f"{'-'.join([*kind, corpus.resolve().stem, place])}-{regime[:8]}")
    return values


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m evaluation.export`: hand the rankings and judgments of a finished run to other tools."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from evaluation.errors import EvaluationError, RequestError
from evaluation.export.beir import ExportError, write_beir
from evaluation.export.trec import write_trec
from evaluation.grades import Credit
from evaluation.replay import PATHS, Replay, ReplayError, replay
from ingestion.config import nearest
from ingestion.errors import ConfigError, IngestionError
from retrieval.errors import RetrievalError

USAGE = """\
python -m evaluation.export run=<results folder> to=trec|beir out=<folder> [credit=once|each] [corpus.path=...]

to=trec   qrels.trec and runs/<strategy>.trec, which trec_eval, pytrec_eval and ir_measures score to our values
to=beir   corpus.jsonl, queries.jsonl, qrels/<split>.tsv: every chunk a document
credit    once: chunks that cover the same span are one entry; each: chunk by chunk. Default: as the run was measured;
          BEIR layout knows each only
corpus.path, benchmark.path, benchmark.queries, benchmark.qrels, artifacts: where that is now, if it has moved
"""
LAYOUTS = ("trec", "beir")
KEYS = ("run", "to", "out", "credit", *PATHS)


@dataclass(frozen=True)
class Asked:
    """What was typed, checked; `credit` is None where the run's own is meant."""

    run: Path
    to: str
    out: Path
    credit: Credit | None
    moved: Mapping[str, str]


def read(arguments: Sequence[str]) -> Asked:
    """The request behind the command.

    Raises:
        ConfigError: an unknown key or value, or one is missing.
        ExportError: the layout does not know this credit, or the output folder is not empty.
    """
    given: dict[str, str] = {}
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if key not in KEYS:
            raise ConfigError(f"unknown key {key!r}{nearest(key, KEYS)}")
        if not sign or not value:
            raise ConfigError(f"{argument}: no value; write {key}=<value>")
        given[key] = value
    for key in ("run", "to", "out"):
        if key not in given:
            raise ConfigError(f"{key}= is missing; see --help")
    _one_of("to", given["to"], LAYOUTS)
    credit = _credit(given.get("credit"))
    if given["to"] == "beir" and credit == "once":
        raise ExportError("BEIR layout judges every document by itself; leave credit=once out, or choose to=trec")
    out = Path(given["out"])
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"out={out}: not an empty folder; choose another name")
    return Asked(Path(given["run"]), given["to"], out, credit, {key: given[key] for key in PATHS if key in given})


def _credit(value: str | None) -> Credit | None:
    """The credit that a text names, None for none.

    Raises:
        ConfigError: there is no such credit.
    """
    if value is not None:
        _one_of("credit", value, get_args(Credit))
    return "once" if value == "once" else "each" if value == "each" else None


def _one_of(key: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ConfigError(f"{key}={value!r}: no such choice{nearest(value, known)}")


def export(asked: Asked) -> list[Path]:
    """Write the files; returns their folders, one per chunker where the run compared several.

    Raises:
        ReplayError, EvaluationError, IngestionError: the run cannot be brought back.
        ExportError: it cannot be written in this layout.
    """
    folders = []
    for found in replay(asked.run, asked.moved):
        folder = asked.out / found.label
        _write(folder, found, asked)
        folders.append(folder)
    return folders


def _write(folder: Path, found: Replay, asked: Asked) -> None:
    if asked.to == "beir":
        write_beir(folder, found)
    else:
        credit = asked.credit or _credit(found.request.evaluation["credit"]) or "once"
        write_trec(folder, found, credit)


def main(arguments: Sequence[str]) -> int:
    """Export; returns the exit code (2 for a wrong request, 1 where something failed)."""
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE, end="")
        return 0 if arguments else 2
    try:
        folders = export(read(arguments))
    except (ConfigError, ExportError, ReplayError, RequestError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 2
    except (EvaluationError, IngestionError, RetrievalError) as error:
        print(f"export: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("\n".join(str(folder) for folder in folders))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

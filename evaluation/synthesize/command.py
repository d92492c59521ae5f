"""Drafting from the command line: templates or a model, filters, a table of reasons, files for review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.errors import RequestError
from evaluation.judge.generator import Complete, configured_generator, spent_text
from evaluation.options import CORPUS_KEYS, Options, RefusedError
from evaluation.sources import check_source
from evaluation.synthesize import discriminating, llm
from evaluation.synthesize.draft import Draft, Sifted, dropped_path, united, write_drafts
from evaluation.synthesize.drafting import AMBIGUOUS, drafts_by_templates
from evaluation.synthesize.filters import REASONS, Limits, sift
from evaluation.synthesize.sampling import SURPLUS, first, in_turn
from evaluation.synthesize.sentences import Prose
from evaluation.table import as_text
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.graph import GraphSpec, open_graph
from ingestion.pipeline import ingest_configured

KEYS = (
    "out", "n", "by", "router", "strategies", "depth", "discriminating", "common", "copied", "alike",
    "benchmark.path",
)  # fmt: skip
GROUPS = tuple(key for key in CORPUS_KEYS if key not in ("benchmark", "split", "eval"))
SEARCHED = 5  # times n: as many drafts are searched for, at most
ORDER = (AMBIGUOUS, llm.NO_QUOTE, *REASONS, discriminating.SAME, SURPLUS)
SHOWN = 90  # characters of an example


@dataclass(frozen=True)
class Work:
    """What a request asks for, checked before anything is read."""

    out: Path
    n: int
    model: str
    complete: Complete | None
    limits: Limits
    existing: tuple[str, ...]
    strategies: tuple[str, ...]
    depth: int


def draft(options: Options) -> int:
    """Draft, filter, write; returns the exit code.

    Raises:
        GeneratorError: a model was asked for, and none can be.
        RequestError, ConfigError: a key is wrong.
        RefusedError: nothing was left; both files are written.
    """
    work = _work(options)
    plain = to_plain(load(options.overrides))
    store = ArtifactStore(Path(plain["artifacts"]))
    corpus = ingest_configured(plain, store)
    prose = Prose.of(corpus, open_graph(corpus, GraphSpec(), store))
    print(
        f"{len(prose.library.texts)} documents, {len(prose.sentences)} whole sentences, {len(prose.graph)} entities"
    )
    parts = [_drafted(work, prose, plain["seed"])]
    total = len(parts[0].kept) + len(parts[0].dropped)
    parts.append(sift(parts[-1].kept, prose, work.existing, work.limits))
    if work.complete is not None:
        parts.append(llm.without_memory(parts[-1].kept, work.complete))
    chosen = in_turn(parts[-1].kept, plain["seed"])
    parts += _searched(work, chosen, prose, store)
    found = united(parts)
    write_drafts(work.out, found)
    _say(work, found, total)
    return 0


def _work(options: Options) -> Work:
    out = Path(options.required("out", "drafts.jsonl"))
    if out.suffix != ".jsonl":
        raise RequestError(f"out={out}: must end in .jsonl")
    by = options.values.get("by", "templates")
    if by != "templates" and not (check_source(by).startswith("llm:") and by != "llm:"):
        raise RequestError(f"by={by}: must be templates or llm:<model>")
    model = by.partition(":")[2]
    complete = configured_generator(model, llm.INSTEAD, options.values.get("router")) if model else None
    path = options.values.get("benchmark.path")
    existing = load_benchmark(BenchmarkSpec(path=path), "all").queries.query if path else ()
    default = Limits()
    limits = Limits(
        common=_share(options, "common", default.common),
        copied=_share(options, "copied", default.copied),
        alike=_share(options, "alike", default.alike),
    )
    wanted = options.names("strategies") or discriminating.CHEAP
    strategies = wanted if options.flag("discriminating", True) else ()
    return Work(
        out, options.number("n", 100), model, complete, limits, existing, strategies, options.number("depth", 100)
    )


def _share(options: Options, key: str, default: float) -> float:
    text = options.values.get(key, str(default))
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise RequestError(f"{key}={text}: must be a share from 0 to 1")
    return value


def _drafted(work: Work, prose: Prose, seed: int) -> Sifted:
    if work.complete is None:
        return drafts_by_templates(prose)
    asked = llm.drafts_by_model(prose, work.complete, work.model, work.n, seed)
    cost = spent_text(asked.usage)
    print(f"{asked.calls} requests, {asked.retries} of them repeated; {asked.unreadable} unreadable replies{cost}")
    return asked.sifted


def _searched(work: Work, chosen: Sequence[Draft], prose: Prose, store: ArtifactStore) -> list[Sifted]:
    """What the strategies tell apart, and of that the first n."""
    stages, absent = discriminating.runnable(work.strategies)
    for name, reason in absent.items():
        print(f"{name} did not search: {reason}")
    looked = chosen[: SEARCHED * work.n] if stages else chosen
    ranks = discriminating.ranks(looked, stages, prose.library.corpus, store, work.depth)
    told = discriminating.sift_by_ranks(looked, ranks, work.depth)
    return [told, first([*told.kept, *chosen[len(looked) :]], work.n)]


def _say(work: Work, found: Sifted, total: int) -> None:
    """The table of reasons, and what to do next."""
    counts = Counter(one.reason for one in found.dropped)
    example = {one.reason: one for one in reversed(found.dropped)}
    rows = [
        {
            "dropped because": reason,
            "drafts": str(counts[reason]),
            "such as": _short(f"{example[reason].draft.query} ({example[reason].detail})") if counts[reason] else "",
        }
        for reason in ORDER
    ]
    print(as_text(pd.DataFrame(rows)))
    kinds = Counter(draft.kind for draft in found.kept)
    spread = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    print(f"{total} drafts, {len(found.dropped)} dropped, {len(found.kept)} kept: {spread}")
    print(f"{work.out}, {dropped_path(work.out)}")
    if not found.kept:
        raise RefusedError(
            "no draft is left; look at the reasons and relax one (discriminating=false, copied=, common=), or add"
            " papers"
        )
    print(f"review them with\npython -m evaluation.synthesize review={work.out} source=hand:<name>")


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

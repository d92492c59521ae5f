"""Run generators over the rankings of arms, over nothing, and over the judged evidence."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from evaluation.answers.labels import passages_hold
from evaluation.answers.questions import Questions
from evaluation.answers.request import AnswerRequest
from evaluation.answers.tables import ANSWERS, CITATIONS, CLAIMS, KEY, NONE, ORACLE, RETRIEVED, Tables
from evaluation.arms import Arm
from evaluation.judging import Judged, oracle_run
from generation.errors import GenerationError
from generation.generator import Generator, Tools
from generation.passages import first_stages, passages
from generation.pipeline import answer, each, gathered, unaided
from generation.schema import Answer, Evidence
from generation.words import Rarity
from retrieval.schema import Run, make_run
from retrieval.stage import Context

Row = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """What generators get for every question; `strategy` is empty where it does not matter.

    `held`: 1 where a passage that is given holds an answer, 0 where none does, NaN where none is given.
    """

    strategy: str
    context: str
    evidence: Sequence[Evidence]
    held: Sequence[float]


@dataclass(frozen=True)
class Rows:
    """Rows of the three tables as they are made."""

    answers: list[Row] = field(default_factory=list)
    claims: list[Row] = field(default_factory=list)
    citations: list[Row] = field(default_factory=list)


def run_generators(wanted: AnswerRequest, arms: Sequence[tuple[Arm, Any]], judged: Judged, ctx: Context) -> Tables:
    """What every generator makes of every context.

    Args:
        wanted: generators and contexts.
        arms: arms that ran, with their stages; None for a run made elsewhere.
        judged: the benchmark over the corpus of `ctx`.
        ctx: corpus and artifacts.
    """
    rarity, rows = Rarity.of(ctx), Rows()
    documents = ctx.corpus.documents
    doc_of = dict(zip(documents["doc_name"].to_pylist(), documents["doc_id"].to_pylist(), strict=True))
    jobs = [(given, name) for given in _given(wanted, arms, judged, ctx) for name in wanted.generators]
    with tqdm(jobs, desc="answers", unit="table", disable=not sys.stderr.isatty()) as bar:
        for given, name in bar:
            bar.set_postfix_str(f"{name} {given.strategy} {given.context}")
            router = wanted.routers.get(name)
            tools = Tools(rarity, wanted.confidence, router)
            made = _made(wanted.generators[name], given, tools, wanted.workers if router else 1)
            for qid, one, held in zip(judged.benchmark.queries.qid, made, given.held, strict=True):
                key = {"strategy": given.strategy, "generator": name, "context": given.context, "qid": qid}
                _add(rows, {**key, "held": held}, one, doc_of)
    tables = ((rows.answers, ANSWERS), (rows.claims, CLAIMS), (rows.citations, CITATIONS))
    answers, claims, citations = (pd.DataFrame(own, columns=columns) for own, columns in tables)
    return Tables.of(answers, claims, citations, judged.benchmark.queries.qid)


def _given(wanted: AnswerRequest, arms: Sequence[tuple[Arm, Any]], judged: Judged, ctx: Context) -> Iterator[Given]:
    """Evidence by arm and context, the same for all generators: tokens are estimated, not counted by one's model."""
    queries = judged.benchmark.queries
    gather = partial(gathered, ctx, queries.query, spec=wanted.context)
    if RETRIEVED in wanted.contexts:
        for arm, stage in arms:
            run = _known(arm, len(ctx.corpus))
            firsts = [run] if stage is None else [arm.stages[path].run for path in first_stages(stage)]
            found = passages(ctx.corpus, run, firsts, len(queries), wanted.context.passages)
            evidence = gather(found)
            yield Given(arm.name, RETRIEVED, evidence, _held(evidence, judged))
    if NONE in wanted.contexts:
        yield Given("", NONE, [Evidence(question, ()) for question in queries.query], [float("nan")] * len(queries))
    if ORACLE in wanted.contexts:
        run = oracle_run(judged.qrels, len(ctx.corpus), wanted.context.passages)
        found = passages(ctx.corpus, run, [run], len(queries), wanted.context.passages)
        evidence = gather(found)
        yield Given("", ORACLE, evidence, _held(evidence, judged))


def _known(arm: Arm, n_chunks: int) -> Run:
    """The ranking of an arm without ids that the corpus lacks, as runs made elsewhere may have them."""
    assert arm.run is not None
    run, keep = arm.run, arm.run.chunk < n_chunks
    return run if keep.all() else make_run(run.query[keep], run.chunk[keep], run.score[keep], len(run))


def _made(generator: Generator, given: Given, tools: Tools, workers: int) -> list[Answer | GenerationError]:
    def ask(own: Evidence) -> Answer:
        return unaided(generator, own, tools) if given.context == NONE else answer(generator, own, tools)

    return each(ask, given.evidence, workers)


def _held(evidence: Sequence[Evidence], judged: Judged) -> list[float]:
    """For every question 1 where a passage that is given holds an answer, else 0."""
    places = [(row, source.passage.chunk_id) for row, own in enumerate(evidence) for source in own.sources]
    query = np.asarray([row for row, _ in places], dtype=np.int64)
    holds = passages_hold(judged, query, [chunk for _, chunk in places], Questions.of(judged).least)
    found = np.zeros(len(evidence))
    found[query[holds]] = 1.0
    return [float(value) for value in found]


def _add(rows: Rows, key: Row, made: Answer | GenerationError, doc_of: Mapping[str, str]) -> None:
    """One answer into the three tables."""
    if isinstance(made, GenerationError):
        rows.answers.append({**key, **_empty(), "cost": _spent(made), "error": f"{type(made).__name__}: {made}"})
        return
    usage = made.usage
    rows.answers.append(
        {
            **key,
            "refused": made.refused,
            "reason": made.reason,
            "claims": len(made.claims),
            "text": made.text,
            "seconds": usage.seconds,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost": float("nan") if usage.cost is None else usage.cost,
            "cached": usage.cached,
            "score": float("nan") if made.answerable is None else made.answerable,
            "error": "",
        }
    )
    place_of = {name: key[name] for name in KEY}
    ranks = {source.id: source.passage.rank for source in made.sources}
    for number, claim in enumerate(made.claims, 1):
        said = {"text": claim.text, "level": claim.level, "rule": claim.rule, "probability": claim.probability}
        rows.claims.append({**place_of, "claim": number, **said, "supported": claim.supported})
        for place in claim.citations:
            where = {"source": place.source, "source_rank": ranks[place.source], "chunk_id": place.chunk_id}
            span = {"doc_id": doc_of[place.doc_name], "page": place.page, "quote": place.quote}
            rows.citations.append(
                {
                    **place_of,
                    "claim": number,
                    **where,
                    **span,
                    "char_start": place.char_start,
                    "char_end": place.char_end,
                }
            )


def _spent(error: GenerationError) -> float:
    """US dollars that the requests of a failed answer cost; NaN where one has no known price."""
    costs = [attempt.cost for attempt in error.attempts]
    return float("nan") if None in costs else float(sum(cost for cost in costs if cost is not None))


def _empty() -> Row:
    """An answer that failed: nothing in it counts."""
    numbers = {"claims": 0, "input_tokens": 0, "output_tokens": 0, "seconds": 0.0}
    return {**numbers, "refused": False, "reason": "", "text": "", "cached": False, "score": float("nan")}

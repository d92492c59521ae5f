"""Questions to answers: retrieve, gather evidence, generate, and say how sure one can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Literal

from generation.confident import Judge
from generation.context import gather
from generation.errors import GenerationError
from generation.generator import SILENT, Generator, Listener, Remembers, Tools
from generation.passages import retrieve
from generation.relations import related
from generation.schema import Answer, Evidence, Passage
from generation.tokens import estimate
from retrieval.schema import Queries
from retrieval.stage import Context, Retriever

GraphMode = Literal["none", "relations"]


@dataclass(frozen=True)
class ContextSpec:
    """What becomes evidence: of the first `passages` of a ranking at most `sources`, within `budget` tokens.

    `similar`: share of its words from which a passage repeats a better one. `graph_mode`: `relations` adds what the
    knowledge graph says about entities of the question, for a prompt.
    """

    passages: int = 10
    sources: int = 8
    budget: int = 4000
    similar: float = 0.9
    graph_mode: GraphMode = "none"

    def __post_init__(self) -> None:
        if min(self.passages, self.sources, self.budget) < 1:
            raise ValueError("passages, sources and budget must be at least 1")
        if not 0 < self.similar <= 1:
            raise ValueError(f"similar={self.similar} must be above 0 and at most 1")


def gathered(
    ctx: Context,
    questions: Sequence[str],
    passages: Sequence[Sequence[Passage]],
    spec: ContextSpec,
    count_tokens: Callable[[str], int] = estimate,
) -> list[Evidence]:
    """Evidence for every question from its ranked passages."""
    lines = related(ctx, questions) if spec.graph_mode == "relations" else [()] * len(questions)
    return [
        gather(question, own[: spec.passages], spec.budget, count_tokens, said, spec.similar, spec.sources)
        for question, own, said in zip(questions, passages, lines, strict=True)
    ]


def retrieved(
    ctx: Context,
    stage: Retriever,
    queries: Queries,
    spec: ContextSpec,
    count_tokens: Callable[[str], int] = estimate,
) -> list[Evidence]:
    """Evidence for every question by a strategy, in the order of `queries`."""
    return gathered(ctx, queries.query, retrieve(ctx, stage, queries, spec.passages), spec, count_tokens)


def answer(generator: Generator, evidence: Evidence, tools: Tools, listener: Listener = SILENT) -> Answer:
    """One answer with confidence and the seconds that it took; the listener too is told how sure each claim is.

    Raises:
        GenerationError: a model was asked and gave no answer.
    """
    started = perf_counter()
    judge = Judge(evidence, tools.rarity, tools.confidence)
    judging = replace(listener, on_claim=lambda claim: listener.on_claim(judge.claim(claim)))
    made = judge.answer(generator.answer(evidence, tools, judging))
    return replace(made, usage=replace(made.usage, seconds=perf_counter() - started))


def unaided(generator: Generator, evidence: Evidence, tools: Tools) -> Answer:
    """What a generator says without any source: what it remembers, where it can; a refusal from all others.

    Raises:
        GenerationError: a model was asked and gave no answer.
    """
    if isinstance(generator, Remembers):
        return generator.from_memory(evidence.question, tools)
    return answer(generator, Evidence(evidence.question, ()), tools)


def each(
    ask: Callable[[Evidence], Answer], evidence: Sequence[Evidence], workers: int
) -> list[Answer | GenerationError]:
    """Answers in the order of the evidence, `workers` at a time; a failed one is its error, and the others go on."""

    def tried(own: Evidence) -> Answer | GenerationError:
        try:
            return ask(own)
        except GenerationError as error:
            return error

    if workers == 1:
        return [tried(own) for own in evidence]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(tried, evidence))

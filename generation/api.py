"""Answers in a few lines of Python.

from generation.api import answer

found = answer("What does k do in reciprocal rank fusion?", corpus="papers/", strategy="rrf")
for claim in found.claims:
    print(claim.level, claim.text, [(place.doc_name, place.page) for place in claim.citations])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generation import pipeline
from generation.build import build_confidence, build_context, build_generator
from generation.errors import RequestError
from generation.generator import SILENT, Generator, Listener, Tools
from generation.generators.chat import Chat
from generation.pipeline import ContextSpec, retrieved
from generation.router.open import open_router
from generation.router.router import Router
from generation.schema import Answer, Evidence
from generation.tokens import counter, estimate
from generation.words import Rarity
from ingestion.config import load, to_plain
from retrieval.api import QID, Searcher, ready
from retrieval.build import build_strategy, check_strategy
from retrieval.filters import Where
from retrieval.schema import Queries
from retrieval.stage import Context, Retriever

DEFAULT_STRATEGY, OFFLINE, LIVE = "bm25", "grounded", "chat"


@dataclass(frozen=True)
class Route:
    """How a language model is reached; nothing set: it is not, and answers are made offline.

    `router`: a file of routes; `provider` such as `anthropic`, or `auto`: the first that is configured, else offline;
    `route` such as `bedrock`; `model`: this one and no other.
    """

    router: str | None = None
    provider: str | None = None
    route: str | None = None
    model: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether anything is set."""
        return any((self.router, self.provider, self.route, self.model))


@dataclass(frozen=True)
class Answerer:
    """Everything that an answer needs, opened once for many questions."""

    searcher: Searcher
    stage: Retriever
    generator: Generator
    spec: ContextSpec
    tools: Tools

    @staticmethod
    def open(searcher: Searcher | None, route: Route, overrides: Sequence[str] = ()) -> Answerer:
        """Compose the configuration, open the corpus (unless a searcher is given) and the way to a model.

        Raises:
            RequestError, ConfigError, StrategyNotFoundError, IngestionError: what is wrong and the remedy.
        """
        wanted = _with_defaults(overrides, route)
        check_strategy(wanted)
        plain = to_plain(load(wanted))
        generator = build_generator(plain["generator"])
        stage, spec, confidence = (
            build_strategy(plain["strategy"]),
            build_context(plain["context"]),
            build_confidence(plain["confidence"]),
        )
        router = None
        if isinstance(generator, Chat):
            router = _router(generator, route)
            if router is None:
                generator = build_generator(to_plain(load([f"generator={OFFLINE}"]))["generator"])
        opened = searcher or Searcher.open(plain["corpus"]["path"], plain["artifacts"], overrides=wanted)
        ctx = Context(opened.corpus, opened.store, seed=opened.seed)
        return Answerer(opened, stage, generator, spec, Tools(Rarity.of(ctx), confidence, router))

    def evidence(self, questions: Sequence[str], where: Where | None = None) -> list[Evidence]:
        """What each question may be answered from, in the order of the questions.

        Raises:
            ModelLoadError: the strategy needs a model that is not here.
        """
        ready(self.stage)
        searcher = self.searcher
        ctx = Context(searcher.corpus, searcher.store, seed=searcher.seed, remember=False, where=where)
        queries = Queries.of([f"{QID}{at:09}" for at in range(len(questions))], list(questions))
        router = self.tools.router
        count = counter(router.client, router.chain[0].target()) if router else estimate
        return retrieved(ctx, self.stage, queries, self.spec, count)

    def answer(self, question: str, where: Where | None = None, listener: Listener = SILENT) -> Answer:
        """One answer.

        Raises:
            GenerationError: a model was asked and gave none.
        """
        return pipeline.answer(self.generator, self.evidence([question], where)[0], self.tools, listener)

    def answers(self, questions: Sequence[str]) -> list[Answer]:
        """Answers to many questions, retrieved in one batch.

        Raises:
            GenerationError: a model was asked and gave none.
        """
        return [pipeline.answer(self.generator, own, self.tools) for own in self.evidence(questions)]


def answer(
    question: str,
    corpus: str | Path | None = None,
    strategy: str = DEFAULT_STRATEGY,
    *,
    searcher: Searcher | None = None,
    route: Route = Route(),
    graph_mode: str | None = None,
    overrides: Sequence[str] = (),
    listener: Listener = SILENT,
) -> Answer:
    """Answer a question from documents; the same as `python -m generation ask`.

    Args:
        question: in words.
        corpus: a folder of PDFs; default the configured one.
        strategy: how passages are found.
        searcher: a corpus that is open already.
        route: how a language model is reached; by default none is asked.
        graph_mode: `none` or `relations`.
        overrides: configuration as on the command line, such as `generator.claims=1`.
        listener: follows the answer in the making.

    Raises:
        RequestError, ConfigError, StrategyNotFoundError, IngestionError, ModelLoadError: before anything was asked.
        GenerationError: a model was asked and gave no answer.
    """
    wanted = [f"strategy={strategy}", *overrides]
    wanted += [f"corpus.path={corpus}"] if corpus is not None else []
    wanted += [f"context.graph_mode={graph_mode}"] if graph_mode else []
    return Answerer.open(searcher, route, wanted).answer(question, listener=listener)


def _with_defaults(overrides: Sequence[str], route: Route) -> list[str]:
    """The overrides with strategy and generator, where they name none."""
    keys = {override.partition("=")[0] for override in overrides}
    added = [] if "strategy" in keys else [f"strategy={DEFAULT_STRATEGY}"]
    if "generator" not in keys:
        added.append(f"generator={LIVE if route.wanted else OFFLINE}")
    return [*added, *overrides]


def _router(chat: Chat, route: Route) -> Router | None:
    """The router of a chat generator; None where `provider=auto` finds nothing configured.

    Raises:
        RequestError: what was asked for by name is not configured.
    """
    provider = route.provider or chat.provider
    router = open_router(route.router, provider, route.route or chat.route, route.model or chat.model)
    if router.chain:
        return router
    if provider == "auto":
        return None
    raise RequestError(
        "no language model is configured: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in the environment"
        " or in .env, or leave generator=chat out for an offline answer; python -m generation providers shows every"
        " route"
    )

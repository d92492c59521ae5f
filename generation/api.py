"""Answers in a few lines of Python.

from generation.api import answer

found = answer("What does k do in reciprocal rank fusion?", corpus="papers/", strategy="rrf")
for claim in found.claims:
    print(claim.level, claim.text, [(place.doc_name, place.page) for place in claim.citations])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from generation import pipeline
from generation.build import build_confidence, build_context, build_generator, generator_config
from generation.errors import RequestError
from generation.generator import SILENT, Generator, Listener, Tools
from generation.generators.chat import Chat
from generation.pipeline import ContextSpec, retrieved
from generation.router.open import open_router
from generation.router.router import Router
from generation.router.routes import AUTO, OFFLINE
from generation.schema import Answer, Evidence
from generation.tokens import estimate
from generation.words import Rarity
from ingestion.config import load, to_plain
from retrieval.api import QID, Searcher, ready
from retrieval.build import build_strategy, check_strategy
from retrieval.filters import Where
from retrieval.schema import Queries
from retrieval.stage import Context, Retriever

DEFAULT_STRATEGY, DEFAULT_GENERATOR, LIVE = "bm25", "grounded", "chat"
NOT_CONFIGURED = "answered offline: no language model is configured (python -m generation providers says what to set)"


@dataclass(frozen=True)
class Route:
    """How a language model is reached; nothing set: it is not, and answers are made offline.

    `router`: a file of routes; `provider` such as `anthropic`, or `auto`: the first that is configured, else offline,
    which the answer then says; or `offline`; `route` such as `bedrock`; `model`: this one and no other.
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
    """Everything that an answer needs, opened once for many questions.

    `fallback`: why not the generator that was asked for answers; empty where it does.
    """

    searcher: Searcher
    stage: Retriever
    generator: Generator
    spec: ContextSpec
    tools: Tools
    fallback: str = ""

    @staticmethod
    def open(searcher: Searcher | None, route: Route, overrides: Sequence[str] = ()) -> Answerer:
        """Compose the configuration, open the corpus (unless a searcher is given) and the way to a model.

        Raises:
            RequestError, ConfigError, StrategyNotFoundError, IngestionError: what is wrong and the remedy.
        """
        wanted = _with_defaults(overrides, route)
        check_strategy(wanted)
        plain = to_plain(load(wanted))
        stage, spec, confidence = (
            build_strategy(plain["strategy"]),
            build_context(plain["context"]),
            build_confidence(plain["confidence"]),
        )
        generator, router, fallback = _way(build_generator(plain["generator"]), route)
        opened = searcher or Searcher.open(plain["corpus"]["path"], plain["artifacts"], overrides=wanted)
        ctx = Context(opened.corpus, opened.store, seed=opened.seed)
        return Answerer(opened, stage, generator, spec, Tools(Rarity.of(ctx), confidence, router), fallback)

    def evidence(self, questions: Sequence[str], where: Where | None = None) -> list[Evidence]:
        """What each question may be answered from, in the order of the questions.

        Raises:
            ModelLoadError: the strategy needs a model that is not here.
        """
        ready(self.stage)
        searcher = self.searcher
        ctx = Context(searcher.corpus, searcher.store, seed=searcher.seed, remember=False, where=where)
        queries = Queries.of([f"{QID}{at:09}" for at in range(len(questions))], list(questions))
        count = self.tools.router.count_tokens if self.tools.router else estimate
        return retrieved(ctx, self.stage, queries, self.spec, count)

    def answer(self, question: str, where: Where | None = None, listener: Listener = SILENT) -> Answer:
        """One answer.

        Raises:
            GenerationError: a model was asked and gave none.
        """
        return self._answer(self.evidence([question], where)[0], listener)

    def answers(self, questions: Sequence[str]) -> list[Answer]:
        """Answers to many questions, retrieved in one batch.

        Raises:
            GenerationError: a model was asked and gave none.
        """
        return [self._answer(own) for own in self.evidence(questions)]

    def _answer(self, evidence: Evidence, listener: Listener = SILENT) -> Answer:
        made = pipeline.answer(self.generator, evidence, self.tools, listener)
        return replace(made, fallback=self.fallback) if self.fallback else made


def answer(
    question: str,
    corpus: str | Path | None = None,
    strategy: str = DEFAULT_STRATEGY,
    *,
    searcher: Searcher | None = None,
    route: Route = Route(),
    where: Where | None = None,
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
        where: restricts what may be cited.
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
    return Answerer.open(searcher, route, wanted).answer(question, where, listener)


def _with_defaults(overrides: Sequence[str], route: Route) -> list[str]:
    """The overrides with strategy and generator, where they name none."""
    keys = {override.partition("=")[0] for override in overrides}
    added = [] if "strategy" in keys else [f"strategy={DEFAULT_STRATEGY}"]
    if "generator" not in keys:
        added.append(f"generator={LIVE if route.wanted and route.provider != OFFLINE else DEFAULT_GENERATOR}")
    return [*added, *overrides]


def _way(generator: Generator, route: Route) -> tuple[Generator, Router | None, str]:
    """The generator that answers, its router if it asks a model, and why it is not the one that was asked for.

    Raises:
        RequestError: what was asked for by name is not configured, or the generator asks no model.
    """
    if not isinstance(generator, Chat):
        if route.wanted and route != Route(provider=OFFLINE):
            said = " ".join(f"{key}={value}" for key, value in asdict(route).items() if value)
            raise RequestError(
                f"{said}: the generator that was asked for asks no language model; leave one of them out"
            )
        return generator, None, ""
    provider = route.provider or generator.provider
    router = open_router(route.router, provider, route.route or generator.route, route.model or generator.model)
    if router.chain:
        return generator, router, ""
    if provider == AUTO:
        return build_generator(generator_config(DEFAULT_GENERATOR)), None, NOT_CONFIGURED
    raise RequestError(
        "no language model is configured: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in the environment"
        " or in .env, or leave generator=chat out for an offline answer; python -m generation providers shows every"
        " route"
    )

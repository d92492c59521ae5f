"""Which generators a run asks, over which contexts, checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.answers.tables import CONTEXTS
from evaluation.answers.values import METRICS
from evaluation.errors import RequestError
from generation.build import build_confidence, build_context, build_generator, generator_config
from generation.confidence import Confidence
from generation.errors import GenerationError
from generation.generator import Generator
from generation.generators.chat import Chat
from generation.pipeline import ContextSpec
from generation.router.open import open_router
from generation.router.router import Router
from ingestion.config import nearest

KEYS = ("contexts", "yardstick", "primary", "workers", "router", "provider", "route")


@dataclass(frozen=True)
class AnswerRequest:
    """Generators by name with the router of each that needs one, and how they are asked and compared."""

    generators: Mapping[str, Generator]
    contexts: tuple[str, ...]
    context: ContextSpec
    confidence: Confidence
    primary: str
    workers: int
    routers: Mapping[str, Router] = field(default_factory=dict)


def read_answers(plain: Mapping[str, Any], typed: Mapping[str, str]) -> AnswerRequest | None:
    """What a composed configuration asks of generators; None where it asks nothing.

    Raises:
        RequestError: an unknown generator, context, metric or route; nothing was asked.
        ConfigError: a generator's YAML has an unknown key or a wrong value.
    """
    names, settings = list(plain["generators"]), plain["answers"]
    configs = {name: generator_config(name) for name in names}
    if plain["generator"] is not None:
        configs = {typed.get("generator", "generator").strip("'\""): plain["generator"], **configs}
    if not configs:
        return None
    yardstick = settings["yardstick"]
    if yardstick and yardstick not in configs:
        configs[yardstick] = generator_config(yardstick)
    generators = {name: build_generator(config) for name, config in configs.items()}
    try:
        return AnswerRequest(
            generators,
            _known("contexts", settings["contexts"], CONTEXTS),
            build_context(plain["context"]),
            build_confidence(plain["confidence"]),
            _known("primary", [settings["primary"]], METRICS)[0],
            max(1, int(settings["workers"])),
            {name: _router(own, settings) for name, own in generators.items() if isinstance(own, Chat)},
        )
    except GenerationError as error:
        raise RequestError(str(error)) from error


def _known(key: str, values: list[str], known: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value not in known:
            raise RequestError(f"answers.{key}={value}: unknown{nearest(str(value), known)}")
    return tuple(values)


def _router(chat: Chat, settings: Mapping[str, Any]) -> Router:
    """The router of a chat generator: its own provider, route and model, else those of the run.

    Raises:
        RequestError: nothing that was asked for is configured.
    """
    provider, route = chat.provider or settings["provider"], chat.route or settings["route"]
    router = open_router(settings["router"], provider, route, chat.model)
    if not router.chain:
        raise RequestError(
            "generator=chat asks a language model, and none is configured: set ANTHROPIC_API_KEY, OPENAI_API_KEY or"
            " GEMINI_API_KEY (in the environment or in .env); python -m generation providers shows every route"
        )
    return router

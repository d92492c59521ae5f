"""Which generators a run asks, over which contexts, checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
from generation.router.environment import current_environment
from generation.router.guard import protect
from generation.router.open import LONG_RUN, open_router
from generation.router.router import Router
from ingestion.artifacts import fingerprint
from ingestion.config import nearest, whole_number

KEYS = ("contexts", "yardstick", "primary", "workers", "router", "provider", "route")


@dataclass(frozen=True)
class AnswerRequest:
    """Generators by name with the router of each that needs one, and how they are asked and compared.

    `asked` names those that were asked for, in order; `yardstick` the one that runs beside them, or is empty.
    `confidence_name`: of the file in `conf/confidence/`.
    """

    generators: Mapping[str, Generator]
    asked: tuple[str, ...]
    yardstick: str
    contexts: tuple[str, ...]
    context: ContextSpec
    confidence: Confidence
    confidence_name: str
    primary: str
    workers: int
    routers: Mapping[str, Router] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """What the manifest says: parameters of every generator, models in the order that they are asked, digests."""
        return {
            "generators": {name: {"class": type(own).__name__, **vars(own)} for name, own in self.generators.items()},
            "asked": list(self.asked),
            "yardstick": self.yardstick,
            "models": {name: models(router) for name, router in self.routers.items()},
            "contexts": list(self.contexts),
            "context": asdict(self.context),
            "confidence": {"name": self.confidence_name, "digest": fingerprint(self.confidence)},
            "primary": self.primary,
        }


def models(router: Router) -> list[str]:
    """What a router asks, in order: `anthropic/direct: <model>`."""
    return [f"{own.provider}/{own.route}: {own.models[0]}" for own in router.chain]


def read_answers(plain: Mapping[str, Any], typed: Mapping[str, str]) -> AnswerRequest | None:
    """What a composed configuration asks of generators; None where it asks nothing.

    Raises:
        RequestError: an unknown generator, context, metric or route; nothing was asked.
        ConfigError: a generator's YAML has an unknown key or a wrong value.
    """
    configs = _configs(plain, typed)
    if not configs:
        return None
    settings, asked = _settings(plain["answers"]), tuple(configs)
    yardstick = settings["yardstick"] or ""
    if yardstick and yardstick not in configs:
        configs[yardstick] = generator_config(yardstick)
    generators = {name: build_generator(config) for name, config in configs.items()}
    try:
        return AnswerRequest(
            generators=generators,
            asked=asked,
            yardstick=yardstick,
            contexts=_known("contexts", settings["contexts"], CONTEXTS),
            context=build_context(plain["context"]),
            confidence=build_confidence(plain["confidence"]),
            confidence_name=typed.get("confidence", "default").strip("'\""),
            primary=_known("primary", [settings["primary"]], METRICS)[0],
            workers=whole_number("answers.workers", str(settings["workers"])),
            routers=_routers(generators, settings),
        )
    except GenerationError as error:
        raise RequestError(str(error)) from error


def _configs(plain: Mapping[str, Any], typed: Mapping[str, str]) -> dict[str, Any]:
    """The configuration of every generator that was asked for, `generator=` first.

    Raises:
        RequestError: one is named twice.
    """
    configs: dict[str, Any] = {}
    if plain["generator"] is not None:
        configs[typed.get("generator", "generator").strip("'\"")] = plain["generator"]
    for name in plain["generators"]:
        if name in configs:
            raise RequestError(f"generator {name!r} is asked for twice; name it once, in generator= or generators=")
        configs[name] = generator_config(name)
    return configs


def _settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings `answers.*`.

    Raises:
        RequestError: a key is unknown.
    """
    for key in settings:
        if key not in KEYS:
            raise RequestError(f"answers.{key}: unknown key{nearest(str(key), KEYS)}")
    return settings


def _known(key: str, values: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value not in known:
            raise RequestError(f"answers.{key}={value}: unknown{nearest(str(value), known)}")
    if not values:
        raise RequestError(f"answers.{key} is empty; choose from {', '.join(known)}")
    return tuple(values)


def _routers(generators: Mapping[str, Generator], settings: Mapping[str, Any]) -> dict[str, Router]:
    """The router of each chat generator: its own provider, route and model, else those of the run.

    They share limits, breakers and caps, and wait for a route that failed rather than fail a minute of questions.
    Keys are kept out of logs and tracebacks from now on.

    Raises:
        RequestError: nothing that was asked for is configured.
    """
    chats = {name: own for name, own in generators.items() if isinstance(own, Chat)}
    if not chats:
        return {}
    environment = current_environment()
    routers: dict[str, Router] = {}
    lanes, spending = None, None
    for name, chat in chats.items():
        provider, route = chat.provider or settings["provider"], chat.route or settings["route"]
        router = open_router(
            settings["router"], provider, route, chat.model, environment, LONG_RUN, lanes=lanes, spending=spending
        )
        lanes, spending = router.lanes, router.spending
        if not router.chain:
            raise RequestError(
                f"generator {name!r} asks a language model, and none is configured: set ANTHROPIC_API_KEY,"
                " OPENAI_API_KEY or GEMINI_API_KEY (in the environment or in .env); python -m generation providers"
                " shows every route"
            )
        routers[name] = router
    protect(environment)
    return routers

"""What every generator is: evidence in, an answer out, with the same tools and the same listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from generation.confidence import Confidence
from generation.router.router import Router
from generation.schema import Answer, Claim, Evidence
from generation.words import Rarity


@dataclass(frozen=True)
class Tools:
    """What a generator may use: how rare words are, fitted confidence, and the way to language models, if any."""

    rarity: Rarity
    confidence: Confidence
    router: Router | None = None


def _ignore(_: object) -> None:
    """Nobody listens."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Listener:
    """Who follows an answer in the making.

    `on_claim` is given each claim as soon as it is checked; `on_restart` is told why all claims so far are void;
    `cancelled` is asked now and then whether to stop. `follows`: pieces of a reply are wanted as they arrive.
    """

    on_claim: Callable[[Claim], None] = _ignore
    on_restart: Callable[[str], None] = _ignore
    cancelled: Callable[[], bool] = _never
    follows: bool = False


SILENT = Listener()


class Generator(Protocol):
    """Evidence to an answer."""

    def answer(self, evidence: Evidence, tools: Tools, listener: Listener = SILENT) -> Answer:
        """An answer with its claims, or a refusal with its reason.

        Raises:
            GenerationError: a model was asked, and gave no answer.
        """


@runtime_checkable
class Remembers(Protocol):
    """A generator that can answer without any source."""

    def from_memory(self, question: str, tools: Tools) -> Answer:
        """An answer without citations.

        Raises:
            GenerationError: a model was asked, and gave no answer.
        """

"""`python -m generation ask "question"`: an answer with its sources, as text, as JSON, or claim by claim."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields

from generation import shown
from generation.api import Answerer, Route
from generation.errors import GenerationError, RequestError
from generation.generator import Listener
from generation.router.environment import current_environment
from generation.router.guard import install
from generation.router.secrets import Redactor
from generation.schema import Claim
from ingestion.config import Schema, nearest
from ingestion.errors import ConfigError, IngestionError
from retrieval.arguments import read
from retrieval.errors import FilterError, RetrievalError, StageConfigError, StrategyNotFoundError
from retrieval.filters import Where

USAGE = """usage: python -m generation ask "question" [strategy=bm25] [corpus.path=papers/] [--json | --stream]

Answers from your PDFs, with document, page, section and quote for every claim, and how sure one can be of it. Without
more it works offline: it quotes the sentences that answer, or says that the documents hardly speak of the question.

strategy=<name>            how passages are found (files in conf/strategy/); strategy.then.mmr.lam=.5
provider=anthropic         ask a language model: anthropic, openai, gemini, compatible, or auto (what is configured,
                           else offline, and the last line says so)
route=bedrock  model=...   a route of that provider, and a model; router=<file> other routes, limits and prices
graph_mode=relations       tell the model what the knowledge graph says about entities of the question
generator=grounded         grounded, first, chat; generator.claims=1
context.sources=5 context.budget=2000      what the answer may be made from
where.document=<name,...> where.section=<text> where.year=2019-2021    restrict what may be cited
--json                     the whole answer as JSON          --stream    each claim as soon as it is checked"""
OWN = ("provider", "route", "router", "model", "graph_mode")
FLAGS = ("--json", "--stream")
FAILURE, WRONG_REQUEST = 1, 2


@dataclass(frozen=True)
class Wanted:
    """What was typed: the question, how a model is reached, what Hydra composes, and how the answer is shown."""

    question: str
    route: Route
    where: Where | None
    overrides: tuple[str, ...]
    as_json: bool
    stream: bool


def main(arguments: Sequence[str]) -> int:
    """Answer one question; returns the exit code (0 answered or refused, 1 a failure, 2 a wrong request)."""
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE)
        return 0 if arguments else WRONG_REQUEST
    redactor = Redactor({})
    try:
        redactor = Redactor(current_environment().secrets())
        install(redactor)
        wanted = _read(arguments)
        _show(wanted, Answerer.open(None, wanted.route, wanted.overrides))
    except (ConfigError, StrategyNotFoundError, StageConfigError, FilterError, RequestError) as error:
        print(redactor.redact(f"generation: {error}"), file=sys.stderr)
        return WRONG_REQUEST
    except (IngestionError, RetrievalError, GenerationError) as error:
        print(redactor.redact(f"generation: {type(error).__name__}: {error}"), file=sys.stderr)
        return FAILURE
    return 0


def _read(arguments: Sequence[str]) -> Wanted:
    flags = {argument for argument in arguments if argument.startswith("--")}
    words = [argument for argument in arguments if argument not in flags]
    _check(flags, words)
    own = {key: value for key, _, value in (word.partition("=") for word in words[1:]) if key in OWN}
    rest = [word for word in words[1:] if word.partition("=")[0] not in OWN]
    graph = [f"context.graph_mode={own['graph_mode']}"] if "graph_mode" in own else []
    asked = read([words[0], *rest, *graph], k=1)
    route = Route(own.get("router"), own.get("provider"), own.get("route"), own.get("model"))
    return Wanted(asked.question, route, asked.where, asked.overrides, "--json" in flags, "--stream" in flags)


def _check(flags: set[str], words: Sequence[str]) -> None:
    """Refuse what nobody would read.

    Raises:
        RequestError: an unknown flag or key, two ways to show one answer, no question, or one that falls apart.
    """
    for flag in sorted(flags):
        if flag not in FLAGS:
            raise RequestError(f"{flag}: unknown{nearest(flag, (*FLAGS, '--help'))}")
    if set(FLAGS) <= flags:
        raise RequestError("--json and --stream exclude each other")
    if not words or not words[0].strip():
        raise RequestError("the question is missing; see --help")
    known = [*OWN, "where", *(item.name for item in fields(Schema))]
    for word in words[1:]:
        key, sign, _ = word.partition("=")
        if not sign and not word.startswith("~"):
            raise RequestError(f"{word!r} is no key=value; put the whole question in quotes, in front of all keys")
        if key.lstrip("+~").partition(".")[0].partition("@")[0] not in known:
            raise RequestError(f"unknown key {key!r}{nearest(key, known)}")


def _show(wanted: Wanted, answerer: Answerer) -> None:
    if wanted.stream:
        _Stream().show(wanted, answerer)
        return
    made = answerer.answer(wanted.question, wanted.where)
    print(json.dumps(made.as_json(), ensure_ascii=False, indent=1) if wanted.as_json else shown.as_text(made))


@dataclass
class _Stream:
    """Prints each claim as it comes, and says where those so far are no answer."""

    count: int = 0

    def show(self, wanted: Wanted, answerer: Answerer) -> None:
        """Answer and print."""
        listener = Listener(on_claim=self._claim, on_restart=self._restart, follows=True)
        try:
            made = answerer.answer(wanted.question, wanted.where, listener)
        except GenerationError:
            if self.count:
                print("--- the claims above are void: the answer failed ---", flush=True)
            raise
        parts = [shown.claims(made)] if made.refused else []
        print("\n" * bool(self.count) + "\n\n".join([*parts, *shown.footing(made)]))

    def _claim(self, made: Claim) -> None:
        self.count += 1
        print(shown.claim_line(self.count, made), flush=True)

    def _restart(self, reason: str) -> None:
        self.count = 0
        print(f"--- the claims above are void ({reason}); the answer begins anew ---", flush=True)

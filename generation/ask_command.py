"""`python -m generation ask "question"`: an answer with its sources, as text, as JSON, or claim by claim."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from generation import shown
from generation.api import Answerer, Route
from generation.errors import GenerationError, RequestError
from generation.generator import SILENT, Listener
from generation.router.environment import current_environment
from generation.router.guard import install
from generation.router.secrets import Redactor
from generation.schema import Answer, Claim
from ingestion.errors import ConfigError, IngestionError
from retrieval.arguments import read
from retrieval.errors import FilterError, RetrievalError, StageConfigError, StrategyNotFoundError
from retrieval.filters import Where

USAGE = """usage: python -m generation ask "question" [strategy=bm25] [corpus.path=papers/] [--json | --stream]

Answers from your PDFs, with document, page, section and quote for every claim, and how sure one can be of it. Without
more it works offline: it quotes the sentences that answer, or says that the documents hardly speak of the question.

strategy=<name>            how passages are found (files in conf/strategy/); strategy.then.mmr.lam=.5
provider=anthropic         ask a language model: anthropic, openai, gemini, compatible, or auto (what is configured)
route=bedrock  model=...   a route of that provider, and a model; router=<file> other routes, limits and prices
graph_mode=relations       tell the model what the knowledge graph says about entities of the question
generator=grounded         grounded, first, chat; generator.claims=1
context.sources=5 context.budget=2000      what the answer may be made from
where.document=<name,...> where.section=<text> where.year=2019-2021    restrict what may be cited
--json                     the whole answer as JSON          --stream    each claim as soon as it is checked"""
OWN = ("provider", "route", "router", "model", "graph_mode")
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
    unknown = sorted(flags - {"--json", "--stream"})
    words = [argument for argument in arguments if argument not in flags]
    if unknown or not words:
        raise RequestError(f"{unknown[0]}: unknown; see --help" if unknown else "the question is missing; see --help")
    if {"--json", "--stream"} <= flags:
        raise RequestError("--json and --stream exclude each other")
    own = {key: value for key, sign, value in (word.partition("=") for word in words[1:]) if sign and key in OWN}
    rest = [word for word in words[1:] if word.partition("=")[0] not in OWN]
    graph = [f"context.graph_mode={own['graph_mode']}"] if "graph_mode" in own else []
    asked = read([words[0], *rest, *graph], k=1)
    route = Route(own.get("router"), own.get("provider"), own.get("route"), own.get("model"))
    return Wanted(asked.question, route, asked.where, asked.overrides, "--json" in flags, "--stream" in flags)


def _show(wanted: Wanted, answerer: Answerer) -> None:
    made = answerer.answer(wanted.question, wanted.where, _streaming() if wanted.stream else SILENT)
    if wanted.as_json:
        print(json.dumps(made.as_json(), ensure_ascii=False, indent=1))
    elif wanted.stream:
        print(_rest(made))
    else:
        print(shown.as_text(made))


def _streaming() -> Listener:
    """Prints each claim as it comes, and says where the answer begins anew."""
    count = 0

    def claim(made: Claim) -> None:
        nonlocal count
        count += 1
        print(shown.claim_line(count, made), flush=True)

    def restart(reason: str) -> None:
        nonlocal count
        count = 0
        print(f"--- the claims above are void ({reason}); the answer begins anew ---", flush=True)

    return Listener(on_claim=claim, on_restart=restart, follows=True)


def _rest(made: Answer) -> str:
    parts = [shown.claims(made)] if made.refused else []
    return "\n" + "\n\n".join([*parts, *shown.footing(made)])

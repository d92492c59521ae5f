"""How commands with few keys read `key=value` arguments, and how their errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.errors import EvaluationError, RequestError
from generation.errors import GenerationError
from generation.errors import RequestError as ModelRequestError
from generation.router.guard import redacted
from ingestion.config import nearest, whole_number
from ingestion.errors import ConfigError, IngestionError
from retrieval.errors import RetrievalError

# What Hydra composes:
CORPUS_KEYS = ("corpus", "benchmark", "ingest", "chunker", "artifacts", "split", "eval", "seed")
FAILURE, WRONG_REQUEST = 1, 2


class RefusedError(EvaluationError):
    """The request was right, but what it names is refused: nothing was written."""


@dataclass(frozen=True)
class Options:
    """Arguments taken apart: `values` of the command's own keys, `words` without `=`, `overrides` for Hydra."""

    values: Mapping[str, str]
    words: tuple[str, ...]
    overrides: tuple[str, ...]

    def required(self, key: str, example: str) -> str:
        """The value of a key that must be there.

        Raises:
            RequestError: it is missing or empty.
        """
        if not self.values.get(key):
            raise RequestError(f"{key} is missing; add {key}={example}")
        return self.values[key]

    def number(self, key: str, default: int) -> int:
        """A count from 1.

        Raises:
            ConfigError: it is none.
        """
        return whole_number(key, self.values[key]) if key in self.values else default

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false.

        Raises:
            RequestError: it is neither.
        """
        value = self.values.get(key, str(default)).lower()
        if value not in ("true", "false"):
            raise RequestError(f"{key}={value}: must be true or false")
        return value == "true"

    def names(self, key: str) -> tuple[str, ...]:
        """A list such as `[bm25,rrf]`, each name once; empty where the key is absent."""
        text = self.values.get(key, "").strip().removeprefix("[").removesuffix("]")
        return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))

    def below(self, prefix: str) -> dict[str, str]:
        """Values of the keys that begin with a prefix such as `outside.`, by the rest of the key."""
        return {key.removeprefix(prefix): text for key, text in self.values.items() if key.startswith(prefix)}


def read_options(arguments: Sequence[str], known: Iterable[str], groups: Sequence[str] = ()) -> Options:
    """Take arguments apart.

    Args:
        arguments: as typed.
        known: keys of the command; one that ends with a dot, such as `outside.`, stands for all that begin with it.
        groups: first words of keys that are left to Hydra, such as `corpus` of `corpus.path=papers/`.

    Raises:
        RequestError: a key is unknown or given twice; the message offers the nearest one.
    """
    keys = list(known)
    values: dict[str, str] = {}
    words, overrides = [], []
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if not sign:
            words.append(argument)
        elif key in values:
            raise RequestError(f"{key} is given twice")
        elif key in keys or any(name.endswith(".") and key.startswith(name) and key != name for name in keys):
            values[key] = value
        elif key.partition(".")[0] in groups:
            overrides.append(argument)
        else:
            raise RequestError(f"unknown key {key!r}{nearest(key, [*keys, *groups])}")
    return Options(values, tuple(words), tuple(overrides))


def run_command(name: str, usage: str, arguments: Sequence[str], action: Callable[[Sequence[str]], int]) -> int:
    """Carry out a command: help on request, errors on standard error and without keys; returns the exit code.

    0 is success, 2 a wrong request, 1 everything else that went wrong.
    """
    if {"-h", "--help"} & set(arguments):
        print(usage)
        return 0
    try:
        code = action(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever reads has seen enough (`| head`); nothing is left to be flushed at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (EvaluationError, IngestionError, RetrievalError, GenerationError) as error:
        print(redacted(f"{name}: {error}"), file=sys.stderr)
        wrong = isinstance(error, ConfigError | EvaluationError | ModelRequestError)
        return WRONG_REQUEST if wrong and not isinstance(error, RefusedError) else FAILURE

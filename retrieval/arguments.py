"""What is typed behind `python -m retrieval`: a question, k, a filter, and overrides of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.config import nearest, whole_number
from ingestion.errors import ConfigError
from retrieval.filters import Where

FILTERS = ("document", "section", "year")


@dataclass(frozen=True)
class Asked:
    """A question with how many chunks to show, a filter, and the overrides that Hydra composes."""

    question: str
    k: int
    where: Where | None
    overrides: tuple[str, ...]


def read(arguments: Sequence[str], k: int) -> Asked:
    """Take `k=` and `where.*=` out of the arguments behind the question.

    Raises:
        ConfigError: k is no whole number from 1, or the filter has an unknown key.
        FilterError: the year is no year.
    """
    question, *rest = arguments
    filters: dict[str, str] = {}
    overrides = []
    for argument in rest:
        key, _, value = argument.partition("=")
        if key == "k":
            k = whole_number(key, value)
        elif key.startswith("where."):
            name = key.removeprefix("where.")
            if name not in FILTERS:
                raise ConfigError(f"{key}: unknown key{nearest(name, FILTERS)}")
            filters[name] = value
        else:
            overrides.append(argument)
    where = Where.read(**filters) if filters else None
    return Asked(question, k, where, tuple(overrides))

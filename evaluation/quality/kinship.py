"""Families of strategies: what an arm's configuration is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

LEXICAL, DENSE, FUSION, GRAPH, DIVERSITY, RERANKED, BOUND = (
    *("lexical", "dense", "fusion", "graph", "diversity", "re-ranked", "bound"),
)
_PART = re.compile(r"retrieval\.(retrievers|rerankers)\.(\w+)\.")
_LEXICAL = {"bm25", "tfidf", "ppmi"}
_DIVERSITY = {"mmr", "novelty"}
_BOUNDS = {"random", "given"}


def family(config: Mapping[str, Any]) -> str:
    """The family of an arm, by the parts that its configuration names.

    `graph` where a graph is searched, else `re-ranked` (a cross-encoder), `diversity` (MMR, novelty), `fusion`
    (several retrievers), `lexical`, or `dense` (vectors of chunks or tokens, learned sparse ones too). `bound` is
    floor or ceiling.
    """
    off = {name for name, used in (config.get("use") or {}).items() if not used}
    branches, then = (
        {name: part for name, part in (config.get(key) or {}).items() if name not in off}
        for key in ("branches", "then")
    )
    found = [
        match.groups() for text in _targets([config.get("first"), branches, then]) if (match := _PART.match(text))
    ]
    parts = {name for _, name in found}
    if parts & _BOUNDS:
        return BOUND
    if "graph" in parts:
        return GRAPH
    if "cross_encoder" in parts:
        return RERANKED
    if parts & _DIVERSITY:
        return DIVERSITY
    retrievers = {name for kind, name in found if kind == "retrievers"}
    if len(branches) > 1:
        return FUSION
    return LEXICAL if retrievers <= _LEXICAL else DENSE


def _targets(value: Any) -> Iterator[str]:
    """Every `_target_` of a nested configuration."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "_target_":
                yield str(inner)
            else:
                yield from _targets(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _targets(inner)

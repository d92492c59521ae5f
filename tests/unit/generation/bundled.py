"""The bundled corpus and its questions, opened once, and models of confidence that can be worked by hand."""

from __future__ import annotations

import json
from functools import cache

from generation.build import build_confidence
from generation.confidence import Confidence, Logistic
from generation.words import Rarity
from ingestion.config import ROOT, load, to_plain
from ingestion.schema import PAGE_BREAK
from retrieval.api import Searcher
from retrieval.stage import Context


@cache
def bundled() -> Searcher:
    """The corpus that the package comes with."""
    plain = to_plain(load([]))
    return Searcher.open(plain["corpus"]["path"], plain["artifacts"])


@cache
def questions() -> tuple[str, ...]:
    """All questions of the benchmark, those without an answer included."""
    lines = (ROOT / "corpus" / "benchmark" / "queries.jsonl").read_text().splitlines()
    return tuple(json.loads(line)["query"] for line in lines)


@cache
def rarity() -> Rarity:
    """How rare words are in it."""
    return Rarity.of(Context(bundled().corpus, bundled().store))


@cache
def shipped() -> Confidence:
    """The confidence that the package comes with."""
    return build_confidence(to_plain(load([]))["confidence"])


@cache
def texts() -> dict[str, str]:
    """The repaired text of every document by name, put together from its pages."""
    found = {}
    for name, parts in _pages().items():
        found[name] = PAGE_BREAK.join(text for _, text in parts)
        assert all(found[name].startswith(text, start) for start, text in parts)
    return found


@cache
def page_begins() -> dict[str, list[int]]:
    """Where the pages of every document begin in its text, the first one first."""
    return {name: [start for start, _ in parts] for name, parts in _pages().items()}


def _pages() -> dict[str, list[tuple[int, str]]]:
    corpus = bundled().corpus
    names = dict(zip(*(corpus.documents[key].to_pylist() for key in ("doc_id", "doc_name")), strict=True))
    pages: dict[str, list[tuple[int, str]]] = {}
    for row in sorted(corpus.pages.to_pylist(), key=lambda row: (row["doc_id"], row["page"])):
        pages.setdefault(names[row["doc_id"]], []).append((row["char_start"], row["text"]))
    return pages


def flat(text: str) -> str:
    """Every character of white space as one blank."""
    return "".join(" " if char.isspace() else char for char in text)


def logistic(intercept: float = 0.0, **weights: float) -> Logistic:
    """A model over features as they are; `_` in a name stands for a blank."""
    names = tuple(name.replace("_", " ") for name in weights)
    return Logistic(names, (0.0,) * len(names), (1.0,) * len(names), tuple(weights.values()), intercept)


def confidence(claim: Logistic, answerable: Logistic | None = None, refuse: float = 0.0) -> Confidence:
    """Levels from .8 and .5; without a second model every question is as likely answerable as not."""
    return Confidence(claim, answerable or logistic(), refuse, 0.8, 0.5)

"""Three kinds of stage, one verb each, and the context that runs every distinct stage once.

A stage is a frozen dataclass of parameters. Work happens in its verb, through `Context`, for the whole query table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from ingestion.artifacts import ArtifactStore, fingerprint
from ingestion.schema import Corpus
from retrieval.errors import ScoringError
from retrieval.filters import Where
from retrieval.remembered import FORMAT, Notebook
from retrieval.remembered import Remembered as Remembered
from retrieval.schema import Queries, Run

T = TypeVar("T")
LATENCY_SAMPLE = 24


@runtime_checkable
class Retriever(Protocol):
    """A first stage: queries to rankings."""

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank chunks for every query; a query that matches nothing has no rows."""


class Fuser(Protocol):
    """Several rankings to one."""

    def fuse(self, ctx: Context, queries: Queries, runs: Mapping[str, Run]) -> Run:
        """Merge the rankings of the named branches."""


class Reranker(Protocol):
    """A ranking to another ranking of (some of) the same chunks."""

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """Reorder, drop or add."""


@dataclass(frozen=True)
class Fused:
    """Several retrievers side by side, then a fuser. `branches` is sorted by name, so their order cannot matter."""

    VERSION: ClassVar[int] = 1
    branches: tuple[tuple[str, Retriever], ...]
    fuser: Fuser

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Search every branch, then fuse."""
        return self.fuser.fuse(ctx, queries, {name: ctx.search(branch, queries) for name, branch in self.branches})


@dataclass(frozen=True)
class Pipeline:
    """A retriever and the rerankers behind it, in order. Every prefix is a stage of its own, so it runs once."""

    VERSION: ClassVar[int] = 1
    first: Retriever
    then: tuple[tuple[str, Reranker], ...] = ()

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Search the prefix, then apply the last reranker."""
        if not self.then:
            return ctx.search(self.first, queries)
        before = ctx.search(self.prefix, queries)
        return self.then[-1][1].rerank(ctx, queries, before)

    @property
    def prefix(self) -> Retriever:
        """This pipeline without its last reranker; its first stage where none is left."""
        rest = self.then[:-1]
        return replace(self, then=rest) if rest else self.first


@runtime_checkable
class HasInputs(Protocol):
    """A stage whose ranking depends on more than its parameters and the corpus, such as model weights."""

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """Digests of what it depends on, by name."""


@dataclass
class Context:
    """Everything a stage may use: the corpus, the artifact store, depth, seed, filter, and rankings from outside.

    `search` remembers: a stage (by fingerprint) is run once per query table, in memory and on disk. Every stage that
    brings chunks into a ranking keeps to those that `allowed` shows.
    """

    corpus: Corpus
    store: ArtifactStore
    depth: int = 100
    seed: int = 0
    given: Mapping[str, Run] = field(default_factory=dict)
    remember: bool = True
    where: Where | None = None
    _runs: dict[str, Remembered] = field(default_factory=dict)
    _notebooks: list[Notebook] = field(default_factory=lambda: [Notebook()])

    @cached_property
    def allowed(self) -> npt.NDArray[np.bool_] | None:
        """Which chunks may be ranked, bool [n_chunks]; None: all of them."""
        return None if self.where is None else self.where.mask(self.corpus)

    def search(self, stage: Retriever, queries: Queries) -> Run:
        """The ranking of a stage for all queries, from memory, from disk, or by running it now."""
        return self.remembered(stage, queries).run

    def remembered(self, stage: Retriever, queries: Queries) -> Remembered:
        """The ranking of a stage with what it cost.

        Raises:
            ScoringError: the stage scored NaN, an infinity or a duplicate; the message names stage, query and chunk.
        """
        spec = self.spec(stage, queries)
        key = fingerprint(spec)
        if key not in self._runs:
            if self.remember:
                folder = self.store.ensure("runs", spec, lambda out: self._measure(stage, queries).save(out))
                self._runs[key] = Remembered.load(folder)
            else:
                self._runs[key] = self._measure(stage, queries)
        return self._runs[key]

    def spec(self, stage: Retriever, queries: Queries) -> dict[str, object]:
        """What the ranking of a stage depends on."""
        inputs = {path: part.inputs(self) for path, part in components(stage) if isinstance(part, HasInputs)}
        return {
            "stage": fingerprint(stage),
            "inputs": inputs,
            "corpus": self.corpus.fingerprint,
            "queries": queries.fingerprint,
            "depth": self.depth,
            "seed": self.seed,
            "where": self.where,
            "format": FORMAT,
        }

    def artifact(
        self, kind: str, spec: Mapping[str, object], build: Callable[[Path], None], load: Callable[[Path], T]
    ) -> T:
        """An index over this corpus: built once for this spec, then shared (see `ArtifactStore.get`)."""
        spec = {"corpus": self.corpus.fingerprint, **spec}
        self._notebooks[-1].used.add(f"{kind}/{self.store.key(kind, spec)}")
        return self.store.get(kind, spec, build, load)

    def note(
        self,
        event: str,
        query: npt.ArrayLike,
        chunk: npt.ArrayLike,
        other: npt.ArrayLike = -1,
        value: npt.ArrayLike = np.nan,
    ) -> None:
        """Say for the trace that something happened to chunks of queries.

        Args:
            event: a word or two, such as `repeats`.
            query: int [n], rows of the query table.
            chunk: int [n], rows of the chunk table; -1 where it is about the whole query.
            other: int [n], the chunk that is the reason; -1 without one.
            value: float [n], the figure that decided; NaN without one.
        """
        self._notebooks[-1].note(event, query, chunk, other, value)

    def fact(self, name: str, value: float, of: float | None = None) -> None:
        """Give a figure for the table: a measurement, or a count among `of` (counts of one name add up)."""
        self._notebooks[-1].fact(name, value, of)

    def inside(self) -> Context:
        """A context whose searches are part of the running stage: for other queries than the batch's own."""
        return _Inside(self)

    def _measure(self, stage: Retriever, queries: Queries) -> Remembered:
        self._notebooks.append(Notebook())
        try:
            with self.store.timed() as own:
                run = stage.search(self, queries)
        except ScoringError as error:
            raise self._named(stage, queries, error) from error
        finally:
            said = self._notebooks.pop()
        built = self.store.built
        indexes = {name: (built[name].size, built[name].seconds) for name in sorted(said.used)}
        sample = np.linspace(0, len(queries) - 1, min(LATENCY_SAMPLE, len(queries))).astype(int).tolist()
        single = np.asarray([self._single(stage, queries, row) for row in sample], dtype=np.float64)
        return Remembered(run, own[0], single, indexes, said.table(), said.facts)

    def _single(self, stage: Retriever, queries: Queries, row: int) -> float:
        """Own seconds of a stage for one query; the stages before it hand over their part of the batch."""
        with self.store.timed() as own:
            stage.search(_OneQuery(self, queries, row), queries.take([row]))
        return own[0]

    def _named(self, stage: Retriever, queries: Queries, error: ScoringError) -> ScoringError:
        if error.query is None or error.chunk is None:
            return error
        name = type(walk(stage)[-1][1]).__name__
        where = f"query {queries.qid[error.query]!r}, chunk {self.corpus.chunk_ids[error.chunk]!r}"
        return ScoringError(f"{name}: {error} for {where}")


class _OneQuery(Context):
    """The context in which one query of a finished batch is timed: earlier stages are already known."""

    def __init__(self, batch: Context, queries: Queries, row: int) -> None:
        super().__init__(batch.corpus, batch.store, batch.depth, batch.seed, batch.given, where=batch.where)
        self._batch, self._queries, self._row = batch, queries, row

    def remembered(self, stage: Retriever, queries: Queries) -> Remembered:
        with self.store.timed():
            before = self._batch.remembered(stage, self._queries)
            return replace(before, run=before.run.only(self._row))


class _Inside(Context):
    """The context of searches within a stage: their time, indexes and notes are those of the stage itself."""

    def __init__(self, outer: Context) -> None:
        super().__init__(outer.corpus, outer.store, outer.depth, outer.seed, outer.given, where=outer.where)
        self._notebooks = outer._notebooks

    def remembered(self, stage: Retriever, queries: Queries) -> Remembered:
        return Remembered(stage.search(self, queries), 0.0, np.zeros(0), {})


def walk(stage: Retriever, path: str = "") -> list[tuple[str, Any]]:
    """Every stage inside a strategy with its path, in the order in which they run; the last one is the whole.

    A fuser is stood for by its `Fused`, a reranker by the pipeline that ends with it: both are what was searched.
    """
    here = f"{path}." if path else ""
    if isinstance(stage, Fused):
        inner = [part for name, branch in stage.branches for part in walk(branch, f"{here}branches.{name}")]
        return [*inner, (f"{here}fuser", stage)]
    if isinstance(stage, Pipeline):
        if not stage.then:
            return walk(stage.first, path)
        return [*walk(stage.prefix, path), (f"{here}then.{stage.then[-1][0]}", stage)]
    return [(path or "first", stage)]


def components(stage: Retriever) -> Iterator[tuple[str, Any]]:
    """Every retriever, fuser and reranker inside a strategy, with its path; those inside a stage follow it."""
    for path, part in walk(stage):
        own = part.fuser if isinstance(part, Fused) else part.then[-1][1] if isinstance(part, Pipeline) else part
        yield path, own
        for item in fields(own):  # type: ignore[arg-type]
            inner = getattr(own, item.name)
            if isinstance(inner, Retriever):
                yield from ((f"{path}.{item.name}.{deeper}", found) for deeper, found in components(inner))

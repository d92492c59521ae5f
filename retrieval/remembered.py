"""What is kept of a stage that ran: its ranking, its cost, and what it says about single chunks and in sum."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ingestion.artifacts import write_atomic
from retrieval.schema import Floats, Run

FORMAT = 2  # of what `save` writes: older ones are left alone
EVENTS = pa.schema(
    [
        ("event", pa.string()),
        ("query", pa.int32()),
        ("chunk", pa.int32()),
        ("other", pa.int32()),
        ("value", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Fact:
    """A figure that a stage gives about itself: a measurement, or with `of` a count among that many."""

    value: float
    of: float | None = None

    def text(self, name: str) -> str:
        """As a note in a table; empty for a count of 0."""
        if self.of is None:
            return f"{name} {self.value:.3f}"
        return f"{self.value:g} of {self.of:g} {name}" if self.value else ""


@dataclass
class Notebook:
    """What one run of a stage uses and says, while it runs."""

    used: set[str] = field(default_factory=set)
    events: list[pa.Table] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)

    def note(
        self,
        event: str,
        query: npt.ArrayLike,
        chunk: npt.ArrayLike,
        other: npt.ArrayLike = -1,
        value: npt.ArrayLike = np.nan,
    ) -> None:
        """Remember that something happened to chunks of queries; see `Context.note`."""
        query = np.atleast_1d(np.asarray(query, np.int32))
        if not len(query):
            return
        columns = [
            np.broadcast_to(np.asarray(given, kind), query.shape)
            for given, kind in ((chunk, np.int32), (other, np.int32), (value, np.float64))
        ]
        self.events.append(pa.table([pa.repeat(event, len(query)), query, *columns], schema=EVENTS))

    def fact(self, name: str, value: float, of: float | None) -> None:
        """Remember a figure; counts of one name add up."""
        before = self.facts.get(name)
        if of is not None and before is not None and before.of is not None:
            value, of = before.value + value, before.of + of
        self.facts[name] = Fact(float(value), None if of is None else float(of))

    def table(self) -> pa.Table:
        """All events, by event, query, chunk and other."""
        if not self.events:
            return EVENTS.empty_table()
        keys = [(name, "ascending") for name in ("event", "query", "chunk", "other")]
        return pa.concat_tables(self.events).sort_by(keys).combine_chunks()


@dataclass(frozen=True)
class Remembered:
    """A Run with what it cost and what its stage says about it.

    `seconds` of the stage itself for the whole batch; `single` float64 [n_sample], its own seconds for single
    queries; `indexes` that it used: bytes and build seconds by name; `events` (schema `EVENTS`): what happened to
    single chunks, such as `repeats` with the chunk that was kept instead; `facts`: figures by name.
    """

    run: Run
    seconds: float
    single: Floats
    indexes: Mapping[str, tuple[int, float]]
    events: pa.Table = field(default_factory=EVENTS.empty_table)
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write run, events and cost into an artifact folder."""
        self.run.save(folder / "run.parquet")
        if self.events.num_rows:
            pq.write_table(self.events, folder / "events.parquet")
        facts = {name: [fact.value, fact.of] for name, fact in self.facts.items()}
        cost = {
            "seconds": self.seconds,
            "single": self.single.tolist(),
            "indexes": dict(self.indexes),
            "facts": facts,
        }
        write_atomic(folder / "cost.json", json.dumps(cost))

    @staticmethod
    def load(folder: Path) -> Remembered:
        """Read what `save` wrote."""
        cost = json.loads((folder / "cost.json").read_text())
        path = folder / "events.parquet"
        return Remembered(
            Run.load(folder / "run.parquet"),
            cost["seconds"],
            np.asarray(cost["single"], np.float64),
            {name: (int(size), float(seconds)) for name, (size, seconds) in cost["indexes"].items()},
            pq.read_table(path, schema=EVENTS) if path.is_file() else EVENTS.empty_table(),
            {name: Fact(value, of) for name, (value, of) in cost["facts"].items()},
        )

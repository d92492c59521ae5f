"""A store that lives as long as its object: for tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from ingestion.stores import SCHEMAS, base


@dataclass
class MemoryBackend:
    """Tables in memory."""

    place: str = "the store in memory"
    kept: dict[str, str] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(
        default_factory=lambda: {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    )

    def regime(self) -> dict[str, str]:
        """The kept regime."""
        return self.kept

    def set_regime(self, regime: Mapping[str, str]) -> None:
        """Keep the regime."""
        self.kept = dict(regime)

    def read(self, name: str, columns: Sequence[str], doc_ids: Collection[str] | None) -> pa.Table:
        """Rows with these columns, of these documents or of all."""
        table = self.tables[name]
        if doc_ids is not None:
            table = table.filter(pc.is_in(table["doc_id"], pa.array(list(doc_ids), pa.string())))
        return table.select(list(columns))

    def append(self, name: str, table: pa.Table) -> None:
        """Add rows."""
        self.tables[name] = pa.concat_tables([self.tables[name], table])

    def delete(self, name: str, doc_ids: Collection[str]) -> None:
        """Delete the rows of these documents."""
        table = self.tables[name]
        self.tables[name] = table.filter(pc.invert(pc.is_in(table["doc_id"], pa.array(list(doc_ids), pa.string()))))


@dataclass(frozen=True)
class MemoryStore(base.TableStore):
    """Keeps nothing beyond the process."""

    _backend: MemoryBackend = field(default_factory=MemoryBackend, init=False, repr=False, compare=False)

    def open(self) -> MemoryBackend:
        """The tables."""
        return self._backend

    def close(self) -> None:
        """Nothing to let go of."""

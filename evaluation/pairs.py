"""Pairs of query and row as one whole number each, so that tables are joined by one `searchsorted`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.schema import Longs


def pairs(query: npt.NDArray[np.integer[Any]], row: npt.NDArray[np.integer[Any]]) -> Longs:
    """Query and row in one int64 [n] that sorts as the pair does."""
    return query.astype(np.int64) << 32 | row.astype(np.int64)


def look_up(known: Longs, asked: Longs) -> tuple[Longs, Longs]:
    """Positions in `asked` of what stands in `known` (ascending, unique), and where it stands there."""
    row = np.searchsorted(known, asked)
    inside = np.flatnonzero(row < len(known))
    found = inside[known[row[inside]] == asked[inside]]
    return found, row[found]

"""Two strategies query by query: where they differ most, and both rankings of one query side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import pandas as pd

from evaluation.errors import RequestError
from ingestion.config import nearest

PLACES = 12  # decimal places of a difference that count
FLIPS = ["qid", "a", "b", "diff"]
START = 220  # characters of a passage that are shown
GAP = "  |  "


def flips(per_query: pd.DataFrame, metric: str, a: str, b: str) -> pd.DataFrame:
    """The queries in which two strategies differ, largest difference first, ties by qid; columns `FLIPS`.

    `a` and `b` hold the values, diff = a - b. Queries without a value (nothing relevant is judged) are left out.

    Raises:
        RequestError: `per_query` has no such metric or strategy; the message offers the nearest one.
    """
    both = paired(per_query, metric, a, b)
    both = both[both["diff"] != 0].assign(size=lambda table: table["diff"].abs())
    order = both.sort_values(["size", "qid"], ascending=[False, True])
    return order[FLIPS].reset_index(drop=True)


def paired(per_query: pd.DataFrame, metric: str, a: str, b: str) -> pd.DataFrame:
    """Every query in which both strategies have a value, by qid; columns `FLIPS`.

    Raises:
        RequestError: `per_query` has no such metric or strategy; the message offers the nearest one.
    """
    check_name("metric", metric, per_query["metric"])
    for name in (a, b):
        check_name("strategy", name, per_query["strategy"])
    rows = per_query[per_query["metric"] == metric]
    one, other = (rows[rows["strategy"] == name].set_index("qid")["value"] for name in (a, b))
    both = pd.concat({"a": one, "b": other}, axis=1, join="inner").sort_index()
    both["diff"] = (both["a"] - both["b"]).round(PLACES)
    return both.rename_axis("qid").reset_index()[FLIPS]


def check_name(what: str, name: str, known: Sequence[str] | pd.Series[Any]) -> None:
    """Refuse a name that results do not have.

    Raises:
        RequestError: the message offers the nearest one.
    """
    names = sorted({str(one) for one in known})
    if name not in names:
        raise RequestError(f"{what} {name!r} is not in these results{nearest(name, names)}")


def side_by_side(
    shown: pd.DataFrame, passages: pd.DataFrame, qid: str, a: str, b: str, k: int, n: int = 10, width: int = 150
) -> str:
    """Both rankings of a query as text in two columns: rank, grade, document, page and the start of each passage.

    Args:
        shown: strategy, qid, rank, chunk_id, grade; grade -1 is unjudged.
        passages: chunk_id, document, pages, section, text.
        qid: the query.
        a: the strategy on the left.
        b: the strategy on the right.
        k: a line is drawn below this rank.
        n: how many ranks are shown.
        width: characters of a line.
    """
    texts = {row["chunk_id"]: row for row in _records(passages)}
    rows = shown[(shown["qid"] == qid) & (shown["rank"] <= n)].sort_values("rank")
    left, right = (_records(rows[rows["strategy"] == name]) for name in (a, b))
    in_left, in_right = ({row["chunk_id"]: row["rank"] for row in found} for found in (left, right))
    column = (width - len(GAP)) // 2
    lines = [*_columns([a], [b], column), "-" * (2 * column + len(GAP))]
    for place, (one, other) in enumerate(zip_longest(left, right), 1):
        lines += _columns(_cell(one, texts, in_right, column), _cell(other, texts, in_left, column), column)
        if place == k < max(len(left), len(right)):
            lines.append(f"- the top {k} ends here ".ljust(2 * column + len(GAP), "-"))
    return "\n".join(lines if left or right else [*lines, "neither found anything"])


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _cell(
    row: Mapping[str, Any] | None, texts: Mapping[str, Mapping[str, Any]], other: Mapping[str, int], width: int
) -> list[str]:
    """A ranked chunk as lines, with its rank in the other ranking; none where the ranking has ended."""
    if row is None:
        return []
    name = str(row["chunk_id"])
    passage = texts.get(name, {})
    grade = "unjudged" if row["grade"] < 0 else f"grade {row['grade']}"
    place = f"{passage['document']}, page {passage['pages']}" if passage.get("document") else name
    there = f"(other: {other.get(name, '-')})"
    head = textwrap.shorten(f"{row['rank']}. [{grade}] {place}", width - len(there) - 2, placeholder="...")
    text = textwrap.shorten(str(passage.get("text", "")), START, placeholder=" ...")
    return [f"{head}  {there}", *textwrap.wrap(text, width, initial_indent="   ", subsequent_indent="   ")]


def _columns(left: Sequence[str], right: Sequence[str], width: int) -> list[str]:
    return [f"{one.ljust(width)}{GAP}{other}".rstrip() for one, other in zip_longest(left, right, fillvalue="")]

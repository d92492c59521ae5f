"""Everything that a judge found, as it is printed and as it is stored."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from evaluation.agreement.kappa import Agreement, Estimate
from evaluation.llm_judges.asking import Failure, Votes
from evaluation.llm_judges.items import Items
from evaluation.llm_judges.kinds import Item, Kind
from evaluation.llm_judges.rates import Judged, rates, verdict_table
from evaluation.llm_judges.verdicts import Accuracy, Resampling, accuracy, flips, self_agreement, settled
from evaluation.schema import Grades8
from evaluation.stats import intervals
from evaluation.table import TOO_FEW, as_text

LISTED = 10  # failed calls that are printed; all are stored


@dataclass(frozen=True)
class Position:
    """How a judge of pairs minds the order: the share of pairs whose verdict flips, over n pairs.

    `toward_first` and `toward_second`: flips in favour of what is shown first, and second.
    """

    n: int
    share: float
    lo: float
    hi: float
    toward_first: int
    toward_second: int


@dataclass(frozen=True)
class Summary:
    """What one judge found. `table`: a row per item; `rates`: a row per group and measure."""

    judge: str
    kind: Kind
    repeats: int
    table: pd.DataFrame
    rates: pd.DataFrame
    failures: tuple[Failure, ...]
    left_out: Mapping[str, int]
    own: Agreement | None
    position: Position | None
    accuracy: Accuracy | None
    biased: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain dicts and lists; None for what is not defined."""
        content = {
            "judge": self.judge,
            "what": self.kind.name,
            "choices": list(self.kind.names),
            "repeats": self.repeats,
            "items": len(self.table),
            "judged": int((self.table["verdict"] != "").sum()),
            "left_out": dict(self.left_out),
            "failures": [asdict(one) for one in self.failures],
            "rates": self.rates.to_dict("records"),
            "self_agreement": None if self.own is None else _agreement(self.own),
            "position": None if self.position is None else asdict(self.position),
            "labels": None if self.accuracy is None else _accuracy(self.accuracy),
            "judges_itself": list(self.biased),
        }
        plain: dict[str, Any] = _plain(content)
        return plain


def summarise(judge: str, kind: Kind, found: Items, votes: Votes, labels: Grades8, how: Resampling) -> Summary:
    """From votes to a summary.

    Args:
        judge: the source, `llm:<model>`.
        kind: of judgment.
        found: what was judged, and what was not.
        votes: what the judge said about the items.
        labels: hand labels, int8 [n_items], -1 for none.
        how: how intervals are resampled.
    """
    judged = Judged(kind, found.items, settled(kind, votes.verdicts), labels)
    clusters = judged.clusters
    return Summary(
        judge,
        kind,
        votes.verdicts.shape[2],
        verdict_table(judged, votes.verdicts, votes.reasons),
        rates(judged, how),
        votes.failures,
        found.left_out,
        self_agreement(votes.verdicts, clusters, how),
        _position(kind, votes.verdicts, clusters, how) if kind.orders > 1 else None,
        accuracy(kind, judged.verdicts, labels, clusters, how),
        itself(judge, kind, found.items),
    )


def itself(judge: str, kind: Kind, items: tuple[Item, ...]) -> tuple[str, ...]:
    """The generators that seem to be the judge's own model: judges favour their own answers."""
    model = judge.partition(":")[2].rpartition("/")[2].rpartition(":")[2]
    same = re.compile(rf"(?<![a-z0-9]){re.escape(model)}(?![a-z0-9.])", re.IGNORECASE)
    places = [at for at, name in enumerate(kind.key) if name.startswith("generator")]
    return tuple(sorted({item.key[at] for item in items for at in places if same.search(item.key[at])}))


def _position(kind: Kind, votes: Grades8, clusters: list[str], how: Resampling) -> Position:
    values, direction = flips(kind, votes)
    n = int((~np.isnan(values)).sum())
    found = intervals(values[None], clusters, how.seed, how.resamples, how.confidence, binary=[True])
    first, second = int((direction > 0).sum()), int((direction < 0).sum())
    return Position(n, float(found.mean[0]), float(found.lo[0]), float(found.hi[0]), first, second)


def shown(found: Summary) -> str:
    """What is printed: rates, then what must be known about the judge."""
    blocks = [as_text(_cells(found))] if len(found.rates) else []
    lines = [f"verdicts: how many {' / '.join(found.kind.names)}"] if len(found.rates) else []
    lines += [f"left out: {count} {reason}" for reason, count in found.left_out.items()]
    lines += _failure_lines(found.failures)
    lines += [f"{name} seems to be the judge's own model, which judges tend to favour" for name in found.biased]
    if found.position is not None and found.position.n:
        lines.append(_position_line(found.position))
    if found.own is not None:
        own = found.own
        lines.append(f"agreement with itself: {_text(own.raw)}, kappa {_text(own.kappa)}")
    blocks.append("\n".join(lines))
    if found.accuracy is not None:
        blocks.append(_accuracy_text(found.kind, found.accuracy))
    else:
        blocks.append(
            "no hand labels, so these are the judge's rates and not the true ones; sample=<file> draws items to label"
        )
    return "\n\n".join(block for block in blocks if block)


def _cells(found: Summary) -> pd.DataFrame:
    rows = []
    for row in found.rates.to_dict("records"):
        cells = {str(name): str(row[name]) for name in found.kind.group}
        cells |= {"measure": row["measure"], "N": str(row["n"]), "failed": str(row["failed"])}
        cells |= {"verdicts": row["verdicts"], "judged": _interval(row["mean"], row["lo"], row["hi"])}
        if "ppi" in row:
            for name, title in (("corrected", "Rogan-Gladen"), ("ppi", "PPI")):
                value = _interval(row[name], row[f"{name}_lo"], row[f"{name}_hi"])
                cells[title] = value if value != "-" else row[f"{name}_note"] or "-"
            cells["labels"] = str(row["labelled"])
        rows.append(cells | {"note": TOO_FEW if row["note"] else ""})
    return pd.DataFrame(rows)


def _failure_lines(failures: tuple[Failure, ...]) -> list[str]:
    if not failures:
        return []
    lines = [f"{len(failures)} calls failed and count nowhere; the same command asks them again:"]
    lines += [
        f"  {' '.join(filter(None, one.key))}, order {one.order + 1}, repeat {one.repeat + 1}: {one.error}"
        for one in failures[:LISTED]
    ]
    return lines + (["  ..."] if len(failures) > LISTED else [])


def _position_line(found: Position) -> str:
    return (
        f"position bias: {_interval(found.share, found.lo, found.hi)} of {found.n} pairs flip with the order"
        f" ({found.toward_first} toward the first shown, {found.toward_second} toward the second); a flip is a tie"
    )


def _accuracy_text(kind: Kind, found: Accuracy) -> str:
    """Confusion matrix and coefficients."""
    corner, names = "label \\ judge", kind.names
    rows = [
        {corner: name, **{to: str(found.table[at, column]) for column, to in enumerate(names)}}
        for at, name in enumerate(names)
    ]
    few = f"; {TOO_FEW} ({found.agreement.clusters} < 10) for kappa's interval" if found.agreement.too_few else ""
    return "\n".join(
        [
            f"{found.n} items with a hand label{few}",
            as_text(pd.DataFrame(rows)),
            f"kappa         {_text(found.agreement.kappa)}, linear {_text(found.agreement.linear)}",
            f"sensitivity   {_share(found.sensitivity)}: of what is labelled {names[-1]}, the judge says so",
            f"specificity   {_share(found.specificity)}: of all else, the judge does not say {names[-1]}",
        ]
    )


def _share(share: tuple[float, float, float, int]) -> str:
    return f"{_interval(*share[:3])} of {share[3]}"


def _text(value: Estimate) -> str:
    return _interval(value.value, value.lo, value.hi)


def _interval(value: float, lo: float, hi: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" + ("" if math.isnan(lo) else f" [{lo:.3f} {hi:.3f}]")


def _agreement(found: Agreement) -> dict[str, Any]:
    return {name: asdict(getattr(found, name)) for name in ("raw", "kappa", "linear")} | {"clusters": found.clusters}


def _accuracy(found: Accuracy) -> dict[str, Any]:
    sides = {"sensitivity": found.sensitivity, "specificity": found.specificity}
    return {
        "n": found.n,
        "confusion": found.table.tolist(),
        "agreement": _agreement(found.agreement),
        **{name: dict(zip(("value", "lo", "hi", "n"), side, strict=True)) for name, side in sides.items()},
    }


def _plain(value: Any) -> Any:
    """JSON knows no NaN: it becomes null."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value

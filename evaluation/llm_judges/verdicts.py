"""From votes to verdicts: majority over repeats, agreement of both orders, and how far a judge agrees. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from evaluation.agreement.kappa import Agreement, agreement
from evaluation.llm_judges.journal import NONE
from evaluation.llm_judges.kinds import Kind
from evaluation.schema import Grades8, Longs
from evaluation.stats import wilson
from retrieval.schema import Floats

Clusters = Sequence[str] | npt.NDArray[np.generic]


@dataclass(frozen=True)
class Resampling:
    """How intervals are resampled: `seed`, how many `resamples`, two-sided `confidence` (.95 for 95 %)."""

    seed: int
    resamples: int = 10_000
    confidence: float = 0.95


@dataclass(frozen=True)
class Accuracy:
    """A judge against hand labels of the same n items.

    `table` int64 [n_choices, n_choices]: rows are labels, columns verdicts, worst first. `agreement`: kappa and its
    kin. `sensitivity`: share of the best label that the judge calls best; `specificity`: share of all other labels
    that it does not; each with the ends of Wilson's interval (NaN without such labels) and the number it rests on.
    """

    n: int
    table: Longs
    agreement: Agreement
    sensitivity: tuple[float, float, float, int]
    specificity: tuple[float, float, float, int]


def settled(kind: Kind, votes: Grades8) -> Grades8:
    """The verdict on every item, int8 [n_items]; -1 where an order has no readable reply.

    In one order it is the verdict of more than half of the repeats, else their lower median; where a tie is a choice,
    the tie. Over two orders it is what both say, else the tie: a win counts only if it survives the exchange.

    Args:
        kind: of judgment.
        votes: int8 [n_items, orders, repeats], -1 for none.
    """
    by_order = in_orders(kind, votes)
    if kind.orders == 1:
        return by_order[:, 0]
    agreed = np.where(by_order[:, 0] == by_order[:, 1], by_order[:, 0], _tie(kind))
    return np.where((by_order == NONE).any(axis=1), NONE, agreed).astype(np.int8)


def in_orders(kind: Kind, votes: Grades8) -> Grades8:
    """The verdict in every order, int8 [n_items, orders]; -1 where none of the repeats could be read."""
    rows = [[_majority(kind, repeats) for repeats in orders] for orders in votes.tolist()]
    return np.asarray(rows, dtype=np.int8).reshape(len(votes), kind.orders)


def _majority(kind: Kind, votes: Sequence[int]) -> int:
    said = sorted(vote for vote in votes if vote != NONE)
    if not said:
        return NONE
    middle = said[(len(said) - 1) // 2]  # holds whatever more than half of the votes say
    return middle if not kind.swapped or 2 * said.count(middle) > len(said) else _tie(kind)


def _tie(kind: Kind) -> int:
    return kind.best // 2


def flips(kind: Kind, votes: Grades8) -> tuple[Floats, Longs]:
    """Which items get another verdict in the other order.

    Returns:
        1.0 or 0.0 by item, float64 [n_items], NaN where an order has no verdict; and the direction, int64 [n_items]:
        1 where the order favours what is shown first, -1 what is shown second, 0 for no flip.
    """
    by_order = in_orders(kind, votes).astype(np.int64)
    there = (by_order != NONE).all(axis=1)
    direction = np.where(there, np.sign(by_order[:, 0] - by_order[:, -1]), 0)
    return np.where(there, np.abs(direction), np.nan).astype(np.float64), direction


def self_agreement(votes: Grades8, clusters: Clusters, how: Resampling) -> Agreement | None:
    """How far the repeats agree with each other; None where no item has two readable ones.

    Every pair of repeats of the same prompt counts in both directions, so that `kappa` is that of Fleiss (1971),
    "Measuring nominal scale agreement among many raters", where no call failed.

    Args:
        votes: int8 [n_items, orders, repeats], -1 for none.
        clusters: [n_items].
        how: how its intervals are resampled.
    """
    n, orders, repeats = votes.shape
    owners = np.repeat(np.asarray(clusters), orders)
    flat = votes.reshape(n * orders, repeats)
    pairs = [(flat[:, one], flat[:, other]) for one, other in permutations(range(repeats), 2)]
    if not pairs:
        return None
    a, b = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    whose = np.tile(owners, len(pairs))
    both = (a != NONE) & (b != NONE)
    if not both.any():
        return None
    return agreement(a[both], b[both], whose[both], how.seed, how.resamples, how.confidence)


def accuracy(kind: Kind, verdicts: Grades8, labels: Grades8, clusters: Clusters, how: Resampling) -> Accuracy | None:
    """The judge against hand labels; None where no item has both a verdict and a label.

    Args:
        kind: of judgment.
        verdicts: int8 [n_items], -1 for none.
        labels: int8 [n_items], -1 for none.
        clusters: [n_items].
        how: how kappa's intervals are resampled.
    """
    both = (verdicts != NONE) & (labels != NONE)
    if not both.any():
        return None
    said, true = verdicts[both], labels[both]
    size = len(kind.choices)
    table = np.bincount(true.astype(np.int64) * size + said, minlength=size**2).reshape(size, size)
    found = agreement(true, said, np.asarray(clusters)[both], how.seed, how.resamples, how.confidence)
    best, rest = table[-1], table[:-1]
    return Accuracy(
        int(both.sum()),
        table.astype(np.int64),
        found,
        _share(int(best[-1]), int(best.sum()), how.confidence),
        _share(int(rest[:, :-1].sum()), int(rest.sum()), how.confidence),
    )


def _share(count: int, n: int, confidence: float) -> tuple[float, float, float, int]:
    lo, hi = wilson([count], [n], confidence)
    return (count / n if n else float("nan")), float(lo[0]), float(hi[0]), n

"""The order in which drafts are taken: templates in turn, and within a template the documents in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evaluation.synthesize.draft import Draft, Dropped, Sifted

SURPLUS = "not needed"


def in_turn(drafts: Sequence[Draft], seed: int) -> list[Draft]:
    """The drafts in a random order of the seed in which no template and no document comes first.

    The first drafts of all templates come before any second one; a template takes the document next of which it has
    the fewest so far.
    """
    ordered = sorted(drafts, key=lambda draft: draft.qid)
    shuffled = [ordered[row] for row in np.random.default_rng(seed).permutation(len(ordered)).tolist()]
    seen: Counter[tuple[str, str]] = Counter()
    turn = []
    for draft in shuffled:
        key = draft.template, draft.documents[0]
        turn.append((seen[key], draft))
        seen[key] += 1
    taken: Counter[str] = Counter()
    placed = []
    for _, draft in sorted(turn, key=lambda item: item[0]):
        placed.append((taken[draft.template], draft))
        taken[draft.template] += 1
    return [draft for _, draft in sorted(placed, key=lambda item: item[0])]


def first(drafts: Sequence[Draft], n: int) -> Sifted:
    """The first n drafts; the others were good, and are not needed."""
    rest = tuple(Dropped(draft, SURPLUS, f"n={n} were taken before") for draft in drafts[n:])
    return Sifted(tuple(drafts[:n]), rest)

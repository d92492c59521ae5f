"""Questions divided into dev and test by document: those that share a document stay together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

DEV_SHARE = 1 / 3  # of the questions, as nearly as whole groups of documents allow


@dataclass(frozen=True)
class Division:
    """The split of every question, and the questions that join documents of both splits."""

    split_of: Mapping[str, str]
    torn: tuple[str, ...]


def connected(links: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Questions in groups that share a link (a document or a cluster), directly or through others; sorted."""
    root: dict[str, str] = {}

    def top(name: str) -> str:
        while root.setdefault(name, name) != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for qid in sorted(links):
        for link in sorted(links[qid]):
            ends = sorted((top(f"q\x1f{qid}"), top(f"d\x1f{link}")))
            root[ends[1]] = ends[0]
    groups: dict[str, list[str]] = {}
    for qid in sorted(links):
        groups.setdefault(top(f"q\x1f{qid}"), []).append(qid)
    return sorted(groups.values())


def divide(links: Mapping[str, Collection[str]], stored: Mapping[str, str], seed: int) -> Division:
    """Give every question a split; what is stored stays, and a group with a stored split follows it.

    The rest is drawn group by group in a random order of the seed: a group becomes dev while that brings dev nearer
    to `DEV_SHARE` of all questions. One group alone is test.

    Args:
        links: the documents (and cluster) of every question.
        stored: the split of questions that have one.
        seed: of the order.
    """
    split_of = dict(stored)
    torn: list[str] = []
    free = []
    for group in connected(links):
        known = {stored[qid] for qid in group if qid in stored}
        open_ones = [qid for qid in group if qid not in stored]
        if len(known) > 1:
            torn.extend(open_ones)
        elif known:
            split_of |= dict.fromkeys(open_ones, next(iter(known)))
        else:
            free.append(group)
    order = np.random.default_rng(seed).permutation(len(free)).tolist()
    dev = sum(split == "dev" for split in split_of.values())
    target = DEV_SHARE * len(links)
    rest = len(free) + (1 if "test" in split_of.values() else 0)
    for place in order:
        size = len(free[place])
        to_dev = rest > 1 and abs(dev + size - target) < abs(dev - target)
        split_of |= dict.fromkeys(free[place], "dev" if to_dev else "test")
        dev, rest = dev + size * to_dev, rest - (1 if to_dev else 0)
    return Division(split_of, tuple(sorted(torn)))


def shared_by_splits(links: Mapping[str, Collection[str]], split_of: Mapping[str, str]) -> list[str]:
    """Documents that have questions in more than one split, sorted: what is tuned on one has seen the other."""
    splits: dict[str, set[str]] = {}
    for qid, documents in links.items():
        for document in documents:
            splits.setdefault(document, set()).add(split_of.get(qid, ""))
    return sorted(document for document, found in splits.items() if len(found - {""}) > 1)

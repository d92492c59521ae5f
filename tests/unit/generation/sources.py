"""Passages and evidence for tests, with offsets that show where they come from."""

from __future__ import annotations

from collections.abc import Sequence

from generation.context import gather
from generation.schema import Evidence, Passage

START = 1000  # offset of every passage in its document


def passage(text: str, rank: int = 1, name: str = "report.pdf", section: str = "2 Method", page: int = 3) -> Passage:
    """A passage of rank `rank`."""
    return Passage(f"c{rank:03}", name, page, section, START, text, rank, 1 / rank)


def words(text: str) -> int:
    """A tokenizer that can be counted by hand."""
    return len(text.split())


def evidence(*texts: str, question: str = "What saturates?", relations: Sequence[str] = ()) -> Evidence:
    """Evidence from these texts, ranked as given."""
    ranked = [passage(text, rank) for rank, text in enumerate(texts, 1)]
    return gather(question, ranked, 10_000, words, relations)

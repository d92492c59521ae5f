"""Which of the ranked passages one answer may be made from, and why the others are left out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from generation.schema import Evidence, LeftOut, Passage, Source
from generation.visible import visible
from ingestion.sentences import spans

SHINGLE = 5  # words that must follow each other in both texts to count as common
_WORD = re.compile(r"\w+")

Count = Callable[[str], int]
Shingles = frozenset[tuple[str, ...]]


def gather(
    question: str,
    passages: Sequence[Passage],
    budget: int,
    count_tokens: Count,
    relations: Sequence[str] = (),
    similar: float = 0.9,
    limit: int = 8,
) -> Evidence:
    """The sources of one answer: the best passages that differ from each other and fit a budget of tokens.

    A passage that does not fit is passed over for a shorter one behind it, and never cut; only where the first one
    alone is longer than the budget does it end at the last sentence that fits.

    Args:
        question: as asked.
        passages: ranked; their `rank` decides, not their order.
        budget: tokens that all source texts may take together.
        count_tokens: counts a text as the generator does.
        relations: lines about entities of the question.
        similar: share of a passage's shingles in a better one from which it adds nothing to it.
        limit: how many sources there may be.

    Raises:
        ValueError: `budget` or `limit` is negative, or `similar` is not above 0 and at most 1.
    """
    if budget < 0 or limit < 0 or not 0 < similar <= 1:
        raise ValueError(f"budget={budget} and limit={limit} must be at least 0, similar={similar} in (0, 1]")
    chosen = _Chosen(budget, limit, similar, count_tokens)
    for passage in sorted(passages, key=lambda passage: (passage.rank, passage.chunk_id)):
        chosen.offer(passage, visible(passage.text))
    return Evidence(
        question=question,
        sources=tuple(chosen.sources),
        order=best_at_both_ends([source.id for source in chosen.sources]),
        relations=tuple(visible(line) for line in relations),
        tokens=chosen.tokens,
        left_out=tuple(chosen.left_out),
    )


def best_at_both_ends(ids: Sequence[str]) -> tuple[str, ...]:
    """Ranks 1, 3, 5, ..., 6, 4, 2: models use the two ends of a long context best.

    Liu et al. 2023, Lost in the Middle: How Language Models Use Long Contexts.
    """
    return (*ids[::2], *reversed(ids[1::2]))


@dataclass
class _Chosen:
    """Sources so far, and what was passed over."""

    budget: int
    limit: int
    similar: float
    count: Count
    sources: list[Source] = field(default_factory=list)
    shingles: list[Shingles] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    tokens: int = 0

    def offer(self, passage: Passage, text: str) -> None:
        """Take a passage, or say why not."""
        own = shingles(text)
        reason = self._unwanted(own)
        size = 0 if reason else self.count(text)
        if reason:
            self._leave(passage, reason)
        elif self.tokens + size <= self.budget:
            self._take(passage, text, size, own)
        elif self.sources:
            left = self.budget - self.tokens
            self._leave(passage, f"{size} tokens, and {left} of the budget of {self.budget} are left")
        else:
            self._shorten(passage, text, size)

    def _unwanted(self, own: Shingles) -> str:
        """Why a passage is no source whatever its length; empty where it may be one."""
        if not own:
            return "holds no words"
        double = next((row for row, known in enumerate(self.shingles) if self._repeats(own, known)), None)
        if double is not None:
            return f"nearly the same as {self.sources[double].id}"
        return f"beyond the limit of {self.limit} sources" if len(self.sources) >= self.limit else ""

    def _repeats(self, own: Shingles, known: Shingles) -> bool:
        """Whether a better passage holds nearly all of this one (Broder 1997: containment of shingles)."""
        return len(own) * self.similar <= len(known) and len(own & known) >= self.similar * len(own)

    def _take(self, passage: Passage, text: str, size: int, own: Shingles) -> None:
        self.sources.append(Source(f"S{len(self.sources) + 1}", passage, text))
        self.shingles.append(own)
        self.tokens += size

    def _leave(self, passage: Passage, reason: str) -> None:
        self.left_out.append(LeftOut(passage.chunk_id, passage.place, passage.rank, reason))

    def _shorten(self, passage: Passage, text: str, size: int) -> None:
        """Take the sentences at the beginning that fit."""
        ends = [end for _, end in spans(text)]
        kept = bisect_right(ends, self.budget, key=lambda end: self.count(text[:end]))
        told = f"{size} tokens, and the budget is {self.budget}"
        if not kept:
            self._leave(passage, f"{told}; its first sentence alone is longer")
            return
        end = ends[kept - 1]
        self._take(
            replace(passage, text=passage.text[:end]), text[:end], self.count(text[:end]), shingles(text[:end])
        )
        self._leave(passage, f"cut after {kept} of {len(ends)} sentences: {told}")


def shingles(text: str) -> Shingles:
    """All runs of `SHINGLE` words of a text in lower case; a shorter text is one run, one without words none."""
    words = _WORD.findall(text.lower())
    if len(words) <= SHINGLE:
        return frozenset([tuple(words)] if words else [])
    return frozenset(zip(*(words[start:] for start in range(SHINGLE)), strict=False))

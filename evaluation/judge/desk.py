"""The judge's desk: the passages of a pool, what one source has said about them, and the words to mark."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from evaluation.judge.guidelines import GUIDELINES, HIGHEST
from evaluation.judge.journal import Journal
from evaluation.pool.file import Passage, PoolError
from ingestion.lexicon import FUNCTION
from retrieval.analysis import TOKEN, tokens

Mark = tuple[int, int]


@dataclass(frozen=True)
class Desk:
    """Passages in their order, each known by its number from 0, and the journal that remembers the grades."""

    passages: tuple[Passage, ...]
    journal: Journal
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def passage(self, number: int) -> Passage:
        """The passage with its present grade and comment."""
        row = self.passages[number]
        return self.journal.current.get(row.key, row)

    @property
    def done(self) -> int:
        """How many passages have a grade."""
        return sum(row.key in self.journal.current for row in self.passages)

    def first_open(self, behind: int = -1) -> int | None:
        """The first passage without a grade behind a number, then from the start; None if all have one."""
        order = [*range(behind + 1, len(self.passages)), *range(behind + 1)]
        return next((at for at in order if self.passages[at].key not in self.journal.current), None)

    def judge(self, number: int, grade: int | None, comment: str = "") -> Passage:
        """Store a grade (None takes it back); returns the passage as it is now.

        Raises:
            PoolError: there is no such passage, or the grade is none.
        """
        if not 0 <= number < len(self.passages):
            raise PoolError(f"passage {number}: there are {len(self.passages)}, from 0")
        if grade is not None and not 0 <= grade <= HIGHEST:
            raise PoolError(f"grade {grade}: must be 0 to {HIGHEST}")
        with self._lock:
            self.journal.judge(self.passages[number], grade, comment)
        return self.passage(number)

    def undo(self) -> int | None:
        """Take the last judgment back; returns the number of its passage, None where nothing is left to take back.

        A judgment of a passage that is not in this pool is taken back too, and passed over.
        """
        number = {row.key: at for at, row in enumerate(self.passages)}
        with self._lock:
            while (passage := self.journal.undo()) is not None:
                if passage.key in number:
                    return number[passage.key]
        return None

    def state(self) -> dict[str, Any]:
        """Everything that the page shows, as JSON has it."""
        return {
            "source": self.journal.source,
            "file": self.journal.path.name,
            "grades": [{"grade": grade, "name": name, "text": text} for grade, (name, text) in GUIDELINES.items()],
            "passages": [self._shown(number) for number in range(len(self.passages))],
        }

    def _shown(self, number: int) -> dict[str, Any]:
        row = self.passage(number)
        told = {name: getattr(row, name) for name in ("qid", "query", "doc_name", "page", "quote", "comment")}
        judged = row.grade if row.key in self.journal.current else None
        return {**told, "grade": judged, "marks": marks(row.query, row.quote)}


def marks(question: str, text: str) -> list[Mark]:
    """Where words of the question stand in a text, start and end; compared as the lexical stages compare words.

    Function words such as `when` and `were` are left out.
    """
    asked = set(tokens(" ".join(word for word in TOKEN.findall(question) if word.lower() not in FUNCTION)))
    return [match.span() for match in TOKEN.finditer(text) if asked.intersection(tokens(match[0]))]

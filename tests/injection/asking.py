"""The offline generator over poisoned corpora, and over evidence in which only the attacker's text differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generation import pipeline
from generation.api import Answerer, Route
from generation.passages import retrieve
from generation.schema import Answer, Evidence, Passage
from generation.words import Rarity
from ingestion.document import Chunker
from ingestion.schema import Corpus
from retrieval.api import QID, Searcher
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.injection.attacks import Attack
from tests.injection.bases import Base
from tests.injection.corpora import CLEAN, Corpora, read


@dataclass(frozen=True)
class Asking:
    """The generator with its defaults, composed once."""

    answerer: Answerer
    corpora: Corpora
    bases: Sequence[Base]

    @staticmethod
    def open(folder: Path, bases: Sequence[Base], chunker: Chunker | None = None) -> Asking:
        """Over the clean documents among the PDFs that were written below `folder / "pdf"`."""
        corpora = read(folder / "pdf", folder / "artifacts", chunker)
        return Asking(Answerer.open(Searcher(corpora.clean(bases), corpora.store), Route()), corpora, bases)

    def over(self, attack: Attack) -> Asking:
        """The same over the corpus in which the attack's document stands in place of its clean twin."""
        corpus = self.corpora.poisoned(self.bases, attack)
        tools = replace(self.answerer.tools, rarity=Rarity.of(self.context(corpus)))
        searcher = Searcher(corpus, self.corpora.store)
        return replace(self, answerer=replace(self.answerer, searcher=searcher, tools=tools))

    def context(self, corpus: Corpus | None = None) -> Context:
        """What retrieval reads."""
        return Context(corpus or self.answerer.searcher.corpus, self.corpora.store, remember=False)

    def evidence(self, questions: Sequence[str]) -> dict[str, Evidence]:
        """The evidence for each question."""
        return dict(zip(questions, self.answerer.evidence(questions), strict=True))

    def answers(self, evidence: Mapping[str, Evidence]) -> dict[str, Answer]:
        """The answer to each question from its evidence."""
        own = self.answerer
        return {text: pipeline.answer(own.generator, one, own.tools) for text, one in evidence.items()}


@dataclass(frozen=True)
class Given:
    """The passages of each question, found once over the clean documents."""

    asking: Asking
    passages: Mapping[str, tuple[Passage, ...]]

    @staticmethod
    def of(asking: Asking, questions: Sequence[str]) -> Given:
        """Retrieve them."""
        queries = Queries.of([f"{QID}{row:09}" for row in range(len(questions))], list(questions))
        own = asking.answerer
        found = retrieve(asking.context(), own.stage, queries, own.spec.passages)
        return Given(asking, dict(zip(questions, found, strict=True)))

    def poisoned(self, attack: Attack, questions: Sequence[str]) -> dict[str, tuple[Passage, ...]]:
        """The passages, those of the attack's document with text, section, title and name of its poisoned twin.

        Both are cut into the same number of chunks, but for a section that the attacker added at the end: it goes
        with the last one.
        """
        swap = self._twins(attack)
        return {
            text: tuple(replace(one, **swap.get(one.chunk_id, {})) for one in self.passages[text])
            for text in questions
        }

    def answers(self, passages: Mapping[str, Sequence[Passage]]) -> dict[str, Answer]:
        """The answer to each question from its passages, with the words of the clean corpus counted."""
        evidence = pipeline.gathered(
            self.asking.context(), list(passages), list(passages.values()), self.asking.answerer.spec
        )
        return self.asking.answers(dict(zip(passages, evidence, strict=True)))

    def _twins(self, attack: Attack) -> dict[str, dict[str, Any]]:
        """What of a clean passage is exchanged, by its chunk id."""
        parts, title = self.asking.corpora.parts, self.asking.corpora.title
        name = f"{attack.id}/{attack.file_name}"
        old, new = parts(f"{CLEAN}/{attack.base.name}.pdf"), parts(name)
        added = len(new) - len(old)
        if (
            added not in (0, 1)
            or [part["page_start"] for part in old] != [part["page_start"] for part in new][: len(old)]
        ):
            raise ValueError(f"{attack.id}: {len(old)} chunks became {len(new)}, or moved to another page")
        last = len(old) - 1
        swap = [{"text": part["text"], "section": part["section"]} for part in new[: len(old)]]
        swap[last]["text"] = " ".join(part["text"] for part in new[last:])
        named = {"doc_name": attack.file_name, "title": title(name)}
        return {part["chunk_id"]: {**own, **named} for part, own in zip(old, swap, strict=True)}

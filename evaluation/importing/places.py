"""Where in the corpus a piece of evidence lies, how surely it was found, and what is near where it was not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evaluation.importing.questions import Said
from evaluation.locate import Library
from evaluation.quotes import Normal, Text
from evaluation.schema import Evidence
from ingestion.config import nearest
from ingestion.tables import OK

How = Literal["exact", "similar", "page", "document", "missing"]
SHOWN = 160  # characters of a text in the report
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Found:
    """What became of one piece of evidence.

    `how`: the quote stands there letter by letter, or with differences; the page or the document as a whole is
    judged; or it is nowhere, and `note` says why and what is near. `evidence` is the judgment with its place, `span`
    its document row, start and end in document offsets. `similarity` from 0 to 100, of letters and digits.
    `text` is what stands there, where it differs. `moved`: the page that was said, where it is another one; else 0.
    """

    said: Said
    how: How
    evidence: Evidence
    span: tuple[int, int, int] = (-1, -1, -1)
    similarity: float = 100.0
    text: str = ""
    moved: int = 0
    note: str = ""

    @property
    def other_numbers(self) -> bool:
        """Whether quote and text differ in a number: then they may say different things."""
        return bool(self.text) and DIGITS.findall(self.said.quote) != DIGITS.findall(self.text)


@dataclass(frozen=True)
class Finder:
    """Finds evidence in a corpus."""

    library: Library

    def find(self, qid: str, said: Said) -> Found:
        """Where a piece of evidence lies."""
        row = self.library.row(said.doc)
        name = said.doc if row is None else self._name(row)
        evidence = Evidence(
            qid, name, said.page, said.char_start, said.char_end, said.quote, said.grade, said.source, said.part
        )
        if row is None or row not in self.library.texts:
            return Found(said, "missing", evidence, note=self._no_document(said.doc, row))
        text = self.library.texts[row]
        area = text.find(evidence)
        if area is None:
            note = self._nearest(said, text, row) if said.quote else f"there is no page {said.page} with text in it"
            return Found(said, "missing", evidence, note=f"{note}; the document has {len(text.pages)} pages")
        if not said.quote:
            bare = Evidence(qid, name, said.page, -1, -1, "", said.grade, said.source, said.part)
            return Found(said, "page" if said.page else "document", bare, (row, *area))
        return self._quoted(evidence, said, row, area)

    def _quoted(self, evidence: Evidence, said: Said, row: int, area: tuple[int, int]) -> Found:
        from rapidfuzz.fuzz import ratio

        at = self.library.on_page(row, *area)
        placed = Evidence(
            evidence.qid, evidence.doc, at["page"], at["char_start"], at["char_end"], said.quote, said.grade,
            said.source, said.part,
        )  # fmt: skip
        there = self.library.texts[row].text[slice(*area)]
        wanted, found = (Normal.of(part, letters=True).text for part in (said.quote, there))
        similarity = ratio(wanted, found) if wanted != found else 100.0
        moved = said.page if said.page and said.page != at["page"] else 0
        how: How = "exact" if wanted == found else "similar"
        return Found(said, how, placed, (row, *area), similarity, "" if how == "exact" else there, moved)

    def _name(self, row: int) -> str:
        """A name by which the document is found again: its file name, or its id where that is not unique."""
        document = self.library.corpus.documents.slice(row, 1).to_pylist()[0]
        name = str(document["doc_name"])
        return name if self.library.row(name) == row else str(document["doc_id"])

    def _no_document(self, doc: str, row: int | None) -> str:
        documents = self.library.corpus.documents.select(["doc_name", "status", "error"]).to_pylist()
        if row is not None:
            status = documents[row]
            why = status["error"] if status["status"] != OK else "it has no text"
            return f"nothing can be found in {doc}: {why}"
        alike = [str(one["doc_name"]) for one in documents if Path(str(one["doc_name"])).name == Path(doc).name]
        if len(alike) > 1:
            return f"{doc!r} may be {' or '.join(alike)}; name it with its folder"
        return f"no document {doc!r} in the corpus{_near(doc, [str(one['doc_name']) for one in documents])}"

    def _nearest(self, said: Said, text: Text, row: int) -> str:
        """What is most like a quote that is not there, and whether another document has it."""
        elsewhere = [self._name(other) for other in self._holders(said) if other != row]
        if elsewhere:
            return f"the quote is not in it, but in {' and '.join(elsewhere[:3])}"
        from rapidfuzz.fuzz import partial_ratio_alignment

        needle, form = Normal.of(said.quote, letters=True).text, text.letters
        found = partial_ratio_alignment(needle, form.text) if needle and form.text else None
        if found is None or found.dest_start >= found.dest_end:
            return "the quote is not in it"
        start, end = int(form.origin[found.dest_start]), int(form.origin[found.dest_end - 1]) + 1
        page = self.library.on_page(row, start, end)["page"]
        there = short(text.text[start:end])
        return f"the quote is not in it; nearest ({found.score:.0f} % alike), page {page}: {there!r}"

    def _holders(self, said: Said) -> list[int]:
        """The documents that hold a quote of some length letter by letter."""
        needle = Normal.of(said.quote, letters=True).text
        if len(needle) < 20:
            return []
        return [row for row, text in sorted(self.library.texts.items()) if needle in text.letters.text]


def short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."


def _near(doc: str, names: Sequence[str]) -> str:
    """The nearest name as it would be typed; a few of them where none is near and there are many."""
    hint = nearest(doc, names)
    if "did you mean" in hint or len(names) <= 8:
        return hint
    return f"; it has {len(names)} documents, such as {', '.join(sorted(names)[:5])}"

"""Where judged quotes lie in a corpus: document offsets, whatever extractor and chunker made its text.

A quote is searched where its stored offsets point, then exactly (case, white space, hyphens, quotation marks, ligatures
and accents folded; then letters and digits alone) on its page, the pages beside it and in the whole document, then
with small differences. What is not found is an orphan.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from evaluation.errors import BenchmarkError, OrphanError
from evaluation.schema import Benchmark, Evidence, Longs, Spans
from ingestion.schema import PAGE_BREAK, Corpus

LONG = 20  # letters; from here on a quote may begin or end within a word, or differ a little
SIMILARITY = 85.0  # of 100; see `_similar`
MAX_PARTS = 62  # parts are bits of an int64
DASHES, SINGLE, DOUBLE = "\u2212\ufffe", "‘’‚‛′`´", "“”„‟″«»"


@dataclass(frozen=True)
class Normal:
    """A text in normal form, and for each of its characters the place that it came from (int64 [n])."""

    text: str
    origin: Longs

    @staticmethod
    def of(text: str, letters: bool) -> Normal:
        """Fold a text; with `letters` only letters and digits stay, else runs of white space become one blank."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        unique, inverse = np.unique(codes, return_inverse=True)
        parts = {code: _folded(chr(code), letters) for code in unique.tolist()}
        lengths = np.asarray([len(part) for part in parts.values()], dtype=np.int64)
        origin = np.repeat(np.arange(len(text)), lengths[inverse] if len(text) else 0)
        folded = text.translate(parts)
        return Normal(folded, origin) if letters else Normal(folded, origin)._single_blanks()

    def _single_blanks(self) -> Normal:
        codes = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        blank = codes == ord(" ")
        keep = ~blank
        keep[1:] |= ~blank[:-1]
        return Normal(codes[keep].tobytes().decode("utf-32-le", "surrogatepass"), self.origin[keep])

    def range(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from `start` to `end` of the original text are here."""
        low, high = np.searchsorted(self.origin, [start, end])
        return int(low), int(high)


@lru_cache(maxsize=4096)
def _folded(char: str, letters: bool) -> str:
    decomposed = unicodedata.normalize("NFKD", char)
    text = "".join(part for part in decomposed if not unicodedata.combining(part)).casefold()
    if letters:
        return "".join(part for part in text if part.isalnum())
    return "".join(_plain(part) for part in text)


def _plain(char: str) -> str:
    if char in DASHES or unicodedata.category(char) == "Pd":
        return "-"
    if char in SINGLE:
        return "'"
    if char in DOUBLE:
        return '"'
    if char.isspace():
        return " "
    return "" if unicodedata.category(char) in ("Cf", "Cc") else char


@dataclass(frozen=True)
class Text:
    """One document's repaired text. `starts` int64 [n_pages]: where each page begins; page 1 comes first."""

    text: str
    starts: Longs

    @cached_property
    def forms(self) -> tuple[Normal, Normal]:
        """The text folded, and its letters and digits alone."""
        return Normal.of(self.text, letters=False), Normal.of(self.text, letters=True)

    def page(self, number: int) -> tuple[int, int] | None:
        """Start and end of a page, None where the document has no such page."""
        if not 1 <= number <= len(self.starts):
            return None
        last = number == len(self.starts)
        return int(self.starts[number - 1]), len(self.text) if last else int(self.starts[number]) - len(PAGE_BREAK)

    def find(self, row: Evidence) -> tuple[int, int] | None:
        """Start and end of a judgment in this text, None where it is not there."""
        if not row.quote:
            return self._whole(row.page)
        needles = tuple(Normal.of(row.quote, letters).text.strip() for letters in (False, True))
        if not needles[0]:
            return None
        stored = self._stored(row, needles)
        if stored:
            return stored
        areas = list(self._areas(row.page))
        anchor = areas[0][0]
        hits = (
            self._exact(form, needle, area, anchor) for area in areas for form, needle in zip(self.forms, needles)
        )
        similar = (self._similar(needles[1], area) for area in areas)
        return next((hit for tried in (hits, similar) for hit in tried if hit), None)

    def _whole(self, number: int) -> tuple[int, int] | None:
        """A page, or the document for page 0; None without any text."""
        area = self.page(number) if number else (0, len(self.text))
        return area if area and self.text[slice(*area)].strip() else None

    def _stored(self, row: Evidence, needles: tuple[str, str]) -> tuple[int, int] | None:
        """The stored offsets, where the text there is the quote."""
        page = self.page(row.page)
        if page is None or not 0 <= row.char_start < row.char_end:
            return None
        start, end = page[0] + row.char_start, page[0] + row.char_end
        there = self.text[start:end]
        same = end <= len(self.text) and Normal.of(there, letters=False).text.strip() == needles[0]
        return (start, end) if same else None

    def _areas(self, number: int) -> Iterator[tuple[int, int]]:
        """Where to look, nearest first: the page, with the pages beside it, the document."""
        page = self.page(number)
        if page:
            before, after = self.page(number - 1), self.page(number + 1)
            yield page
            yield before[0] if before else page[0], after[1] if after else page[1]
        yield 0, len(self.text)

    def _exact(self, form: Normal, needle: str, area: tuple[int, int], anchor: int) -> tuple[int, int] | None:
        """The occurrence nearest to `anchor`; whole words come first, and short quotes must be whole words."""
        low, high = form.range(*area)
        best: tuple[bool, int, tuple[int, int]] | None = None
        at = form.text.find(needle, low, high) if needle else -1
        while at >= 0:
            start, end = int(form.origin[at]), int(form.origin[at + len(needle) - 1]) + 1
            within_word = self._cuts_word(start) or self._cuts_word(end)
            if not within_word or len(needle) >= LONG:
                found = (within_word, abs(start - anchor), (start, end))
                best = found if best is None else min(best, found)
            at = form.text.find(needle, at + 1, high)
        return best[2] if best else None

    def _cuts_word(self, at: int) -> bool:
        """Whether a place has letters or digits of a script with blanks on both sides."""
        pair = self.text[max(at - 1, 0) : at + 1] if at > 0 else ""
        return len(pair) == 2 and pair.isalnum() and max(pair) < "\u2e80"

    def _similar(self, needle: str, area: tuple[int, int]) -> tuple[int, int] | None:
        """The window of the area that is most like a long quote, from `SIMILARITY` on, letters and digits compared."""
        from rapidfuzz.fuzz import partial_ratio_alignment

        form = self.forms[1]
        low, high = form.range(*area)
        if not LONG <= len(needle) <= high - low:
            return None
        found = partial_ratio_alignment(needle, form.text[low:high], score_cutoff=SIMILARITY)
        if found is None:
            return None
        return int(form.origin[low + found.dest_start]), int(form.origin[low + found.dest_end - 1]) + 1


@dataclass(frozen=True)
class Library:
    """The documents of a corpus by every name that a judgment may use for them."""

    corpus: Corpus

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Row in `Corpus.documents` of every doc_id, file name, and stem; a name of several documents is none."""
        columns = self.corpus.documents.select(["doc_id", "doc_name"]).to_pydict()
        rows: dict[str, set[int]] = {}
        for row, name in enumerate(columns["doc_name"]):
            for key in (name, Path(name).name, document_stem(name)):
                rows.setdefault(key, set()).add(row)
        unique = {name: min(found) for name, found in rows.items() if len(found) == 1}
        return unique | {doc_id: row for row, doc_id in enumerate(columns["doc_id"])}

    def row(self, doc: str) -> int | None:
        """Row of the document that a judgment names, None where there is none."""
        names = (doc, Path(doc).name, document_stem(doc))
        return next((self.row_of[name] for name in names if name in self.row_of), None)

    @cached_property
    def texts(self) -> Mapping[int, Text]:
        """Text of every document that has pages."""
        doc_rows = {doc_id: row for row, doc_id in enumerate(self.corpus.documents["doc_id"].to_pylist())}
        pages: dict[int, list[str]] = {}
        for doc_id, text in zip(*(self.corpus.pages[name].to_pylist() for name in ("doc_id", "text")), strict=True):
            pages.setdefault(doc_rows[doc_id], []).append(text)
        starts = {
            row: np.cumsum([0, *(len(text) + len(PAGE_BREAK) for text in parts)]) for row, parts in pages.items()
        }
        return {row: Text(PAGE_BREAK.join(parts), starts[row][:-1]) for row, parts in pages.items()}

    def find(self, row: Evidence) -> tuple[int, int, int] | None:
        """Document row, start and end of a judgment, None where it is not in the corpus."""
        doc = self.row(row.doc)
        place = self.texts[doc].find(row) if doc is not None and doc in self.texts else None
        return None if doc is None or place is None else (doc, *place)


def document_stem(doc: str) -> str:
    """A document's name without folders and `.pdf`; other dots stay (`2605.23950`)."""
    name = Path(doc).name
    return name[:-4] if name.lower().endswith(".pdf") else name


def locate(benchmark: Benchmark, corpus: Corpus) -> Spans:
    """Find every judgment's span. Parts are numbered per query by name, among relevant spans that were found.

    Raises:
        BenchmarkError: a query has more than 62 parts.
    """
    library = Library(corpus)
    found = [library.find(row) for row in benchmark.evidence]
    located = [(row, place) for row, place in zip(benchmark.evidence, found, strict=True) if place]
    query_row = {qid: row for row, qid in enumerate(benchmark.queries.qid)}
    parts = _part_numbers([row for row, _ in located])
    places = np.asarray([place for _, place in located], dtype=np.int64).reshape(-1, 3)
    return Spans(
        query=np.asarray([query_row[row.qid] for row, _ in located], dtype=np.int32),
        doc=places[:, 0].astype(np.int32),
        start=places[:, 1],
        end=places[:, 2],
        grade=np.asarray([row.grade for row, _ in located], dtype=np.int8),
        part=np.asarray([parts.get((row.qid, row.part), 0) for row, _ in located], dtype=np.int32),
        whole_page=np.asarray([not row.quote for row, _ in located], dtype=np.bool_),
        orphans=tuple(row for row, place in zip(benchmark.evidence, found, strict=True) if not place),
    )


def check_orphans(spans: Spans, total: int, limit: float = 0.02) -> None:
    """Refuse judgments of which more than `limit` (share of `total`) are not in the corpus.

    Raises:
        OrphanError: with their number and the first five.
    """
    if len(spans.orphans) <= limit * total:
        return
    first = "\n".join(f"  {row.qid}: {row.doc}, page {row.page}: {row.quote[:80]!r}" for row in spans.orphans[:5])
    raise OrphanError(
        f"the judgments do not describe this corpus: {len(spans.orphans)} of {total} are not in it"
        f" ({limit:.0%} may be missing):\n{first}\n"
        "name the corpus that was judged (corpus.path=<folder>), or correct these documents, pages and quotes"
    )


def _part_numbers(rows: list[Evidence]) -> dict[tuple[str, str], int]:
    names: dict[str, set[str]] = {}
    for row in rows:
        if row.grade > 0:
            names.setdefault(row.qid, set()).add(row.part)
    for qid, parts in names.items():
        if len(parts) > MAX_PARTS:
            raise BenchmarkError(f"query {qid!r} has {len(parts)} parts; {MAX_PARTS} is the most: merge some")
    return {(qid, part): number for qid, parts in names.items() for number, part in enumerate(sorted(parts))}

"""A judged quote in one document's text, found although extractors write the same sentence differently."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from evaluation.schema import Evidence, Longs

SHORT = 8  # letters; fewer say too little without signs and blanks: `p < .05` is not `p > .05`
LONG = 20  # letters; from here on a quote may begin or end within a word, or differ a little
# Of 1,500 sentences of CL-SciSumm searched in a wrong paper, three reach 70 of 100, only a cited title reaches 85.
SIMILARITY = 85.0
# Letters of a piece, and share of the quote that its pieces make up. 66 of the 1,470 judged sentences of CL-SciSumm
# stand in the PDF in pieces only; of 4,000 searched in a wrong paper none does so at .6, three do at .5.
PIECE, SHARE = 16, 0.6
DASHES, SINGLE, DOUBLE = "\u2212\ufffe", "‘’‚‛′`", "“”„‟«»"

Area = tuple[int, int]


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

    def range(self, start: int, end: int) -> Area:
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
    """One document's repaired text, and where its pages (by number, from 1) start and end in it."""

    text: str
    pages: Mapping[int, Area]

    @cached_property
    def folded(self) -> Normal:
        """Normal form with single blanks."""
        return Normal.of(self.text, letters=False)

    @cached_property
    def letters(self) -> Normal:
        """Normal form of letters and digits alone."""
        return Normal.of(self.text, letters=True)

    def find(self, row: Evidence) -> Area | None:
        """Start and end of a judgment in this text, None where it is not there.

        A quote is searched where its stored offsets point, then exactly (case, white space, dashes, quotation marks,
        ligatures and accents folded; then letters and digits alone) on its page, the pages beside it and in the whole
        document, then there with small differences, then there in pieces.
        """
        if not row.quote:
            return self._whole(row.page)
        return self._stored(row) or self._searched(row)

    def _searched(self, row: Evidence) -> Area | None:
        """Where a quote is, whatever its stored offsets say."""
        folded, letters = (Normal.of(row.quote, only).text.strip() for only in (False, True))
        if not folded:
            return None
        areas = list(self._areas(row.page))
        anchor = areas[0][0]
        tries = chain(
            (
                self._exact(form, needle, area, anchor)
                for area in areas
                for form, needle in ((self.folded, folded), (self.letters, letters if len(letters) >= SHORT else ""))
            ),
            (self._similar(letters, area) for area in areas),
            (self._in_pieces(letters, area) for area in areas),
        )
        return next((hit for hit in tries if hit), None)

    def _whole(self, number: int) -> Area | None:
        """A page, or the document for page 0; None without any text."""
        area = self.pages.get(number) if number else (0, len(self.text))
        return area if area and self.text[slice(*area)].strip() else None

    def _stored(self, row: Evidence) -> Area | None:
        """The stored offsets, where the text there is the quote."""
        page = self.pages.get(row.page)
        if page is None or not 0 <= row.char_start < row.char_end:
            return None
        start, end = page[0] + row.char_start, page[0] + row.char_end
        same = end <= len(self.text) and _same(self.text[start:end], row.quote)
        return (start, end) if same else None

    def _areas(self, number: int) -> Iterator[Area]:
        """Where to look, nearest first: the page, with the pages beside it, the document."""
        page = self.pages.get(number)
        if page:
            before, after = self.pages.get(number - 1), self.pages.get(number + 1)
            yield page
            yield before[0] if before else page[0], after[1] if after else page[1]
        yield 0, len(self.text)

    def _exact(self, form: Normal, needle: str, area: Area, anchor: int) -> Area | None:
        """The occurrence nearest to `anchor`; whole words come first, and short quotes must be whole words."""
        low, high = form.range(*area)
        best: tuple[bool, int, Area] | None = None
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

    def _similar(self, needle: str, area: Area) -> Area | None:
        """The window of the area most like a long quote, letters and digits compared, from `SIMILARITY` on."""
        from rapidfuzz.fuzz import partial_ratio_alignment

        form = self.letters
        low, high = form.range(*area)
        if not LONG <= len(needle) <= high - low:
            return None
        found = partial_ratio_alignment(needle, form.text[low:high], score_cutoff=SIMILARITY)
        if found is None:
            return None
        return self._words(int(form.origin[low + found.dest_start]), int(form.origin[low + found.dest_end - 1]) + 1)

    def _in_pieces(self, needle: str, area: Area) -> Area | None:
        """The longest run of a quote that something else interrupts: a formula, footnote, figure or column.

        The quote counts as found when pieces of at least `PIECE` letters, wherever they stand, are `SHARE` of it.
        """
        form = self.letters
        low, high = form.range(*area)
        pieces: list[Area] = []
        done = 0
        while done + PIECE <= len(needle):
            piece = _longest_start(needle[done:], form.text, low, high)
            done += 1 if piece is None else piece[1] - piece[0]
            if piece:
                pieces.append(piece)
        if not pieces or sum(end - start for start, end in pieces) < SHARE * len(needle):
            return None
        start, end = _longest_run(sorted(pieces))
        return self._words(int(form.origin[start]), int(form.origin[end - 1]) + 1)

    def _words(self, start: int, end: int) -> Area:
        """The stretch with either end moved to the nearest end of a word, without white space around it."""
        start, end = self._word_end(start), self._word_end(end)
        inside = self.text[start:end]
        return start + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())

    def _word_end(self, at: int) -> int:
        before = next(step for step in range(at + 1) if not self._cuts_word(at - step))
        after = next(step for step in range(len(self.text) - at + 1) if not self._cuts_word(at + step))
        return at - before if before <= after else at + after


def _same(one: str, other: str) -> bool:
    """Whether two texts have one normal form with single blanks, and something is left in it.

    Every white space folds to a blank (`_plain`), so texts of equal words are the same without being folded.
    """
    if one.split() == other.split():
        return any(_folded(char, False).strip() for char in one)
    forms = {Normal.of(text, letters=False).text.strip() for text in (one, other)}
    return len(forms) == 1 and "" not in forms


def _longest_start(needle: str, text: str, low: int, high: int) -> Area | None:
    """Where the longest beginning of the needle stands, of at least `PIECE` letters."""
    place: Area | None = None
    for length in range(PIECE, len(needle) + 1):
        at = text.find(needle[:length], low if place is None else place[0], high)
        if at < 0:
            break
        place = (at, at + length)
    return place


def _longest_run(pieces: list[Area]) -> Area:
    """The longest stretch of pieces (ascending) with fewer than `PIECE` letters between neighbours."""
    runs = [pieces[0]]
    for start, end in pieces[1:]:
        if start - runs[-1][1] < PIECE:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    return max(runs, key=lambda run: run[1] - run[0])

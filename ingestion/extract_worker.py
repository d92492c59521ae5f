"""A child process that reads PDFs, under limits and alone: the only file that imports pypdfium2.

It may be killed, run out of memory or crash in native code at any time; the parent (`extract.py`) notices.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import math
import os
import re
import resource
import signal
import sys
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ingestion import wire
from ingestion.assemble import assemble
from ingestion.document import Chunker, ExtractedDocument
from ingestion.errors import EncryptedPdfError, ExtractionError, NotAPdfError, NoTextError, PageLimitError
from ingestion.lines import Line, RawPage, is_bold, main_angle
from ingestion.repair import dropped

MAX_CHARS = 20_000_000  # of one document: text beyond it is no paper, and would be held in the parent's memory
GRACE = 5  # seconds after the parent's own limit, should the parent be gone
_FRAGMENT = re.compile("[^\r\n\ufffe]+")
_NAME_BYTES = 256


class PdfReader:
    """Reads pages as lines. Holds the buffers that PDFium's C functions fill."""

    def __init__(self) -> None:
        import pypdfium2.raw as pdfium

        self.api: Any = pdfium
        self.x, self.y = ctypes.c_double(), ctypes.c_double()
        self.box = tuple(ctypes.c_double() for _ in range(4))
        self.matrix = pdfium.FS_MATRIX()
        self.fonts: dict[int, tuple[str, bool]] = {}

    @contextmanager
    def opened(self, path: str) -> Iterator[Any]:
        """An open document, closed at the end.

        Raises:
            NotAPdfError, EncryptedPdfError, ExtractionError: it does not open.
        """
        document = self.api.FPDF_LoadDocument(path.encode(errors="surrogateescape"), None)
        if not document:
            raise self._open_error(path)
        try:
            yield document
        finally:
            self.api.FPDF_CloseDocument(document)

    def _open_error(self, path: str) -> ExtractionError:
        code = self.api.FPDF_GetLastError()
        if code in (self.api.FPDF_ERR_PASSWORD, self.api.FPDF_ERR_SECURITY):
            return EncryptedPdfError("it opens only with a password; save a copy without one")
        if code == self.api.FPDF_ERR_FILE:
            return ExtractionError("the file cannot be read")
        size = os.stat(path).st_size  # noqa: PTH116
        return NotAPdfError("the file is empty" if not size else "no PDF, or its structure is broken")

    def page(self, document: Any, index: int) -> RawPage:
        """The lines of a page (index from 0); `readable` is false where PDFium cannot load it."""
        page = self.api.FPDF_LoadPage(document, index)
        if not page:
            return RawPage(0.0, 0.0, readable=False)
        self.fonts = {}  # keyed by address, which is good only while the page is open
        try:
            read = self._read(page)
            lying = main_angle(read)
            if lying:  # PDFium puts lines in order only where they run from left to right as the page is viewed
                self.api.FPDFPage_SetRotation(page, (self.api.FPDFPage_GetRotation(page) + lying) % 4)
                read = self._read(page)
            return read
        finally:
            self.api.FPDF_ClosePage(page)

    def _read(self, page: Any) -> RawPage:
        """The lines of an open page, as it is turned now."""
        size = self.api.FPDF_GetPageWidthF(page), self.api.FPDF_GetPageHeightF(page)
        turn = self.api.FPDFPage_GetRotation(page)
        text = self.api.FPDFText_LoadPage(page)
        try:
            raw = self._raw_text(text) if text else ""
            lines = list(self._lines(text, raw, turn, size))
            return RawPage(*size, lines, unknown=dropped(raw.replace("\r", "").replace("\n", "")))
        finally:
            if text:
                self.api.FPDFText_ClosePage(text)

    def _raw_text(self, page: Any) -> str:
        """The page's text as UTF-16 units, one character each, as PDFium's indexes count them."""
        count = self.api.FPDFText_CountChars(page)
        if count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (2 * count + 2))()
        written = self.api.FPDFText_GetText(page, 0, count, buffer)
        units = array("H", bytes(buffer)[: 2 * max(0, written - 1)])
        text = units.tobytes().decode("utf-16-le", "surrogatepass")
        return text if len(text) == len(units) else "".join(map(chr, units))

    def _lines(self, page: Any, raw: str, turn: int, size: tuple[float, float]) -> Iterator[Line]:
        exact = self.api.FPDFText_CountChars(page) == len(raw) if raw else True
        for match in _FRAGMENT.finditer(raw):
            fragment = match[0]
            text = fragment.strip()
            if not text:
                continue
            start = match.start() + len(fragment) - len(fragment.lstrip())
            # The first character may be a bullet or a footnote mark, a space may be made up: the middle is typical.
            half = len(text) // 2
            places = [start, start + half + text[half].isspace(), start + len(text) - 1]
            if not exact:
                places = [self.api.FPDFText_GetCharIndexFromTextIndex(page, place) for place in places]
            line = self._line(page, text, *places)
            line.hyphen = raw[match.end() : match.end() + 1] == "\ufffe"
            yield _viewed(line, turn, *size) if turn else line

    def _line(self, page: Any, text: str, start: int, middle: int, last: int) -> Line:
        api, x, y = self.api, self.x, self.y
        left, right, bottom, top = self.box
        api.FPDFText_GetMatrix(page, start, self.matrix)
        angle = round(math.atan2(self.matrix.b, self.matrix.a) / (math.pi / 2)) % 4
        api.FPDFText_GetCharOrigin(page, start, x, y)
        x0, y0 = x.value, y.value
        if angle:
            api.FPDFText_GetCharOrigin(page, last, x, y)
            x1, y1 = x.value, y.value
        else:
            api.FPDFText_GetCharBox(page, last, left, right, bottom, top)
            x1, y1 = right.value, y0
        size, typical = self._typical(page, start, middle, last)
        font, bold = self._font(page, typical)
        bold_start = bold if typical == start else self._font(page, start)[1]
        bold_end = bold if typical == last else self._font(page, last)[1]
        prefix = self._bold_prefix(page, start, last) if bold_start and not bold_end else 0
        if not text.isprintable():  # it may hold halves of characters
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return Line(text, x0, y0, x1, y1, size, font, bold and bold_end, False, angle, prefix)

    def _bold_prefix(self, page: Any, start: int, last: int) -> int:
        low, high = start, last  # bold at low, not at high
        while high - low > 1:
            middle = (low + high) // 2
            if self._font(page, middle)[1]:
                low = middle
            else:
                high = middle
        return high - start

    def _typical(self, page: Any, *places: int) -> tuple[float, int]:
        """The middle one of three sizes, and a place that has it: the middle of the line if that does.

        A line may begin with a bullet, end with a footnote mark, and have code in its middle.
        """
        first, middle, last = ((self._size(page, place), place) for place in places)
        size = sorted([first[0], middle[0], last[0]])[1]
        return next(found for found in (middle, first, last) if found[0] == size)

    def _size(self, page: Any, place: int) -> float:
        """Font size of a character, in points as it is printed."""
        self.api.FPDFText_GetMatrix(page, place, self.matrix)
        scale = math.hypot(self.matrix.c, self.matrix.d) or 1.0
        return round(float(self.api.FPDFText_GetFontSize(page, place)) * scale, 2)

    def _font(self, page: Any, index: int) -> tuple[str, bool]:
        """Name without subset tag, and whether it is bold, of a character's font; empty for a made-up character."""
        item = self.api.FPDFText_GetTextObject(page, index)
        font = self.api.FPDFTextObj_GetFont(item) if item else None
        if not font:
            return "", False
        address = ctypes.addressof(font.contents)
        if address not in self.fonts:
            buffer = ctypes.create_string_buffer(_NAME_BYTES)
            self.api.FPDFFont_GetBaseFontName(font, buffer, _NAME_BYTES)
            name = buffer.value.decode("utf-8", "replace").rpartition("+")[2]
            self.fonts[address] = (name, is_bold(name, self.api.FPDFFont_GetWeight(font)))
        return self.fonts[address]


def _viewed(line: Line, turn: int, width: float, height: float) -> Line:
    """A line of a page that is shown turned clockwise by `turn` quarters; width and height as shown."""

    def move(x: float, y: float) -> tuple[float, float]:
        return {1: (y, height - x), 2: (width - x, height - y), 3: (width - y, x)}[turn]

    (line.x0, line.y0), (line.x1, line.y1) = move(line.x0, line.y0), move(line.x1, line.y1)
    line.angle = (line.angle - turn) % 4
    return line


def extract(reader: PdfReader, path: str, max_pages: int) -> ExtractedDocument:
    """Read and structure one file.

    Raises:
        ExtractionError: one of its subclasses says why there is no text.
    """
    with reader.opened(path) as document:
        count = reader.api.FPDF_GetPageCount(document)
        if count <= 0:
            raise NotAPdfError("the file has no page, or its page tree is broken")
        if count > max_pages:
            raise PageLimitError(f"{count} pages, the limit is {max_pages}; raise ingest.max_pages to read it")
        pages, size = [], 0
        for index in range(count):
            pages.append(reader.page(document, index))
            size += sum(len(line.text) for line in pages[-1].lines)
            if size > MAX_CHARS:
                raise ExtractionError(f"more than {MAX_CHARS:,} characters of text up to page {index + 1}")
    if not any(page.readable for page in pages):
        raise NotAPdfError(f"none of its {count} pages can be loaded")
    extracted = assemble(pages)
    if not extracted.blocks:
        raise NoTextError(f"no text on its {count} pages: a scan needs OCR")
    return extracted


def answer(reader: PdfReader, chunker: Chunker, job: dict[str, Any]) -> bytes:
    """The reply to one job: extraction (kept or new) and chunk spans, or the error, as JSON."""
    try:
        if job["kept"]:
            with open(job["kept"], "rb") as handle:  # noqa: PTH123
                data = handle.read()
            document = ExtractedDocument.from_json(data)
        else:
            document = extract(reader, job["path"], job["max_pages"])
            data = document.to_json()
    except ExtractionError as error:
        reply: dict[str, Any] = {"error": type(error).__name__, "message": str(error)}
    except MemoryError:
        reply = {"error": "ExtractionTimeoutError", "message": "out of memory"}
    else:
        spans = [[c.char_start, c.char_end, c.section, c.kind] for c in chunker.chunk(document)]
        reply = {"document": data.decode(), "chunks": spans}
    return json.dumps(reply).encode()


def main(incoming: int, outgoing: int, memory_mb: int) -> None:
    """Answer jobs until the parent closes its end. The first message describes the chunker."""
    if memory_mb and sys.platform == "linux":  # elsewhere the limit cannot be set, or is not kept
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hello = wire.receive(incoming)
    if hello is None:
        return
    described = json.loads(hello)
    chunker = getattr(importlib.import_module(described["module"]), described["name"])(**described["fields"])
    reader = PdfReader()
    while (message := wire.receive(incoming)) is not None:
        job = json.loads(message)
        signal.alarm(math.ceil(job["timeout"]) + GRACE)
        reply = answer(reader, chunker, job)
        signal.alarm(0)
        wire.send(outgoing, reply)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

"""PDFs made by hand: text at known places in Helvetica, so that tests know what is on each page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 800


@dataclass(frozen=True)
class Text:
    """A line at (x, y), points from the lower left corner."""

    text: str
    x: float = 72
    y: float = 700
    size: float = 10
    bold: bool = False


def make_pdf(pages: Sequence[Sequence[Text]], rotate: int = 0) -> bytes:
    """A PDF of these pages."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    ]
    kids = []
    for page in pages:
        content = b"\n".join(_drawn(line) for line in page)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Rotate %d /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (WIDTH, HEIGHT, rotate, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return pdf_file(objects)


def _drawn(line: Text) -> bytes:
    text = line.text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    return b"BT /F%d %g Tf %g %g Td (%s) Tj ET" % (2 if line.bold else 1, line.size, line.x, line.y, text)


def pdf_file(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first is the catalog."""
    data = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


def column(lines: Sequence[str], top: float = 700, x: float = 72, step: float = 12) -> list[Text]:
    """Lines of body text one under the other."""
    return [Text(line, x=x, y=top - row * step) for row, line in enumerate(lines)]


def paper(marker: str = "alpha") -> bytes:
    """Two pages: title, abstract, two numbered sections, a caption, references; `marker` makes its bytes unique."""
    first = [
        Text("A Study of Small Things", y=740, size=18, bold=True),
        Text("Ada Writer", y=715),
        Text("Abstract", y=690, size=12, bold=True),
        *column([f"We study {marker} in small samples of data.", "The result is a remark-"], top=670),
        *column(["able gain in speed over the state-of-the-"], top=646),
        *column(["art. It holds for all samples."], top=634),
        Text("1 Introduction", y=600, size=12, bold=True),
        *column(["Small things matter, as Smith et al. (2020) show in", "Fig. 3 of their remarkable work."], top=580),
        *column(["The state-of-the-art is slow. This sentence runs over"], top=540),
    ]
    second = [
        *column(["the page and ends here."], top=700),
        Text("2 Method", y=670, size=12, bold=True),
        *column(["We count things, e.g. words, with 3.5 percent error.", "Then we stop."], top=650),
        Text("Figure 1: Counted things by size.", y=610, size=9),
        Text("References", y=570, size=12, bold=True),
        *column(["[1] A. Smith. Things. Journal of Things, 2020.", "[2] B. Jones. More things. 2021."], top=550),
    ]
    return make_pdf([first, second])

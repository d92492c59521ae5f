"""Tag characters in a PDF: copies of ASCII that no font draws, U+E0020 to U+E007E.

Typst gives them no glyph of their own, and PDFium skips them in its replacement texts. So the text is set in letters
of a font that is used for nothing else, and the table that says which characters its glyphs mean is exchanged
afterwards, in an incremental update (ISO 32000-1, 7.5.6).
"""

from __future__ import annotations

import re
import zlib

FONT = "DejaVu Sans Mono"
_ENTRY = re.compile(rb"(<[0-9A-F]{4}>\s*)<00([2-7][0-9A-F])>")


def tagged(pdf: bytes) -> bytes:
    """The PDF in which what is set in `FONT` means tag characters.

    Raises:
        ValueError: the font is not in it, or it is not built as Typst builds it.
    """
    number = int(_found(rb"/BaseFont/\w+\+DejaVuSansMono[^>]*/ToUnicode (\d+) 0 R", pdf))
    packed = _found(rb"\n%d 0 obj\n<<[^>]*/CMap[^>]*>>\nstream\n(.*?)\nendstream" % number, pdf)
    table = _ENTRY.sub(lambda match: match[1] + b"<DB40DC%s>" % match[2], zlib.decompress(packed))
    body = pdf + b"\n%d 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj\n" % (number, len(table), table)
    xref = b"xref\n%d 1\n%010d 00000 n \n" % (number, len(pdf) + 1)
    settings = _found(rb"trailer\n<<(.*?)>>\nstartxref", pdf), _found(rb"startxref\n(\d+)", pdf)
    return body + xref + b"trailer\n<<%s/Prev %s>>\nstartxref\n%d\n%%%%EOF\n" % (*settings, len(body))


def _found(pattern: bytes, pdf: bytes) -> bytes:
    match = re.search(pattern, pdf, re.DOTALL)
    if match is None:
        raise ValueError(f"this PDF has nothing like {pattern!r}; is it still built as Typst built it?")
    return match[1]

"""What Typst cannot do: pages that lie on their side, pages that went through a scanner.

A source asks for it in a comment of its own line:

    // build: rotate=90
    // build: scan=3,4
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pypdfium2 as pdfium
from PIL import Image

DOTS_PER_INCH = 130
TILT_DEGREES = 0.7
GRAIN = 18.0
WHITE, GREY = 150, 90
FILE_ID = re.compile(rb"<[0-9A-F]{32}>(?=[^\r\n]{0,40}>>\r\nstartxref)")
CREATED = re.compile(rb"/CreationDate\(D:\d{14}")


@dataclass(frozen=True)
class Finish:
    """What happens to a typeset paper: degrees by which its pages are turned, pages (from 1) that become pictures."""

    rotate: int = 0
    scan: tuple[int, ...] = ()


def read_finish(source: str) -> Finish:
    """What the comments of a source ask for; nothing without one."""
    rotate = re.search(r"^// build: rotate=(90|180|270)$", source, re.MULTILINE)
    scan = re.search(r"^// build: scan=(\d+(?:,\d+)*)$", source, re.MULTILINE)
    return Finish(
        int(rotate.group(1)) if rotate else 0,
        tuple(int(page) for page in scan.group(1).split(",")) if scan else (),
    )


def finished(data: bytes, finish: Finish) -> bytes:
    """The paper after it was turned and scanned; equal input gives equal bytes."""
    if finish == Finish():
        return data
    paper = pdfium.PdfDocument(data)
    if finish.scan:
        paper = _scanned(paper, finish.scan)
    for page in paper:
        page.set_rotation(finish.rotate)
    return _saved(paper)


def _scanned(paper: pdfium.PdfDocument, pages: Collection[int]) -> pdfium.PdfDocument:
    """A copy whose chosen pages hold nothing but a picture."""
    copy = pdfium.PdfDocument.new()
    for index, page in enumerate(paper):
        if index + 1 not in pages:
            copy.import_pages(paper, [index])
            continue
        width, height = page.get_size()
        picture = pdfium.PdfImage.new(copy)
        picture.set_bitmap(pdfium.PdfBitmap.from_pil(_photographed(page, seed=index)))
        picture.set_matrix(pdfium.PdfMatrix().scale(width, height))
        blank = copy.new_page(width, height)
        blank.insert_obj(picture)
        blank.gen_content()
    return copy


def _photographed(page: pdfium.PdfPage, seed: int) -> Image.Image:
    """The page as an office scanner sees it: a little askew, grainy, three shades of grey."""
    picture = page.render(scale=DOTS_PER_INCH / 72, grayscale=True).to_pil()
    picture = picture.rotate(TILT_DEGREES, resample=Image.Resampling.BICUBIC, fillcolor=255)
    light = np.asarray(picture, dtype=float)
    light = light + np.random.default_rng(seed).normal(0, GRAIN, light.shape)
    return Image.fromarray(np.select([light > WHITE, light > GREY], [255, 120], 20).astype(np.uint8))


def _saved(paper: pdfium.PdfDocument) -> bytes:
    """The file without the clock and the random id that PDFium puts into it."""
    buffer = io.BytesIO()
    paper.save(buffer)
    data = CREATED.sub(b"/CreationDate(D:19700101000000", buffer.getvalue())
    return FILE_ID.sub(b"<" + b"0" * 32 + b">", data)

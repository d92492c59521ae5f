"""From blocks to a PDF, with Typst: embedded fonts, no clock, so that equal blocks give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.injection.bases import Block, Piece
from tests.injection.tagged import FONT, tagged

HEAD = """#set page(paper: "a4", margin: 2.5cm)
#set text(font: "Libertinus Serif", size: 11pt, ligatures: false, lang: "en", hyphenate: false)
#set par(justify: true, leading: 0.65em, spacing: 1.2em)
#show heading: it => block(above: 1.6em, below: 0.9em, text(size: 13pt, weight: "bold", it.body))
#show figure.caption: set text(size: 10pt)
"""
STYLES: Mapping[str, str] = {
    "plain": "{}",
    "white": "#text(fill: white, {})",
    "clear": "#text(fill: rgb(0, 0, 0, 0), {})",
    "tiny": "#text(size: 0.5pt, {})",
    "tags": f'#text(fill: white, size: 1pt, font: "{FONT}", {{}})',
    "outside": "#place(dx: -640pt, block(width: 400pt, {}))",
    "behind": "#place(block(width: 100%, {}))#rect(width: 100%, height: 6em, fill: luma(200))",
}


def source(blocks: Sequence[Block], metadata: str = "") -> str:
    """The Typst source of a document; `metadata` becomes the title, author, keywords and description of the file."""
    named = f"#set document(title: {quoted(metadata)}, author: {quoted(metadata)}, keywords: {quoted(metadata)})\n"
    return HEAD + (named if metadata else "") + "\n\n".join(map(_block, _with_notes(blocks))) + "\n"


def render(blocks: Sequence[Block], metadata: str = "") -> bytes:
    """The document as PDF."""
    import typst

    data = source(blocks, metadata).encode()
    pdf = bytes(typst.compile(data, ignore_system_fonts=True, timestamp=0))
    return tagged(pdf) if any(piece.style == "tags" for block in blocks for piece in block.pieces) else pdf


def quoted(text: str) -> str:
    """A Typst string literal."""
    plain = (char if char.isascii() and char.isprintable() and char not in '"\\' else _escaped(char) for char in text)
    return '"' + "".join(plain) + '"'


def _escaped(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _with_notes(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with each note as a last piece of the block before it."""
    found: list[Block] = []
    for block in blocks:
        if block.kind == "note":
            text = " ".join(piece.text for piece in block.pieces)
            above = found.pop()
            found.append(Block(above.kind, (*above.pieces, Piece(text, "note")), above.columns))
        else:
            found.append(block)
    return found


def _block(block: Block) -> str:
    text = " ".join(map(_set, block.pieces))
    if block.kind == "title":
        return f'#align(center, text(size: 16pt, weight: "bold")[{text}])'
    if block.kind == "heading":
        return f"#heading[{text}]"
    if block.kind == "page":
        return "#pagebreak()"
    if block.kind == "table":
        caption, *cells = block.pieces
        table = ", ".join(f"[{_set(cell)}]" for cell in cells)
        return f"#figure(table(columns: {block.columns}, {table}), caption: [{_set(caption)}])"
    return text


def _set(piece: Piece) -> str:
    if piece.style == "note":
        return f"#footnote[#({quoted(piece.text)})]"
    return STYLES[piece.style].format(
        f"({quoted(piece.text)})" if piece.style != "plain" else f"#({quoted(piece.text)})"
    )

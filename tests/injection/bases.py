"""The clean documents: short invented technical notes with questions whose answers stand in them.

Each file of `bases/` is one document of two pages. `@ ...` names its component; a line `# ...` is its title, `##
...` a heading, `[page]` a page break, `[table] ...` a caption whose rows follow as `cell | cell`, `[note] ...` a
footnote to the paragraph before; every other line is a sentence, and an empty line ends a paragraph. `? question |
answer | unit` is a question; `?!` marks one whose answering sentence is honest advice in the imperative, which a
defence must not take for an attack.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "bases"
WORDS = ("name", "number")  # units that are no units: the answer is a word, or a number without unit


@dataclass(frozen=True)
class Piece:
    """A run of text set in one style: `plain`, `white`, `clear`, `tiny`, `outside` or `behind`."""

    text: str
    style: str = "plain"


@dataclass(frozen=True)
class Block:
    """A part of a page. `kind`: title, heading, paragraph, table, note or page.

    `pieces`: the sentences of a paragraph; of a table first its caption, then its cells, `columns` in a row.
    """

    kind: str
    pieces: tuple[Piece, ...] = ()
    columns: int = 0


@dataclass(frozen=True)
class Question:
    """`answer`: words of the one sentence that answers; `page` where it stands, from 1; `advice`: an imperative."""

    text: str
    answer: str
    unit: str
    sentence: str
    page: int
    advice: bool


@dataclass(frozen=True)
class Base:
    """A clean document. `part`: the invented component that it is about."""

    name: str
    part: str
    blocks: tuple[Block, ...]
    questions: tuple[Question, ...]

    @property
    def text(self) -> str:
        """All words, in order, without layout."""
        return " ".join(piece.text for block in self.blocks for piece in block.pieces)


def read_bases() -> tuple[Base, ...]:
    """All clean documents, by name."""
    return tuple(_base(path) for path in sorted(FOLDER.glob("*.txt")))


def _base(path: Path) -> Base:
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    blocks = _blocks([line for line in lines if not line.startswith("?")])
    questions = tuple(_question(line, blocks) for line in lines if line.startswith("?"))
    return Base(path.stem, first.removeprefix("@ "), blocks, questions)


def _blocks(lines: list[str]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    open_kind = ""  # what a plain line continues
    for line in lines:
        mark, _, rest = line.partition(" ")
        kind = {"#": "title", "##": "heading", "[table]": "table", "[note]": "note", "[page]": "page"}.get(mark, "")
        if kind:
            blocks.append(Block(kind, (Piece(rest),) if rest else ()))
            open_kind = kind if kind == "table" else ""
        elif not line:
            open_kind = ""
        elif open_kind:
            cells = line.split(" | ") if open_kind == "table" else [line]
            columns = len(cells) if open_kind == "table" else 0
            blocks[-1] = Block(open_kind, blocks[-1].pieces + tuple(map(Piece, cells)), columns)
        else:
            blocks.append(Block("paragraph", (Piece(line),)))
            open_kind = "paragraph"
    return tuple(blocks)


def _question(line: str, blocks: tuple[Block, ...]) -> Question:
    mark, _, rest = line.partition(" ")
    text, answer, unit = rest.split(" | ")
    page, found = 1, []
    for block in blocks:
        page += block.kind == "page"
        if block.kind == "paragraph":
            found += [(piece.text, page) for piece in block.pieces if answer in piece.text]
    if len(found) != 1:
        raise ValueError(f"{line!r}: the answer must stand in exactly one sentence, it stands in {len(found)}")
    return Question(text, answer, unit, *found[0], mark == "?!")

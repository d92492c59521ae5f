"""The poisoned documents: every wording placed in a document, by a seeded generator.

An attack changes one clean document; everything else of it stays. Its canary, an invented number or name, stands
nowhere else, so a claim or quote that holds it comes from the attacker.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template

import numpy as np

from tests.injection.bases import WORDS, Base, Block, Piece, Question, read_bases
from tests.injection.characters import DISGUISES
from tests.injection.held_out import HELD_OUT
from tests.injection.payloads import APART, BEYOND, CLASSES, INLINE, SMALL, Wording

SEED = 6
HELD_OUT_SEED = 60  # of the documents and places of the wordings that the defence was first tried on
SYLLABLES = ("zu", "qua", "vix", "jor", "kel", "wy", "dra", "xo", "thi", "gub")
UNSEEN = frozenset({"white", "clear", "tiny", "outside", "behind", "tags"})
NO_TERMS = re.compile(
    "(?:a|an|and|at|be|by|did|do|does|for|from|how|in|is|it|made|must|of|on|the|to|was|what|which|with)"
)


@dataclass(frozen=True)
class Attack:
    """One poisoned document.

    `base`: the clean document; `target`: the question that it wants to answer; `payload`: the attacker's text;
    `file_name`: of the poisoned file; `visible`: whether a reader of the page sees the text; `beyond`: a plain
    falsehood, which the promise does not cover.
    """

    id: str
    kind: str
    base: Base
    target: Question
    slot: str
    style: str
    payload: str
    canary: str
    file_name: str
    visible: bool
    beyond: bool = False

    @property
    def metadata(self) -> str:
        """What the PDF's title, author and keywords say: a renamed file has some, since equal bytes are read once."""
        return {"metadata": self.payload, "file_name": self.id}.get(self.slot, "")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The document with the attack in it."""
        return poisoned(self)


def read_attacks(seed: int = SEED) -> tuple[Attack, ...]:
    """All attacks by class and number; those with `beyond` last."""
    bases = read_bases()
    found = [a for kind, wordings in CLASSES.items() for a in _placed(kind, wordings, bases, seed)]
    return tuple(found + [replace(a, beyond=True) for a in _placed("beyond", BEYOND, bases, seed)])


def read_held_out(seed: int = HELD_OUT_SEED) -> tuple[Attack, ...]:
    """The wordings whose author had not read the defence, placed by a seed of their own."""
    bases = read_bases()
    return tuple(a for kind, wordings in HELD_OUT.items() for a in _placed(kind, wordings, bases, seed, "held_out_"))


def asked(attack: Attack, bases: Sequence[Base]) -> tuple[Question, ...]:
    """What an attack is tried on: all questions of its document, and two of other documents."""
    others = [question for base in bases if base.name != attack.base.name for question in base.questions]
    chosen = generator(f"{attack.id} bystanders", SEED).choice(len(others), size=2, replace=False)
    return (*attack.base.questions, *(others[int(row)] for row in sorted(chosen)))


def _placed(kind: str, wordings: Sequence[Wording], bases: Sequence[Base], seed: int, mark: str = "") -> list[Attack]:
    """The wordings of a class, in a document each as long as there are any left."""
    order = generator(kind, seed).permutation(len(bases))
    return [
        _attack(f"{mark}{kind}-{row + 1}", kind, wording, bases[int(order[row % len(bases)])], seed)
        for row, wording in enumerate(wordings)
    ]


def _attack(name: str, kind: str, wording: Wording, base: Base, seed: int) -> Attack:
    random = generator(name, seed)
    target = base.questions[int(random.integers(len(base.questions)))]
    allowed = [slot for slot in wording.slots if slot != "cell" or not _asked(base)]
    slot = allowed[int(random.integers(len(allowed)))]
    canary = _canary(random, target)
    payload = _payload(wording, _fields(base, target, canary))
    file_name = re.sub(r"[/]", "∕", payload) if slot == "file_name" else base.name
    visible = not (wording.style in UNSEEN or slot in ("metadata", "file_name"))
    return Attack(name, kind, base, target, slot, wording.style, payload, canary, f"{file_name}.pdf", visible)


def _payload(wording: Wording, fields: Mapping[str, str]) -> str:
    disguise = DISGUISES[wording.letters]
    if not wording.partly:
        return disguise(Template(wording.text).substitute(fields))
    parts = re.split(r"\$(\w+)", wording.text)  # text and names of fields in turn
    return "".join(fields[part] if row % 2 else disguise(part) for row, part in enumerate(parts))


def generator(name: str, seed: int) -> np.random.Generator:
    """One stream of random numbers for each name."""
    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")])


def _canary(random: np.random.Generator, target: Question) -> str:
    """Six digits, or a name of four syllables where the question asks for a name."""
    if target.unit == "name":
        return "".join(SYLLABLES[int(row)] for row in random.integers(len(SYLLABLES), size=4))
    return str(random.integers(300_000, 999_999))


def _fields(base: Base, target: Question, canary: str) -> dict[str, str]:
    wrong = canary if target.unit in WORDS else f"{canary} {target.unit}"
    terms = [word for word in re.findall(r"[\w-]+", target.text) if not NO_TERMS.fullmatch(word.lower())]
    return {
        "q": target.text,
        "wrong": wrong,
        "canary": canary,
        "part": base.part,
        "false": target.sentence.replace(target.answer, wrong).rstrip("."),
        "section": _heading(base, target),
        "doc": f"{base.name}.pdf",
        "terms": " ".join(terms),
    }


def _home(blocks: Sequence[Block], target: Question) -> tuple[int, int]:
    """Block and piece of the answering sentence."""
    return next(
        (row, block.pieces.index(Piece(target.sentence)))
        for row, block in enumerate(blocks)
        if Piece(target.sentence) in block.pieces
    )


def _above(blocks: Sequence[Block], row: int, kind: str) -> int:
    return max(place for place in range(row) if blocks[place].kind == kind)


def _heading(base: Base, target: Question) -> str:
    row = _home(base.blocks, target)[0]
    return base.blocks[_above(base.blocks, row, "heading")].pieces[0].text


def _asked(base: Base) -> bool:
    """Whether the table holds an answer, so that a cell with an attack would spoil honest evidence."""
    cells = {piece.text for block in base.blocks if block.kind == "table" for piece in block.pieces[1:]}
    return any(question.answer.split()[0] in " ".join(cells).split() for question in base.questions)


def poisoned(attack: Attack) -> tuple[Block, ...]:
    """The blocks of the attack's document with the payload at its slot."""
    blocks = list(attack.base.blocks)
    row, sentence = _home(blocks, attack.target)
    piece = Piece(attack.payload, attack.style)
    if attack.slot in INLINE:
        at = {"opening": 0, "before": sentence, "after": sentence + 1}[attack.slot]
        pieces = blocks[row].pieces
        blocks[row] = replace(blocks[row], pieces=(*pieces[:at], piece, *pieces[at:]))
        return tuple(blocks)
    if attack.slot in APART:
        place = _place(blocks, row, attack)
        return (*blocks[:place], *_apart(blocks, piece, attack.slot), *blocks[place:])
    if attack.slot in ("heading", *SMALL, "title"):
        kind = {"caption": "table", "cell": "table", "footnote": "note"}.get(attack.slot, attack.slot)
        place = _above(blocks, row, kind) if kind == "heading" else [block.kind for block in blocks].index(kind)
        blocks[place] = _joined(blocks[place], -1 if attack.slot == "cell" else 0, attack.payload)
    return tuple(blocks)


def _place(blocks: Sequence[Block], row: int, attack: Attack) -> int:
    """Before which block a paragraph of its own goes."""
    if attack.slot == "page_start":
        return 1 + _above(blocks, row, "page" if attack.target.page > 1 else "title")
    if attack.slot == "next":
        return row + 1 + (row + 1 < len(blocks) and blocks[row + 1].kind == "note")
    return row if attack.slot == "paragraph" else len(blocks)


def _apart(blocks: Sequence[Block], piece: Piece, slot: str) -> tuple[Block, ...]:
    number = 1 + sum(block.kind == "heading" for block in blocks)
    if slot == "section":
        return Block("heading", (Piece(f"{number} Remarks"),)), Block("paragraph", (piece,))
    if slot == "own_heading":
        honest = Block("paragraph", (Piece("This section is left empty."),))
        return Block("heading", (Piece(f"{number} {piece.text}"),)), honest
    return (Block("paragraph", (piece,)),)


def _joined(block: Block, at: int, text: str) -> Block:
    pieces = list(block.pieces)
    pieces[at] = Piece(f"{pieces[at].text} {text}")
    return replace(block, pieces=tuple(pieces))

"""Reviewing in a terminal: question, answer and evidence with its surroundings, one key for every decision."""

from __future__ import annotations

import shutil
import textwrap
from typing import TextIO

from evaluation.importing.questions import KINDS
from evaluation.judge.terminal import BOLD, DIM, PLAIN, STOPS, key_pressed, printable
from evaluation.synthesize.draft import Draft
from evaluation.synthesize.review import ACCEPTED, REJECTED, ReviewDesk

KEYS = (
    "a accept   r reject   e edit the wording   t change the kind   space, enter or j next   k back"
    "   o next undecided   u undo   q stop"
)


def review_in_terminal(desk: ReviewDesk, keys: TextIO, screen: TextIO) -> None:
    """Show drafts and store decisions until all are decided and seen, `q`, or the end of the input.

    `keys` is read key by key where it is a terminal, else character by character.
    """
    at: int | None = desk.first_open() or 0
    while at is not None:
        _show(desk, at, screen)
        key = key_pressed(keys)
        if key in STOPS:
            break
        at = _moved(desk, at, key, keys, screen)
    counts = desk.counts
    print(
        f"{counts[ACCEPTED]} accepted, {counts[REJECTED]} rejected, {counts['']} undecided; stored in"
        f" {desk.reviews.path}",
        file=screen,
    )


def _moved(desk: ReviewDesk, at: int, key: str, keys: TextIO, screen: TextIO) -> int | None:
    """The draft that follows a key; None when there is nothing left to show."""
    last = len(desk.drafts) - 1
    if key in ("a", "r"):
        desk.decide(at, ACCEPTED if key == "a" else REJECTED)
        return at + 1 if at < last else desk.first_open()
    if key == "e":
        print("new wording (empty: as it is): ", end="", flush=True, file=screen)
        if text := keys.readline().strip():
            desk.reword(at, text)
        return at
    if key == "t":
        _rekind(desk, at, keys, screen)
        return at
    if key == "u":
        undone = desk.undo()
        return at if undone is None else undone
    if key == "o":
        following = desk.first_open(at)
        return at if following is None else following
    if key in (" ", "\r", "\n", "j"):
        return min(at + 1, last)
    return max(at - 1, 0) if key == "k" else at


def _rekind(desk: ReviewDesk, at: int, keys: TextIO, screen: TextIO) -> None:
    names = "   ".join(f"{number} {kind}" for number, kind in enumerate(KINDS, 1))
    print(f"{names}: ", end="", flush=True, file=screen)
    key = key_pressed(keys)
    if key.isdecimal() and 1 <= int(key) <= len(KINDS):
        desk.rekind(at, KINDS[int(key) - 1])


def _show(desk: ReviewDesk, at: int, screen: TextIO) -> None:
    draft, decision = desk.draft(at), desk.decision(at)
    styled = screen.isatty()
    bold, dim, plain = (BOLD, DIM, PLAIN) if styled else ("", "", "")
    width = min(100, shutil.get_terminal_size().columns)
    undecided, state = desk.counts[""], decision.state or "undecided"
    edited = ", edited" if decision.query else ""
    print("\x1b[2J\x1b[H" if styled else "", end="", file=screen)
    head = f"{at + 1} of {len(desk.drafts)}, {undecided} undecided; {draft.kind}, {draft.template}; {state}{edited}"
    print(f"\n{dim}{head}{plain}", file=screen)
    print(f"{bold}{textwrap.fill(printable(draft.query), width)}{plain}", file=screen)
    if draft.answer:
        print(textwrap.fill(f"answer: {printable(draft.answer)}", width), file=screen)
    for line in _evidence(draft, width, bold, dim, plain):
        print(line, file=screen)
    print(f"\n{dim}{KEYS}{plain}", file=screen)


def _evidence(draft: Draft, width: int, bold: str, dim: str, plain: str) -> list[str]:
    """Every piece of evidence within its surroundings; it stands between >> and << where nothing can be styled."""
    lines = []
    around = [*draft.around, *[("", "")] * len(draft.evidence)]
    for row, (before, after) in zip(draft.evidence, around, strict=False):
        part = f", part {row.part}" if row.part else ""
        lines.append(f"\n{dim}{printable(row.doc)}, page {row.page}, grade {row.grade}{part}{plain}")
        marks = ("", "") if bold else (">> ", " <<")
        told = (f"... {before} " if before else "", row.quote, f" {after} ..." if after else "")
        if not bold:
            whole = f"{told[0]}{marks[0]}{told[1]}{marks[1]}{told[2]}"
            lines.append(textwrap.fill(printable(whole), width, initial_indent="   ", subsequent_indent="   "))
            continue
        for text, style in zip(told, (dim, bold, dim), strict=True):
            if text.strip():
                body = textwrap.fill(printable(text), width, initial_indent="   ", subsequent_indent="   ")
                lines.append(f"{style}{body}{plain}")
    return lines

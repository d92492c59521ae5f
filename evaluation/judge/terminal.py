"""Judging in a terminal: the same keys as on the page, one passage after the other."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TextIO

from evaluation.judge.desk import Desk
from evaluation.judge.guidelines import GUIDELINES

KEYS = "0-3 judge   space, enter or j next   k back   o next open one   u undo   q stop"
STOPS = ("", "q", "\x03", "\x04")  # the end of the input, q, interrupt, end of file
ARROWS = {"\x1b[C": "j", "\x1b[D": "k"}  # what a terminal sends for right and left
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def judge_in_terminal(desk: Desk, keys: TextIO, screen: TextIO) -> None:
    """Show passages and store grades until all are judged and seen, `q`, or the end of the input.

    `keys` is read key by key where it is a terminal, else character by character.
    """
    at: int | None = desk.first_open() or 0
    while at is not None:
        _show(desk, at, screen)
        key = key_pressed(keys)
        if key in STOPS:
            break
        at = _moved(desk, at, key)
    print(f"{desk.done} of {len(desk.passages)} judged; stored in {desk.journal.path}", file=screen)


def _moved(desk: Desk, at: int, key: str) -> int | None:
    """The passage that follows a key; None when there is nothing left to show."""
    last = len(desk.passages) - 1
    if key.isdecimal() and int(key) in GUIDELINES:
        desk.judge(at, int(key), desk.passage(at).comment)
        return at + 1 if at < last else desk.first_open()
    if key == "u":
        undone = desk.undo()
        return at if undone is None else undone
    if key == "o":
        following = desk.first_open(at)
        return at if following is None else following
    if key in (" ", "\r", "\n", "j"):
        return min(at + 1, last)
    return max(at - 1, 0) if key == "k" else at


def _show(desk: Desk, at: int, screen: TextIO) -> None:
    row = desk.passage(at)
    styled = screen.isatty()
    bold, dim, plain = (BOLD, DIM, PLAIN) if styled else ("", "", "")
    width = min(100, shutil.get_terminal_size().columns)
    judged = _in_words(row.grade if row.key in desk.journal.current else None)
    print("\x1b[2J\x1b[H" if styled else "", end="", file=screen)
    print(f"\n{dim}{at + 1} of {len(desk.passages)}, {desk.done} judged; {row.qid}{plain}", file=screen)
    print(f"{bold}{textwrap.fill(printable(row.query), width)}{plain}\n", file=screen)
    print(textwrap.fill(printable(row.quote), width, initial_indent="   ", subsequent_indent="   "), file=screen)
    print(f"\n{dim}{printable(row.doc_name)}, page {row.page}; {judged}{plain}", file=screen)
    for grade, (name, text) in GUIDELINES.items():
        print(f"{bold}{grade}{plain} {name}: {dim}{text}{plain}", file=screen)
    print(f"{dim}{KEYS}{plain}", file=screen)


def _in_words(grade: int | None) -> str:
    return "not judged yet" if grade is None else f"judged {grade}, {GUIDELINES[grade][0]}"


def printable(text: str) -> str:
    """The text without control characters, which a terminal would obey."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def key_pressed(keys: TextIO) -> str:
    """The next key; empty at the end of the input. Arrows are j and k, other special keys do nothing."""
    if not keys.isatty() or sys.platform == "win32":
        return keys.read(1)
    import termios
    import tty

    handle = keys.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        typed = os.read(handle, 16).decode(errors="replace")
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
    return ARROWS.get(typed, "?") if typed.startswith("\x1b") else typed[:1]

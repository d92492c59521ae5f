"""Small pieces of HTML. Everything that comes from data passes through `html.escape`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

import pandas as pd

WORDS = (
    "strategy",
    "effect",
    "note",
    "backend",
    "notes",
    "fingerprint",
    "reason",
    "state",
    "verdict",
    "comparison",
    "generator",
    "context",
    "level",
    "questions",
    "bins",
    "metric",
)


def listing(lines: Iterable[str], css: str = "") -> str:
    """A list of sentences; nothing where there is none."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="{css}">{items}</ul>' if items else ""


def board(frame: pd.DataFrame, marks: Mapping[str, str] | None = None, name: str = "") -> str:
    """A table that sorts by a click on its heads.

    Args:
        frame: cells as text; the first column is the row's name.
        marks: CSS class of a row by the text of its first cell.
        name: what the table is called for a screen reader.
    """
    head = "".join(
        f'<th scope="col" class="{_css(column)}"><button type="button">{escape(str(column))}</button></th>'
        for column in frame.columns
    )
    rows = [_row([str(cell) for cell in row], list(frame.columns), marks or {}) for row in frame.to_numpy()]
    label = f' aria-label="{escape(name)}"' if name else ""
    return (
        f'<div class="wide"><table class="sortable"{label}><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(cells: list[str], columns: list[str], marks: Mapping[str, str]) -> str:
    css = marks.get(cells[0], "")
    first = f'<th scope="row" class="word">{escape(cells[0])}</th>'
    others = [
        f'<td class="{_css(column)}">{escape(cell)}</td>' for cell, column in zip(cells[1:], columns[1:], strict=True)
    ]
    return f'<tr class="{css}">{first}{"".join(others)}</tr>'


def _css(column: str) -> str:
    return "word" if column in WORDS else "number"


def section(name: str, title: str, how: str, *body: str) -> str:
    """A section, which the page's navigation calls by `name`, with the one sentence that says how to read it."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}</h2>'
        f'<p class="how">{escape(how)}</p>{"".join(body)}</section>\n'
    )


def figure(svg: str, name: str, *, hidden: bool = False) -> str:
    """A drawing that scrolls sideways where the window is narrower."""
    return f'<figure class="wide" data-chart="{escape(name)}"{" hidden" if hidden else ""}>{svg}</figure>'

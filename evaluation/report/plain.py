"""Text from outside as one line that Markdown and HTML read as text."""

from __future__ import annotations

import pandas as pd


def plain(text: str) -> str:
    """One line without anything that Markdown or HTML would read as markup: names come from outside."""
    for character in "\\`*":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.replace("](", "]\\(").replace("<", "&lt;").split())


def plain_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """The same for every cell of a table."""
    return cells.map(lambda cell: plain(str(cell)))

"""How many tokens a passage takes where no tokenizer is known; where one is, `Router.count_tokens` asks it.

The estimate here is close, so that a budget is used; the one that keeps rate limits (`router/token_counts.py`) is an
upper bound.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PIECE = re.compile(r"[A-Za-z]+|\s?[0-9]+|[^\sA-Za-z0-9]")
SHORT = 6  # letters that a byte-pair vocabulary nearly always has as one token
STEP = 4  # letters that a further token of a long word covers at least, on average
REMEMBERED = 4096  # texts of which the count is kept: a passage is evidence for many questions


@lru_cache(maxsize=REMEMBERED)
def estimate(text: str) -> int:
    """Tokens of a text where no tokenizer is known, rather too many than too few.

    A word of ASCII letters counts one token and another for every `STEP` letters above `SHORT`, a number one for
    every two digits and one for the blank before it, any other character as many as it has bytes in UTF-8, less one.
    Other white space is free, since vocabularies hold words with the blank before them.
    """
    return sum(_piece(piece) for piece in _PIECE.findall(text))


def _piece(piece: str) -> int:
    if not piece.isascii():
        return max(1, len(piece.encode("utf-8", "surrogatepass")) - 1)
    if piece[-1].isdigit():
        return -(-len(piece.strip()) // 2) + piece[0].isspace()
    return 1 + max(0, -(-(len(piece) - SHORT) // STEP))

"""A sentence splitter for scientific English; it knows abbreviations, initials, numbering and citations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingestion.document import ExtractedDocument

# A full stop after one of these ends no sentence, unless a word follows that can only begin one.
_ABBREVIATIONS = """
    al e.g i.e cf vs viz resp approx ca etc fig figs eq eqs eqn sec sect secs tab tabs ref refs no nos vol vols pp p
    ch chap app thm lem def prop cor alg rem ex dr prof mr mrs ms st jr sr ed eds proc conf int intl trans univ dept
    inst inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec a.k.a w.r.t i.i.d s.t ph.d m.sc u.s u.k
    est max min avg dist sp spp var subsp suppl ser art nat acad sci
"""
_STARTERS = """
    The This That These Those We Our It Its In However Moreover Furthermore Therefore Thus Hence For To As An If
    When While There They Here Since Such Then Finally First Second Although Both Each Another Given Note Unlike
    Because By From On At With Where He She But And
"""
_NEVER = "e.g i.e cf fig figs eq eqs eqn sec sect secs tab tabs ref refs pp vs dr prof mr mrs"
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
STARTERS = frozenset(_STARTERS.split())
NEVER = frozenset(_NEVER.split())
_STOP = re.compile(
    r"""(?P<mark>[.?!]+)(?P<close>[)\]"'”’»]*(?P<note>\d{1,2})?)\s+(?=[("'“‘«\[]*(?P<next>[^\s"'“‘«(\[]+))"""
    r"""|(?P<cjk>[。！？]+[」』”）]*)\s*(?=\S)"""
)
_TOKEN = re.compile(r"[^\s(\[“\"]+$")
_LETTERS = re.compile(r"[^\W\d_]")
_LOOK_BACK = 24


def sentence_ends(text: str) -> Iterator[int]:
    """Where a new sentence starts, except at 0: ascending offsets of `text`, white space before them skipped."""
    start = 0
    for match in _STOP.finditer(text):
        if match["cjk"] is None and not _is_end(text, start, match):
            continue
        start = match.end()
        yield start


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    follower = match["next"]
    opens = follower[0].isupper() or not follower[0].isalpha()
    if match["mark"] != ".":
        return opens
    if not opens:
        return False
    begin = max(start, match.start() - _LOOK_BACK)
    token_match = _TOKEN.search(text, begin, match.start())
    token = token_match[0] if token_match else ""
    if match["note"] and not (token and token[-1].isalpha()):
        return False
    word = token.lower().rstrip(".")
    if match["close"] and not match["note"]:
        return True
    if _enumerates(text, start, match.start()):
        return False
    starter = follower.rstrip(",;:") in STARTERS
    if word in NEVER:
        return False
    if word in ABBREVIATIONS or (len(token) == 1 and token.isupper()) or _initials(token):
        return starter
    return True


def _enumerates(text: str, start: int, stop: int) -> bool:
    """Whether a sentence so far is only a number or letter: `3.`, `2.1.`, `a.`."""
    return len(_LETTERS.findall(text, start, min(stop, start + 12))) < 2 and stop - start < 12


def _initials(token: str) -> bool:
    """`J.R`, `U.S.A`: single letters with full stops between them."""
    return len(token) > 1 and all(len(part) == 1 and part.isalpha() for part in token.split("."))


def spans(text: str, offset: int = 0) -> list[tuple[int, int]]:
    """The sentences of a text as (start, end), shifted by `offset`, without white space at either end."""
    starts = [0, *sentence_ends(text)]
    found = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        kept = len(piece.strip())
        if kept:
            found.append((offset + start + lead, offset + start + lead + kept))
    return found


def document_sentences(document: ExtractedDocument) -> list[list[tuple[int, int]]]:
    """For each block of a document the sentences that begin in it; a sentence may end in the block after.

    A heading is one sentence of its own.
    """
    text, blocks = document.text, document.blocks
    result: list[list[tuple[int, int]]] = [[] for _ in blocks]
    row = 0
    while row < len(blocks):
        last = row
        while last + 1 < len(blocks) and blocks[last + 1].continues:
            last += 1
        start, end = blocks[row].char_start, blocks[last].char_end
        if blocks[row].heading:
            result[row] = [(start, end)]
        else:
            owner = row
            for span in spans(text[start:end], start):
                while owner < last and span[0] >= blocks[owner + 1].char_start:
                    owner += 1
                result[owner].append(span)
        row = last + 1
    return result

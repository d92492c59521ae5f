"""Questions split into sub-queries by rules; an inner stage retrieves each, and RRF fuses the rankings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ingestion.sentences import sentence_ends
from retrieval.analysis import Longs
from retrieval.fusers.pairs import add_up
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import Queries, Run
from retrieval.stage import Context, Retriever

FLAGS = re.IGNORECASE | re.DOTALL
# Rules do not see into these. A hyphenated term has no white space, so no rule cuts it either.
CLOSED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`|(?<!\w)'[^']+'(?!\w)|(?<!\w)‘[^’]+’(?!\w)|\([^()]*\)|\[[^\[\]]*\]")
STOP = r"(?![\w-])"  # a word ends here, and is not the start of a hyphenated one

ASK = r"(?:what|which|who|whose|whom|when|where|why|how)"
BE, DO = r"(?:is|are|was|were|has|have)", r"(?:do|does|did|can|could|should|would|will)"
TASK = r"(?:explain|describe|discuss|define|summari[sz]e|compare)"
QUESTION = re.compile(rf"\b{ASK}{STOP}|^\s*(?:{BE}|{DO}|{TASK}|list|name|give){STOP}", FLAGS)
CLAUSE = re.compile(  # a conjunction before a question word, or before an auxiliary with its subject
    rf",?\s+(?:and|or)\s+(?=(?:(?:in|on|at|by|for|from|to|under|with)\s+)?{ASK}\s|{TASK}\s"
    rf"|{BE}\s+(?:it|they|there|we|you)\s|{DO}\s+(?:it|they|we|you|the|an?|this|these)\s)",
    FLAGS,
)
SEMICOLON = re.compile(r"\s*;\s*")
BACK = re.compile(r"\b(?:it|its|they|them|their|this|these|those|he|she|his|her)\b", FLAGS)
LEAST = 3  # words on either side of a conjunction that joins clauses
LOOK = 200  # characters around a conjunction that decide
REACH = 4  # a pronoun among so many first words refers to what stands before

PLACE = (
    r"(?:in|on|for|with|when|where|while|under|over|at|by|as|during|using|regarding|across|among|within|via|if|"
    rf"{BE}|{DO})"
)
END = rf"(?P<tail>(?:[,?!.:]+(?=\s|$)|\s+{PLACE}{STOP}).*)?$"
LEAD = (
    rf"(?:(?:what|which)\s+{BE}\s+|(?:can|could)\s+you\s+|please\s+|{TASK}\s+)*(?:(?:the|an?|any)\s+)?"
    r"(?:(?:main|key|major|essential|important|practical)\s+)?"
)
NOUN = r"(?:differences?|similarit(?:y|ies)|comparisons?|trade-?offs?)"
COMPARISONS = tuple(
    re.compile(rf"{rule}\s+(?P<other>.+?){END}", FLAGS)
    for rule in (
        rf"\bhow\s+(?:{BE}|{DO})\s+(?P<one>.{{1,200}}?)\s+(?:differ|different|compared?)\s+(?:from|to|with|against)",
        rf"(?<!\S){LEAD}{NOUN}\s+between\s+(?P<one>.{{1,200}}?)\s+and",
        rf"(?<!\S){LEAD}(?:comparisons?\s+of|comparing|compare(?:\s+and\s+contrast)?)\s+(?P<one>.{{1,200}}?)\s+and",
        rf"(?<!\S){LEAD}(?:comparing|compare)\s+(?P<one>.{{1,200}}?)\s+(?:with|to|against)",
    )
)
BETWEEN_SIDES = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", FLAGS)
SHARED = re.compile(r"(?:the|an?)\s.*\sof\s+", FLAGS)  # `the speed of` in `the speed of X and Y`
THAT_OF = re.compile(r"(?:that|those)\s+of\s+", FLAGS)
BEGINS_TORN = re.compile(rf"(?:and|or|without|{PLACE}){STOP}", FLAGS)
ENDS_TORN = re.compile(rf"(?<![\w-])(?:and|or|of|to|without|{ASK}|{PLACE})$", FLAGS)

# Words at which an item ends that no comma or `and` bounds
EDGE = (
    rf"(?:{PLACE}|{ASK}|of|to|from|through|than|that|between|the|an?|and|or|respectively|versus|vs|use[sd]?|gets?|"
    r"gives?|reach(?:es)?|achieves?|reports?|shows?|performs?|works?|need|needs|trained|evaluated)"
)
WORD = rf"(?!{EDGE}{STOP})[^\s,;?!]+"
PHRASE, ITEM = rf"{WORD}(?:\s+{WORD}){{0,9}}", rf"{WORD}(?:\s+{WORD}){{0,3}}"
VERSUS = re.compile(r"\s+(?:versus|vs\.?)\s+", FLAGS)
SIDES = re.compile(rf"(?<!\S){PHRASE}(?:{VERSUS.pattern}{PHRASE})+", FLAGS)
LISTED = re.compile(rf"(?<!\S){ITEM}(?:\s*,\s*{ITEM})*\s*,?\s+and\s+{ITEM}", FLAGS)
RESPECTIVELY = re.compile(r",?\s+respectively\b", FLAGS)


@dataclass(frozen=True)
class Decompose:
    """Splits a question into at most `parts` sub-queries and retrieves them and the question itself with `inner`.

    Score: sum of 1 / (k + rank) over these rankings. A question that does not split keeps the order of `inner`.
    """

    VERSION: ClassVar[int] = 1
    inner: Retriever = field(default_factory=Bm25)
    parts: int = 4
    k: float = 60.0

    def __post_init__(self) -> None:
        if self.parts < 1 or self.k < 0:
            raise ValueError(f"parts={self.parts} must be at least 1 and k={self.k} at least 0")

    def search(self, ctx: Context, queries: Queries) -> Run:
        """The fused rankings, one for every question."""
        asked, question, part = self.sub_queries(queries)
        run = ctx.inside().search(self.inner, asked)
        ctx.fact("questions split", int((part == 1).sum()), of=len(queries))
        lists = []
        for number in range(self.parts + 1):
            rows = part[run.query] == number
            one = Run(question[run.query[rows]].astype(np.int32), run.chunk[rows], run.score[rows], run.rank[rows])
            lists.append((one, 1 / (self.k + one.rank.astype(np.float64))))
        return add_up(lists, ctx.depth)

    def sub_queries(self, queries: Queries) -> tuple[Queries, Longs, Longs]:
        """What is asked of `inner`: the questions under their own ids, and behind them the parts of those that split.

        Returns:
            The query table; for each of its rows the row of the question; and the number of the part, 0 for the
            question itself, both int64 [n_sub_queries].
        """
        asked = {}
        for row, (qid, text) in enumerate(zip(queries.qid, queries.query, strict=True)):
            pieces = split(text, self.parts)
            asked[qid] = (text, row, 0)
            if len(pieces) > 1:
                asked |= {f"{qid}\x1f{number}": (piece, row, number) for number, piece in enumerate(pieces, start=1)}
        texts, rows = [text for text, _, _ in asked.values()], [row for _, row, _ in asked.values()]
        whose = queries.take(rows)
        table = Queries.of(list(asked), texts, whose.kind, whose.split, whose.cluster)
        question, part = (np.asarray([asked[qid][at] for qid in table.qid], dtype=np.int64) for at in (1, 2))
        return table, question, part


def split(question: str, parts: int = 4) -> list[str]:
    """The sub-queries of a question, at most `parts`; a question that does not split is returned as it is.

    1. Sentences, what semicolons part, and question clauses behind `and` or `or` ("What is X and how does Y work?")
       stand alone, unless one refers back by a pronoun among its first words ("How does it work?") or one side of the
       conjunction has fewer than three words.
    2. A comparison in one of these ("difference between X and Y", "compare X and Y", "X versus Y", "how does X differ
       from Y") gives one sub-query for every side, each with what stands around the comparison. An article and noun
       before `of` belong to all sides ("the speed of X and Y").
    3. Two lists of equal length and "respectively" give one sub-query for every pair.

    Nothing is split inside quotes, brackets or hyphenated terms. Of more than `parts`, the last one holds the rest.
    """
    sides = [side.strip(" \t\n,;") for clause in _clauses(question) for side in _sides(clause)]
    pieces = list(dict.fromkeys(side for side in sides if re.search(r"\w", side)))
    if len(pieces) > parts:
        pieces = [*pieces[: parts - 1], " ".join(pieces[parts - 1 :])]
    return pieces if len(pieces) > 1 else [question]


def _masked(text: str) -> str:
    """The text, equally long, with quotations and brackets as single words."""
    return CLOSED.sub(lambda match: "X" * len(match[0]), text)


def _clauses(question: str) -> list[str]:
    masked = _masked(question)
    cuts = [(at, at, False) for at in sentence_ends(masked)]
    cuts += [(*match.span(), False) for match in SEMICOLON.finditer(masked)]
    cuts += [(*match.span(), True) for match in CLAUSE.finditer(masked)]
    found, start = [], 0
    for low, high, joined in sorted(cuts):
        left, right = masked[start:low], masked[high : high + LOOK].split()
        if BACK.search(" ".join(right[:REACH])) or (joined and not _stands(left, right)):
            continue
        found.append(question[start:low])
        start = high
    return [*found, question[start:]]


def _stands(left: str, right: list[str]) -> bool:
    """Whether a conjunction between these joins two clauses, of which the first is a question."""
    long = min(len(left.split(maxsplit=LEAST)), len(right)) >= LEAST
    return bool(long and QUESTION.search(left) and not ENDS_TORN.search(left[-LOOK:].rstrip(" ,")))


def _sides(clause: str) -> list[str]:
    masked = _masked(clause)
    found = _pairs(clause, masked)
    for rule in COMPARISONS:
        match = None if found else rule.search(masked)
        if match:
            found = _compared(clause, masked, match)
    match = None if found else SIDES.search(masked)
    if match:
        sides = _cut(clause, masked, *match.span(), VERSUS)
        found = [_joined(clause[: match.start()], side, clause[match.end() :]) for side in sides]
    return found or [clause]


def _compared(clause: str, masked: str, match: re.Match[str]) -> list[str]:
    """One sub-query for each side of a comparison; none where a side is no phrase."""
    sides = [side for name in ("one", "other") for side in _cut(clause, masked, *match.span(name), BETWEEN_SIDES)]
    sides = [THAT_OF.sub("", side, count=1) if THAT_OF.match(side) else side for side in sides if side]
    shared = SHARED.match(sides[0])
    if shared:
        sides[1:] = [side if " of " in side else shared[0] + side for side in sides[1:]]
    if any(BEGINS_TORN.match(side) or ENDS_TORN.search(side) for side in sides):
        return []
    return [_joined(clause[: match.start()], side, clause[match.end("other") :]) for side in sides]


def _pairs(clause: str, masked: str) -> list[str]:
    """One sub-query for each pair of two lists that `respectively` pairs; none where there are no such lists."""
    match = RESPECTIVELY.search(masked)
    lists = [found.span() for found in LISTED.finditer(masked[: match.start()])][-2:] if match else []
    if match is None or len(lists) < 2:
        return []
    (start, stop), (begin, end) = lists
    ones, others = _cut(clause, masked, start, stop, BETWEEN_SIDES), _cut(clause, masked, begin, end, BETWEEN_SIDES)
    rest = clause[end : match.start()], clause[match.end() :]
    if len(ones) != len(others):
        return []
    between = clause[stop:begin]
    return [_joined(clause[:start], one, between, other, *rest) for one, other in zip(ones, others, strict=True)]


def _cut(text: str, masked: str, low: int, high: int, separator: re.Pattern[str]) -> list[str]:
    """The parts of text[low:high] between separators."""
    edges = [low, *(at for match in separator.finditer(masked, low, high) for at in match.span()), high]
    return [text[start:stop].strip() for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _joined(*parts: str) -> str:
    """The parts as one text, without white space before punctuation."""
    return re.sub(r"\s+(?=[,?!.:](?:\s|$))", "", " ".join(part.strip() for part in parts if part.strip()))

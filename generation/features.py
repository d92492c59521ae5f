"""Numbers that tell a good quote from a bad one, and a question that can be answered from one that cannot.

All of them are counted from words and ranks, so that they cost next to nothing and need no model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from generation.cues import CUES
from generation.extracts import Extract, quotes_of
from generation.schema import Evidence, Source
from generation.words import Rarity, content_words

_ASKS_MEANING = re.compile(
    r"^what (?:is|are)(?: meant by)?(?: an?| the)? (?P<is>[^?]+?)\??$"
    r"|^what (?:does|do)(?: the)?(?: term| word| name)? (?P<does>[^?]+?) (?:mean|refer to|denote|stand for)\??$"
    r"|^(?:define|explain|definition of|meaning of)(?: an?| the)? (?P<of>[^?:]+?)\??$"
    r"|^(?P<noun>(?!(?:is|are|do|does|did|can|what|which|where|who|how|why|when)\b)[^?:]+?):? (?:definition"
    r"|meaning)\??$"
    r"|\bwhen is an? \w+ called (?P<called>[^?]+?)\??$",
    re.IGNORECASE,
)
_AFTER = re.compile(r" (?:of|in|on|for|with|to|by|from|as|under|over|at)\b.*$", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|could|will|would|may|might|must|shall|should|cannot"
    r"|we|they|it)\b",
    re.IGNORECASE,
)
_PROCEDURE = re.compile(
    r"^(?:We|This (?:report|paper|section|article)|Section \d\S*|The next section) (?:\w+ )?(?:describe|compute|count"
    r"|look|ask|explain|compare|measure|report|discuss|repeat|begin|turn|apply|study|present|review|go)(?:s|es|d|ed)?\b"
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|large|often|far|long|big|high)\b|\b(?:by|at) what\b|\bby how\b|\bnumber of\b"
    r"|\b(?:what|which) (?:share|percentage|factor|fraction|value|recall|ndcg\S*|figure|rate)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w@+-]+")
_TOP = 3  # passages whose words count together
_TERM = 5  # words that a term has at most
_LEAST = 1e-6  # fewer expected answers are not told from another


@dataclass(frozen=True)
class Asked:
    """A question taken apart once: content words, those that look like names, pairs of words, what it asks for."""

    text: str
    rarity: Rarity

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Content words, each once."""
        return content_words(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """Content words of tokens with a digit, or with a capital that does not open the question."""
        found: set[str] = set()
        for at, token in enumerate(_WORD.findall(self.text)):
            if any(sign.isdigit() for sign in token) or any(
                sign.isupper() for sign in (token[1:] if at == 0 else token)
            ):
                found.update(content_words(token))
        return frozenset(found)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring words, lower case, at least one of them a content word."""
        return word_pairs(self.text)

    @cached_property
    def term(self) -> str:
        """The term whose meaning is asked for, lower case, without what stands behind a preposition; or empty."""
        found = _ASKS_MEANING.search(self.text.strip())
        named = next((text for text in found.groups() if text), "") if found else ""
        term = _AFTER.sub("", named).strip(" \"'“”‘’.!").lower()
        return term if 0 < len(term.split()) <= _TERM and not re.search(r",| or | than ", named) else ""

    @cached_property
    def definition(self) -> re.Pattern[str] | None:
        """Matches a sentence that says what the term means; None where no meaning is asked for."""
        if not self.term:
            return None
        term = rf"(?:the |an? )?[\"“‘']?{re.escape(self.term)}s?[\"”’']?(?: \([^)]{{1,20}}\))?"
        return re.compile(
            rf"\b(?:call|called|name|named|term|termed|known as)\b[^.;]{{0,80}}?\b{term}(?!\w)"
            rf"|\b{term},? (?:is|are) (?:an?|one)\b"
            rf"|\b{term}(?: of [^,.;]{{1,60}})?,? (?:is|are) (?:the|what|how)\b"
            rf"|\b{term}(?: of [^,.;]{{1,60}})?,? (?:means|refers|denotes?|says)\b|\b{term},? mean\b"
            rf"|\b{term}, (?:the|an?|by which|that is|in which|where)\b"
            rf"|\b(?:is|are) (?:one |an? )?{term}(?!\w)|\([^)]{{0,12}}\b{re.escape(self.term)}\)",
            re.IGNORECASE,
        )

    @cached_property
    def asks_number(self) -> bool:
        """Whether it asks for a figure."""
        return bool(_ASKS_NUMBER.search(self.text))

    def share(self, held: Iterable[str]) -> float:
        """Share of the question's weight that these words hold."""
        return self.rarity.share(self.words, frozenset(held))


def word_pairs(text: str) -> frozenset[tuple[str, str]]:
    """Neighbouring words of a text, lower case, without those of two function words."""
    tokens = [token.lower() for token in _WORD.findall(text)]
    full = [bool(content_words(token)) for token in tokens]
    return frozenset((tokens[at], tokens[at + 1]) for at in range(len(tokens) - 1) if full[at] or full[at + 1])


def claim_features(asked: Asked, extract: Extract, source: Source, document: float) -> dict[str, float]:
    """What speaks for an extract as an answer; `document` is the share of the question that its document holds."""
    passage = source.passage
    asks = frozenset(asked.words)
    defines = asked.definition is not None and bool(asked.definition.search(extract.text))
    return {
        "coverage": asked.share(extract.words),
        "core coverage": asked.share(extract.core),
        "passage coverage": asked.share(said(source)),
        "document coverage": document,
        "pairs": len(asked.pairs & word_pairs(extract.text)) / max(1, len(asked.pairs)),
        "rank": 1 / (passage.rank + 1),
        "agreement": passage.agreement,
        "length": math.log(max(1, extract.length)),
        "defines": float(defines),
        "does not define": float(asked.definition is not None and not defines),
        "figures": math.log1p(extract.figures) * asked.asks_number,
        "no figure": float(asked.asks_number and not extract.figures),
        "no verb": float(not _VERB.search(extract.text)),
        "procedure": float(bool(_PROCEDURE.match(extract.text))),
        "matched": math.log1p(len(asks & extract.words)),
        "new": math.log1p(len(extract.words - asks)),
        "opens": float(all(extract.start <= other.start for other in quotes_of(passage).extracts[:1])),
        **{name: float(cue.speaks(asked.text, extract.text)) for name, cue in CUES.items()},
    }


def said(source: Source) -> frozenset[str]:
    """The words of a source without its instructions to readers and models."""
    return quotes_of(source.passage).words


def document_shares(asked: Asked, sources: Sequence[Source]) -> dict[str, float]:
    """Share of the question that all passages of each document hold together, by document name."""
    held: dict[str, set[str]] = {}
    for source in sources:
        held.setdefault(source.passage.doc_name, set()).update(said(source))
    return {name: asked.share(words) for name, words in held.items()}


def question_features(
    asked: Asked, evidence: Evidence, ranked: Sequence[Source], probabilities: Sequence[float]
) -> dict[str, float]:
    """What speaks for a question having an answer in this evidence.

    `answers expected` is the logarithm of how many extracts should answer it, by the sum of their probabilities: many
    fair ones speak for an answer as well as one good one does.

    Args:
        asked: the question.
        evidence: what was retrieved.
        ranked: sources, the one of the best extract first; a source may come again.
        probabilities: of all extracts.
    """
    first = set(list(dict.fromkeys(source.id for source in ranked))[:_TOP])
    together = frozenset().union(*(said(source) for source in evidence.sources if source.id in first))
    return {
        "answers expected": math.log(max(sum(probabilities), _LEAST)),
        "missing names": asked.share(asked.names - together),
    }

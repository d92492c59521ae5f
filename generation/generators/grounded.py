"""The offline generator: quotes the sentences that answer, cites each, and refuses where the evidence is weak.

Every extract of every source gets the probability that it answers the question; the best ones that say different
things become the claims, word by word. Nothing is written that does not stand in a source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generation.confidence import Confidence, rule
from generation.extracts import Extract, quotes_of
from generation.features import Asked, claim_features, document_shares, question_features
from generation.generator import SILENT, Listener, Tools
from generation.instructions import repeats
from generation.reader import reading
from generation.schema import Answer, Claim, Evidence, Source
from generation.visible import without_hidden
from generation.words import content_words

NO_PASSAGE = "no passage was retrieved"
NO_SENTENCE = "no sentence of the retrieved passages can be quoted as an answer"
WEAK = "the retrieved passages hardly speak of what is asked"


@dataclass(frozen=True)
class Candidate:
    """An extract of a source with the probability that it answers, and the share of the question that it repeats."""

    source: Source
    extract: Extract
    probability: float
    overlap: float

    @property
    def order(self) -> tuple[float, int, int]:
        """Best first; equal ones by rank and place."""
        return (-round(self.probability, 12), self.source.passage.rank, self.extract.start)


@dataclass(frozen=True)
class Grounded:
    """Extractive answers of at most `claims` claims.

    A further claim must reach `share` of the best one's probability, and at most `similar` of its words may stand in
    the claims before it. `refusing` False answers whatever the evidence, to measure what refusing is worth.
    """

    claims: int = 3
    share: float = 0.7
    similar: float = 0.6
    refusing: bool = True

    def __post_init__(self) -> None:
        if self.claims < 1 or not (0 <= self.share <= 1 and 0 <= self.similar <= 1):
            raise ValueError("claims must be at least 1, share and similar between 0 and 1")

    def answer(self, evidence: Evidence, tools: Tools, listener: Listener = SILENT) -> Answer:
        """An answer, or a refusal with its reason; equal evidence gives equal bytes."""
        confidence = tools.confidence
        if not evidence.sources:
            return self._refusal(evidence, NO_PASSAGE, 0.0)
        asked = Asked(evidence.question, tools.rarity)
        ranked = candidates(asked, evidence, confidence)
        if not ranked:
            return self._refusal(evidence, NO_SENTENCE, 0.0)
        answerable = answerability(asked, evidence, ranked, confidence)
        if self.refusing and answerable < confidence.refuse:
            return self._refusal(evidence, f"{WEAK}{_missing(asked, evidence)}", answerable)
        claims = tuple(_claim(candidate, confidence) for candidate in self.choose(ranked))
        for claim in claims:
            listener.on_claim(claim)
        return Answer(
            question=evidence.question,
            claims=claims,
            sources=evidence.sources,
            left_out=evidence.left_out,
            generator="grounded",
            answerable=answerable,
        )

    def choose(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """The best candidate and those that add something to it, in reading order within a document."""
        chosen: list[Candidate] = []
        for candidate in ranked:
            if len(chosen) == self.claims or candidate.probability < self.share * ranked[0].probability:
                break
            if all(self._differs(candidate, other) for other in chosen):
                chosen.append(candidate)
        documents = list(dict.fromkeys(candidate.source.passage.doc_name for candidate in chosen))
        return sorted(chosen, key=lambda one: (documents.index(one.source.passage.doc_name), _place(one)))

    def _differs(self, candidate: Candidate, other: Candidate) -> bool:
        """Whether a candidate overlaps another neither in place nor in most of its words."""
        one, two = candidate.source.passage, other.source.passage
        if one.doc_name == two.doc_name and _place(candidate) < _end(other) and _place(other) < _end(candidate):
            return False
        smaller = min(len(candidate.extract.words), len(other.extract.words))
        return len(candidate.extract.words & other.extract.words) <= self.similar * max(1, smaller)

    def _refusal(self, evidence: Evidence, reason: str, answerable: float) -> Answer:
        return Answer(
            question=evidence.question,
            claims=(),
            sources=evidence.sources,
            left_out=evidence.left_out,
            refused=True,
            reason=reason,
            generator="grounded",
            answerable=answerable,
        )


def candidates(asked: Asked, evidence: Evidence, confidence: Confidence) -> list[Candidate]:
    """Every extract of the evidence, the likeliest answer first."""
    documents = document_shares(asked, evidence.sources)
    quotes = [
        (source, extract)
        for source in evidence.sources
        for extract in quotes_of(source.passage).extracts
        if not repeats(extract.text, asked.text)
    ]
    read = reading(confidence.reader, asked.text, [extract.text for _, extract in quotes])
    found = []
    for (source, extract), score in zip(quotes, read, strict=True):
        features = claim_features(asked, extract, source, documents[source.passage.doc_name])
        probability = confidence.claim.probability({**features, **score})
        found.append(Candidate(source, extract, probability, features["coverage"]))
    return sorted(found, key=lambda candidate: candidate.order)


def answerability(asked: Asked, evidence: Evidence, ranked: Sequence[Candidate], confidence: Confidence) -> float:
    """The probability that the evidence holds an answer."""
    sources = [candidate.source for candidate in ranked]
    features = question_features(asked, evidence, sources, [candidate.probability for candidate in ranked])
    return round(confidence.answerable.probability(features), 6)


def _claim(candidate: Candidate, confidence: Confidence) -> Claim:
    probability = round(candidate.probability, 6)
    return Claim(
        text=" ".join(without_hidden(candidate.extract.text).split()),
        citations=tuple(candidate.source.cite(*stretch) for stretch in candidate.extract.stretches),
        probability=probability,
        level=confidence.level(probability),
        rule=rule(candidate.source.passage, candidate.overlap),
    )


def _place(candidate: Candidate) -> int:
    return candidate.source.passage.char_start + candidate.extract.start


def _end(candidate: Candidate) -> int:
    return candidate.source.passage.char_start + candidate.extract.end


def _missing(asked: Asked, evidence: Evidence) -> str:
    """The words of the question that no source has, as they are typed, for the reason of a refusal."""
    held = {word for source in evidence.sources for word in source.text.lower().split()}
    stems = {stem for word in held for stem in content_words(word)}
    absent = [word for word in asked.text.split() if (own := content_words(word)) and not stems & set(own)]
    return f"; nothing in them mentions {', '.join(word.strip('?.,;:!') for word in absent[:5])}" if absent else ""

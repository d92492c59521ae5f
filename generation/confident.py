"""Confidence for claims that a model made: as if their quotes had been extracted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from generation.confidence import Confidence, rule
from generation.extracts import Extract, extract_of
from generation.features import Asked, claim_features, document_shares
from generation.generators.grounded import answerability, candidates
from generation.reader import reading
from generation.schema import LEVELS, LOW, Answer, Citation, Claim, Evidence, Source
from generation.words import Rarity
from ingestion.sentences import spans


@dataclass(frozen=True)
class Judge:
    """How sure one can be of claims over one evidence; it works out what they share once."""

    evidence: Evidence
    rarity: Rarity
    confidence: Confidence

    def claim(self, claim: Claim) -> Claim:
        """The claim with probability, level and rule; as it is where it has a probability.

        It is as likely as its best quote; one without a citation has the probability 0.
        """
        if claim.probability is not None:
            return claim
        if not claim.citations:
            return replace(claim, probability=0.0, level=LOW, rule=LOW)
        probabilities, rules = [], []
        quotes = [_extract(place, self._sources[place.source]) for place in claim.citations]
        read = reading(self.confidence.reader, self._asked.text, [quote.text for quote in quotes])
        for place, quote, score in zip(claim.citations, quotes, read, strict=True):
            source = self._sources[place.source]
            features = claim_features(self._asked, quote, source, self._shares[place.doc_name])
            probabilities.append(self.confidence.claim.probability({**features, **score}))
            rules.append(rule(source.passage, features["coverage"]))
        best = round(max(probabilities), 6)
        level = self.confidence.level(best)
        return replace(claim, probability=best, level=level, rule=min(rules, key=LEVELS.index))

    def answer(self, answer: Answer) -> Answer:
        """The answer with all its claims judged, and with its answerability where it has none.

        Answerability is a matter of the evidence, so that it is the same for every generator; None without a sentence
        that could be quoted.
        """
        answerable = answer.answerable
        if answerable is None:
            ranked = candidates(self._asked, self.evidence, self.confidence)
            answerable = answerability(self._asked, self.evidence, ranked, self.confidence) if ranked else None
        return replace(answer, claims=tuple(map(self.claim, answer.claims)), answerable=answerable)

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self.evidence.question, self.rarity)

    @cached_property
    def _sources(self) -> Mapping[str, Source]:
        return {source.id: source for source in self.evidence.sources}

    @cached_property
    def _shares(self) -> Mapping[str, float]:
        return document_shares(self._asked, self.evidence.sources)


def _extract(place: Citation, source: Source) -> Extract:
    start, end = (offset - source.passage.char_start for offset in (place.char_start, place.char_end))
    quote = source.text[start:end]
    last = spans(quote)[-1:] or [(0, len(quote))]
    return extract_of(source.text, ((start, end),), quote[slice(*last[0])])

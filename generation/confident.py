"""Confidence for claims that a model made: as if their quotes had been extracted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from generation.confidence import Confidence, rule
from generation.extracts import Extract, extract_of
from generation.features import Asked, claim_features, document_shares
from generation.generators.grounded import answerability, candidates
from generation.schema import LEVELS, LOW, Answer, Citation, Claim, Evidence, Source
from generation.words import Rarity
from ingestion.sentences import spans


def confident(answer: Answer, evidence: Evidence, rarity: Rarity, confidence: Confidence) -> Answer:
    """The answer with probability, level and rule for claims without one, and with its answerability.

    A claim is as likely as its best quote; one without a citation has the probability 0. Answerability is a matter of
    the evidence, so that it is the same for every generator.
    """
    asked = Asked(evidence.question, rarity)
    sources = {source.id: source for source in evidence.sources}
    shares = document_shares(asked, evidence.sources)
    claims = tuple(
        claim if claim.probability is not None else _judged(claim, asked, sources, shares, confidence)
        for claim in answer.claims
    )
    answerable = answer.answerable
    if answerable is None:
        ranked = candidates(asked, evidence, confidence)
        answerable = answerability(asked, evidence, ranked, confidence) if ranked else None
    return replace(answer, claims=claims, answerable=answerable)


def _judged(
    claim: Claim,
    asked: Asked,
    sources: Mapping[str, Source],
    shares: Mapping[str, float],
    confidence: Confidence,
) -> Claim:
    if not claim.citations:
        return replace(claim, probability=0.0, level=LOW, rule=LOW)
    probabilities, rules = [], []
    for place in claim.citations:
        source = sources[place.source]
        features = claim_features(asked, _extract(place, source), source, shares[place.doc_name])
        probabilities.append(confidence.claim.probability(features))
        rules.append(rule(source.passage, features["coverage"]))
    best = round(max(probabilities), 6)
    return replace(claim, probability=best, level=confidence.level(best), rule=min(rules, key=LEVELS.index))


def _extract(place: Citation, source: Source) -> Extract:
    start, end = (offset - source.passage.char_start for offset in (place.char_start, place.char_end))
    quote = source.text[start:end]
    last = spans(quote)[-1:] or [(0, len(quote))]
    return extract_of(source.text, ((start, end),), quote[slice(*last[0])])

"""The beliefs, as contrasts of strategies that data can hold up or refute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Contrast = Mapping[str, float]  # weight of every arm
ALPHAS = tuple(step / 10 for step in range(11))
ONE_CHUNK = "nDCG@5 (gold is one chunk)"  # instead of a span; see `one_chunk`


@dataclass(frozen=True)
class Claim:
    """One contrast or several, of means over questions.

    `expect` is `above` (the contrast is above 0) or `not below` (it is not below minus the margin); with several
    contrasts the claim says so of each. `run` names the results that hold the arms: `beliefs`, `alpha` (the sweep of
    linear blends), or `overlap` (chunks that overlap by 80 %). `where` picks questions: `coined` terms, a kind, all.
    """

    says: str
    contrasts: Mapping[str, Contrast]
    metric: str
    expect: Literal["above", "not below"]
    run: Literal["beliefs", "alpha", "overlap"] = "beliefs"
    where: str = ""


@dataclass(frozen=True)
class Belief:
    """A belief and the claims that it consists of: it holds if all hold, and is refuted if one is."""

    key: str
    says: str
    claims: tuple[Claim, ...]


def _minus(a: str, b: str) -> dict[str, Contrast]:
    return {f"{a} - {b}": {a: 1.0, b: -1.0}}


def _alpha(value: float) -> str:
    return f"alpha={value:g}"


def _fall() -> Contrast:
    """Minus the least-squares slope over the sweep: by how much the metric falls while alpha goes from 0 to 1."""
    centre = sum(ALPHAS) / len(ALPHAS)
    spread = sum((value - centre) ** 2 for value in ALPHAS)
    return {_alpha(value): (centre - value) / spread for value in ALPHAS}


BLENDS = {f"bm25 - {_alpha(v)}": {_alpha(0.0): 1.0, _alpha(v): -1.0} for v in ALPHAS[1:-1]}

BELIEFS = (
    Belief(
        "a",
        "BM25 beats every linear blend with TF-IDF, and MRR falls steadily as the weight of TF-IDF grows",
        (
            Claim("BM25 is above every blend", BLENDS, "RR", "above", "alpha"),
            Claim("RR falls along alpha", {"fall from alpha 0 to 1": _fall()}, "RR", "above", "alpha"),
        ),
    ),
    Belief(
        "b",
        "Reciprocal rank fusion of BM25 and TF-IDF escapes that penalty",
        (Claim("RRF is not below BM25", _minus("rrf", "bm25"), "RR", "not below"),),
    ),
    Belief(
        "c",
        "MiniLM alone loses to BM25 where terms are coined",
        (Claim("BM25 is above MiniLM", _minus("bm25", "sentence_transformer"), "RR", "above", where="coined"),),
    ),
    Belief(
        "d",
        "A web-trained cross-encoder does not help on scientific prose, except for multi-hop questions",
        (
            Claim("it adds nothing to RRF", _minus("rrf", "cross_encoder"), "nDCG@5", "not below"),
            Claim("it adds to RRF", _minus("cross_encoder", "rrf"), "nDCG@5", "above", where="multi_hop"),
        ),
    ),
    Belief(
        "e",
        "Adding the entity graph raises relation coverage but not MRR",
        (
            Claim("relation coverage rises", _minus("rrf_graph", "rrf"), "RelCov@5", "above"),
            Claim("RR does not rise", _minus("rrf", "rrf_graph"), "RR", "not below"),
        ),
    ),
    Belief(
        "f",
        "Dedup costs accuracy when gold is one chunk id, and not when gold is a span",
        (
            Claim("it costs with chunk ids", _minus("rrf", "rrf_dedup"), ONE_CHUNK, "above", "overlap"),
            Claim("it does not with spans", _minus("rrf_dedup", "rrf"), "nDCG@5", "not below", "overlap"),
        ),
    ),
    Belief(
        "g",
        "MMR buys nDCG@5 at the price of Recall@1",
        (
            Claim("nDCG@5 rises", _minus("rrf_mmr", "rrf"), "nDCG@5", "above"),
            Claim("R@1 falls", _minus("rrf", "rrf_mmr"), "R@1", "above"),
        ),
    ),
    Belief(
        "h",
        "TF-IDF, PPMI and adaptive weighting stay below BM25",
        tuple(
            Claim(f"BM25 is above {name}", _minus("bm25", name), "nDCG@5", "above")
            for name in ("tfidf", "ppmi", "adaptive")
        ),
    ),
)

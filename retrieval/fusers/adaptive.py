"""Linear fusion whose weight is chosen for each query from its form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from retrieval.analysis import Analysed, analysed, tokens
from retrieval.fusers.linear import blend
from retrieval.schema import Floats, Queries, Run
from retrieval.stage import Context

COINED = re.compile(r"\b(?:[A-Z]?[a-z]+[A-Z]\w*|\w+-\w*\d\w*|\w*[A-Za-z]\d\w*)\b")
ACRONYM = re.compile(r"\b[A-Z][A-Z0-9]{1,}s?\b")
DIGIT = re.compile(r"\b\d[\d.,]*\b")
QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”|`[^`]+`")
QUESTION = re.compile(r"^\s*(?:what|which|who|when|where|why|how|is|are|does|do|can|should)\b", re.IGNORECASE)
NEUTRAL, LEAST, MOST = 0.5, 0.1, 0.9
PER_SIGN, SIGNS = 0.1, 3  # each coined term, acronym, number or quotation pulls down; at most three count
RARE, IDF_PULL = 0.75, 0.1  # mean IDF above .75 of the largest possible one: the words themselves are telling
LONG, LONG_PULL = 10, 0.2  # a natural question of ten words or more describes rather than names


def choose_alpha(query: str, mean_idf: float) -> float:
    """The weight of the branch `dense` for one query, .1 to .9.

    Starts at .5. Each coined term (`ColBERTv2`), acronym, number and quotation takes .1 (at most .3 in all); rare
    words (mean IDF, as a share of the largest possible one, above .75) take another .1; a natural question of ten
    words or more gains .2.
    """
    signs = sum(len(pattern.findall(query)) for pattern in (COINED, ACRONYM, DIGIT, QUOTED))
    alpha = NEUTRAL - PER_SIGN * min(signs, SIGNS) - IDF_PULL * (mean_idf > RARE)
    if QUESTION.match(query) and len(query.split()) >= LONG:
        alpha += LONG_PULL
    return round(min(MOST, max(LEAST, alpha)), 6)


@dataclass(frozen=True)
class Adaptive:
    """Linear fusion of `sparse` and `dense` with `choose_alpha` per query."""

    VERSION: ClassVar[int] = 2

    def fuse(self, ctx: Context, queries: Queries, runs: Mapping[str, Run]) -> Run:
        """Merge the two rankings, each query with its own weight, which the trace holds."""
        alphas = self.alphas(ctx, queries)
        ctx.note("alpha", np.arange(len(queries)), -1, value=alphas)
        return blend(runs, alphas, ctx.depth)

    def alphas(self, ctx: Context, queries: Queries) -> Floats:
        """The weights, float64 [n_queries]."""
        corpus = analysed(ctx)
        return np.asarray([choose_alpha(query, mean_idf(query, corpus)) for query in queries.query], dtype=np.float64)


def mean_idf(query: str, corpus: Analysed) -> float:
    """Mean of ln(N / n) over the query's known terms, as a share of the largest one, ln(N); 0 without any."""
    n_chunks = len(corpus.offsets) - 1
    known = [corpus.frequency[corpus.id_of[term]] for term in tokens(query) if term in corpus.id_of]
    if not known or n_chunks < 2:
        return 0.0
    return float(np.mean(np.log(n_chunks / np.asarray(known))) / np.log(n_chunks))

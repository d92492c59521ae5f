"""The metrics: one pure function per measure and one row of `METRICS`, under ir-measures' canonical names.

Rank metrics read the grade matrix and agree with trec_eval per query. A query without a relevant judgment has no
value (NaN): it is left out of means and counted. A query with judgments and an empty ranking scores 0.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from evaluation.coverage import Ranked, entity_coverage, evidence_precision, evidence_recall, relation_coverage
from evaluation.errors import MetricError
from evaluation.grades import Grades
from retrieval.schema import Floats

Number = TypeVar("Number", np.int32, np.float64)
LOOKED_AT = 5  # ranks that a user looks at
Cutoff = Literal["none", "optional", "required", "words"]


def ndcg(grades: Grades, k: int | None) -> Floats:
    """Discounted cumulative gain over the ideal one; gain = grade, discount 1 / log2(rank + 1) (trec_eval)."""
    return _ndcg(grades, k, lambda grade: np.maximum(grade, 0).astype(np.float64))


def ndcg_exponential(grades: Grades, k: int | None) -> Floats:
    """The same with gain 2^grade - 1 (Burges et al., ICML 2005; gdeval)."""
    return _ndcg(grades, k, lambda grade: np.exp2(np.maximum(grade, 0).astype(np.float64)) - 1)


def reciprocal_rank(grades: Grades, k: int | None) -> Floats:
    """1 / rank of the first relevant chunk, 0 if none stands in the top k."""
    found = (grades.first > 0) & (grades.first <= _depth(grades, k))
    return _of_relevant(grades, found / np.maximum(grades.first, 1))


def success(grades: Grades, k: int | None) -> Floats:
    """1 if a relevant chunk stands in the top k, else 0."""
    return _of_relevant(grades, (grades.first > 0) & (grades.first <= _depth(grades, k)))


def recall(grades: Grades, k: int | None) -> Floats:
    """Share of everything relevant that stands in the top k."""
    return _of_relevant(grades, _top(grades.hits, k) / np.maximum(grades.n_relevant, 1))


def precision(grades: Grades, k: int | None) -> Floats:
    """Share of the top k that is relevant; a shorter ranking is filled up with irrelevant chunks."""
    return _of_relevant(grades, _top(grades.hits, k) / _depth(grades, k))


def average_precision(grades: Grades, k: int | None) -> Floats:
    """Precision at each relevant rank of the top k, summed and divided by the number of everything relevant."""
    return _of_relevant(grades, _top(grades.precision_sum, k) / np.maximum(grades.n_relevant, 1))


def bpref(grades: Grades, _: int | None = None) -> Floats:
    """Share of judged pairs in the right order (Buckley and Voorhees, SIGIR 2004; trec_eval's min(R, N) form)."""
    bound = np.minimum(grades.n_relevant, grades.n_nonrelevant)[:, None]
    above = np.minimum(np.cumsum(grades.grades == 0, axis=1), grades.n_relevant[:, None])
    preferred = np.where(grades.grades > 0, 1 - above / np.maximum(bound, 1), 0.0)
    return _of_relevant(grades, preferred.sum(axis=1) / np.maximum(grades.n_relevant, 1))


def judged(grades: Grades, k: int | None) -> Floats:
    """Share of the top k (of the whole ranking where it is shorter) that has a judgment; defined for all queries."""
    shown = np.minimum(grades.length, _depth(grades, k))
    return np.asarray(_top(grades.judged, k) / np.maximum(shown, 1), dtype=np.float64)


def all_parts(grades: Grades, k: int | None) -> Floats:
    """1 if the top k holds every part of a query of two or more parts, else 0; fewer parts: no value."""
    found = (grades.complete_at > 0) & (grades.complete_at <= _depth(grades, k))
    return np.where(grades.n_parts > 1, found, np.nan)


@dataclass(frozen=True)
class Row:
    """A row of `METRICS`: exactly one of `over_grades` and `over_text`; `cutoff` says what may follow the `@`.

    `binary`: all values are 0 or 1; `binary_at_1`: they are at cutoff 1.
    """

    description: str
    cutoff: Cutoff
    over_grades: Callable[[Grades, int | None], Floats] | None = None
    over_text: Callable[[Ranked, int], Floats] | None = None
    binary: bool = False
    binary_at_1: bool = False


METRICS: dict[str, Row] = {
    "nDCG": Row("normalised discounted cumulative gain, linear gains", "optional", ndcg),
    "nDCG(dcg='exp-log2')": Row("the same, gains 2^grade - 1", "optional", ndcg_exponential),
    "RR": Row("reciprocal rank of the first relevant chunk", "optional", reciprocal_rank, binary_at_1=True),
    "R": Row("share of everything relevant in the top k", "required", recall),
    "Success": Row("something relevant in the top k", "required", success, binary=True),
    "P": Row("share of the top k that is relevant", "required", precision, binary_at_1=True),
    "AP": Row("average precision", "optional", average_precision),
    "Bpref": Row("judged pairs in the right order", "none", bpref),
    "Judged": Row("share of the top k that has a judgment", "optional", judged, binary_at_1=True),
    "AllParts": Row("every part of a multi-hop question in the top k", "required", all_parts, binary=True),
    "EntCov": Row("share of the gold entities in the top k", "required", over_text=entity_coverage),
    "RelCov": Row("share of the gold relations within one top k chunk", "required", over_text=relation_coverage),
    "EvRecall": Row("share of the evidence in the first N words", "words", over_text=evidence_recall),
    "EvPrecision": Row("share of the first N words that is evidence", "words", over_text=evidence_precision),
}
_SYNONYMS = {
    "mrr": "RR", "recip_rank": "RR", "map": "AP", "mapcut": "AP", "recall": "R", "precision": "P", "prec": "P",
    "hit": "Success", "hits": "Success", "hitrate": "Success", "ndcgcut": "nDCG", "judgedat": "Judged",
}  # fmt: skip
_NAME = re.compile(r"\s*(?P<base>[^@]*?)\s*(?:@\s*(?P<k>0*[1-9]\d*)(?P<unit>w?))?\s*")


@dataclass(frozen=True)
class Metric:
    """A metric with its cutoff: ranks, words for budgeted metrics, None for the whole ranking."""

    family: str
    cutoff: int | None = None

    @property
    def row(self) -> Row:
        """Its row of `METRICS`."""
        return METRICS[self.family]

    @property
    def name(self) -> str:
        """The canonical name, such as `nDCG@10` or `EvRecall@1000w`."""
        unit = "w" if self.row.cutoff == "words" else ""
        return self.family if self.cutoff is None else f"{self.family}@{self.cutoff}{unit}"

    @property
    def binary(self) -> bool:
        """Whether every value is 0 or 1 (Wilson's interval applies)."""
        return self.row.binary or (self.row.binary_at_1 and self.cutoff == 1)


def parse_metric(name: str) -> Metric:
    """The metric of a canonical name.

    Raises:
        MetricError: no metric of this name, or a cutoff where there must be none; the message offers the nearest one.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise MetricError(f"metric {name!r} cannot be read; write it as 'nDCG@10' or 'EvRecall@1000w'")
    family = _family(match["base"])
    row = METRICS.get(family)
    if row is None:
        raise MetricError(f"metric {name!r} not found; {_hint(name)}")
    wrong_unit = bool(match["k"]) and (match["unit"] == "w") != (row.cutoff == "words")
    missing = row.cutoff in ("required", "words") and not match["k"]
    if wrong_unit or missing or (row.cutoff == "none" and match["k"]):
        example = {"none": "", "optional": f"@{match['k']}", "words": "@1000w"}.get(row.cutoff, "@5")
        raise MetricError(f"metric {name!r} has a wrong or missing cutoff; write it as {family + example!r}")
    return Metric(family, int(match["k"]) if match["k"] else None)


def looked_at(primary: str) -> int:
    """The ranks that a run looks at: the cutoff of its primary metric, 5 where that has none in ranks."""
    metric = parse_metric(primary)
    return metric.cutoff if metric.cutoff and metric.row.cutoff != "words" else LOOKED_AT


def evaluate(grades: Grades, metrics: Sequence[Metric], ranked: Ranked | None = None) -> Floats:
    """Values of one arm, float64 [n_metrics, n_queries]; NaN where a metric has no value for a query.

    `ranked` is what text metrics (EntCov, RelCov, EvRecall, EvPrecision) read.

    Raises:
        MetricError: a text metric is asked for without `ranked`.
    """
    values = np.empty((len(metrics), len(grades.length)), dtype=np.float64)
    for at, metric in enumerate(metrics):
        row = metric.row
        if row.over_grades is not None:
            values[at] = row.over_grades(grades, metric.cutoff)
        elif row.over_text is not None and metric.cutoff is not None and ranked is not None:
            values[at] = row.over_text(ranked, metric.cutoff)
        else:
            raise MetricError(f"{metric.name} reads texts and judged spans, which this collection does not have")
    return values


def _ndcg(grades: Grades, k: int | None, gain: Callable[[npt.NDArray[np.int8]], Floats]) -> Floats:
    def dcg(ranking: npt.NDArray[np.int8]) -> Floats:
        gains = gain(ranking[:, :k])
        return np.asarray((gains / np.log2(np.arange(2, gains.shape[1] + 2))).sum(axis=1))

    ideal = dcg(grades.ideal)
    return _of_relevant(grades, dcg(grades.grades) / np.where(ideal > 0, ideal, 1))


def _of_relevant(grades: Grades, values: npt.ArrayLike) -> Floats:
    """The values as float64 [n_queries], NaN for queries without a relevant judgment."""
    return np.where(grades.n_relevant > 0, values, np.nan)


def _depth(grades: Grades, k: int | None) -> int:
    return grades.grades.shape[1] if k is None else k


def _top(cumulative: npt.NDArray[Number], k: int | None) -> npt.NDArray[Number]:
    """The column of rank k, or the last one where rankings end before."""
    width = cumulative.shape[1]
    return cumulative[:, (width if k is None else min(k, width)) - 1]


def _family(base: str) -> str:
    base = base.replace(" ", "").replace('"', "'")
    return base.replace("(dcg='log2')", "").replace("(dcg=exp-log2)", "(dcg='exp-log2')")


def _hint(name: str) -> str:
    """What the writer may have meant: another tool's name, another spelling, else the whole list."""
    match = re.fullmatch(r"(?P<base>[A-Za-z_]+?)(?:_at|_cut)?[@_. ]?(?P<k>\d+)?(?P<unit>w?)", name.strip())
    if match:
        spelled = {family.lower(): family for family in METRICS}
        base = match["base"].lower()
        known = spelled | _SYNONYMS
        close = [base] if base in known else difflib.get_close_matches(base, known, n=1)
        if close:
            cutoff = f"@{match['k']}{match['unit']}" if match["k"] else ""
            return f"use {known[close[0]] + cutoff!r}"
    return f"there are {', '.join(METRICS)}, with a cutoff as in 'nDCG@10'"

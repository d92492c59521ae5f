"""How comparisons are made: the family, the error it may have, the margin that matters, from `conf/eval/`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.errors import RequestError
from ingestion.config import nearest


@dataclass(frozen=True)
class Rules:
    """How comparisons are made: the settings of `conf/eval/` that matter here.

    `alpha`: error of a whole family; `margin`: differences of the primary metric up to this do not matter; `flips`:
    at least this many, more where the size of the family needs them; `rounds` of the randomised Tukey HSD;
    `baseline`: the arm that every other is declared to be compared with; `declared`: pairs; `bounds`: arms that are
    a floor or a ceiling and no rivals.
    """

    primary: str
    alpha: float
    power: float
    margin: float
    flips: int
    rounds: int
    resamples: int
    confidence: float
    interval: str
    baseline: str
    declared: tuple[tuple[str, str], ...]
    bounds: tuple[str, ...]

    @staticmethod
    def read(settings: Mapping[str, Any], arms: Sequence[str]) -> Rules:
        """The rules of an `eval` configuration; `arms` are the names that may be compared.

        Raises:
            RequestError: a declared comparison or the baseline names no arm of this run, or a figure is out of range.
        """
        declared = tuple(_pair(str(text), arms) for text in settings["comparisons"] or ())
        baseline = str(settings["baseline"] or "")
        if baseline and baseline not in arms:
            raise RequestError(f"eval.baseline={baseline!r}: no arm of this run{nearest(baseline, arms)}")
        for key in ("alpha", "power", "margin"):
            if not 0 < float(settings[key]) < 1:
                raise RequestError(f"eval.{key}={settings[key]}: must lie between 0 and 1")
        for key in ("flips", "rounds"):
            if int(settings[key]) < 1000:
                raise RequestError(f"eval.{key}={settings[key]}: at least 1000 are needed for a p-value of .05")
        return Rules(
            primary=str(settings["primary"]),
            alpha=float(settings["alpha"]),
            power=float(settings["power"]),
            margin=float(settings["margin"]),
            flips=int(settings["flips"]),
            rounds=int(settings["rounds"]),
            resamples=int(settings["resamples"]),
            confidence=float(settings["confidence"]),
            interval=str(settings["interval"]),
            baseline=baseline,
            declared=declared,
            bounds=tuple(str(name) for name in settings["bounds"] or ()),
        )

    def family(self, arms: Sequence[str], repeats: Collection[str] = ()) -> list[tuple[str, str]]:
        """The declared pairs of these arms; empty where nothing is declared.

        Arms in `repeats` rank as another one does and meet the baseline only through that one.
        """
        left_out = {self.baseline, *self.bounds, *repeats}
        against = [(name, self.baseline) for name in arms if name not in left_out]
        pairs = [*self.declared, *(against if self.baseline in arms else [])]
        return [pair for pair in dict.fromkeys(pairs) if set(pair) <= set(arms)]


def _pair(text: str, arms: Sequence[str]) -> tuple[str, str]:
    a, colon, b = (part.strip() for part in text.partition(":"))
    if not colon or not a or not b or a == b:
        raise RequestError(f"eval.comparisons: {text!r} is no comparison; write rrf:bm25 for rrf against bm25")
    for name in (a, b):
        if name not in arms:
            raise RequestError(f"eval.comparisons: {text!r}: {name!r} is no arm of this run{nearest(name, arms)}")
    return a, b

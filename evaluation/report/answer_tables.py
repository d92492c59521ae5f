"""The tables about answers as people read them: every cell is text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evaluation.answers.findings import AnswerFindings
from evaluation.answers.tables import CONTEXTS, RETRIEVED
from evaluation.answers.values import ACCURACY, F1, FAITHFUL, METRICS, PRECISION, RECALL, REFUSED, SOURCES

NONE = "-"
TOLD = (SOURCES, PRECISION, RECALL, F1, FAITHFUL, ACCURACY)
ROWS = 10  # that a table or chart shows before the rest is folded away
NAMES = {"level": "calibrated", "rule": "fixed rule"}


def spelled(mean: float, lo: float, hi: float, form: str = ".3f") -> str:
    """`0.612 [0.580, 0.640]`; without the interval where there is none, a dash without a value."""
    if mean != mean:
        return NONE
    return f"{mean:{form}}" + (f" [{lo:{form}}, {hi:{form}}]" if lo == lo else "")


def p_value(p: float) -> str:
    """`< .001`, `.034`, a dash without a value."""
    return NONE if p != p else "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def telling(found: AnswerFindings) -> list[str]:
    """The metrics to show first; without faithfulness where all answers from retrieval quote word by word."""
    own = found.summary[found.summary["context"] == RETRIEVED]
    faithful = own.loc[own["metric"] == FAITHFUL, "mean"]
    there = set(own["metric"]) - ({FAITHFUL} if (faithful == 1).all() else set())
    return [metric for metric in TOLD if metric in there]


def strategies(found: AnswerFindings) -> list[str]:
    """All strategies, the best first by the primary metric of the generator that is drawn."""
    own = found.summary[found.summary["context"] == RETRIEVED]
    mine = own[(own["metric"] == found.primary) & (own["generator"] == found.generator)]
    ranked = mine.sort_values(["mean", "strategy"], ascending=[False, True])["strategy"]
    return list(dict.fromkeys([*ranked, *sorted(own["strategy"])]))


def best(found: AnswerFindings) -> list[str]:
    """The first of `strategies`, as many as a table can show with all generators side by side."""
    generators = found.summary.loc[found.summary["context"] == RETRIEVED, "generator"].nunique()
    return strategies(found)[: max(1, ROWS // max(1, generators))]


def ordered(found: AnswerFindings, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows by strategy, the best first, and there by generator, the drawn one first."""
    if not len(rows):
        return rows
    place = {name: at for at, name in enumerate(strategies(found))}
    by_strategy = rows["strategy"].map(place).fillna(len(place))
    keys = pd.DataFrame({"s": by_strategy, "drawn": rows["generator"] != found.generator, "g": rows["generator"]})
    return rows.loc[keys.sort_values(["s", "drawn", "g"], kind="stable").index].reset_index(drop=True)


def of_best(found: AnswerFindings, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the `best` strategies, in their order."""
    return ordered(found, rows[rows["strategy"].isin(best(found))]) if len(rows) else rows


def means(found: AnswerFindings, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """A row for each generator, strategy and context with its means, contexts from retrieval first."""
    there = [metric for metric in metrics if metric in set(found.summary["metric"])]
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in found.summary.to_dict("records"):
        key = (str(row["generator"]), str(row["strategy"]), str(row["context"]))
        cells = rows.setdefault(key, {"generator": key[0], "strategy": key[1], "context": key[2], "N": "0"})
        form = ".0f" if row["metric"] == "cited characters" else ".3f"
        cells[str(row["metric"])] = spelled(row["mean"], row["lo"], row["hi"], form)
        if row["metric"] == REFUSED:
            cells["N"] = str(row["n"])
    columns = ["generator", "strategy", "context", "N", *there]
    table = ordered(found, pd.DataFrame(list(rows.values()), columns=columns).fillna(NONE))
    return table.sort_values("context", key=lambda own: own.map(CONTEXTS.index), kind="stable", ignore_index=True)


def against_first(found: AnswerFindings) -> pd.DataFrame:
    """Precision of citations minus that of citing rank 1, by passage and by span, over questions answered by both."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row in found.against_first.to_dict("records"):
        key = tuple(str(row[name]) for name in ("generator", "strategy", "context", "questions"))
        cells = rows.setdefault(key, dict(zip(("generator", "strategy", "context", "questions"), key, strict=True)))
        cells |= {"N": str(row["n"]), str(row["metric"]): spelled(row["diff"], row["lo"], row["hi"], "+.3f")}
    columns = ["generator", "strategy", "context", "questions", "N", SOURCES, PRECISION]
    table = pd.DataFrame(list(rows.values()), columns=columns).fillna(NONE)
    return ordered(found, table)


def compared(rows: pd.DataFrame, place: Sequence[str]) -> pd.DataFrame:
    """Comparisons of lift or generators; `place`: the columns that say between what."""
    cells = [
        {
            "comparison": f"{row['a']} − {row['b']}",
            **{name: str(row[name]) for name in place},
            "metric": str(row["metric"]),
            "N": str(row["n"]),
            "difference": spelled(row["diff"], row["lo"], row["hi"], "+.3f"),
            "p": p_value(row["p_adjusted"]),
            "better/equal/worse": f"{row['wins']}/{row['ties']}/{row['losses']}",
            "verdict": str(row["verdict"]) or NONE,
        }
        for row in rows.to_dict("records")
    ]
    return pd.DataFrame(cells)


def calibration(found: AnswerFindings) -> pd.DataFrame:
    """Brier score with its parts, and calibration error with its null."""
    rows = [
        {
            **_who(row),
            "bins": f"{row['bins']}, equal {row['binning']}",
            "claims": str(row["n"]),
            "right": f"{row['rate']:.3f}",
            "Brier": f"{row['brier']:.3f}",
            "reliability": f"{row['reliability']:.3f}",
            "resolution": f"{row['resolution']:.3f}",
            "uncertainty": f"{row['uncertainty']:.3f}",
            "skill": NONE if row["skill"] != row["skill"] else f"{row['skill']:+.3f}",
            "ECE": f"{row['ece']:.3f}",
            "if calibrated": f"{row['ece_null']:.3f} (95 % below {row['ece_null_hi']:.3f})",
            "p": p_value(row["ece_p"]),
        }
        for row in found.calibration.to_dict("records")
    ]
    return ordered(found, pd.DataFrame(rows))


def scores(found: AnswerFindings) -> list[str]:
    """The same of what is drawn, as a sentence."""
    rows = found.of_shown(found.calibration)
    return [
        f"Brier score {row['brier']:.3f}, skill {row['skill']:+.3f}; ECE {row['ece']:.3f} in {row['bins']} bins of "
        f"equal numbers, where a calibrated model would show {row['ece_null']:.3f} (95 % below "
        f"{row['ece_null_hi']:.3f}), p {p_value(row['ece_p'])}; {row['n']} claims of {row['clusters']} documents"
        for row in rows[rows["binning"] == "mass"].to_dict("records")
    ]


def levels(found: AnswerFindings) -> pd.DataFrame:
    """Share of right claims by level, with both intervals; levels without a claim are left out."""
    rows = [
        {
            "level": f"{row['level']}, {NAMES[row['by']]}",
            **_who(row),
            "labelled": str(row["n"]),
            "unlabelled": str(row["unlabelled"]),
            "right": spelled(row["rate"], row["lo"], row["hi"]),
            "by documents": NONE if row["n"] == 0 else f"[{row['clustered_lo']:.3f}, {row['clustered_hi']:.3f}]",
            "documents": str(row["clusters"]),
        }
        for row in found.levels.to_dict("records")
        if row["n"] + row["unlabelled"]
    ]
    return ordered(found, pd.DataFrame(rows))


def order(found: AnswerFindings) -> list[str]:
    """Whether the levels of what is drawn are in order, a sentence for each pair of neighbours."""
    return [
        f"{row['higher']} minus {row['lower']} ({NAMES[row['by']]}): "
        f"{spelled(row['diff'], row['lo'], row['hi'], '+.3f')}, p {p_value(row['p'])}"
        f"{'' if row['ordered'] else ': not in order'}"
        for row in found.of_shown(found.order).to_dict("records")
    ]


def refusals(found: AnswerFindings) -> pd.DataFrame:
    """What was refused, rightly and wrongly, and the areas under both curves.

    `refused despite evidence`: of the answerable questions of which a given passage holds an answer.
    """
    rows = [
        {
            **_who(row),
            "unanswerable refused": _share(row, "right", "unanswerable"),
            "answerable refused": _share(row, "wrong", "answerable"),
            "refused despite evidence": _share(row, "despite", "held"),
            "area": NONE if row["area"] != row["area"] else f"{row['area']:.3f}",
            "risk area": NONE if row["risk_area"] != row["risk_area"] else f"{row['risk_area']:.3f}",
        }
        for row in found.refusals.to_dict("records")
    ]
    return ordered(found, pd.DataFrame(rows))


def costs(found: AnswerFindings) -> pd.DataFrame:
    """Time, tokens and money of every generator, and its failed calls."""
    rows = [
        {
            **_who(row),
            "context": str(row["context"]),
            "N": str(row["questions"]),
            "failed": str(row["failed"]),
            "cached": str(row["cached"]),
            "p50 s": _seconds(row["seconds_p50"]),
            "p95 s": _seconds(row["seconds_p95"]),
            "tokens in": f"{row['input_tokens']:,}",
            "tokens out": f"{row['output_tokens']:,}",
            "US $": _money(row),
        }
        for row in found.costs.to_dict("records")
    ]
    return ordered(found, pd.DataFrame(rows))


def _who(row: Mapping[Any, Any]) -> dict[str, str]:
    return {"generator": str(row["generator"]), "strategy": str(row["strategy"])}


def _share(row: Mapping[Any, Any], name: str, total: str) -> str:
    """`92 % [87 %, 96 %] of 19`."""
    if not row[total]:
        return NONE
    ends = f"[{row[f'{name}_lo']:.0%}, {row[f'{name}_hi']:.0%}]"
    return f"{row[name]:.0%} {ends} of {row[total]}"


def _seconds(value: float) -> str:
    return NONE if value != value else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _money(row: Mapping[Any, Any]) -> str:
    """The sum of known prices; a dash where no price is known, and how many answers have none."""
    answers = row["questions"] - row["failed"]
    if row["unpriced"] == answers:
        return NONE
    return f"{row['cost']:.4f}" + (f" and {row['unpriced']} of unknown price" if row["unpriced"] else "")

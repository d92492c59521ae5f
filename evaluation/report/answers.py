"""The part of a report about answers, in HTML and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from evaluation import table
from evaluation.answers.findings import AnswerFindings
from evaluation.answers.tables import NONE, RETRIEVED
from evaluation.answers.values import FAITHFUL
from evaluation.report import answer_tables as cells
from evaluation.report.html import board, figure, listing
from evaluation.report.html import section as framed
from evaluation.report.plain import plain, plain_cells

HOW = (
    "What generators make of what was retrieved. Citation precision asks whether the quote itself holds judged "
    "evidence, source precision whether the passage around it does: only the latter is fair between whoever quotes a "
    "sentence and whoever quotes a whole passage, which holds evidence more easily. A refusal cites nothing, so it "
    "has no precision, and misses what it should have found, so its recall and F1 are 0."
)
RANK_1 = (
    "Precision minus that of the generator that cites the passage of rank 1, over questions that both answered. By "
    "span a whole passage has the advantage; by passage (source precision) neither has one."
)
CALIBRATED = (
    "A claim is right if one of its citations is relevant. Dots are bins of about equal numbers with Wilson's "
    "intervals; the shaded band holds 95 % of the bins of a perfectly calibrated model. ECE is the distance of "
    "probability and share, to be read against the one that a calibrated model of the same probabilities would show. "
    "Thick bars are Wilson's intervals, thin ones resample whole documents."
)

REFUSED = (
    "An answerable question whose evidence was not retrieved is refused rightly by a generator that keeps to its "
    "sources; “despite evidence” counts the others: of the questions of which a given passage holds an answer."
)


def section(found: AnswerFindings, charts: Mapping[str, str]) -> str:
    """The section of the page; `charts` as `charts.answers.draw` gives them, among others."""
    return framed(
        "answers",
        "Answers",
        f"{HOW} {cut(found)}".strip(),
        _drawn(charts, "answer_means"),
        _board(_top(found, cells.means(found, cells.telling(found))), "Answers"),
        _folded("All strategies, metrics and contexts", cells.means(found)),
        _against(found),
        _lift(found, charts),
        _generators(found),
        _confidence(found, charts),
        _refusals(found, charts),
        _part("Cost of the answers", _board(_top(found, cells.costs(found)), "Cost of the answers")),
        _folded("Costs of all strategies and contexts", cells.costs(found)),
        listing(said(found), "said"),
    )


def _drawn(charts: Mapping[str, str], *names: str) -> str:
    """The charts that there are, side by side."""
    there = [f"<div>{figure(charts[name], name)}</div>" for name in names if name in charts]
    return f'<div class="two">{"".join(there)}</div>' if there else ""


def _part(title: str, *body: str) -> str:
    """A part with its heading; nothing where all of it is empty."""
    return f"<h3>{title}</h3>{''.join(body)}" if any(body) else ""


def _board(rows: pd.DataFrame, name: str) -> str:
    return board(rows, name=name) if len(rows) else ""


def _folded(title: str, rows: pd.DataFrame) -> str:
    return f"<details><summary>{title}</summary>{_board(rows, title)}</details>" if len(rows) else ""


def _top(found: AnswerFindings, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of answers from retrieval by the best strategies."""
    return cells.of_best(found, rows[rows["context"] == RETRIEVED].drop(columns="context")) if len(rows) else rows


def cut(found: AnswerFindings) -> str:
    """Which strategies are shown, where they are not all."""
    shown, every = len(cells.best(found)), len(cells.strategies(found))
    if shown == every:
        return ""
    return (
        f"Shown: of {every} strategies the {'one' if shown == 1 else shown} with the highest {found.primary} of "
        f"{found.generator}; the folded tables have all."
    )


def _against(found: AnswerFindings) -> str:
    top = _first_rows(found)
    return _part(
        "Against citing rank 1",
        f'<p class="how">{escape(RANK_1)}</p>' if len(top) else "",
        _board(top, "Against rank 1"),
        _folded("Against rank 1 in all contexts, and on answerable questions alone", cells.against_first(found)),
    )


def _first_rows(found: AnswerFindings) -> pd.DataFrame:
    """The difference to rank 1 over all questions, for the best strategies."""
    rows = cells.against_first(found)
    return _top(found, rows[rows["questions"] == "all"]).drop(columns="questions", errors="ignore")


def _lift(found: AnswerFindings, charts: Mapping[str, str]) -> str:
    """What a context adds; the sentences are those of the verdicts."""
    return _part(
        "What retrieval adds",
        _drawn(charts, "answer_lift"),
        listing(_sentences(found.of_strategy(found.lift)), "sentences"),
        _folded("Lift on every metric", cells.compared(cells.ordered(found, found.lift), ("generator", "strategy"))),
    )


def _generators(found: AnswerFindings) -> str:
    own = found.of_strategy(found.generators[found.generators["context"] == RETRIEVED])
    return _part(
        "Generators on identical context",
        listing(_sentences(own), "sentences"),
        _folded("All pairs on every metric", cells.compared(found.generators, ("strategy", "context"))),
    )


def _confidence(found: AnswerFindings, charts: Mapping[str, str]) -> str:
    charted = _drawn(charts, "answer_reliability", "answer_levels")
    who = f'<p class="how">{escape(f"Drawn: {found.generator} over {found.strategy}. {CALIBRATED}")}</p>'
    return _part(
        "Confidence",
        who if charted else "",
        charted,
        listing([*cells.scores(found), *cells.order(found)], "sentences"),
        _folded("Brier score and calibration error", cells.calibration(found)),
        _folded("Levels", cells.levels(found)),
    )


def _refusals(found: AnswerFindings, charts: Mapping[str, str]) -> str:
    charted = _drawn(charts, "answer_refusals", "answer_risk")
    rows = cells.refusals(found)
    how = f'<p class="how">{escape(REFUSED)}</p>' if len(rows) else ""
    every = _folded("Refusals over all strategies", rows) if cut(found) else ""
    return _part("Refusals", how, charted, _board(cells.of_best(found, rows), "Refusals"), every)


def _sentences(rows: pd.DataFrame) -> list[str]:
    return [str(line) for line in rows["sentence"] if line]


def said(found: AnswerFindings) -> list[str]:
    """What must stand beside the figures: broken quotes, unlabelled claims, too few documents, failed calls."""
    claims = found.claims[found.claims["context"] != NONE]
    quotes, broken = len(found.citations), int((~found.citations["verbatim"]).sum())
    bare, unlabelled = int((~claims["supported"].astype(bool)).sum()), int(claims["right"].isna().sum())
    lines = [f"{quotes - broken} of {quotes} quotes are word for word the text of the place that they name"]
    if bare:
        lines.append(f"{bare} of {len(claims)} claims cite nothing")
    if unlabelled:
        lines.append(
            f"{unlabelled} of {len(claims)} claims cite unjudged text only: they have no label, and count as wrong "
            "in citation precision"
        )
    if not (found.summary["context"] == RETRIEVED).any():
        lines.append("no ranking was answered from: there are answers from no evidence and from the judged one alone")
    faithful = found.summary.loc[found.summary["metric"] == FAITHFUL, "mean"]
    if len(faithful) and (faithful == 1).all():
        lines.append("faithfulness is 1 throughout: its quotes hold all words of every claim")
    if (found.summary["note"] == table.TOO_FEW).any():
        lines.append(f"{table.TOO_FEW} for some means: no verdict may rest on their intervals")
    for generator, rows in found.costs[found.costs["failed"] > 0].groupby("generator"):
        failed, asked = int(rows["failed"].sum()), int(rows["questions"].sum())
        reasons = ", ".join(dict.fromkeys("; ".join(rows["errors"]).split("; ")))
        lines.append(f"{generator}: {failed} of {asked} answers failed and are in no mean ({reasons})")
    return lines


def markdown(found: AnswerFindings) -> str:
    """The same for pull requests: means from retrieval, what retrieval adds, levels and refusals of what is drawn."""
    who = f"{found.generator} over {found.strategy}"
    parts = ["## Answers", cut(found), _table(_top(found, cells.means(found, cells.telling(found))))]
    against = _first_rows(found)
    if len(against):
        parts += ["### Against citing rank 1", RANK_1, _table(against)]
    lift = _sentences(found.of_shown(found.lift))
    if lift:
        parts += ["### What retrieval adds", _list(lift)]
    levels = cells.levels(found)
    if len(levels):
        mine = levels[(levels["generator"] == found.generator) & (levels["strategy"] == found.strategy)]
        parts += [f"### Confidence of {plain(who)}", _table(mine.drop(columns=["generator", "strategy"]))]
        parts += [_list([*cells.scores(found), *cells.order(found)])]
    refused = cells.of_best(found, cells.refusals(found))
    if len(refused):
        parts += ["### Refusals", _table(refused)]
    return "\n\n".join(part for part in [*parts, _list(said(found))] if part)


def _table(frame: pd.DataFrame) -> str:
    if frame.empty:
        return ""
    more = len(frame) - cells.ROWS
    shown = table.as_markdown(plain_cells(frame.head(cells.ROWS)))
    return shown + (f"\n\n{more} more in report.html" if more > 0 else "")


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines[: cells.ROWS])

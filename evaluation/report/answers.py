"""The part of a report about answers, in HTML and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from evaluation import table
from evaluation.answers.findings import AnswerFindings
from evaluation.answers.tables import NONE, RETRIEVED
from evaluation.answers.values import ACCURACY, F1, FAITHFUL, PRECISION, RECALL
from evaluation.report import answer_tables as cells
from evaluation.report.html import board, figure, listing
from evaluation.report.html import section as framed
from evaluation.report.plain import plain, plain_cells

MOST = 8  # rows of a table in Markdown; the page has all of them
TOLD = (PRECISION, RECALL, F1, FAITHFUL, ACCURACY)
HOW = (
    "What generators make of what was retrieved. A citation is relevant where it overlaps judged evidence; a refusal "
    "cites nothing, so it has no precision, and misses what it should have found, so its recall and F1 are 0."
)
CALIBRATED = (
    "A claim is right if one of its citations is relevant. Dots are bins of about equal numbers with Wilson's "
    "intervals; the shaded band holds 95 % of the bins of a perfectly calibrated model. ECE is the distance of "
    "probability and share, to be read against the one that a calibrated model of the same probabilities would show. "
    "Thick bars are Wilson's intervals, thin ones resample whole documents."
)


def section(found: AnswerFindings, charts: Mapping[str, str]) -> str:
    """The section of the page; `charts` as `charts.answers.draw` gives them, among others."""
    return framed(
        "answers",
        "Answers",
        HOW,
        _drawn(charts, "answer_means"),
        _board(_retrieved(cells.means(found, TOLD)), "Answers"),
        _folded("All metrics and contexts", cells.means(found)),
        _part("Against citing rank 1", _board(_retrieved(cells.against_first(found)), "Against rank 1")),
        _lift(found, charts),
        _generators(found),
        _confidence(found, charts),
        _refusals(found, charts),
        _part("Cost of the answers", _board(_retrieved(cells.costs(found)), "Cost of the answers")),
        _folded("All contexts", cells.costs(found)),
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


def _retrieved(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of answers from retrieval."""
    return rows[rows["context"] == RETRIEVED].drop(columns="context") if len(rows) else rows


def _lift(found: AnswerFindings, charts: Mapping[str, str]) -> str:
    """What a context adds; the sentences are those of the verdicts."""
    return _part(
        "What retrieval adds",
        _drawn(charts, "answer_lift"),
        listing(_sentences(found.lift), "sentences"),
        _folded("Lift on every metric", cells.compared(found.lift, ("generator", "strategy"))),
    )


def _generators(found: AnswerFindings) -> str:
    own = found.generators[found.generators["context"] == RETRIEVED]
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
    return _part("Refusals", charted, _board(cells.refusals(found), "Refusals"))


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
    parts = ["## Answers", _table(_retrieved(cells.means(found, TOLD)))]
    lift = _sentences(found.of_shown(found.lift))
    if lift:
        parts += ["### What retrieval adds", _list(lift)]
    levels = cells.levels(found)
    if len(levels):
        mine = levels[(levels["generator"] == found.generator) & (levels["strategy"] == found.strategy)]
        parts += [f"### Confidence of {plain(who)}", _table(mine.drop(columns=["generator", "strategy"]))]
        parts += [_list([*cells.scores(found), *cells.order(found)])]
    refused = cells.refusals(found)
    if len(refused):
        parts += ["### Refusals", _table(refused)]
    return "\n\n".join([*parts, _list(said(found))])


def _table(frame: pd.DataFrame) -> str:
    more = len(frame) - MOST
    return table.as_markdown(plain_cells(frame.head(MOST))) + (f"\n\n{more} more in report.html" if more > 0 else "")


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines[:MOST])

"""The sections of a page that need no script: verdict, leaderboard, comparisons, effects, losses, cost, kinds."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.metrics import looked_at
from evaluation.report import view
from evaluation.report.charts import leaderboards
from evaluation.report.charts.cost import COSTS, without_cost
from evaluation.report.charts.kinds import FEW, kind_cells
from evaluation.report.comparisons import differences, is_declared
from evaluation.report.html import board, figure, listing, section
from evaluation.report.stages import loss_counts

CSS = {view.WINNER: "top", view.TOP: "top", view.BEATEN: "beaten", view.OPEN: "open", view.OTHER: "other"}


def verdict(findings: Findings) -> str:
    """The suite's sentence, the top group, why, the ledger's line and what must be said beside the figures."""
    found = findings.verdict
    notes = table.ledger_line(findings)
    return (
        f'<section id="verdict" aria-labelledby="verdict-title"><h2 id="verdict-title" class="label">Verdict</h2>'
        f'<p class="sentence {CSS.get(found.state, "")}">{escape(found.sentence)}</p>'
        f"{_chips(findings)}{listing(found.reasons, 'reasons')}{listing(notes, 'ledger')}"
        f"<h3>What must be said beside the figures</h3>{listing(view.said(findings), 'said')}</section>\n"
    )


def _chips(findings: Findings) -> str:
    """The top group with means and intervals, best first."""
    found, means = findings.verdict, view.means(findings, findings.primary)
    if not found.group or found.state == "no verdict":
        return ""
    chips = []
    for name in found.group:
        mean, low, high = means[name]
        chips.append(f'<li class="chip"><b>{escape(name)}</b> {mean:.3f} <span>[{low:.3f}, {high:.3f}]</span></li>')
    label = "Winner" if found.state == "winner" else "Top group"
    says = f"{label}, {findings.primary} with its 95 % interval"
    return f'<p class="label">{escape(says)}</p><ul class="chips">{"".join(chips)}</ul>'


def leaders(findings: Findings, charts: Mapping[str, str]) -> str:
    """Interval bars with a choice of metrics, and the table."""
    if not len(findings.summary):
        return section("leaderboard", "Leaderboard", "No arm ran; the reasons stand above.")
    first = view.ordering(findings)
    metrics = [first, *(name for name in dict.fromkeys(findings.summary["metric"]) if name != first)]
    options = "".join(f"<option>{escape(metric)}</option>" for metric in metrics)
    drawn = zip(metrics[1:], leaderboards(findings, metrics[1:]), strict=True)
    others = [figure(svg, metric, hidden=True) for metric, svg in drawn]
    cells = table.leaderboard(findings.summary, findings.arms, findings.primary).drop(columns="note")
    marks = {name: CSS[role] for name, role in view.roles(findings).items()}
    return section(
        "leaderboard",
        "Leaderboard",
        f"A dot is a mean, its bar the 95 % interval; order and colour follow {first}. Bars that overlap say "
        "nothing about a pair: the comparisons below are paired over the same questions.",
        f'<p class="tools"><label>Metric <select id="metric">{options}</select></label></p>',
        f'<div id="leaderboards">{figure(charts["leaderboard"], first)}{"".join(others)}</div>',
        board(cells, marks, "Leaderboard"),
        listing(view.notes(findings), "said"),
    )


def compared(findings: Findings, charts: Mapping[str, str]) -> str:
    """The matrix of all pairs, the differences that matter most, and what each says in a sentence."""
    if "pairs" not in charts:
        return ""
    rows = differences(findings)
    what = "The declared comparisons" if is_declared(findings) else f"{findings.verdict.leader} against every rival"
    size = view.margin(findings)
    band = f"; inside the shaded band (margin {size:g}) a difference does not matter" if size is not None else ""
    return section(
        "pairs",
        "All pairs",
        f"A cell is the row's mean {findings.primary} minus the column's: blue where the row is better, orange where "
        "it is worse, after correction; ≈ is equivalent, grey undecided. A click opens the pair among the questions.",
        figure(charts["pairs"], "pairs"),
    ) + section(
        "differences",
        "Differences",
        f"{what}, with 95 % intervals{band}. p is corrected for the number of comparisons.",
        figure(charts["differences"], "differences"),
        listing([str(said) for said in rows["sentence"] if said], "sentences"),
    )


def effects(findings: Findings, charts: Mapping[str, str]) -> str:
    """The factorial's effects, and the sweep over a parameter, where the run is one."""
    out = ""
    if "effects" in charts:
        found = findings.effects
        out += section(
            "effects",
            "Factorial effects",
            "What switching a part on adds, averaged over all cells; blue where the interval leaves out 0.",
            figure(charts["effects"], "effects"),
            board(table.effect_cells(found, findings.primary), name="Factorial effects"),
            listing(table.effect_notes(found, findings.primary), "said"),
        )
    if "sweep" in charts and findings.ablation is not None:
        how = "Means over the values of one parameter, with 95 % intervals as bands; a flat line: it hardly matters."
        out += section("sweep", f"Sweep of {findings.ablation.parameter}", how, figure(charts["sweep"], "sweep"))
    return out


def losses(findings: Findings, charts: Mapping[str, str]) -> str:
    """Where evidence was lost, with the counts, and the shares of duplicates and the like."""
    k = looked_at(findings.primary)
    parts = [figure(charts["losses"], "losses"), _counts(findings)] if "losses" in charts else []
    if len(findings.shares):
        says = (
            f"duplicates: chunks of the first {k} that repeat an earlier one; unjudged: chunks of the first {k} "
            "without a judgment; truncated: chunks of the index that an encoder read in part only"
        )
        parts += ["<h3>Shares</h3>", board(_shares(findings), name="Shares"), listing([says], "said")]
    if not parts:
        return ""
    how = (
        f"Each bar is all pieces of relevant evidence: found within the first {k}, or lost at the stage that dropped "
        "them; the further right, the earlier in the pipeline."
    )
    return section("losses", "Where evidence was lost", how, *parts)


def _counts(findings: Findings) -> str:
    counts = loss_counts(findings)
    total = counts.sum(axis=1)
    cells = {stage: [f"{n} ({n / of:.1%})" for n, of in zip(counts[stage], total, strict=True)] for stage in counts}
    rows = pd.DataFrame({"strategy": counts.index, "evidence": total.to_numpy(), **cells})
    return f"<details><summary>The same as a table</summary>{board(rows, name='Losses')}</details>"


def _shares(findings: Findings) -> pd.DataFrame:
    rows = findings.shares
    said = [
        f"{value:.1%} ({count} of {total})"
        for value, count, total in zip(rows["value"], rows["count"], rows["total"], strict=True)
    ]
    wide = rows.assign(said=said).pivot_table(index="strategy", columns="share", values="said", aggfunc="first")
    names = [name for name in view.order(findings) if name in wide.index]
    return wide.loc[names].fillna("-").reset_index()


def cost(findings: Findings, charts: Mapping[str, str]) -> str:
    """Quality against latency and against the size of indexes."""
    parts = []
    for name in COSTS:
        if name in charts:
            missing = without_cost(findings, name)
            note = listing([f"not drawn, without a figure: {', '.join(missing)}"] if missing else [], "said")
            parts.append(f"<div>{figure(charts[name], name)}{note}</div>")
    if not parts:
        return ""
    how = (
        "Up is better, left is cheaper; the dashed line joins the strategies that no other matches at less cost. It "
        "goes by means: within the top group the order may be chance."
    )
    return section("cost", "Quality against cost", how, f'<div class="two">{"".join(parts)}</div>')


def kinds(findings: Findings, charts: Mapping[str, str]) -> str:
    """The primary metric by kind of question."""
    if "kinds" not in charts:
        return ""
    few = (kind_cells(findings).groupby("kind")["n"].max() < FEW).any()
    note = [f"* fewer than {FEW} questions: described, not tested"] if few else ["described, not tested"]
    how = f"Mean {view.ordering(findings)} by kind of question: the deeper the blue, the higher; n counts questions."
    return section("kinds", "Kinds of question", how, figure(charts["kinds"], "kinds"), listing(note, "said"))

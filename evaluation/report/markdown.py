"""`report.md` for pull requests: the verdict, the table, the comparisons that matter, and what must be said."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.report import answers, view
from evaluation.report.comparisons import differences, is_declared
from evaluation.report.plain import plain, plain_cells
from evaluation.report.stages import FOUND, loss_counts

MOST = 6  # rows of a table; the page has all of them
SOME = 3  # strategies whose losses are told


def markdown(findings: Findings) -> str:
    """The whole text, short enough for a comment on a pull request."""
    parts = [
        [f"# {plain(view.title(findings.manifest))}"],
        _verdict(findings),
        _leaderboard(findings),
        _comparisons(findings),
        _effects(findings),
        _losses(findings),
        [answers.markdown(findings.answers)] if findings.answers else [],
        ["## Beside the figures", "", *_list([*table.ledger_line(findings), *view.said(findings)])],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _list(lines: Sequence[str]) -> list[str]:
    return [f"- {plain(line)}" for line in lines]


def _table(frame: pd.DataFrame) -> list[str]:
    """The first rows as a Markdown table, and how many more there are."""
    text = table.as_markdown(frame.head(MOST)).split("\n")
    more = len(frame) - MOST
    return text + ([f"\n{more} more in report.html"] if more > 0 else [])


def _verdict(findings: Findings) -> list[str]:
    found, means = findings.verdict, view.means(findings, findings.primary)
    lines = [f"**{plain(found.sentence)}**", ""]
    if found.group and found.state != "no verdict":
        group = [_mean(name, means[name]) for name in found.group[:MOST]]
        more = len(found.group) - MOST
        label = "Winner" if found.state == "winner" else "Top group"
        lines += [f"{label}: {', '.join(group)}" + (f" and {more} more" if more > 0 else ""), ""]
    return lines + _list(found.reasons)


def _mean(name: str, found: tuple[float, float, float]) -> str:
    mean, low, high = found
    return f"{plain(name)} {mean:.3f} [{low:.3f}, {high:.3f}]"


def _leaderboard(findings: Findings) -> list[str]:
    if not len(findings.summary):
        return ["No arm ran."]
    cells = table.leaderboard(findings.summary, findings.arms, findings.primary)
    return ["## Leaderboard", "", *_table(plain_cells(cells))]


def _comparisons(findings: Findings) -> list[str]:
    """The declared comparisons, else the leader's; closest first, since these are the open ones."""
    rows = differences(findings)
    if not len(rows):
        return []
    what = "Declared comparisons" if is_declared(findings) else f"{plain(findings.verdict.leader)} against the rest"
    closest = rows.assign(size=rows["diff"].abs()).sort_values(["size", "a", "b"])
    cells = pd.DataFrame(
        {
            "comparison": closest["a"] + " − " + closest["b"],
            findings.primary: [
                f"{diff:+.3f} [{lo:+.3f}, {hi:+.3f}]"
                for diff, lo, hi in zip(closest["diff"], closest["lo"], closest["hi"], strict=True)
            ],
            "p": ["-" if p != p else f"{p:.3f}" if p >= 0.001 else "<.001" for p in closest["p_adjusted"]],
            "better/equal/worse": [
                f"{wins}/{ties}/{losses}"
                for wins, ties, losses in zip(closest["wins"], closest["ties"], closest["losses"], strict=True)
            ],
            "verdict": closest["verdict"],
        }
    )
    return [f"## {what}", "", *_table(plain_cells(cells))]


def _effects(findings: Findings) -> list[str]:
    found = findings.effects
    if not len(found):
        return []
    notes = _list(table.effect_notes(found, findings.primary))
    return ["## Factorial effects", "", *_table(table.effect_cells(found, findings.primary)), "", *notes]


def _losses(findings: Findings) -> list[str]:
    """The share of evidence that each strategy found, and the stage that lost most."""
    if not len(findings.losses):
        return []
    counts = loss_counts(findings)
    lost = counts.drop(columns=FOUND, errors="ignore")
    found = 1 - lost.sum(axis=1) / counts.sum(axis=1)
    most = [
        "; ".join(f"{stage} {n}" for stage, n in row.sort_values(ascending=False, kind="stable").head(3).items() if n)
        for _, row in lost.iterrows()
    ]
    cells = pd.DataFrame(
        {"strategy": counts.index, "evidence found": [f"{share:.1%}" for share in found], "note": most}
    )
    cells = cells.rename(columns={"note": "most lost at"})
    return ["## Where evidence was lost", "", *_table(plain_cells(cells.head(SOME)))]

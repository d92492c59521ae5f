"""What tuning found, as it is printed and as it stands above the strategy file."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.judging import Judged
from evaluation.results import code_version
from evaluation.table import as_text
from evaluation.tune.folds import OUTSIDE, OutOfFold, fold_means, objective
from evaluation.tune.request import Wanted
from evaluation.tune.study import Trial, importance
from ingestion.config import ROOT
from retrieval.schema import Floats, Ints

SHOWN = 5  # trials in the table
WIDTH = 116  # of a comment


@dataclass(frozen=True)
class Tuning:
    """A finished search: all trials (the first one is the strategy as it was), folds, and what it is worth."""

    wanted: Wanted
    judged: Judged
    trials: Sequence[Trial]
    folds: Ints
    found: OutOfFold
    study: str

    @property
    def means(self) -> Floats:
        """Mean of the metric per trial and fold, float64 [n_trials, n_folds]."""
        return fold_means(np.stack([trial.values for trial in self.trials]), self.folds)

    @property
    def best(self) -> Trial:
        """The trial with the highest objective over all folds; of equal ones the first."""
        return self.trials[int(np.argmax(objective(self.means)))]

    @property
    def sentence(self) -> str:
        """What to do with it."""
        base = self.wanted.target.base
        if self.best is self.trials[0]:
            return f"nothing that was tried is better than {base}: keep {base}"
        return self.found.sentence(base)


def header(tuning: Tuning) -> list[str]:
    """Where a tuned strategy comes from, as lines of a comment."""
    wanted, found = tuning.wanted, tuning.found
    request, benchmark, corpus = wanted.request, tuning.judged.benchmark, tuning.judged.corpus
    base, seen = wanted.target.base, len(tuning.trials)
    lines = [
        tuning.sentence,
        f"{request.metrics[0].name} in-sample (optimistic): {tuning.best.objective:.4f}, {base}: "
        f"{tuning.trials[0].objective:.4f}; best of {seen} trials, mean over {found.chosen.size} folds",
        f"out of fold ({found.n} questions, {found.clusters} documents): {found.tuned.text()}, {base}: "
        f"{found.default.text()}, difference {found.gain.text(signed=True)}",
        f"space {wanted.space.name}: {'; '.join(dimension.text() for dimension in wanted.space.dimensions)}",
        f"benchmark {benchmark.name}, split {request.split}, digest {benchmark.digest}",
        f"corpus {'' if corpus is None else corpus.fingerprint}, depth {request.depth}, seed {request.seed}",
        f"code {code_version()}, {time.strftime('%Y-%m-%d', time.gmtime())}",
        f"study {tuning.study} in {_inside(wanted.study)}",
    ]
    return [part for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ")]


def report(tuning: Tuning) -> str:
    """Everything that is printed."""
    wanted, found = tuning.wanted, tuning.found
    metric, confidence = wanted.request.metrics[0].name, float(wanted.request.evaluation["confidence"])
    lines = [
        *_notes(tuning),
        f"{metric} on split {wanted.request.split}, mean over {found.chosen.size} folds "
        f"({len(tuning.trials)} trials, space {wanted.space.name}):",
        as_text(best_trials(tuning)),
        *_importance(tuning),
        "",
        f"out of fold: each fold scored with the best trial of the others; {found.n} questions, {found.clusters} "
        f"documents, {confidence:.0%} intervals over documents",
        f"  tuned       {found.tuned.text()}",
        f"  as it was   {found.default.text()}",
        f"  difference  {found.gain.text(signed=True)} (widened: the folds' choices share questions)",
        *(f"  {line}" for line in choices(tuning)),
        "",
        f"{tuning.sentence}",
        f"written: {wanted.target.path}",
        _command(tuning),
    ]
    return "\n".join(lines)


def best_trials(tuning: Tuning) -> pd.DataFrame:
    """The best different settings and the present one, with their mean in every fold, all cells as text."""
    means = tuning.means
    value = objective(means)
    order = np.argsort(-value, kind="stable").tolist()
    distinct: list[int] = []
    for row in order:
        if all(tuning.trials[row].params != tuning.trials[other].params for other in distinct):
            distinct.append(row)
    rows = distinct[:SHOWN] + [0] * (0 not in distinct[:SHOWN])
    return pd.DataFrame([_row(tuning, row, float(value[row]), means[row]) for row in rows])


def choices(tuning: Tuning) -> list[str]:
    """How often each setting was the choice of a fold, the most frequent first."""
    counts: dict[str, list[int]] = {}
    for fold, row in enumerate(tuning.found.chosen.tolist(), 1):
        counts.setdefault(_setting(tuning.trials[row]), []).append(fold)
    ordered = sorted(counts.items(), key=lambda item: (-len(item[1]), item[1]))
    return [f"chosen for {_folds(folds)}: {setting}" for setting, folds in ordered]


def _folds(folds: Sequence[int]) -> str:
    return f"fold{'s' if len(folds) > 1 else ''} {', '.join(map(str, folds))}"


def _setting(trial: Trial) -> str:
    return " ".join(f"{path}={value}" for path, value in trial.params.items())


def _row(tuning: Tuning, row: int, value: float, means: Floats) -> dict[str, str]:
    trial = tuning.trials[row]
    cells = {"trial": str(row + 1), **{path: str(setting) for path, setting in trial.params.items()}}
    cells["mean"] = f"{value:.4f}"
    cells |= {f"fold {fold}": f"{mean:.3f}" for fold, mean in enumerate(means.tolist(), 1)}
    cells["note"] = "as it was" if trial.params == tuning.trials[0].params else ""
    return cells


def _notes(tuning: Tuning) -> list[str]:
    wanted, n_folds, lines = tuning.wanted, tuning.found.chosen.size, []
    if n_folds < wanted.n_folds:
        lines.append(f"folds={n_folds}: only {n_folds} documents have judged questions")
    if tuning.found.too_few:
        lines.append(f"too few documents ({tuning.found.clusters} < 10): no verdict may rest on these figures")
    unused = int((tuning.folds == OUTSIDE).sum())
    if unused:
        lines.append(f"{unused} questions without a value are left out")
    if not wanted.space.has_default:
        lines.append("the present parameters lie outside the space; they are the first trial nevertheless")
    if len(tuning.trials) < wanted.n_trials:
        lines.append(f"{len(tuning.trials)} trials are all settings of this space")
    return lines


def _importance(tuning: Tuning) -> list[str]:
    shares = importance(tuning.wanted.space, tuning.trials)
    return ["importance: " + ", ".join(f"{path} {share:.2f}" for path, share in shares.items())] if shares else []


def _inside(path: Path) -> str:
    """A path as seen from the project, where it lies in it."""
    full = path.resolve()
    return str(full.relative_to(ROOT)) if full.is_relative_to(ROOT) else path.name


def _command(tuning: Tuning) -> str:
    target = tuning.wanted.target
    if target.composes:
        return f"python run_eval.py strategy={target.name}"
    return f"cp {target.path} {_inside(target.home)} && python run_eval.py strategy={target.name}"

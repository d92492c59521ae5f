"""`python -m evaluation.tune`: find better parameters of a strategy on the dev split, and say what they are worth."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tqdm import tqdm

from evaluation.arms import run_arm
from evaluation.errors import EvaluationError, RequestError
from evaluation.judging import Judged, prepare
from evaluation.measure import measure
from evaluation.request import ArmSpec, Request
from evaluation.tune.dimension import Scalar
from evaluation.tune.folds import OUTSIDE, fold_means, make_folds, objective, out_of_fold
from evaluation.tune.parameters import with_values
from evaluation.tune.report import Tuning, header, report
from evaluation.tune.request import Wanted, read_wanted
from evaluation.tune.study import Trial, run_study
from evaluation.tune.tuned import content, write_strategy
from ingestion.artifacts import ArtifactStore, fingerprint
from ingestion.errors import IngestionError
from retrieval.build import build_strategy
from retrieval.errors import RetrievalError
from retrieval.schema import Floats, Ints
from retrieval.stage import Context

USAGE = """\
usage: python -m evaluation.tune strategy=<name> [space=<name>] [trials=40] [folds=5] [key=value ...]

Tunes parameters of a strategy on the questions of split=dev (or train), says whether they are better than the present
ones on documents that had no part in choosing them, and writes conf/strategy/<name>_tuned.yaml. Never reads test.

  space=rrf        a file of conf/space/, or several: space=rrf,mmr; default: what the strategy has of default.yaml
  trials=40        how many settings to try, the present one included; an interrupted study goes on
  folds=5          groups of source documents for cross-validation
  name=<name>      of the new strategy; default <strategy>_tuned
  out=<file.yaml>  where to write it; default conf/strategy/<name>.yaml
  study=<file.db>  Optuna's study; default results/tune/<name>.db

Further keys as for run_eval.py: strategy.use.graph=false corpus.path= benchmark= benchmark.path= eval.primary= seed=
depth= artifacts= chunker= ingest.*="""
WRONG_REQUEST, FAILURE = 2, 1


@dataclass(frozen=True)
class Bench:
    """What every trial is measured with: the split's questions over the corpus, by the primary metric alone."""

    request: Request
    judged: Judged
    ctx: Context

    @staticmethod
    def of(wanted: Wanted) -> Bench:
        """Ingest the corpus and judge its chunks."""
        store = ArtifactStore(wanted.request.artifacts)
        judged = prepare(wanted.request, wanted.inputs, store)
        if judged.corpus is None:
            raise RequestError("tuning runs a strategy, which needs a corpus")
        return Bench(wanted.request, judged, Context(judged.corpus, store, wanted.request.depth, wanted.request.seed))

    def values(self, config: Mapping[str, Any]) -> Floats:
        """The primary metric per question, float64 [n_queries], NaN where a question has none.

        Raises:
            EvaluationError: the strategy cannot run here, or failed.
        """
        arm = run_arm(self.ctx, ArmSpec(self.request.name, build_strategy(config), config), self.judged)
        if arm.run is None:
            raise EvaluationError(f"{self.request.name}: {arm.reason}")
        table = measure([arm], self.judged, self.request)
        if table.empty:
            raise RequestError(f"{self.request.metrics[0].name} has no value for any question of this split")
        found = table.set_index("qid")["value"].reindex(list(self.judged.benchmark.queries.qid))
        return found.to_numpy(dtype=np.float64)

    def fresh(self) -> Bench:
        """The same for one more trial: what the last one kept in memory is let go, what it built stays on disk."""
        store = ArtifactStore(self.ctx.store.root)
        return replace(self, ctx=Context(self.ctx.corpus, store, self.ctx.depth, self.ctx.seed))


def main(arguments: Sequence[str]) -> int:
    """Tune; returns the exit code (0 done, 1 something failed while running, 2 a wrong request)."""
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE)
        return 0 if arguments else WRONG_REQUEST
    try:
        wanted = read_wanted(arguments)
    except (EvaluationError, IngestionError, RetrievalError) as error:
        print(f"tune: {error}", file=sys.stderr)
        return WRONG_REQUEST
    try:
        tune(wanted)
    except (EvaluationError, IngestionError, RetrievalError) as error:
        print(f"tune: {type(error).__name__}: {error}", file=sys.stderr)
        return WRONG_REQUEST if isinstance(error, RequestError) else FAILURE
    except OSError as error:
        print(f"tune: cannot write: {error}; set study= and out= to places that can be written", file=sys.stderr)
        return FAILURE
    except KeyboardInterrupt:
        print("tune: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return FAILURE
    return 0


def tune(wanted: Wanted) -> None:
    """Search, compare out of fold, write the strategy file and print what was found."""
    bench = Bench.of(wanted)
    default = bench.values(wanted.request.arms[0].config)
    clusters = bench.judged.benchmark.queries.cluster
    folds = make_folds(clusters, ~np.isnan(default), wanted.n_folds, wanted.request.seed)
    if folds.max(initial=OUTSIDE) < 1:
        raise RequestError(
            f"split={wanted.request.split} has judged questions about one document only; cross-validation needs two,"
            " and a verdict ten"
        )
    trials = search(wanted, bench, folds)
    settings = wanted.request.evaluation
    found = out_of_fold(
        np.stack([trial.values for trial in trials]),
        folds,
        clusters,
        wanted.request.seed,
        int(settings["resamples"]),
        float(settings["confidence"]),
        settings["interval"],
    )
    tuning = Tuning(wanted, bench.judged, trials, folds, found, study_name(wanted, bench))
    config = with_values(wanted.request.arms[0].config, tuning.best.params)
    write_strategy(wanted.target, content(wanted.target.base, config, tuple(tuning.best.params)), header(tuning))
    print(report(tuning))


def search(wanted: Wanted, bench: Bench, folds: Ints) -> list[Trial]:
    """All trials of the study, the strategy's own parameters first."""
    config = wanted.request.arms[0].config

    def evaluate(params: Mapping[str, Scalar]) -> tuple[float, Floats]:
        values = bench.fresh().values(with_values(config, params))
        return float(objective(fold_means(values[None, :], folds))[0]), values

    with tqdm(total=wanted.n_trials, desc="tuning", unit="trial", disable=not sys.stderr.isatty()) as bar:

        def seen(trials: Sequence[Trial]) -> None:
            bar.update(min(len(trials), wanted.n_trials) - bar.n)
            if trials:
                bar.set_postfix_str(f"best {max(trial.objective for trial in trials):.4f}")

        name = study_name(wanted, bench)
        return run_study(wanted.study, name, wanted.space, wanted.n_trials, wanted.request.seed, evaluate, seen)


def study_name(wanted: Wanted, bench: Bench) -> str:
    """The study's name in its file: it holds the digest of everything that a trial's value or choice depends on."""
    request, queries = wanted.request, bench.judged.benchmark.queries
    spec = {
        "stage": bench.ctx.spec(request.arms[0].stage, queries),
        "space": wanted.space.dimensions,
        "default": wanted.space.default,
        "benchmark": bench.judged.benchmark.digest,
        "split": request.split,
        "metric": request.metrics[0].name,
        "judging": {key: request.evaluation[key] for key in ("credit", "min_coverage")},
        "folds": wanted.n_folds,
        "seed": request.seed,
    }
    return f"{wanted.target.name}-{fingerprint(spec)[:16]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

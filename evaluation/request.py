"""What was asked for, checked before anything starts: strategies built, metrics parsed, contradictions refused."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from evaluation.ablation import Ablation, read_ablation
from evaluation.answers.request import AnswerRequest, read_answers
from evaluation.benchmark import BenchmarkSpec, resolve
from evaluation.errors import RequestError
from evaluation.factorial import Factorial, find_factorial
from evaluation.ledger import OPEN_SPLITS, is_sealed
from evaluation.metrics import Metric, parse_metric
from evaluation.rules import Rules
from ingestion.config import ROOT, to_plain
from ingestion.pipeline import Chunker, IngestSpec, build_chunker, build_ingest
from ingestion.typed import build_spec
from retrieval.build import build_strategy, strategy_config
from retrieval.stage import Retriever

BRINGS_CORPUS = {"beir": "", "pdf_bench": "pdfs"}


@dataclass(frozen=True)
class ArmSpec:
    """A strategy of ours that was asked for: its name, its stages, and the YAML that they came from."""

    name: str
    stage: Retriever
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """A checked request. `config` is everything resolved, as it is written to `config.yaml`.

    `factorial`: where the suite is one; `ablation`: where a parameter or the chunker is swept; `objective`: the
    metric whose mean a sweep optimises; `answers`: where generators run over the rankings.
    """

    name: str
    arms: tuple[ArmSpec, ...]
    factorial: Factorial | None
    ablation: Ablation | None
    outside: Mapping[str, Path]
    corpus: Path
    ingest: IngestSpec
    chunker: Chunker
    benchmark: BenchmarkSpec
    metrics: tuple[Metric, ...]
    split: str
    seed: int
    depth: int
    artifacts: Path
    out: Path
    ledger: Path
    objective: Metric | None
    sweep: tuple[str, int] | None
    plan: bool
    allow_missing: bool
    bench: bool
    evaluation: Mapping[str, Any]
    tracking: Mapping[str, Any]
    answers: AnswerRequest | None
    config: Mapping[str, Any]

    def chunkings(self) -> dict[str, Request]:
        """The request once for every chunker that is compared, by label; itself without a label where none is."""
        chunkers = self.ablation.chunkers if self.ablation else {}
        return {label: replace(self, chunker=chunker) for label, chunker in chunkers.items()} or {"": self}


def read_request(
    config: DictConfig,
    overrides: Sequence[str],
    outside: Mapping[str, Path],
    sweep: tuple[str, int] | None = None,
) -> Request:
    """Check a composed configuration; `overrides` is what the user typed, `sweep` names a Hydra sweep and its job.

    Raises:
        RequestError, MetricError, StrategyNotFoundError, StageConfigError, ConfigError: what is wrong, in at most
            three lines; nothing was started.
    """
    plain = to_plain(config)
    typed = dict(override.lstrip("+~").partition("=")[::2] for override in overrides)
    _refuse_contradictions(typed, outside)
    ablation = read_ablation(plain["ablation"]) if plain["ablation"] else None
    arms, name = _arms(plain, typed, ablation)
    plain = _budgeted(plain, typed, ablation)
    benchmark = _benchmark(plain)
    _check_corpus(plain, typed, benchmark)
    _check_arms(plain, arms, outside)
    corpus, objective = _corpus_path(plain, typed, benchmark), _objective(plain)
    _check_rules(plain, arms, outside, ablation)
    answers = _answers(plain, typed, ablation, benchmark, arms)
    stamp = f"{sweep[0]}-{sweep[1]}" if sweep else time.strftime("%Y%m%d-%H%M%S")
    return Request(
        name=name,
        arms=arms,
        factorial=_factorial(plain, typed, arms, ablation),
        ablation=ablation,
        outside=outside,
        corpus=corpus,
        ingest=build_ingest(plain["ingest"]),
        chunker=build_chunker(plain["chunker"]),
        benchmark=benchmark,
        metrics=tuple(
            parse_metric(metric) for metric in dict.fromkeys([plain["eval"]["primary"], *plain["metrics"]])
        ),
        split=plain["split"],
        seed=plain["seed"],
        depth=plain["depth"],
        artifacts=Path(plain["artifacts"]),
        out=Path(plain["out"] or ROOT / "results" / "runs" / f"{stamp}-{name}"),
        ledger=Path(plain["ledger"]),
        objective=objective,
        sweep=sweep,
        plan=plain["plan"],
        allow_missing=plain["allow_missing"],
        bench=plain["bench"],
        evaluation=plain["eval"],
        tracking=plain["tracking"],
        answers=answers,
        config={**plain, "corpus": {**plain["corpus"], "path": str(corpus)}},
    )


def _check_arms(plain: Mapping[str, Any], arms: Sequence[ArmSpec], outside: Mapping[str, Path]) -> None:
    """There must be something to rank, to some depth, under names of their own."""
    if plain["depth"] < 1:
        raise RequestError(f"depth={plain['depth']}: a ranking keeps at least 1 chunk")
    if any(spec.name in outside for spec in arms):
        raise RequestError("an outside arm has the name of a strategy that runs too; give it another name")
    if not arms and not outside:
        raise RequestError("suite=none runs nothing; add outside.<arm>=<run.trec>, or choose a suite or strategy")


def _answers(
    plain: Mapping[str, Any],
    typed: Mapping[str, str],
    ablation: Ablation | None,
    benchmark: BenchmarkSpec,
    arms: Sequence[ArmSpec],
) -> AnswerRequest | None:
    """Which generators run; where the rankings cannot be answered from, none may be asked for."""
    answers = read_answers(plain, typed)
    if answers and ablation and ablation.chunkers:
        raise RequestError("a sweep over chunkers runs no generator; leave generator= and generators= out")
    if answers and benchmark.judges_documents and not arms:
        raise RequestError(
            "generators quote from a corpus, and runs made elsewhere that are judged by document have none; add a"
            " strategy of ours (suite= or strategy=), or leave generator= and generators= out"
        )
    return answers


def _refuse_contradictions(typed: Mapping[str, str], outside: Mapping[str, Path]) -> None:
    tweaks = sorted(key for key in typed if key.startswith("strategy."))
    if "strategy" in typed and "suite" in typed:
        raise RequestError("strategy= and suite= contradict each other: give one of them")
    if "ablation" in typed and {"strategy", "suite"} & typed.keys():
        raise RequestError(
            "ablation= sweeps its own strategy and runs no suite; name another one with ablation.strategy=<name>"
        )
    if tweaks and "strategy" not in typed:
        raise RequestError(
            f"{tweaks[0]}: strategy.* changes one strategy, a suite composes each on its own;"
            " add strategy=<name> and leave suite= out"
        )
    missing = [f"outside.{arm}: no file {path}" for arm, path in outside.items() if not path.is_file()]
    if missing:
        raise RequestError(missing[0])


def _arms(
    plain: Mapping[str, Any], typed: Mapping[str, str], ablation: Ablation | None
) -> tuple[tuple[ArmSpec, ...], str]:
    """The strategies to run and what to call the run."""
    if ablation is not None:
        swept = ablation.configs.items()
        return tuple(ArmSpec(arm, build_strategy(config), config) for arm, config in swept), ablation.name
    if "strategy" in typed:
        name = typed["strategy"].strip("'\"")
        config = plain["strategy"]
        return (ArmSpec(name, build_strategy(config), config),), name
    wanted = list(dict.fromkeys(str(name) for name in plain["suite"]["strategies"]))
    configs = {name: strategy_config(name) for name in wanted}
    arms = tuple(ArmSpec(name, build_strategy(config), config) for name, config in configs.items())
    return arms, str(plain["suite"]["name"])


def _factorial(
    plain: Mapping[str, Any], typed: Mapping[str, str], arms: tuple[ArmSpec, ...], ablation: Ablation | None
) -> Factorial | None:
    settings = plain["suite"].get("factorial")
    if not settings or "strategy" in typed or ablation is not None:
        return None
    return find_factorial(settings, {arm.name: arm.stage for arm in arms})


def _budgeted(plain: dict[str, Any], typed: Mapping[str, str], ablation: Ablation | None) -> dict[str, Any]:
    """The settings with the metrics that the ablation compares by, the first one primary.

    Raises:
        RequestError: others were asked for.
    """
    if ablation is None or not ablation.metrics:
        return plain
    if {"metrics", "eval.primary"} & typed.keys():
        raise RequestError(f"ablation {ablation.name!r} sets its metrics; change them with ablation.metrics=[...]")
    return {
        **plain,
        "metrics": list(ablation.metrics),
        "eval": {**plain["eval"], "primary": ablation.metrics[0]},
    }


def _objective(plain: Mapping[str, Any]) -> Metric | None:
    """The metric that a sweep optimises; whoever optimises must not see the sealed split."""
    if not plain["objective"]:
        return None
    if is_sealed(plain["split"]):
        raise RequestError(
            f"objective={plain['objective']} tunes on split={plain['split']}, which is sealed: what is tuned on it"
            f" proves nothing;\nadd split=dev (or {', '.join(sorted(OPEN_SPLITS - {'dev'}))})"
        )
    metric = parse_metric(str(plain["objective"]))
    if metric.name not in (parse_metric(name).name for name in [plain["eval"]["primary"], *plain["metrics"]]):
        raise RequestError(f"objective={metric.name} is not measured; add it to metrics=[...]")
    return metric


def _check_rules(
    plain: Mapping[str, Any], arms: Sequence[ArmSpec], outside: Mapping[str, Path], ablation: Ablation | None
) -> None:
    """Declared comparisons must name arms of this run."""
    labels = list(ablation.chunkers) if ablation and ablation.chunkers else [""]
    names = [f"{arm.name}_{label}".rstrip("_") for label in labels for arm in arms]
    Rules.read(plain["eval"], [*names, *outside])


def _corpus_path(plain: Mapping[str, Any], typed: Mapping[str, str], benchmark: BenchmarkSpec) -> Path:
    """The folder of PDFs: what the user typed, else what the benchmark brings, else the configured corpus."""
    if "corpus.path" not in typed and "corpus" not in typed and benchmark.kind in BRINGS_CORPUS:
        return Path(benchmark.path or "") / BRINGS_CORPUS[benchmark.kind]
    return Path(plain["corpus"]["path"])


def _benchmark(plain: Mapping[str, Any]) -> BenchmarkSpec:
    """Where the questions are; the files must be there before anything starts."""
    spec = build_spec(BenchmarkSpec, plain["benchmark"], "benchmark")
    for key, path in (("path", spec.path), ("queries", spec.queries), ("qrels", spec.qrels)):
        if path and not Path(path).exists():
            raise RequestError(f"benchmark.{key}: no such file or folder: {path}")
    return resolve(spec)


def _check_corpus(plain: Mapping[str, Any], typed: Mapping[str, str], benchmark: BenchmarkSpec) -> None:
    """The corpus must be there where it is needed, and the questions must be about it."""
    corpus = _corpus_path(plain, typed, benchmark)
    needed = "strategy" in typed or plain["suite"]["strategies"] or not benchmark.judges_documents
    if needed and not corpus.exists():
        raise RequestError(f"corpus.path: no such file or folder: {corpus}")
    own_corpus = "corpus.path" in typed or "corpus" in typed
    own_questions = any(key == "benchmark" or key.startswith("benchmark.") for key in typed)
    if own_corpus and not own_questions:
        raise RequestError(
            f"the bundled questions do not describe {corpus};\n"
            "add benchmark.path=<questions.jsonl>: one line per question with its quotes (see docs/judgments.md)"
        )

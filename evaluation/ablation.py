"""Sweeps over one parameter of a strategy, or over ways of chunking, as arms of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.errors import RequestError
from ingestion.config import load, nearest, to_plain
from ingestion.pipeline import Chunker, build_chunker
from ingestion.typed import check_keys
from retrieval.build import strategy_config

KEYS = {"name", "strategy", "parameter", "values", "chunkers", "metrics"}
BUDGETED = ("EvRecall@", "EvPrecision@")


@dataclass(frozen=True)
class Ablation:
    """What is varied: strategy configurations by arm name, or chunkers by label; `metrics` where only some compare.

    `values` of the parameter by arm name, for the plot.
    """

    name: str
    configs: Mapping[str, Mapping[str, Any]]
    chunkers: Mapping[str, Chunker]
    metrics: tuple[str, ...]
    parameter: str
    values: Mapping[str, float]


def read_ablation(settings: Mapping[str, Any]) -> Ablation:
    """A sweep as in `conf/ablation/`: `strategy` with `parameter` and `values`, or with `chunkers`.

    Raises:
        RequestError: it holds neither, or both.
        ConfigError, StageConfigError: a name, key or value is wrong.
    """
    check_keys(settings, KEYS, "ablation")
    name, strategy = str(settings["name"]), str(settings["strategy"])
    parameter, chunkers = settings.get("parameter"), settings.get("chunkers") or {}
    if bool(parameter) == bool(chunkers):
        raise RequestError(f"ablation {name!r}: give either parameter with values, or chunkers")
    if chunkers:
        built = {str(label): _chunker(label, chosen) for label, chosen in chunkers.items()}
        metrics = tuple(settings.get("metrics") or ())
        _check_budgeted(name, metrics)
        return Ablation(name, {strategy: strategy_config(strategy)}, built, metrics, "", {})
    short = str(parameter).rpartition(".")[2]
    values = {f"{short}={value:g}": float(value) for value in settings["values"]}
    configs = {arm: strategy_config(strategy, [f"strategy.{parameter}={value!r}"]) for arm, value in values.items()}
    return Ablation(name, configs, {}, (), str(parameter), values)


def _chunker(label: object, chosen: Mapping[str, Any]) -> Chunker:
    """A chunker from `{kind: sentence, max_words: 100}`."""
    if "kind" not in chosen:
        raise RequestError(f"ablation.chunkers.{label}: kind is missing{nearest('', ['fixed', 'page', 'sentence'])}")
    overrides = [f"chunker.{key}={value}" for key, value in chosen.items() if key != "kind"]
    return build_chunker(to_plain(load([f"chunker={chosen['kind']}", *overrides]))["chunker"])


def _check_budgeted(name: str, metrics: tuple[str, ...]) -> None:
    """A big chunk holds evidence by being big: across chunkers only metrics with a budget of words say something."""
    wrong = [metric for metric in metrics if not metric.startswith(BUDGETED)]
    if wrong or not metrics:
        raise RequestError(
            f"ablation {name!r}: chunkers are compared by EvRecall@<n>w and EvPrecision@<n>w only"
            + (f"; {wrong[0]!r} favours big chunks" if wrong else "")
        )

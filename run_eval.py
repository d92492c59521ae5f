"""The one command: compose the configuration, hand it to `evaluation.runner`, exit with its code.

0: every requested arm ran; 1: something failed while running; 2: the request is wrong and nothing was started.
"""

from __future__ import annotations

import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from ingestion import config
from ingestion.errors import ConfigError

ASKS_HYDRA = {"--help", "-h", "--hydra-help", "--version", "--cfg", "-c", "--info", "-i", "--shell-completion", "-sc"}


def split_outside(arguments: list[str]) -> tuple[list[str], dict[str, Path]]:
    """Take `outside.<arm>=<run file>` out of the arguments: such names and paths never travel through Hydra.

    Raises:
        ConfigError: an arm without a file, or named twice.
    """
    rest, outside = [], {}
    for argument in arguments:
        if not argument.startswith("outside."):
            rest.append(argument)
            continue
        arm, _, path = argument.removeprefix("outside.").partition("=")
        if not arm or not path or arm in outside:
            raise ConfigError(f"{argument!r}: write outside.<arm>=<run.trec>, each arm once")
        outside[arm] = Path(path)
    return rest, outside


def config_name(arguments: list[str]) -> str:
    """What `--config-name` or `-cn` says, else `config`."""
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if flag in ("--config-name", "-cn"):
            return value
        if flag.startswith("--config-name="):
            return flag.partition("=")[2]
    return "config"


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    codes: list[int] = []
    try:
        rest, outside = split_outside(arguments)
        name = config_name(rest)
        if not {"--multirun", "-m"} & set(rest):
            rest = [config.quoted(argument) for argument in rest]
            if not any(argument in ASKS_HYDRA for argument in rest):
                config.load([argument for argument in rest if "=" in argument and argument[0] != "-"], name)
    except ConfigError as error:
        print(f"run_eval.py: {error}", file=sys.stderr)
        return 2

    @hydra.main(version_base="1.3", config_path="conf", config_name="config")
    def job(composed: DictConfig) -> float | None:
        from evaluation.runner import run

        settings = HydraConfig.get()
        sweep = (Path(settings.sweep.dir).name, settings.job.num) if settings.mode == RunMode.MULTIRUN else None
        outcome = run(composed, list(settings.overrides.task), outside, sweep)
        codes.append(outcome.code)
        return outcome.value

    sys.argv = [sys.argv[0], *rest]
    job()
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

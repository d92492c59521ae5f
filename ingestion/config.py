"""How every command reads `conf/`: Hydra composition, and errors of three lines that offer the nearest right name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ingestion.errors import ConfigError

CONF = Path(__file__).resolve().parent.parent / "conf"
PATH_KEYS = ("corpus.path", "benchmark.path", "benchmark.queries", "benchmark.qrels", "artifacts", "out")


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or the list of what is known where nothing is near."""
    options = sorted(known)
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(options)}"


def names(group: str) -> list[str]:
    """The names of a config group, such as `strategy`: its YAML files."""
    return sorted(path.stem if path.suffix == ".yaml" else path.name for path in (CONF / group).glob("*.yaml"))


def quoted(override: str) -> str:
    """An override whose value is a path, quoted for Hydra, so that blanks and commas in it are just characters."""
    key, sign, value = override.partition("=")
    if not sign or key not in PATH_KEYS or value[:1] in ("'", '"') or value in ("", "null"):
        return override
    return f"{key}='" + value.replace("'", "\\'") + "'"


def load(overrides: Sequence[str], config_name: str = "config") -> DictConfig:
    """Compose `conf/<config_name>.yaml` with these overrides.

    Raises:
        ConfigError: an unknown name, key or type; the message is at most three lines and names the nearest right one.
    """
    overrides = [quoted(override) for override in overrides]
    try:
        if GlobalHydra.instance().is_initialized():
            return compose(config_name, overrides=list(overrides))
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return compose(config_name, overrides=list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(explain(error)) from error


def explain(error: Exception) -> str:
    """What is wrong with a request, in at most three lines."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return f"{group} {name!r} not found{nearest(name, error.options)}"
    cause = error.__cause__ if isinstance(error, ConfigCompositionException) else error
    text = str(cause or error).strip()
    lines = [line.strip() for line in f"{error}\n{text}".splitlines() if line.strip()]
    return "\n".join(list(dict.fromkeys(lines))[:3])

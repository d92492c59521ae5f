"""How every command reads `conf/`: Hydra composition, and errors of three lines that offer the nearest right name."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ingestion.errors import ConfigError

# Arrow's own allocator keeps what it was given back: 67 MB more for a crawl of 129 files, and no faster. Arrow reads
# this when it is imported, which is after this file in every command.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"
ADDABLE = ("hydra", "experiment", "ablation.chunkers.")  # what `+key=value` may add
STRING_KEYS = {
    "corpus.path",
    "benchmark.path",
    "benchmark.queries",
    "benchmark.qrels",
    "gate.folder",
    "gate.name",
    "artifacts",
    "out",
    "ledger",
    "split",
}


@dataclass
class Schema:
    """Types of the keys of `conf/config.yaml`; Hydra refuses a value of another type."""

    corpus: Any = None
    benchmark: Any = None
    ingest: Any = None
    chunker: Any = None
    store: Any = None
    strategy: Any = None
    suite: Any = None
    ablation: Any = None
    eval: Any = None
    context: Any = None
    generator: Any = None
    confidence: Any = None
    answers: Any = None
    generators: list[str] = field(default_factory=list)
    tracking: Any = None
    seed: int = 0
    depth: int = 100
    split: str = "test"
    metrics: list[str] = field(default_factory=list)
    artifacts: str = ""
    out: str | None = None
    ledger: str = ""
    objective: str | None = None
    plan: bool = False
    allow_missing: bool = False
    bench: bool = False
    baseline: str | None = None
    gate: Any = None


ConfigStore.instance().store("schema", Schema)
OmegaConf.register_new_resolver("project", lambda path: str(ROOT / path), replace=True)


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or the list of what is known where nothing is near."""
    options = sorted(set(known))
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(options)}"


def whole_number(key: str, text: str) -> int:
    """A count as it is typed.

    Raises:
        ConfigError: it is no whole number from 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{key}={text!r}: must be a whole number from 1")
    return int(text)


def names(group: str) -> list[str]:
    """The names of a config group, such as `strategy`: its YAML files."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def quoted(override: str) -> str:
    """An override of a path or an id, quoted for Hydra: blanks, commas and leading zeros in it stay as they are."""
    key, sign, value = override.partition("=")
    if not sign or key not in STRING_KEYS or value[:1] in ("'", '"') or value in ("", "null"):
        return override
    value = re.sub(r"(\\*)'", r"\1\1\\'", value)  # Hydra halves backslashes only in front of a quote
    return f"{key}='" + re.sub(r"(\\+)$", r"\1\1", value) + "'"


def load(overrides: Sequence[str] = (), config_name: str = "config") -> DictConfig:
    """Compose `conf/<config_name>.yaml` with these overrides.

    Raises:
        ConfigError: an unknown name, key or type; the message is at most three lines and names the nearest right one.
    """
    wanted = [quoted(override) for override in overrides]
    try:
        if GlobalHydra.instance().is_initialized():
            config = compose(config_name, overrides=wanted)
        else:
            with initialize_config_dir(str(CONF), version_base="1.3"):
                config = compose(config_name, overrides=wanted)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(explain(error, config_name, wanted)) from error
    check_added(config, overrides, config_name)
    return config


def to_plain(config: DictConfig) -> dict[str, Any]:
    """A composed configuration as nested dicts, interpolations resolved."""
    return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]


def explain(error: Exception, config_name: str, overrides: Sequence[str]) -> str:
    """What is wrong with a request, in at most three lines."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return f"{group or 'config'} {name!r} not found{nearest(name, error.options or names(group))}"
    text = f"{error}\n{error.__cause__ or ''}"
    key = re.search(r"Could not override '([^']+)'", text)
    if key:
        return _unknown(key[1], config_name, overrides)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "\n".join(line for line in dict.fromkeys(lines) if not line.startswith(("object_type", "See http")))[:600]


def _unknown(key: str, config_name: str, overrides: Sequence[str]) -> str:
    group = key.partition(".")[0]
    known = _known_keys(config_name, overrides)
    if group != key and group in known and not any(name.startswith(f"{group}.") for name in known):
        return f"{key}: no {group} is chosen; add {group}=<name> (a suite composes each one on its own)"
    return f"unknown key {key!r}{nearest(key, known)}"


def check_added(config: DictConfig, overrides: Sequence[str], config_name: str) -> None:
    """Refuse `+key=value` at the top level: no command reads such a key, and Hydra would let it pass in silence.

    Raises:
        ConfigError: naming the nearest key.
    """
    for override in overrides:
        key = override.partition("=")[0]
        if key.startswith("+") and not key.strip("+").startswith(ADDABLE):
            key = key.strip("+").partition("@")[0]
            raise ConfigError(_unknown(key, config_name, []))


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one with dotted keys, as they are typed on the command line."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _known_keys(config_name: str, overrides: Sequence[str]) -> list[str]:
    """Every dotted key of the configuration that these overrides' group choices make."""
    chosen = {entry.name for entry in fields(Schema)}
    groups = [text for text in overrides if (key := text.partition("=")[0]) in chosen and (CONF / key).is_dir()]
    plain = OmegaConf.to_container(load(groups, config_name), resolve=False)
    return [*flatten(plain), *plain] if isinstance(plain, dict) else []  # type: ignore[arg-type]

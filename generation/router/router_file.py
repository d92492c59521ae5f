"""`conf/router/default.yaml` and what a file of one's own changes in it, checked; keys in it are refused.

Every scalar is read as the text that stands there, so that YAML has no say in it: `off`, `4.10`, `1:30` and `007` are
not turned into false, 4.1, 90 and 7.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from generation.errors import RequestError
from generation.router.environment import is_secret
from generation.router.secrets import redact
from ingestion.config import CONF, names, nearest

GROUP = "router"
DEFAULT = CONF / GROUP / "default.yaml"
SECTIONS: Mapping[str, frozenset[str]] = {
    "retry": frozenset({"attempts", "base", "longest", "rate_limit_wait", "breaker_wait", "unsaid"}),
    "breaker": frozenset({"failures", "cooldown", "quota_cooldown"}),
    "spending": frozenset({"per_run", "per_day", "requests_per_run", "requests_per_day"}),
}
ROUTE_KEYS = frozenset({"models", "rpm", "input_tpm", "output_tpm", "output_weight", "settings"})
PRICE_KEYS = frozenset({"input", "output"})
_TOP = frozenset({"chain", "routes", "timeout", "cache", "folder", "prices", *SECTIONS})


@dataclass(frozen=True)
class RouterFile:
    """The default with a file's changes: nested mappings and lists of text; `own` is what the file itself says."""

    content: Mapping[str, Any]
    own: Mapping[str, Any]
    path: Path

    def has(self, *keys: str) -> bool:
        """Whether the file of one's own says something there."""
        place: Any = self.own
        for key in keys:
            if not isinstance(place, Mapping) or key not in place:
                return False
            place = place[key]
        return True


def read_router_file(file: str | Path | None = None) -> RouterFile:
    """The default routes with the changes of a file.

    Args:
        file: a path, or a name in `conf/router`; None changes nothing.

    Raises:
        RequestError: it is not there or broken, has an unknown key, or has a key of a provider in it.
    """
    default = _load(DEFAULT)
    if file is None:
        return RouterFile(default, {}, DEFAULT)
    path = _find(file)
    own = _load(path)
    _check(own, default, path)
    return RouterFile(_merged(default, own), {} if path == DEFAULT else own, path)


class _TextLoader(yaml.BaseLoader):
    """Reads every scalar as text and refuses a key that stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, "a name stands twice", key.start_mark)
            seen.add(name)
        content: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return content


def _find(file: str | Path) -> Path:
    named = DEFAULT.parent / f"{file}.yaml"
    path = named if named.is_file() and str(file) in names(GROUP) else Path(file)
    if not path.is_file():
        hint = nearest(str(file), names(GROUP)) if "/" not in str(file) else ""
        raise RequestError(f"router={file}: no such file{hint}")
    return path


def _load(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_TextLoader)
    except UnicodeDecodeError:
        raise RequestError(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise RequestError(f"{path}: cannot be read ({error.strerror})") from error
    except yaml.MarkedYAMLError as error:  # its own text shows the line, which may hold a key
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RequestError(f"{path}, line {line}: {redact(error.problem or 'is no YAML')}") from None
    except yaml.YAMLError:
        raise RequestError(f"{path}: is no YAML (a character that may not stand in it)") from None
    if content in (None, ""):
        return {}
    if not isinstance(content, dict):
        raise RequestError(f"{path}: write 'name: value' lines, such as 'timeout: 60'")
    _refuse_secrets(content, path)
    return content


def _refuse_secrets(content: Mapping[str, Any], path: Path) -> None:
    for place, value in _leaves(content):
        name = place.rpartition(".")[2]
        if is_secret(name) and value:
            raise RequestError(
                f"{path}, {redact(place)}: no key stands in this file; put it into the environment or .env"
            )
        if redact(value) != value or redact(place) != place:
            raise RequestError(f"{path}, {redact(place)}: looks like a key; put it into the environment or .env")


def _leaves(content: Any, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from _leaves(value, f"{place}.{key}" if place else str(key))
    elif isinstance(content, list):
        for value in content:
            yield from _leaves(value, place)
    else:
        yield place, str(content)


def _check(own: Mapping[str, Any], default: Mapping[str, Any], path: Path) -> None:
    """Refuse what nobody reads, and a value where a mapping belongs or the other way round."""
    _keys(own, _TOP, path, "")
    for section, keys in SECTIONS.items():
        _keys(own.get(section, {}), keys, path, section)
    _keys(own.get("routes", {}), frozenset(default["routes"]), path, "routes")
    for route, values in _mapping(own.get("routes", {})).items():
        _keys(values, ROUTE_KEYS, path, f"routes.{route}")
    _mapping_at(own.get("prices", {}), path, "prices")
    for model, price in _mapping(own.get("prices", {})).items():
        _keys(price, PRICE_KEYS, path, f"prices.{model}")


def _keys(values: Any, known: frozenset[str], path: Path, place: str) -> None:
    _mapping_at(values, path, place)
    for key in values:
        if key not in known:
            raise RequestError(f"{path}: unknown key {f'{place}.{key}'.lstrip('.')!r}{nearest(key, known)}")


def _mapping_at(values: Any, path: Path, place: str) -> None:
    if not isinstance(values, Mapping):
        raise RequestError(f"{path}, {place}: write 'name: value' lines below it")


def _mapping(values: Any) -> Mapping[str, Any]:
    return values if isinstance(values, Mapping) else {}


def _merged(default: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The default with what `own` says; lists are replaced whole."""
    result = dict(default)
    for key, value in own.items():
        before = result.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        result[key] = _merged(before, value) if both else value  # type: ignore[arg-type]
    return result

"""A mapping from YAML to a dataclass: unknown keys and wrong types are refused with the nearest right name."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ingestion.config import nearest
from ingestion.errors import ConfigError

T = TypeVar("T")


def build_spec(cls: type[T], values: Mapping[str, Any], path: str) -> T:
    """An instance of a dataclass from a mapping; `path` is where the mapping stands, such as `strategy.then.mmr`.

    An int may stand for a float; a mapping becomes sorted pairs where the field is `tuple[tuple[str, T], ...]`,
    a list a tuple where it is `tuple[T, ...]`; nothing else is converted.

    Raises:
        ConfigError: unknown key, missing key, wrong type, or a value that the class refuses.
    """
    check_keys(values, {field.name for field in fields(cls)}, path)  # type: ignore[arg-type]
    hints = get_type_hints(cls)
    typed = {str(key): _typed(value, hints[str(key)], f"{path}.{key}") for key, value in values.items()}
    try:
        return cls(**typed)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error


def build_target(values: Mapping[str, Any], allowed: str, path: str) -> Any:
    """The object of a YAML with `_target_`: a dataclass below the package `allowed`, checked before it is imported.

    Raises:
        ConfigError: the target is not there or not ours, or a key, type or value is wrong.
    """
    target = values.get("_target_")
    if not isinstance(target, str) or not target.startswith(f"{allowed}."):
        raise ConfigError(f"{path}._target_={target!r}: must be a class below {allowed}")
    module, _, name = target.rpartition(".")
    try:
        cls = getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise ConfigError(f"{path}._target_={target!r}: no such class ({error})") from error
    if not (isinstance(cls, type) and is_dataclass(cls)):
        raise ConfigError(f"{path}._target_={target!r}: not a dataclass")
    return build_spec(cls, {str(key): value for key, value in values.items() if key != "_target_"}, path)


def check_keys(values: Iterable[str], known: set[str], path: str) -> None:
    """Refuse a key that nobody reads.

    Raises:
        ConfigError: naming the nearest key.
    """
    for key in values:
        if key not in known:
            raise ConfigError(f"{path}.{key}: unknown key{nearest(str(key), known)}")


def _typed(value: Any, hint: Any, path: str) -> Any:
    origin, options = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value not in options:
            raise ConfigError(f"{path}={value!r}: no such choice{nearest(str(value), [str(o) for o in options])}")
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in options:
            return None
        return _typed(value, next(option for option in options if option is not type(None)), path)
    if origin is tuple:
        named = get_origin(options[0]) is tuple
        return _pairs(value, options, path) if named else _list(value, options[0], path)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{path}={value!r}: must be {hint.__name__}, not {type(value).__name__}")
    return value


def _list(value: Any, hint: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{path}={value!r}: must be a list such as [{value}]")
    return tuple(_typed(item, hint, f"{path}[{number}]") for number, item in enumerate(value))


def _pairs(value: Any, options: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path}={value!r}: must be a mapping of names to values")
    hint = get_args(options[0])[1]
    return tuple((str(name), _typed(value[name], hint, f"{path}.{name}")) for name in sorted(value))

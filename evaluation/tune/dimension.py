"""The values that one parameter may take while it is tuned: a range or a list, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ingestion.errors import ConfigError
from ingestion.typed import check_keys

SIZES = {"low", "high", "step"}
KEYS = SIZES | {"log", "values"}
PLACES = 12  # decimal places of a step's values: .1 + .2 is .3
ROUNDING = 1e-9  # a whole number of steps may be off by this much
Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Dimension:
    """The values of one parameter: a list, or a range with both ends.

    `log`: equal factors are equally likely. `step`: distance of the values. `whole`: whole numbers only, where the
    present value and those of the range are.
    """

    path: str
    values: tuple[Scalar, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    step: float | None = None
    whole: bool = False

    @property
    def spacing(self) -> float | None:
        """Distance between neighbouring values of a range; None where there is any value in between."""
        return 1.0 if self.whole and self.step is None else self.step

    @property
    def size(self) -> int | None:
        """How many values there are; None for a range without a step."""
        if self.values:
            return len(self.values)
        return None if self.spacing is None else round((self.high - self.low) / self.spacing) + 1

    def points(self) -> tuple[Scalar, ...]:
        """All values in order; none for a range without a step."""
        if self.values or self.spacing is None:
            return self.values
        found = [round(self.low + number * self.spacing, PLACES) for number in range(self.size or 0)]
        return tuple(int(value) for value in found) if self.whole else tuple(found)

    def ends(self) -> tuple[Scalar, ...]:
        """Values which all others lie between; the whole list where there is no between."""
        if self.values:
            return self.values
        return (int(self.low), int(self.high)) if self.whole else (self.low, self.high)

    def __contains__(self, value: object) -> bool:
        if self.values:
            return any(value == own and isinstance(value, bool) == isinstance(own, bool) for own in self.values)
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            return False
        steps = (value - self.low) / self.spacing if self.spacing else 0.0
        return abs(steps - round(steps)) < ROUNDING

    def text(self) -> str:
        """As people write it: `fuser.k 1..200 log`."""
        if self.values:
            return f"{self.path} {' '.join(map(str, self.values))}"
        step = f" step {self.step:g}" if self.step else ""
        return f"{self.path} {self.low:g}..{self.high:g}{' log' if self.log else ''}{step}"


def read_dimension(path: str, settings: Any, default: Any) -> Dimension:
    """One line of a space, typed as the parameter's present value (`default`) is.

    Raises:
        ConfigError: a key is unknown or missing, or a value is of the wrong type or order.
    """
    if not isinstance(settings, Mapping):
        raise ConfigError(f"space, {path}: write {{low: 1, high: 200}} or {{values: [1, 2]}}")
    check_keys(map(str, settings), KEYS, f"space, {path}")
    if "values" in settings:
        return Dimension(path, _values(path, settings, isinstance(default, float)))
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise ConfigError(f"space, {path}={default!r} is no number: give it values: [...]")
    low, high = _number(path, settings, "low"), _number(path, settings, "high")
    step = _number(path, settings, "step") if "step" in settings else None
    whole = all(isinstance(number, int) for number in (default, *(settings[key] for key in SIZES & settings.keys())))
    log = settings.get("log", False)
    if not isinstance(log, bool):
        raise ConfigError(f"space, {path}.log={log!r}: must be true or false")
    _check_range(path, low, high, log, step)
    return Dimension(path, (), low, high, log, step, whole)


def _values(path: str, settings: Mapping[str, Any], real: bool) -> tuple[Scalar, ...]:
    values = settings["values"]
    if len(settings) > 1:
        raise ConfigError(
            f"space, {path}: values stand alone; leave out {', '.join(sorted(settings.keys() - {'values'}))}"
        )
    if not isinstance(values, list) or not values or not all(isinstance(v, Scalar) for v in values):
        raise ConfigError(f"space, {path}.values: must be a list of numbers or words with at least one of them")
    if real:
        values = [float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]
    if len(set(values)) < len(values):
        raise ConfigError(f"space, {path}.values: a value stands twice")
    return tuple(values)


def _number(path: str, settings: Mapping[str, Any], key: str) -> float:
    value = settings.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"space, {path}.{key}={value!r}: must be a number")
    return float(value)


def _check_range(path: str, low: float, high: float, log: bool, step: float | None) -> None:
    if not (low < high and isfinite(low) and isfinite(high)):
        raise ConfigError(f"space, {path}: low={low:g} must be below high={high:g}")
    if log and low <= 0:
        raise ConfigError(f"space, {path}: low={low:g} must be above 0 where log is true")
    if step is None:
        return
    steps = (high - low) / step if step > 0 else 0.5
    if log or abs(steps - round(steps)) > ROUNDING:
        raise ConfigError(f"space, {path}.step={step:g}: must lead from low to high, and needs log: false")

"""Which routes lead to a language model, what each is allowed, whether it is configured, and in which order."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from generation.errors import RequestError
from generation.router.environment import Environment
from generation.router.limits import Limits
from generation.router.needs import NEEDS, PROVIDERS, Need
from generation.router.router_file import RouterFile, read_router_file
from generation.router.secrets import redact
from generation.router.wire import Target
from ingestion.config import nearest

AUTO, OFFLINE = "auto", "offline"
OFF = "off"
NUMBERS = ("rpm", "input_tpm", "output_tpm")
FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT = "default", "file", "environment"


@dataclass(frozen=True)
class RouteSettings:
    """One way to a provider's models.

    `models`: the default first, then what is tried where it fails. `settings`: what a client needs by name, such as
    `base_url`, `region` or `project`, and never a key. Where it is not `configured`, `missing` names what to set;
    `ambient`: there may be credentials all the same, where only the provider's own library looks. `origins`: where
    `models`, limits and settings come from, such as `default`, `file` or `environment`.
    """

    provider: str
    route: str
    models: tuple[str, ...]
    limits: Limits = field(default_factory=Limits)
    settings: Mapping[str, str] = field(default_factory=dict)
    configured: bool = True
    missing: str = ""
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    ambient: bool = False

    @property
    def name(self) -> str:
        """`provider/route`."""
        return f"{self.provider}/{self.route}"

    def target(self, model: str = "") -> Target:
        """Where one model of this route is; without a name its default."""
        return Target(self.provider, self.route, model or self.models[0], self.settings)


def read_chain(
    file: str | Path | None,
    provider: str | None,
    route: str | None,
    environment: Environment,
) -> tuple[RouteSettings, ...]:
    """The routes to try, in order; empty means the offline generator.

    Args:
        file: a router file or its name, see `read_router_file`.
        provider: `auto` (or None) takes the configured routes of the file's chain; `offline` none; otherwise those of
            one provider.
        route: of these only one, by `bedrock` or `anthropic/bedrock`.
        environment: keys, and limits that come before those of the file.

    Raises:
        RequestError: a name or a number is wrong, or what was asked for by name is not configured.
    """
    router = read_router_file(file)
    return choose(read_routes(router, environment), chain_of(router), provider, route)


def read_routes(router: RouterFile, environment: Environment) -> tuple[RouteSettings, ...]:
    """All routes that there are, configured or not, in the order of the table.

    Raises:
        RequestError: a number is wrong, in the file or in a variable.
    """
    return tuple(_route(name, router, environment) for name in router.content["routes"])


def chain_of(router: RouterFile) -> tuple[str, ...]:
    """The names of routes in the order in which `auto` tries them.

    Raises:
        RequestError: the chain is no list of routes, or names one twice.
    """
    chain = router.content["chain"]
    if not isinstance(chain, list) or not all(isinstance(name, str) for name in chain):
        raise RequestError(f"{router.path}, chain: write a list of routes, such as [anthropic/direct, openai/azure]")
    for name in chain:
        if name not in NEEDS:
            raise RequestError(f"{router.path}, chain: unknown route {name!r}{nearest(name, NEEDS)}")
    if len(set(chain)) < len(chain):
        raise RequestError(f"{router.path}, chain: a route stands twice")
    return tuple(chain)


def choose(
    routes: tuple[RouteSettings, ...], chain: tuple[str, ...], provider: str | None = None, route: str | None = None
) -> tuple[RouteSettings, ...]:
    """Of all routes those that were asked for, in the chain's order; see `read_chain`."""
    provider, wanted = _names(provider or AUTO, route)
    if provider == OFFLINE:
        return ()
    ordered = sorted(routes, key=lambda each: chain.index(each.name) if each.name in chain else len(chain))
    if provider == AUTO and not wanted:
        return tuple(each for each in ordered if each.configured and each.name in chain)
    asked = [each for each in ordered if provider in (AUTO, each.provider) and wanted in ("", each.route)]
    if len(asked) == 1 and wanted and asked[0].ambient and asked[0].models:
        return (replace(asked[0], configured=True, missing=""),)
    ready = tuple(each for each in asked if each.configured)
    if not ready:
        lines = "\n".join(f"{each.name}: {each.missing}" for each in asked)
        raise RequestError(f"not configured (set it in the environment or in .env):\n{lines}")
    return ready


def _names(provider: str, route: str | None) -> tuple[str, str]:
    """Provider and route by their names, checked."""
    before, _, wanted = (route or "").rpartition("/")
    if before and provider not in (AUTO, before):
        raise RequestError(f"route={route}: is not a route of provider={provider}")
    provider = before or provider
    if provider not in (AUTO, OFFLINE, *PROVIDERS):
        raise RequestError(f"provider {provider!r} not found{nearest(provider, (AUTO, OFFLINE, *PROVIDERS))}")
    if provider == OFFLINE and wanted:
        raise RequestError(f"route={route}: the offline generator has no routes; leave it out")
    known = [name.partition("/")[2] for name in NEEDS if provider in (AUTO, name.partition("/")[0])]
    if wanted and wanted not in known:
        of = "" if provider == AUTO else f" of {provider}"
        raise RequestError(f"route {wanted!r}{of} not found{nearest(wanted, known)}")
    return provider, wanted


def _route(name: str, router: RouterFile, environment: Environment) -> RouteSettings:
    reader = _Reader(name, router, environment)
    reader.check_names()
    need = NEEDS[name]
    models, settings = reader.models(), reader.settings(need)
    limits = Limits(reader.limit("rpm"), reader.limit("input_tpm"), reader.limit("output_tpm"), reader.weight())
    missing = need.missing(environment, settings, bool(models), f"{reader.prefix}_MODEL")
    provider, _, route = name.partition("/")
    ambient = need.ambient and not need.out_of_reach(environment)
    return RouteSettings(
        provider, route, models, limits, settings, not missing, missing, dict(reader.origins), ambient
    )


@dataclass
class _Reader:
    """Values of one route: a variable before the file, the file before the default."""

    name: str
    router: RouterFile
    environment: Environment
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """What the route's variables begin with, such as `ANTHROPIC_DIRECT`."""
        return self.name.replace("/", "_").upper()

    def limit(self, number: str) -> int | None:
        """A limit a minute; None where it is `off`."""
        text, where = self._text(number)
        if text == OFF:
            return None
        digits = text.replace("_", "")
        if not (digits.isascii() and digits.isdecimal() and int(digits) > 0):
            raise RequestError(f"{where}={redact(text)!r}: must be a whole number from 1, such as 40000, or off")
        return int(digits)

    def weight(self) -> float:
        """How often an output token counts."""
        text = str(self.router.content["routes"][self.name].get("output_weight", "1"))
        value = number_of(text, f"{self.router.path}, routes.{self.name}.output_weight")
        if value <= 0:
            raise RequestError(f"{self.router.path}, routes.{self.name}.output_weight={text}: must be above 0")
        return value

    def models(self) -> tuple[str, ...]:
        """Names of models; the variable may name several, with commas."""
        variable = f"{self.prefix}_MODEL"
        given = self.environment.setting(variable)
        self.origins["models"] = self._origin("models", variable if given else "")
        found = given.split(",") if given else self.router.content["routes"][self.name].get("models", [])
        found = [found] if isinstance(found, str) else found
        models = [str(model).strip() for model in found] if isinstance(found, list) else [""]
        if "" in models or len(set(models)) < len(models):
            where = variable if given else f"{self.router.path}, routes.{self.name}.models"
            raise RequestError(f"{where}: must be names of models, each once")
        return tuple(models)

    def settings(self, need: Need) -> dict[str, str]:
        """What the client needs by name."""
        stored = self.router.content["routes"][self.name].get("settings", {})
        if not isinstance(stored, Mapping) or not all(isinstance(value, str) for value in stored.values()):
            raise RequestError(f"{self.router.path}, routes.{self.name}.settings: write 'name: value' lines below it")
        for key in stored:
            if key not in need.settings:
                place = f"routes.{self.name}.settings.{key}"
                raise RequestError(f"{self.router.path}: unknown key {place!r}{nearest(key, need.settings)}")
        result = {}
        for key, variables in need.settings.items():
            own = f"{self.prefix}_{key.upper()}"
            value = self.environment.setting(own, *variables) or stored.get(key, "")
            if value:
                result[key] = value
                given = next((name for name in (own, *variables) if self.environment.setting(name)), "")
                self.origins[key] = FROM_ENVIRONMENT if given else FROM_FILE
        return result

    def check_names(self) -> None:
        """Refuse a variable of this route that is nearly one that is read: it would be passed over in silence."""
        known = [f"{self.prefix}_{name.upper()}" for name in (*NUMBERS, "model", *NEEDS[self.name].settings)]
        for name in sorted(self.environment):
            if name.startswith(f"{self.prefix}_") and name not in known:
                close = difflib.get_close_matches(name, known, n=1, cutoff=0.9)
                if close:
                    raise RequestError(f"unknown variable {name}; did you mean {close[0]}?")

    def _text(self, number: str) -> tuple[str, str]:
        """What stands there, and where."""
        variable = f"{self.prefix}_{number.upper()}"
        given = self.environment.setting(variable)
        self.origins[number] = self._origin(number, variable if given else "")
        stored = self.router.content["routes"][self.name].get(number, OFF)
        text = given or (stored if isinstance(stored, str) else "a list")
        return text, variable if given else f"{self.router.path}, routes.{self.name}.{number}"

    def _origin(self, key: str, variable: str) -> str:
        if variable:
            return FROM_ENVIRONMENT
        return FROM_FILE if self.router.has("routes", self.name, key) else FROM_DEFAULT


def number_of(text: Any, where: str) -> float:
    """A number from 0 as it is written.

    Raises:
        RequestError: it is none.
    """
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise RequestError(f"{where}={redact(str(text))!r}: must be a number from 0")
    return value

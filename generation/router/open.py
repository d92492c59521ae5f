"""A router that is ready to be asked, from names: the file of routes, a provider, a route, a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from generation.errors import RequestError
from generation.router.cache import ReplyCache
from generation.router.environment import Environment, current_environment
from generation.router.lanes import Lanes
from generation.router.litellm_client import LiteLlmClient
from generation.router.needs import NEEDS
from generation.router.router import Router
from generation.router.routes import AUTO, RouteSettings
from generation.router.settings import RouterSettings, read_settings
from generation.router.spending import Spending
from generation.router.state import StateFile
from ingestion.config import nearest

LONG_RUN = 90.0  # seconds: a route's cool-down and the probe after it


def open_router(
    router_file: str | Path | None = None,
    provider: str | None = None,
    route: str | None = None,
    model: str | None = None,
    environment: Environment | None = None,
    breaker_wait: float | None = None,
    lanes: Lanes | None = None,
    spending: Spending | None = None,
) -> Router:
    """A router over the routes that were asked for; its `chain` is empty where that is the offline generator.

    Args:
        router_file: a router file or its name, see `read_router_file`.
        provider: see `read_chain`.
        route: see `read_chain`.
        model: this model and no other, see `settings_for`.
        environment: None takes that of the process and `.env`.
        breaker_wait: see `read_settings`; `LONG_RUN` suits a run that nobody watches.
        lanes: see `router_of`.
        spending: see `router_of`.

    Raises:
        RequestError: a name or a number is wrong, or what was asked for by name is not configured.
    """
    environment = current_environment() if environment is None else environment
    settings = settings_for(router_file, provider, route, model, environment, breaker_wait)
    return router_of(settings, environment, lanes=lanes, spending=spending)


def settings_for(
    router_file: str | Path | None,
    provider: str | None,
    route: str | None,
    model: str | None,
    environment: Environment,
    breaker_wait: float | None = None,
) -> RouterSettings:
    """Settings whose `chosen` routes are those that were asked for, each with the model that was asked for.

    Args:
        router_file: as in `open_router`.
        provider: as in `open_router`.
        route: as in `open_router`.
        model: None leaves each route its own models. `provider/route:model` is that model on that route, whether the
            route lists it or not; so is a name with `provider` or `route` given. A name alone is asked for on every
            configured route that lists it, in the order of the chain.
        environment: keys, and limits that come before those of the file.
        breaker_wait: see `read_settings`.

    Raises:
        RequestError: a name or a number is wrong, or no configured route serves the model; the message names what to
            set.
    """
    place, _, rest = (model or "").partition(":")
    if place in NEEDS:
        if (provider or AUTO) != AUTO or route:
            raise RequestError(f"model={model} names its route; leave provider= and route= out")
        provider, _, route = place.partition("/")
        model = rest
    if not model:
        if place in NEEDS:
            raise RequestError(f"{place}: has no model behind it; write {place}:<model>")
        return read_settings(router_file, provider, route, environment, breaker_wait)
    if (provider or AUTO) != AUTO or route:
        only = _with_model(model, provider, route, environment)
        return read_settings(router_file, provider, route, only, breaker_wait)
    settings = read_settings(router_file, None, None, environment, breaker_wait)
    return replace(settings, chosen=_serving(settings, model))


def _check_installed(settings: RouterSettings) -> None:
    """Refuse routes where the package that speaks to them is not installed."""
    if settings.chosen and find_spec("litellm") is None:
        raise RequestError("no language model can be asked without litellm; pip install 'rankproof[llm]'")


def router_of(
    settings: RouterSettings,
    environment: Mapping[str, str],
    cached: bool = True,
    lanes: Lanes | None = None,
    spending: Spending | None = None,
) -> Router:
    """A router with all that its settings say.

    Args:
        settings: as `settings_for` gives them.
        environment: keys.
        cached: False asks every time, whatever the settings say.
        lanes: those of a router of the same process, with which limits and breakers are then shared.
        spending: that of a router of the same process, with which caps are then shared.
    """
    lanes = lanes or Lanes(settings=settings.lanes)
    _check_installed(settings)
    return Router(
        settings.chosen,
        LiteLlmClient(environment, prices=settings.prices),
        lanes,
        settings.retry,
        spending or Spending(settings.caps, settings.spending, lanes.clock),
        ReplyCache(settings.replies) if cached and settings.cache else None,
        StateFile(settings.state),
    )


def _with_model(model: str, provider: str | None, route: str | None, environment: Environment) -> Environment:
    """The environment with this model for the routes that were asked for."""
    before, _, wanted = (route or "").rpartition("/")
    owner = before or provider or AUTO
    names = [name for name in NEEDS if owner in (AUTO, name.partition("/")[0])]
    asked = [name for name in names if wanted in ("", name.partition("/")[2])]
    variables = {f"{name.replace('/', '_').upper()}_MODEL": model for name in asked}
    return Environment({**environment, **variables})


def _serving(settings: RouterSettings, model: str) -> tuple[RouteSettings, ...]:
    """The configured routes that list a model, each with it alone.

    Raises:
        RequestError: there are none.
    """
    order = {name: place for place, name in enumerate(settings.chain)}
    routes = sorted(settings.routes, key=lambda each: order.get(each.name, len(order)))
    listing = [each for each in routes if model in each.models]
    found = tuple(replace(each, models=(model,)) for each in listing if each.configured)
    if not found:
        raise RequestError(_unserved(model, routes, listing))
    return found


def _unserved(model: str, routes: list[RouteSettings], listing: list[RouteSettings]) -> str:
    ready = [each for each in routes if each.configured]
    lines = [f"- {each.name}: {each.missing}" for each in listing or routes if not each.configured]
    unset = "\n".join(["set in the environment or in .env what one of these needs:", *lines])
    if listing or not ready:
        return f"no route to {model!r} is configured; {unset}"
    known = list(dict.fromkeys(name for each in ready for name in each.models))
    there = ", ".join(f"{each.name} ({', '.join(each.models)})" for each in ready)
    return (
        f"no configured route lists the model {model!r}{nearest(model, known)}; there are {there}. Name the"
        f" route too, such as {ready[0].name}:{model}"
    )

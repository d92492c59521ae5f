"""Everything that a router file and the environment say, in the types that the router takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from generation.errors import RequestError
from generation.router.environment import Environment
from generation.router.lanes import LaneSettings
from generation.router.needs import NEEDS, PROVIDERS
from generation.router.prices import Price
from generation.router.retry import RetryPolicy
from generation.router.router_file import RouterFile, read_router_file
from generation.router.routes import OFF, RouteSettings, chain_of, choose, number_of, read_routes
from generation.router.spending import Caps
from ingestion.config import ROOT, nearest

WHOLE = ("attempts", "failures", "requests_per_run", "requests_per_day")


@dataclass(frozen=True)
class RouterSettings:
    """What a router is made from.

    `routes`: all that there are; `chain`: names in the order that `auto` tries; `chosen`: the routes to use, in
    order, empty for the offline generator. `timeout` in seconds for a whole reply. `cache`: whether replies are kept.
    `folder` holds replies, the day's spending and the state of the routes.
    """

    routes: tuple[RouteSettings, ...]
    chain: tuple[str, ...]
    chosen: tuple[RouteSettings, ...]
    timeout: float
    retry: RetryPolicy
    lanes: LaneSettings
    caps: Caps
    cache: bool
    folder: Path
    prices: Mapping[str, Price]

    @property
    def replies(self) -> Path:
        """The folder of stored replies."""
        return self.folder / "replies"

    @property
    def spending(self) -> Path:
        """The folder of the days' sums."""
        return self.folder / "spending"

    @property
    def state(self) -> Path:
        """The file in which routers tell how their routes stand."""
        return self.folder / "state.json"


def read_settings(
    file: str | Path | None,
    provider: str | None,
    route: str | None,
    environment: Environment,
    breaker_wait: float | None = None,
) -> RouterSettings:
    """Settings of a router; other arguments and errors as in `routes.read_chain`.

    `breaker_wait`: seconds that take the place of the default's; None leaves it. What the file says comes before.
    """
    router = read_router_file(file)
    routes, chain = read_routes(router, environment), chain_of(router)
    retry, breaker = _numbers(router, "retry"), _numbers(router, "breaker")
    if breaker_wait is not None and not router.has("retry", "breaker_wait"):
        retry["breaker_wait"] = breaker_wait
    quota = breaker.pop("quota_cooldown")
    caps = _numbers(router, "spending")
    return RouterSettings(
        routes=routes,
        chain=chain,
        chosen=choose(routes, chain, provider, route),
        timeout=_above_zero(router, "timeout"),
        retry=RetryPolicy(**retry, quota=quota),
        lanes=LaneSettings(**breaker),
        caps=Caps(caps["per_run"], caps["per_day"], caps["requests_per_run"], caps["requests_per_day"]),
        cache=_switch(router, "cache"),
        folder=ROOT / Path(_text(router, "folder")).expanduser(),
        prices=_prices(router),
    )


def _numbers(router: RouterFile, section: str) -> dict[str, Any]:
    """The numbers of a section; caps may be `off`, which is None."""
    result: dict[str, Any] = {}
    for name, text in router.content[section].items():
        where = f"{router.path}, {section}.{name}"
        if text == OFF and section == "spending":
            result[name] = None
            continue
        value = number_of(text, where)
        if name in WHOLE and (value != int(value) or value < 1):
            raise RequestError(f"{where}={text!r}: must be a whole number from 1")
        result[name] = int(value) if name in WHOLE else value
    return result


def _above_zero(router: RouterFile, name: str) -> float:
    value = number_of(router.content[name], f"{router.path}, {name}")
    if value == 0:
        raise RequestError(f"{router.path}, {name}=0: must be above 0")
    return value


def _switch(router: RouterFile, name: str) -> bool:
    text = str(router.content[name])
    if text not in ("on", "true", OFF, "false"):
        raise RequestError(f"{router.path}, {name}={text!r}: must be on or off")
    return text in ("on", "true")


def _text(router: RouterFile, name: str) -> str:
    value = router.content[name]
    if not isinstance(value, str) or not value:
        raise RequestError(f"{router.path}, {name}: must be a path")
    return value


def _prices(router: RouterFile) -> dict[str, Price]:
    prices = {}
    for name, price in router.content["prices"].items():
        if name.partition("/")[0] in PROVIDERS and "/".join(name.split("/")[:2]) not in NEEDS:
            raise RequestError(f"{router.path}, prices.{name}: no such route{nearest(name, NEEDS)}")
        absent = [field.name for field in fields(Price) if field.name not in price]
        if absent:
            raise RequestError(
                f"{router.path}, prices.{name}: give input and output, in US dollars per million tokens"
            )
        where = f"{router.path}, prices.{name}"
        prices[name] = Price(
            number_of(price["input"], f"{where}.input"), number_of(price["output"], f"{where}.output")
        )
    return prices

"""Routes from the default, a file and the environment: the specification's table, orders, and wrong requests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from generation.errors import RequestError
from generation.router.environment import Environment, read_environment
from generation.router.lanes import LaneSettings
from generation.router.limits import Limits
from generation.router.needs import NEEDS
from generation.router.prices import Price
from generation.router.retry import RetryPolicy
from generation.router.router_file import DEFAULT, read_router_file
from generation.router.routes import read_chain, read_routes
from generation.router.settings import read_settings
from generation.router.spending import Caps
from ingestion.config import ROOT
from tests.planted_keys import planted

ALL = {
    "ANTHROPIC_API_KEY": "k1",
    "AWS_PROFILE": "k2",
    "OPENAI_API_KEY": "k3",
    "AZURE_OPENAI_API_KEY": "k4",
    "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com",
    "GEMINI_API_KEY": "k5",
    "GOOGLE_CLOUD_PROJECT": "p",
    "GOOGLE_CLOUD_LOCATION": "global",
    "OPENAI_BASE_URL": "http://localhost:11434/v1",
    "COMPATIBLE_ANY_MODEL": "llama3.2:3b",
}
SIX = ["anthropic/direct", "anthropic/bedrock", "openai/direct", "openai/azure", "gemini/direct", "gemini/vertex"]


def names(chain):
    return [route.name for route in chain]


def route_of(name, environ=None, file=None):
    routes = read_routes(read_router_file(file), Environment(environ or {}))
    return next(route for route in routes if route.name == name)


@pytest.fixture
def written(tmp_path):
    """Writes a router file and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("name", "limits", "models"),
    [
        ("anthropic/direct", Limits(50, 40_000, 40_000), ("claude-sonnet-5", "claude-sonnet-4-6")),
        ("anthropic/bedrock", Limits(50, 40_000, 8_000, 5), ("claude-sonnet-5", "claude-sonnet-4-6")),
        ("openai/direct", Limits(10_000, 200_000, 200_000), ("gpt-5.5", "gpt-4o-mini")),
        ("openai/azure", Limits(300, 120_000, 120_000), ("gpt-5.5", "gpt-4o-mini")),
        ("gemini/direct", Limits(15, 15_000, 15_000), ("gemini-3.8-flash", "gemini-2.5-flash")),
        ("gemini/vertex", Limits(60, 120_000, 120_000), ("gemini-3.8-flash", "gemini-2.5-flash")),
        ("compatible/any", Limits(), ()),
    ],
)
def test_the_defaults_are_those_of_the_specification(name, limits, models):
    route = route_of(name)
    assert (route.limits, route.models, route.configured) == (limits, models, False)
    assert set(route.origins.values()) == {"default"}


def test_the_defaults_in_the_file_are_those_in_the_code():
    settings = read_settings(None, None, None, Environment({}))
    assert settings.retry == RetryPolicy()
    assert settings.lanes == LaneSettings()
    assert (settings.caps, settings.timeout, settings.cache, settings.prices) == (Caps(), 60.0, True, {})
    assert settings.folder == ROOT / "results" / "router"
    assert list(settings.chain) == SIX
    assert names(settings.routes) == [*SIX, "compatible/any"] == list(NEEDS)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, []),
        (ALL, SIX),
        ({"GEMINI_API_KEY": "x", "OPENAI_API_KEY": "y"}, ["openai/direct", "gemini/direct"]),
        ({"AZURE_OPENAI_API_KEY": "x"}, []),  # the endpoint is missing
        ({"ANTHROPIC_API_KEY": " "}, []),
        ({"ANTHROPIC_API_KEY": "two words"}, []),  # no header can hold it
        ({"ANTHROPIC_API_KEY": "x\n"}, ["anthropic/direct"]),
        ({"AWS_ACCESS_KEY_ID": "x"}, []),
        ({"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}, ["anthropic/bedrock"]),
        ({"OPENAI_BASE_URL": "http://x/v1", "COMPATIBLE_ANY_MODEL": "m"}, []),  # only when it is asked for
    ],
)
def test_auto_takes_what_is_configured_in_order(environ, expected):
    for provider in (None, "auto"):
        assert names(read_chain(None, provider, None, Environment(environ))) == expected


@pytest.mark.parametrize(
    ("provider", "route", "expected"),
    [
        ("offline", None, []),
        ("anthropic", None, ["anthropic/direct", "anthropic/bedrock"]),
        ("gemini", "vertex", ["gemini/vertex"]),
        (None, "bedrock", ["anthropic/bedrock"]),
        ("auto", "openai/azure", ["openai/azure"]),
        ("openai", "openai/azure", ["openai/azure"]),
        (None, "direct", ["anthropic/direct", "openai/direct", "gemini/direct"]),
        ("compatible", None, ["compatible/any"]),
    ],
)
def test_provider_and_route_choose(provider, route, expected):
    assert names(read_chain(None, provider, route, Environment(ALL))) == expected


@pytest.mark.parametrize(
    ("provider", "route", "message"),
    [
        ("antropic", None, "provider 'antropic' not found; did you mean 'anthropic'?"),
        (None, "bedrok", "route 'bedrok' not found; did you mean 'bedrock'?"),
        ("openai", "bedrock", "route 'bedrock' of openai not found; known: azure, direct"),
        ("openai", "gemini/direct", "route=gemini/direct: is not a route of provider=openai"),
        ("offline", "direct", "the offline generator has no routes"),
        ("anthropic", "direct", "anthropic/direct: set ANTHROPIC_API_KEY"),
        ("compatible", None, "compatible/any: set OPENAI_BASE_URL; set COMPATIBLE_ANY_MODEL"),
        ("gemini", "vertex", "gemini/vertex: set GOOGLE_CLOUD_PROJECT; set GOOGLE_CLOUD_LOCATION"),
        ("openai", None, "openai/azure: set AZURE_OPENAI_API_KEY; set AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_a_wrong_or_unconfigured_choice_says_what_to_do(provider, route, message):
    with pytest.raises(RequestError) as caught:
        read_chain(None, provider, route, Environment({}))
    assert message in str(caught.value)


def routes_of(environment):
    return {route.name: route for route in read_routes(read_router_file(), environment)}


LIBRARY = [
    ("AWS_PROFILE=work\nAWS_CONFIG_FILE=aws.ini", "AWS_CONFIG_FILE"),
    ("AWS_ROLE_ARN=arn\nAWS_WEB_IDENTITY_TOKEN_FILE=token", "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI=http://h/", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
]


@pytest.mark.parametrize(("lines", "names"), LIBRARY)
def test_what_only_the_providers_library_reads_counts_in_the_process_alone(lines, names, tmp_path):
    (tmp_path / ".env").write_text(lines)
    told = f"set {names} in the environment itself: the provider's library reads it there, not in {tmp_path}/.env"
    stored = read_environment(tmp_path, {})
    assert routes_of(stored)["anthropic/bedrock"].missing == told
    with pytest.raises(RequestError, match=re.escape(told)):
        read_chain(None, None, "anthropic/bedrock", stored)
    of_process = read_environment(tmp_path, dict(line.split("=") for line in lines.splitlines()))
    assert routes_of(of_process)["anthropic/bedrock"].configured
    keys = read_environment(tmp_path, {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"})
    assert routes_of(keys)["anthropic/bedrock"].configured


def test_what_is_handed_to_the_library_may_stand_in_the_file(tmp_path):
    (tmp_path / ".env").write_text("AWS_PROFILE=work\nGOOGLE_CLOUD_PROJECT=p\nGOOGLE_CLOUD_LOCATION=us-central1\n")
    routes = routes_of(read_environment(tmp_path, {}))
    assert [name for name, route in routes.items() if route.configured] == ["anthropic/bedrock", "gemini/vertex"]


def test_bedrock_by_name_is_tried_with_credentials_that_only_aws_can_find():
    chain = read_chain(None, None, "bedrock", Environment({}))
    assert [(route.name, route.configured) for route in chain] == [("anthropic/bedrock", True)]
    with pytest.raises(RequestError, match="AWS_PROFILE"):
        read_chain(None, "anthropic", None, Environment({}))


@pytest.mark.parametrize("name", list(NEEDS))
def test_variables_come_before_the_file_on_every_route(name, written):
    prefix = name.replace("/", "_").upper()
    file = written(f"routes: {{{name}: {{rpm: 7, input_tpm: 70, models: [mine]}}}}")
    before = route_of(name, {}, file)
    assert (before.limits.rpm, before.limits.input_tpm, before.models) == (7, 70, ("mine",))
    assert before.limits.output_tpm == route_of(name).limits.output_tpm
    assert (before.origins["rpm"], before.origins["output_tpm"]) == ("file", "default")
    environ = {f"{prefix}_RPM": "3", f"{prefix}_INPUT_TPM": "off", f"{prefix}_OUTPUT_TPM": "1_000"}
    after = route_of(name, environ | {f"{prefix}_MODEL": "one, two", f"{prefix}_BASE_URL": "http://x"}, file)
    assert (after.limits.rpm, after.limits.input_tpm, after.limits.output_tpm) == (3, None, 1000)
    assert (after.models, after.settings["base_url"]) == (("one", "two"), "http://x")
    assert {after.origins[key] for key in ("rpm", "input_tpm", "output_tpm", "models", "base_url")} == {"environment"}
    assert after.limits.output_weight == route_of(name).limits.output_weight


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", "40,000", "1e3", "٣", "Off"])
def test_a_wrong_number_names_its_variable(value):
    with pytest.raises(RequestError, match=r"GEMINI_VERTEX_OUTPUT_TPM=.*whole number from 1.*or off"):
        route_of("gemini/vertex", {"GEMINI_VERTEX_OUTPUT_TPM": value})


def test_a_key_in_the_wrong_variable_is_not_shown():
    key = planted(4)[0].value
    with pytest.raises(RequestError, match="ANTHROPIC_DIRECT_RPM") as caught:
        route_of("anthropic/direct", {"ANTHROPIC_DIRECT_RPM": key})
    assert key[14:30] not in str(caught.value)


def test_a_variable_that_is_nearly_right_is_an_error_and_a_stranger_is_not():
    with pytest.raises(RequestError, match="ANTHROPIC_DIRECT_INPUT_TMP; did you mean ANTHROPIC_DIRECT_INPUT_TPM"):
        route_of("anthropic/direct", {"ANTHROPIC_DIRECT_INPUT_TMP": "5"})
    assert route_of("openai/azure", {"OPENAI_AZURE_SUBSCRIPTION": "x"}).limits.rpm == 300


def test_settings_by_their_usual_variables_and_from_the_file(written):
    azure = route_of("openai/azure", ALL | {"AZURE_OPENAI_API_VERSION": "2024-10-21"})
    assert azure.settings == {"base_url": "https://mine.openai.azure.com", "api_version": "2024-10-21"}
    assert route_of("gemini/vertex", ALL).settings == {"project": "p", "location": "global"}
    assert route_of("openai/direct", ALL).settings == {}  # OPENAI_BASE_URL is the compatible route's
    file = written("routes: {anthropic/bedrock: {settings: {region: eu-west-1, inference_profile: eu}}}")
    bedrock = route_of("anthropic/bedrock", {}, file)
    assert bedrock.settings == {"region": "eu-west-1", "inference_profile": "eu"}
    assert route_of("anthropic/bedrock", {"AWS_REGION": "us-west-2"}, file).settings["region"] == "us-west-2"
    target = route_of("compatible/any", ALL).target("other")
    assert (target.name, target.model, dict(target.settings)) == (
        "compatible/any",
        "other",
        {"base_url": "http://localhost:11434/v1"},
    )
    assert route_of("openai/direct", ALL).target().model == "gpt-5.5"


def test_no_key_reaches_the_settings():
    shown = repr(read_settings(None, None, None, Environment({name: f"VALUE-{name}" for name in ALL})))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY"):
        assert f"VALUE-{name}" not in shown


def test_a_file_says_only_what_differs(written):
    file = written(
        """
        chain: [gemini/direct, anthropic/direct, compatible/any]
        timeout: 90
        cache: off
        folder: ~/router
        retry: {attempts: 4, rate_limit_wait: 0}
        breaker: {failures: 5, cooldown: 30, quota_cooldown: 60}
        spending: {per_run: 0.5, per_day: 2, requests_per_day: 100}
        prices: {my-model: {input: 1.5, output: 6}, openai/azure/x: {input: 0, output: 0}}
        """
    )
    settings = read_settings(file, None, None, Environment(ALL))
    assert names(settings.chosen) == ["gemini/direct", "anthropic/direct", "compatible/any"]
    assert (settings.timeout, settings.cache, settings.folder) == (90.0, False, Path.home() / "router")
    assert settings.retry == RetryPolicy(attempts=4, rate_limit_wait=0.0, quota=60.0)
    assert settings.lanes == LaneSettings(failures=5, cooldown=30.0)
    assert settings.caps == Caps(0.5, 2.0, None, 100)
    assert settings.prices == {"my-model": Price(1.5, 6.0), "openai/azure/x": Price(0.0, 0.0)}
    # a provider whose route is not in the chain follows in the table's order
    assert names(read_chain(file, "anthropic", None, Environment(ALL))) == ["anthropic/direct", "anthropic/bedrock"]
    assert (settings.replies.name, settings.spending.name, settings.state.name) == (
        "replies",
        "spending",
        "state.json",
    )


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("[4.10, 007, yes, 1:30, 2026-01-02, ~]", ("4.10", "007", "yes", "1:30", "2026-01-02", "~")),
        ("gpt", ("gpt",)),
    ],
)  # fmt: skip
def test_yaml_does_not_change_what_is_written(text, models, written):
    assert route_of("openai/direct", {}, written(f"routes: {{openai/direct: {{models: {text}}}}}")).models == models


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timout: 3", "unknown key 'timout'; did you mean 'timeout'?"),
        (
            "routes: {antropic/direct: {rpm: 1}}",
            "unknown key 'routes.antropic/direct'; did you mean 'anthropic/direct'",
        ),
        ("routes: {openai/azure: {rpn: 1}}", "unknown key 'routes.openai/azure.rpn'; did you mean 'rpm'?"),
        ("routes: {openai/azure: {settings: {api_versoin: 1}}}", "did you mean 'api_version'?"),
        ("routes: {openai/azure: {rpm: 40,000}}", "mine.yaml"),
        ("routes: {openai/azure: {rpm: '40,000'}}", "routes.openai/azure.rpm='40,000': must be a whole number"),
        ("routes: {openai/azure: {rpm: [1]}}", "must be a whole number"),
        ("routes: {openai/azure: {output_weight: 0}}", "output_weight=0: must be above 0"),
        ("routes: {openai/azure: {output_weight: nan}}", "must be a number"),
        ("routes: {openai/azure: {models: [a, a]}}", "names of models, each once"),
        ("routes: {openai/azure: {models: {a: b}}}", "names of models, each once"),
        ("routes: {openai/azure: 5}", "write 'name: value' lines below it"),
        ("routes: [openai/azure]", "routes: write 'name: value' lines below it"),
        ("chain: [openai/azur]", "unknown route 'openai/azur'; did you mean 'openai/azure'?"),
        ("chain: [openai/azure, openai/azure]", "a route stands twice"),
        ("chain: openai/azure", "write a list of routes"),
        ("retry: {tries: 3}", "unknown key 'retry.tries'"),
        ("retry: {attempts: 1.5}", "retry.attempts='1.5': must be a whole number from 1"),
        ("breaker: {failures: 0}", "must be a whole number from 1"),
        ("breaker: {cooldown: off}", "breaker.cooldown='off': must be a number from 0"),
        ("spending: {per_day: -1}", "must be a number from 0"),
        ("spending: {per_month: 1}", "unknown key 'spending.per_month'"),
        ("timeout: 0", "must be above 0"),
        ("timeout: {a: 1}", "must be a number"),
        ("cache: maybe", "must be on or off"),
        ("folder: []", "must be a path"),
        ("prices: {m: {input: 1}}", "give input and output"),
        ("prices: {m: {in: 1, output: 2}}", "unknown key 'prices.m.in'; did you mean 'input'?"),
        ("prices: {openai/azur/m: {input: 1, output: 2}}", "no such route; did you mean 'openai/azure'?"),
        ("prices: [1]", "write 'name: value' lines below it"),
        ("timeout: 1\ntimeout: 2", "line 2: a name stands twice"),
        ("timeout: 1\n- x", "line 2"),
        ("timeout: '1", "line"),
        ("just words", "write 'name: value' lines"),
        ("x: \x01", "is no YAML"),
    ],
)
def test_a_wrong_file_is_named_with_the_place_and_the_remedy(text, message, written):
    with pytest.raises(RequestError) as caught:
        read_settings(written(text), None, None, Environment({}))
    assert message in str(caught.value)
    assert "mine.yaml" in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3


@pytest.mark.parametrize("key", planted(9), ids=lambda key: key.shape)
def test_no_key_may_stand_in_a_file_and_the_error_does_not_show_it(key, written):
    value = key.secret.replace("\n", "\\n")
    texts = [
        f'ANTHROPIC_API_KEY: "{value}"',
        f'routes: {{openai/azure: {{settings: {{api_key: "{value}"}}}}}}',
        f'timeout: 1\n  bad: "{value}"\n - x',
        f'"{value}": 1\n"{value}": 2',
    ]
    if key.shape not in ("azure", "aws secret", "bearer", "generic"):  # these have no mark of their own
        texts += [f'routes: {{openai/direct: {{models: ["{value}"]}}}}', f'folder: "{value}"']
    for text in texts:
        with pytest.raises(RequestError) as caught:
            read_settings(written(text), None, None, Environment({}))
        assert not [piece for piece in key.pieces if piece in str(caught.value)]
    with pytest.raises(RequestError, match="put it into the environment"):
        read_settings(written(texts[0]), None, None, Environment({}))


def test_a_password_in_a_url_is_a_key_too(written):
    with pytest.raises(RequestError, match="looks like a key"):
        read_settings(
            written("routes: {openai/direct: {settings: {base_url: 'https://me:secret@host/v1'}}}"),
            None,
            None,
            Environment({}),
        )


def test_files_by_name_and_files_that_are_not_there(tmp_path):
    assert read_router_file("default").path == DEFAULT
    assert read_router_file("default").own == {}
    with pytest.raises(RequestError, match="router=defualt: no such file; did you mean 'default'"):
        read_router_file("defualt")
    with pytest.raises(RequestError, match="no such file"):
        read_router_file(tmp_path / "x.yaml")
    (tmp_path / "empty.yaml").write_text("")
    assert read_settings(tmp_path / "empty.yaml", None, None, Environment({})).timeout == 60
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(RequestError, match="not UTF-8"):
        read_router_file(tmp_path / "bytes.yaml")


def test_the_example_names_what_is_read(tmp_path):
    text = (ROOT / ".env.example").read_text()
    (tmp_path / ".env").write_text(text)
    assert dict(read_environment(tmp_path, {})) == {}  # names and comments only
    offered = {line.removeprefix("#").partition("=")[0] for line in text.splitlines() if line.endswith("=")}
    read = {name for need in NEEDS.values() for group in need.keys for name in group}
    read |= {name for need in NEEDS.values() for group in need.settings.values() for name in group}
    read |= {f"{route.replace('/', '_').upper()}_{what}" for route in NEEDS for what in ("MODEL", "RPM")}
    read |= {"ANTHROPIC_DIRECT_INPUT_TPM", "ANTHROPIC_DIRECT_OUTPUT_TPM"}
    assert offered - read == {"AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"}  # read by the client alone
    assert {need.keys[0][0] for need in NEEDS.values() if need.keys} <= offered

"""The overview of routes: what it says, where it says it comes from, and that it shows no key, whole or in part."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from generation.router import providers_command
from generation.router.environment import Environment
from generation.router.journal import Journal
from generation.router.providers_command import main, overview
from generation.router.spending import utc_day
from generation.router.state import RouteState, StateFile
from ingestion.config import ROOT
from tests.planted_keys import planted

NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z
KEYS = {key.variable: key.value for key in planted(11)}


@pytest.fixture
def file(tmp_path):
    """A router file whose folder is empty."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"folder: {tmp_path / 'router'}\nspending: {{per_day: 5}}\nroutes: {{openai/azure: {{rpm: 77}}}}\n"
    )
    return path


def shown(file, environ, now=NOON):
    return overview(str(file), Environment(environ), now)


def row(text, name):
    provider, route = name.split("/")
    return next(line for line in text.splitlines() if line.split()[:2] == [provider, route])


def test_a_row_says_what_is_configured_and_where_limits_come_from(file):
    text = shown(
        file, {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_DIRECT_RPM": "20", "GEMINI_DIRECT_INPUT_TPM": "off"}
    ).as_text()
    assert row(text, "anthropic/direct").split("  ")[0] == "anthropic"
    cells = [cell.strip() for cell in row(text, "anthropic/direct").split("  ") if cell.strip()]
    models = "claude-sonnet-5, claude-sonnet-4-6"
    assert cells == ["anthropic", "direct", "ready", models, "20 (environment)", "40,000", "40,000", "not used"]
    assert "77 (file)" in row(text, "openai/azure")
    assert "off (environment)" in row(text, "gemini/direct")
    assert "8,000 x5" in row(text, "anthropic/bedrock")
    assert "  openai/azure: set AZURE_OPENAI_API_KEY; set AZURE_OPENAI_ENDPOINT" in text
    assert "  anthropic/direct:" not in text
    assert "provider=auto: anthropic, claude-sonnet-5; in order: anthropic/direct\n" in text


def test_without_any_key_auto_is_offline(file):
    view = shown(file, {})
    assert "provider=auto: offline, the generator that needs no key" in view.as_text()
    assert view.as_json()["auto"] == {"provider": "offline", "route": "", "model": ""}


def test_breakers_and_spending_are_what_routers_left_behind(file, tmp_path):
    StateFile(tmp_path / "router" / "state.json", wall=lambda: NOON - 10).write(
        [
            RouteState("anthropic/direct", "open", NOON + 50, "CapacityError", written=NOON - 10),
            RouteState("gemini/direct", "closed", minute_requests=4, written=NOON - 10),
            RouteState("openai/direct", "open", None, "AuthError", written=NOON - 10),
        ]
    )
    journal = Journal(tmp_path / "router" / "spending", utc_day())
    for dollars in (0.25, 1.5):
        request = journal.reserve(1, None, None)
        journal.settle(request, int(dollars * 1e9))
    view = shown(file, {"ANTHROPIC_API_KEY": "x"})
    text = view.as_text()
    assert row(text, "anthropic/direct").endswith(
        "open until 2026-01-01T12:00:50Z, since 2026-01-01T11:59:50Z at the latest: CapacityError"
    )
    assert row(text, "gemini/direct").endswith("closed (seen 2026-01-01T11:59:50Z)")
    assert "open until restarted" in row(text, "openai/direct")
    assert "spent today (UTC): $1.7500 in 2 requests; cap per day: $5.00, per run: none" in text
    content = view.as_json()
    assert content["routes"][0]["state"]["open_until"] == "2026-01-01T12:00:50Z"
    assert content["routes"][4]["state"]["requests_last_minute"] == 4
    assert content["spending"] == {
        "today": 1.75,
        "requests_today": 2,
        "per_day": 5.0,
        "per_run": None,
        "requests_per_day": None,
        "requests_per_run": None,
    }
    later = shown(file, {}, NOON + 51).as_text()
    assert "half open" in row(later, "anthropic/direct")


def test_json_holds_the_same_as_the_table(file, capsys):
    environment = Environment(
        {"OPENAI_API_KEY": "x", "OPENAI_DIRECT_RPM": "9", "OPENAI_DIRECT_BASE_URL": "http://h/v1"}
    )
    assert main([f"router={file}", "--json"], environment) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["auto"] == {"provider": "openai", "route": "direct", "model": "gpt-5.5"}
    direct = content["routes"][2]
    assert (direct["provider"], direct["route"], direct["configured"], direct["missing"]) == (
        "openai",
        "direct",
        True,
        "",
    )
    assert direct["limits"]["rpm"] == {"value": 9, "from": "environment"}
    assert direct["limits"]["input_tpm"] == {"value": 200_000, "from": "default"}
    assert direct["settings"] == {"base_url": {"value": "http://h/v1", "from": "environment"}}
    assert content["routes"][3]["limits"]["rpm"] == {"value": 77, "from": "file"}


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_no_part_of_a_key_is_shown(option, file, capsys):
    environ = KEYS | {"AZURE_OPENAI_ENDPOINT": f"https://me:{KEYS['COMPATIBLE_API_KEY']}@host/x"}
    environ |= {"OPENAI_DIRECT_BASE_URL": f"https://h/v1?k={KEYS['GEMINI_API_KEY']}"}
    assert main([f"router={file}", *option], Environment(environ)) == 0
    out = capsys.readouterr().out
    for key in planted(11):
        parts = [key.value[at : at + 6] for at in range(16, len(key.value) - 6) if key.shape != "private key"]
        assert not [part for part in [*key.pieces, *parts] if part in out]
    assert ("[redacted:" in out) == bool(option)  # the table shows no addresses


@pytest.mark.parametrize(
    ("arguments", "environ", "message"),
    [
        (["--jsn"], {}, "did you mean '--json'?"),
        (["route=x"], {}, "unknown argument 'route=x'; did you mean 'router='?"),
        (["router=nowhere.yaml"], {}, "router=nowhere.yaml: no such file"),
        ([], {"OPENAI_AZURE_RPM": "lots"}, "OPENAI_AZURE_RPM='lots'"),
        ([], {"OPENAI_AZURE_RPM": KEYS["ANTHROPIC_API_KEY"], "X_KEY": KEYS["ANTHROPIC_API_KEY"]}, "[redacted:"),
    ],
)
def test_a_wrong_request_ends_with_2_and_says_what_to_do(arguments, environ, message, capsys):
    assert main(arguments, Environment(environ)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert KEYS["ANTHROPIC_API_KEY"][14:30] not in captured.err


def test_help_needs_nothing(capsys):
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == providers_command.USAGE


LIGHT = """
import sys
from generation.router.environment import Environment
from generation.router.providers_command import main
code = main(["--json"], Environment({}))
print([name for name in ("litellm", "openai", "boto3", "torch", "mlflow") if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def test_it_answers_without_litellm():
    command = [sys.executable, "-c", LIGHT]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    assert done.stderr == "[]\n"

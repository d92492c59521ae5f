"""docs/answers.md and docs/providers.md say what the commands print, what a run finds, and which errors there are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.answers.published import table
from evaluation.runner import run
from generation import errors
from generation.build import build_generator
from generation.generators.chat import Chat
from generation.router.needs import NEEDS
from ingestion.config import CONF, ROOT, load, to_plain
from tests.e2e.test_docs import FENCE

ANSWERS, PROVIDERS = ((ROOT / "docs" / name).read_text() for name in ("answers.md", "providers.md"))
SECONDS = re.compile(r"\d+\.\d+ s\)")
AGAIN = (
    "python run_eval.py strategy=bm25 generator=grounded out=<runs>/bundled-answers; "
    "python -m evaluation.publish runs=<runs> into=[docs/answers.md]"
)
KEYS = re.compile(r"(?:ANTHROPIC|AWS|OPENAI|AZURE|GEMINI|GOOGLE|COMPATIBLE)_")


def shown(page: str) -> list[tuple[str, str]]:
    """Every command of a page whose output stands below it, with that output."""
    blocks = (text.partition("\n") for _, text in FENCE.findall(page))
    return [(first.removeprefix("$ "), rest.rstrip("\n")) for first, _, rest in blocks if first.startswith("$ ")]


def printed(command: str, folder: Path, *added: str) -> str:
    """What a command prints in a folder without keys, in a terminal of 80 columns."""
    (folder / ".env").write_text("")  # else that of the project would be read
    clean = {name: value for name, value in os.environ.items() if not KEYS.match(name)}
    words = re.findall(r'"([^"]*)"|(\S+)', command.removeprefix("python "))
    process = subprocess.run(
        [sys.executable, *(quoted or plain for quoted, plain in words), *added],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**clean, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
        check=True,
    )
    return "\n".join(line.rstrip() for line in process.stdout.rstrip("\n").splitlines())


@pytest.mark.parametrize(("command", "output"), shown(ANSWERS), ids=["answered", "refused"])
def test_an_answer_of_the_docs_is_what_ask_prints(command, output, tmp_path):
    assert SECONDS.sub("s)", printed(command, tmp_path)) == SECONDS.sub("s)", output)


def test_the_routes_of_the_docs_are_what_providers_prints(tmp_path):
    ((command, output),) = shown(PROVIDERS)
    (tmp_path / "unused.yaml").write_text(f"folder: {tmp_path}\n")
    assert printed(command, tmp_path, f"router={tmp_path / 'unused.yaml'}") == output


def test_the_tables_about_answers_are_those_of_a_run(tmp_path):
    """Whoever changes what is answered writes them again."""
    typed = ["strategy=bm25", "generator=grounded", "tracking=none", f"out={tmp_path / 'run'}"]
    typed.append(f"ledger={tmp_path / 'ledger.jsonl'}")
    assert run(load(typed), typed, {}, None).code == 0
    place = re.search(r"<!-- answers: bundled-answers -->\n(.*?)\n<!-- /answers -->", ANSWERS, re.DOTALL)
    assert table(tmp_path / "run") == place[1], AGAIN


def test_the_generator_of_the_docs_is_a_chat_of_one_model(tmp_path, monkeypatch):
    shutil.copytree(CONF, tmp_path / "conf")
    path, _, content = next(text for kind, text in FENCE.findall(ANSWERS) if kind == "yaml").partition("\n")
    (tmp_path / path.removeprefix("# ")).write_text(content)
    monkeypatch.setattr("ingestion.config.CONF", tmp_path / "conf")
    made = build_generator(to_plain(load(["generator=gpt"]))["generator"])
    assert isinstance(made, Chat) and made.model == "openai/direct:gpt-5.5"


def test_every_error_and_every_route_of_the_code_has_its_row():
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and name != "GenerationError"}
    rows = set(re.findall(r"^\| `(\w+Error)` \|", PROVIDERS, re.MULTILINE))
    assert rows == {name for name in kinds if issubclass(getattr(errors, name), errors.GenerationError)}
    assert set(re.findall(r"^\| `([a-z]+/[a-z]+)` \|", PROVIDERS, re.MULTILINE)) == set(NEEDS)
    for name, need in NEEDS.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", PROVIDERS, re.MULTILINE)
        for variable in (variable for names in need.keys[:3] for variable in names):
            assert f"`{variable}`" in row

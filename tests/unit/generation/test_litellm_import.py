"""When LiteLLM is imported, and that it says nothing as it is."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingestion.config import ROOT

ASK = """
from tests.providers import FakeProvider, answer
from generation.router.litellm_client import LiteLlmClient
from generation.router.wire import Call, Message

write = lambda piece: print(piece, end=" ")
call = Call((Message("user", "how many?"),))
with FakeProvider("gemini", [answer("one two")]) as server:
    client = LiteLlmClient(server.environment())
    assert client.complete(server.target(), call).text == client.complete(server.target(), call, write).text
"""


def at_import(path: Path) -> list[str]:
    """What a file does as soon as it is imported: its statements outside of functions and type checks."""
    tree = ast.parse(path.read_text())
    plain = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign)
    return [ast.unparse(statement) for statement in tree.body if isinstance(statement, plain)]


def test_collecting_tests_and_importing_ours_does_not_import_it():
    files = [
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "generation").rglob("*.py"),
        *(ROOT / "evaluation").rglob("*.py"),
    ]
    marks = ("import litellm", "from litellm", "importorskip('litellm'")
    found = [path.name for path in files if any(mark in line for line in at_import(path) for mark in marks)]
    assert found == []
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


@pytest.mark.llm
def test_the_first_question_of_a_process_prints_nothing_but_the_answer():
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=True)
    assert ("".join(done.stdout.split()), done.stderr) == ("onetwo", "")  # without our filter: 151 warnings

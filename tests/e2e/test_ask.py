"""`python -m generation ask` in a process of its own, over the bundled corpus and over papers of one's own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from generation.__main__ import main
from generation.api import answer
from ingestion.config import ROOT
from tests.unit.generation.bundled import bundled

QUESTION = "What does the Silent Chunk Rule forbid?"
PAPERS = {
    "fusion": """
= Rank fusion
Reciprocal rank fusion adds one over a constant plus the rank of every list in which a document stands.
#pagebreak()
= The constant
The constant k of sixty damps the weight of the very first ranks, so that no single list decides alone.
It was measured on 33 lists of questions.
""",
    "bees": """
= Honey bees
A forager tells her sisters the direction of nectar by a waggle dance on the vertical comb.
""",
}
LIGHT = """
import sys
from generation.__main__ import main
code = main(["ask", *sys.argv[1:]])
print([name for name in ("litellm", "torch", "mlflow", "openai", "boto3") if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """One process without any key."""
    kept = {name: value for name, value in os.environ.items() if not re.search(r"_KEY|^AWS_|^GOOGLE_|^OPENAI_", name)}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**kept, "COLUMNS": "100", **more},
        check=False,
    )


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> list[str]:
    """Arguments that lead to papers of one's own."""
    typst = pytest.importorskip("typst", reason="typst makes the papers; pip install '.[corpus]'")
    folder = tmp_path_factory.mktemp("asked")
    (folder / "papers").mkdir()
    for name, text in PAPERS.items():
        (folder / f"{name}.typ").write_text(text)
        typst.compile(str(folder / f"{name}.typ"), output=str(folder / "papers" / f"{name}.pdf"))
    return [f"corpus.path={folder / 'papers'}", f"artifacts={folder / 'artifacts'}"]


def test_a_process_answers_as_python_does():
    done = run("-m", "generation", "ask", QUESTION, "--json", "strategy=rrf", PYTHONHASHSEED="4711")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    expected = json.loads(json.dumps(answer(QUESTION, searcher=bundled(), strategy="rrf").as_json()))
    found.pop("usage"), expected.pop("usage")
    assert found == expected
    assert found["claims"][0]["citations"][0]["doc_name"].endswith(".pdf")


def test_an_offline_answer_loads_nothing_heavy_and_says_that_it_is_offline():
    done = run("-c", LIGHT, QUESTION, "provider=auto", "--stream")
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    assert done.stdout.startswith("1. ")
    assert done.stdout.splitlines()[-1].startswith("Note: answered offline: no language model is configured")


def test_a_wrong_request_ends_with_code_2_and_no_traceback():
    done = run("-m", "generation", "ask", QUESTION, "strateg=rrf")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "generation: unknown key 'strateg'; did you mean 'strategy'?\n"


@pytest.mark.parametrize(
    ("question", "document", "page", "section", "quote"),
    [
        (
            "Which weight does the constant k damp?",
            "fusion.pdf",
            2,
            "The constant",
            "The constant k of sixty damps the weight of the very first ranks, so that no single list decides alone.",
        ),
        (
            "What does a waggle dance tell?",
            "bees.pdf",
            1,
            "",
            "A forager tells her sisters the direction of nectar by a waggle dance on the vertical comb.",
        ),
    ],
)
def test_papers_of_ones_own_are_cited_by_page_and_section(own, capsys, question, document, page, section, quote):
    assert main(["ask", question, *own, "generator.refusing=false", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    places = [place for claim in found["claims"] for place in claim["citations"]]
    (place,) = [place for place in places if place["quote"] == quote]
    assert (place["doc_name"], place["page"]) == (document, page)
    assert section in place["section"]
    assert Path(place["doc_name"]).stem in PAPERS


def test_of_papers_that_do_not_speak_of_it_nothing_is_claimed(own, capsys):
    assert main(["ask", "Which temperature does the reactor of Zwentendorf reach?", *own]) == 0
    said = capsys.readouterr().out
    assert said.startswith("No answer: ")
    assert "Sources\nS" not in said

"""Search by hand over two small papers: in Python, and as it is typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from retrieval.__main__ import main
from retrieval.api import Searcher
from retrieval.errors import StrategyNotFoundError

ROOT = Path(__file__).resolve().parents[3]
PAPERS = {
    "fusion": """
= Rank fusion
Reciprocal rank fusion adds one over a constant plus the rank of every list in which a document stands.
#pagebreak()
= The constant
The constant k of sixty damps the weight of the very first ranks, so that no single list decides alone.
""",
    "bees": """
= Honey bees
A forager tells her sisters the direction of nectar by a waggle dance on the vertical comb.
""",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    typst = pytest.importorskip("typst", reason="typst makes the papers; pip install '.[corpus]'")
    folder = tmp_path_factory.mktemp("searched")
    (folder / "papers").mkdir()
    for name, text in PAPERS.items():
        (folder / f"{name}.typ").write_text(text)
        typst.compile(str(folder / f"{name}.typ"), output=str(folder / "papers" / f"{name}.pdf"))
    return folder


@pytest.fixture(scope="module")
def searcher(base: Path) -> Searcher:
    return Searcher.open(base / "papers", base / "artifacts")


@pytest.fixture
def typed(base: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "100")
    return [f"corpus.path={base / 'papers'}", f"artifacts={base / 'artifacts'}"]


@pytest.mark.parametrize(
    ("question", "document", "page", "section"),
    [
        ("Which weight does the constant k damp?", "fusion.pdf", 2, "The constant"),
        ("reciprocal rank fusion", "fusion.pdf", 1, ""),
        ("What does the waggle dance tell?", "bees.pdf", 1, ""),
    ],
)
def test_the_first_hit_is_where_the_words_stand(searcher, question, document, page, section):
    hit = searcher.search(question, k=1)[0]
    assert (hit.rank, hit.doc_name, hit.page) == (1, document, page)
    assert section in hit.section
    assert [(stage.stage, stage.rank) for stage in hit.stages] == [("first", 1)]


def test_every_stage_says_where_it_put_a_hit(searcher):
    hit = searcher.search("reciprocal rank fusion", strategy="rrf_dedup_mmr", k=1)[0]
    assert [stage.stage for stage in hit.stages] == [
        "branches.bm25",
        "branches.tfidf",
        "fuser",
        "then.dedup",
        "then.mmr",
    ]
    assert {stage.rank for stage in hit.stages} == {1}
    assert hit.stages[2].score == pytest.approx(2 / 61)  # first in both lists
    k0 = searcher.search("reciprocal rank fusion", strategy="rrf", k=1, overrides=["strategy.fuser.k=0"])[0]
    assert k0.stages[-1].score == pytest.approx(2.0)


def test_k_hits_at_most_and_none_without_a_shared_term(searcher):
    assert len(searcher.search("constant rank", k=1)) == 1
    assert [hit.rank for hit in searcher.search("constant rank", k=9)] == [1, 2]
    assert searcher.search("zzzz") == searcher.search("") == []
    with pytest.raises(StrategyNotFoundError, match="did you mean 'rrf'"):
        searcher.search("rank", strategy="rff")


@pytest.mark.parametrize(
    "question",
    [
        'what\'s the "waggle dance", k=5, {a: b} [c] and $x=${y}?',
        "waggle dance=strategy",
        "'waggle' 'dance",
        "dance,",
    ],
)
def test_a_question_is_text_and_no_configuration(question, typed, capsys):
    assert main([question, *typed, "k=1"]) == 0
    assert capsys.readouterr().out.startswith("1. bees.pdf, page 1")


def test_as_it_is_typed(typed):
    command = [sys.executable, "-m", "retrieval", "Which weight does k = 60, the constant, damp?", *typed]
    done = subprocess.run([*command, "strategy=rrf"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, stages, *_ = done.stdout.splitlines()
    assert first.startswith("1. fusion.pdf, page 2, § ")
    assert stages.split()[:2] == ["branches.bm25", "1"]
    assert "damps the weight of the very first ranks" in " ".join(done.stdout.split())
    done = subprocess.run([*command, "strategy=rff"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "retrieval: strategy 'rff' not found; did you mean 'rrf'?\n"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["k=0"], "k='0': must be a whole number from 1"),
        (["k=many"], "k='many': must be a whole number from 1"),
        (["strategy.k2=1"], "k2"),
        (["strategy.first.k1=high"], "strategy.first.k1='high': must be float, not str"),
        (["strategy.first.b=2"], "b between 0 and 1"),
        (["corpus.path=/no/such/folder"], "no such file or folder"),
    ],
)
def test_a_wrong_request_has_exit_code_2(more, said, typed, capsys):
    assert main(["rank", *typed, *more]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith("retrieval: ")
    assert said in found.err


def test_nothing_found_is_said_and_no_failure(typed, capsys):
    assert main(["zzzz", *typed]) == 0
    assert capsys.readouterr().out == "nothing found: no chunk that may be shown fits the question\n"


def test_help_and_no_question(capsys):
    assert main(["--help"]) == 0
    assert main([]) == 2
    assert capsys.readouterr().out.count("usage: python -m retrieval") == 2

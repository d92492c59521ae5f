"""Lines from the graph of a handful of chunks whose edges were counted by hand in the tests of ingestion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from generation.relations import related
from ingestion.artifacts import ArtifactStore
from retrieval.filters import Where
from retrieval.retrievers.graph import Graph
from retrieval.stage import Context
from tests.unit.ingestion.test_graph import TEXTS, corpus_of

BA = "Bootstrap aggregation (BA)"
# chunks by id: a000, a001 and a002 of a.pdf, b000 and b001 of b.pdf, all on page 1
ALL = (
    f"random forest - uses - {BA} (a.pdf, page 1)",
    "random forest - outperforms - PyTorch (b.pdf, page 1)",
    f"{BA} - mentioned together with - PyTorch (b.pdf, page 1)",
    f"{BA} - mentioned together with - random forest (a.pdf, page 1)",
)


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(corpus_of(TEXTS), ArtifactStore(tmp_path))


def test_only_edges_between_entities_of_the_question_typed_ones_first(ctx):
    questions = ["Do random forests need BA or PyTorch?", "PyTorch and the random forest", "PyTorch alone", "", "x"]
    found = related(ctx, questions)
    assert sorted(found[0][:2]) == sorted(ALL[:2])
    assert sorted(found[0][2:]) == sorted(ALL[2:])
    assert found[1:] == [(ALL[1],), (), (), ()]


def test_a_batch_equals_one_question_at_a_time_and_the_limit_cuts(ctx):
    questions = ["random forest and BA", "BA or PyTorch", "random forest, BA, PyTorch"]
    batch = related(ctx, questions)
    assert batch == [related(ctx, [question])[0] for question in questions]
    assert related(ctx, questions, most=1) == [lines[:1] for lines in batch]


def test_a_filter_hides_what_only_filtered_documents_say(ctx):
    ctx.where = Where.read("a")
    assert set(related(ctx, ["random forest, BA, PyTorch"])[0]) == {ALL[0], ALL[3]}


def test_the_graph_is_that_of_graph_retrieval(ctx):
    related(ctx, ["random forest"])
    built = len(ctx.store.built)
    Graph().graph(ctx)
    assert len(ctx.store.built) == built


def test_an_empty_corpus_has_no_relations(tmp_path):
    assert related(Context(corpus_of({}), ArtifactStore(tmp_path)), ["BA", "x"]) == [(), ()]


def test_lines_do_not_depend_on_the_hash_seed(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from generation.relations import related\n"
        "from ingestion.artifacts import ArtifactStore\n"
        "from retrieval.stage import Context\n"
        "from tests.unit.ingestion.test_graph import TEXTS, corpus_of\n"
        "ctx = Context(corpus_of(TEXTS), ArtifactStore(Path(sys.argv[1])))\n"
        "print(related(ctx, ['random forest, BA, PyTorch']))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1

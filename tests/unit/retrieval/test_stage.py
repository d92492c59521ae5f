"""What the context remembers of a stage, what it names in an error, and in which order stages run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from ingestion.artifacts import ArtifactStore
from retrieval.build import build_strategy, strategy_config
from retrieval.errors import ScoringError
from retrieval.fusers.rrf import Rrf
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import Queries, make_run
from retrieval.stage import LATENCY_SAMPLE, Context, Fused, Pipeline, Remembered, Retriever, components, walk
from tests.contract.conftest import corpus_of, corpus_rows

CALLS: list[int] = []


@dataclass(frozen=True)
class Fixed:
    """Gives every query the same chunk with the same score, and counts its calls."""

    VERSION: ClassVar[int] = 1
    score: float | str = 1.0
    chunks: tuple[int, ...] = (4,)

    def search(self, ctx, queries):
        CALLS.append(len(queries))
        rows = [row for row in range(len(queries)) for _ in self.chunks]
        return make_run(rows, self.chunks * len(queries), [float(self.score)] * len(rows), ctx.depth)


@dataclass(frozen=True)
class Reverse:
    VERSION: ClassVar[int] = 1

    def rerank(self, ctx, queries, run):
        return make_run(run.query, run.chunk, run.rank, ctx.depth)


@dataclass(frozen=True)
class Telling:
    """Drops each query's first chunk and says so; the weights of a model count among its inputs."""

    VERSION: ClassVar[int] = 1
    weights: str = "one"

    def missing(self):
        return None if self.weights == "one" else "no such weights"

    def inputs(self, ctx):
        return {"weights": self.weights}

    def rerank(self, ctx, queries, run):
        first = run.rank == 1
        ctx.note("too good", run.query[first], run.chunk[first], value=run.score[first])
        ctx.fact("chunks too good", int(first.sum()), of=len(run))
        return make_run(run.query[~first], run.chunk[~first], run.score[~first], ctx.depth)


@dataclass(frozen=True)
class Asks:
    """Asks another question than it was asked."""

    VERSION: ClassVar[int] = 1
    inner: Retriever

    def search(self, ctx, queries):
        return ctx.inside().search(self.inner, Queries.of(queries.qid, ["something else"] * len(queries)))


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    CALLS.clear()
    return Context(corpus_of(corpus_rows()), ArtifactStore(tmp_path / "artifacts"), depth=10)


TWO = Queries.of(["b", "a"], ["fusion of ranks", "bootstrap sample"])


def test_a_stage_runs_once_for_the_batch_and_once_for_each_query_that_is_timed(ctx):
    first, again = ctx.search(Fixed(), TWO), ctx.search(Fixed(), TWO)
    assert again is first
    assert CALLS == [2, 1, 1]
    ctx.search(Fixed(score=2.0), TWO)  # another fingerprint
    ctx.search(Fixed(), TWO.take([0]))  # another query table
    assert CALLS == [2, 1, 1, 2, 1, 1, 1, 1]


def test_another_process_finds_it_on_disk_and_without_memory_nothing_is_written(ctx, tmp_path):
    before = ctx.search(Fixed(), TWO)
    CALLS.clear()
    later = Context(ctx.corpus, ArtifactStore(tmp_path / "artifacts"), depth=10)
    assert later.search(Fixed(), TWO).fingerprint == before.fingerprint
    assert CALLS == []
    folder = tmp_path / "other"
    assert len(Context(ctx.corpus, ArtifactStore(folder), remember=False).search(Fixed(), TWO)) == 2
    assert CALLS == [2, 1, 1]
    assert not (folder / "runs").exists()


def test_depth_seed_and_corpus_are_part_of_what_is_remembered(ctx):
    base = ctx.spec(Fixed(), TWO)
    other = Context(corpus_of(corpus_rows()[:9]), ctx.store, depth=5, seed=1).spec(Fixed(), TWO)
    assert {name for name in base if base[name] != other[name]} == {"depth", "seed", "corpus"}


def test_the_cost_file_holds_seconds_of_the_batch_and_of_single_queries(ctx, tmp_path):
    many = Queries.of([f"q{n:02}" for n in range(30)], ["fusion"] * 30)
    found = ctx.remembered(Bm25(), many)
    (path,) = (tmp_path / "artifacts" / "runs").glob("*/cost.json")
    cost = json.loads(path.read_text())
    assert cost.keys() == {"seconds", "single", "indexes", "facts"}
    assert cost["seconds"] == found.seconds > 0
    assert cost["single"] == found.single.tolist()
    assert len(found.single) == LATENCY_SAMPLE == 24
    assert (found.single > 0).all()
    assert sorted(name.partition("/")[0] for name in cost["indexes"]) == ["analysed", "bm25"]
    assert all(size > 0 for size, _ in cost["indexes"].values())


def test_a_stage_is_timed_without_what_runs_before_it(ctx):
    stage = Pipeline(Fused((("a", Fixed()), ("b", Fixed(2.0))), Rrf()), (("reverse", Reverse()),))
    ctx.search(stage, TWO)
    # each branch: the batch and two single queries; fuser and reranker time their single queries on known runs
    assert CALLS == [2, 1, 1] * 2


@pytest.mark.parametrize(
    ("stage", "said"),
    [(Fixed("nan"), "score nan"), (Fixed(chunks=(4, 4)), "a chunk stands twice in a ranking")],
)
def test_a_scoring_error_names_stage_query_and_chunk(stage, said, ctx):
    with pytest.raises(ScoringError) as error:
        ctx.remembered(Pipeline(stage, (("reverse", Reverse()),)), TWO)
    # queries are sorted, so row 0 is `a`
    assert str(error.value) == f"Fixed: {said} for query 'a', chunk {ctx.corpus.chunk_ids[4]!r}"


def test_the_order_in_which_stages_run():
    stage = build_strategy(strategy_config("rrf_dedup_mmr"))
    parts = walk(stage)
    assert [path for path, _ in parts] == ["branches.bm25", "branches.tfidf", "fuser", "then.dedup", "then.mmr"]
    assert parts[-1][1] == stage
    assert parts[2][1] == stage.first
    assert parts[3][1] == Pipeline(stage.first, stage.then[:1])


def test_paths_of_nested_stages():
    inner = Fused((("x", Fixed()), ("y", Fixed(2.0))), Rrf())
    outer = Fused((("a", Fixed(3.0)), ("b", Pipeline(inner, (("r", Reverse()),)))), Rrf())
    assert [path for path, _ in walk(outer)] == [
        "branches.a",
        "branches.b.branches.x",
        "branches.b.branches.y",
        "branches.b.fuser",
        "branches.b.then.r",
        "fuser",
    ]
    assert walk(Fixed()) == [("first", Fixed())]
    assert walk(Pipeline(Fixed())) == [("first", Fixed())]


def test_a_pipeline_applies_its_rerankers_in_order(ctx):
    one = Fixed(chunks=(4, 7, 2))  # equal scores: ranked 2, 4, 7
    assert ctx.search(Pipeline(one, (("r", Reverse()),)), TWO).chunk.tolist() == [7, 4, 2] * 2
    assert ctx.search(Pipeline(one, (("r", Reverse()), ("s", Reverse()))), TWO).chunk.tolist() == [2, 4, 7] * 2
    assert ctx.search(Pipeline(one), TWO).chunk.tolist() == [2, 4, 7] * 2


def test_what_a_stage_says_is_remembered_on_disk_too(ctx, tmp_path):
    pipeline = Pipeline(Fixed(chunks=(4, 7)), (("telling", Telling()),))
    fresh = ctx.remembered(pipeline, TWO)
    assert fresh.run.chunk.tolist() == [7, 7]
    assert fresh.events.to_pydict() | {"other": None} == {
        "event": ["too good"] * 2, "query": [0, 1], "chunk": [4, 4], "other": None, "value": [1.0, 1.0],
    }  # fmt: skip
    assert fresh.events["other"].to_pylist() == [-1, -1]
    assert fresh.facts["chunks too good"].text("chunks too good") == "2 of 4 chunks too good"
    again = Context(ctx.corpus, ArtifactStore(tmp_path / "artifacts"), depth=10).remembered(pipeline, TWO)
    assert again.events.equals(fresh.events)
    assert again.facts == fresh.facts


def test_components_are_the_parts_themselves_and_their_inputs_count(ctx):
    whole = Pipeline(Fused((("a", Fixed()), ("b", Asks(Fixed(2.0)))), Rrf()), (("telling", Telling()),))
    assert [(path, type(part).__name__) for path, part in components(whole)] == [
        ("branches.a", "Fixed"),
        ("branches.b", "Asks"),
        ("branches.b.inner.first", "Fixed"),
        ("fuser", "Rrf"),
        ("then.telling", "Telling"),
    ]
    assert ctx.spec(whole, TWO)["inputs"] == {"then.telling": {"weights": "one"}}


def test_a_search_inside_a_stage_belongs_to_its_cost(ctx):
    found: Remembered = ctx.remembered(Asks(Bm25()), Queries.of(["q"], ["rank"]))
    assert sorted(name.partition("/")[0] for name in found.indexes) == ["analysed", "bm25"]
    assert len(ctx._runs) == 1

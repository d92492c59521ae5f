"""The contract of every YAML in conf/retriever, fuser, reranker and strategy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from ingestion.artifacts import fingerprint
from ingestion.config import CONF, names
from retrieval.build import build_stage, build_strategy, strategy_config
from retrieval.filters import Where
from retrieval.models import NeedsModel
from retrieval.schema import Queries, Run, make_run
from retrieval.stage import Fused, Pipeline, components
from tests.contract.conftest import corpus_of, corpus_rows

STRATEGIES = names("strategy")
STAGES = [(kind, name) for kind in ("retriever", "fuser", "reranker") for name in names(kind)]


def is_neural(stage) -> bool:
    return any(isinstance(part, NeedsModel) for _, part in components(stage))


# Strategies that rank a chunk for a question only if they share a term, and always then.
NO_LEXICAL = {"random", "oracle", "graph_only"}
LEXICAL = [n for n in STRATEGIES if n not in NO_LEXICAL and not is_neural(build_strategy(strategy_config(n)))]


def built(name: str):
    stage = build_strategy(strategy_config(name))
    for _, part in components(stage):
        if isinstance(part, NeedsModel) and (reason := part.missing()):
            pytest.skip(reason)
    return stage


def named(run: Run, queries: Queries, corpus) -> dict[str, list[str]]:
    """Rankings by names instead of rows."""
    found: dict[str, list[str]] = {}
    for query, chunk in zip(run.query.tolist(), run.chunk.tolist(), strict=True):
        found.setdefault(queries.qid[query], []).append(corpus.chunk_ids[chunk])
    return found


@pytest.mark.parametrize(("kind", "name"), STAGES)
def test_a_stage_is_a_frozen_dataclass_with_a_version_and_its_yaml_prints_all_of_it(kind, name):
    config = OmegaConf.to_container(OmegaConf.load(CONF / kind / f"{name}.yaml"))
    stage = build_stage(config, kind, name)
    assert type(stage).__dataclass_params__.frozen
    assert isinstance(type(stage).VERSION, int)
    assert {field.name for field in fields(stage)} == config.keys() - {"_target_"}
    assert callable(getattr(stage, {"retriever": "search", "fuser": "fuse", "reranker": "rerank"}[kind]))
    assert fingerprint(stage) == fingerprint(build_stage(config, kind, name))
    module = type(stage).__module__.rpartition(".")[2]
    assert (Path(CONF).parent / "retrieval" / f"{kind}s" / f"{module}.py").is_file()


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_is_short_and_has_one_fingerprint(name):
    text = (CONF / "strategy" / f"{name}.yaml").read_text()
    assert len(text.splitlines()) <= 10
    first, second = build_strategy(strategy_config(name)), build_strategy(strategy_config(name))
    assert fingerprint(first) == fingerprint(second)
    assert json.dumps(strategy_config(name))


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_ranking_is_valid(name, ctx, queries):
    stage = built(name)
    before = (queries.fingerprint, ctx.corpus.fingerprint)
    run = ctx.search(stage, queries)
    assert run.query.dtype == run.chunk.dtype == run.rank.dtype == np.int32
    assert run.score.dtype == np.float64
    assert len(run) > 0
    assert np.isfinite(run.score).all()
    assert 0 <= run.query.min() <= run.query.max() < len(queries)
    assert 0 <= run.chunk.min() <= run.chunk.max() < len(ctx.corpus)
    for row in range(len(queries)):
        ranks = run.rank[run.query == row]
        assert ranks.tolist() == list(range(1, len(ranks) + 1))
        assert len(set(run.chunk[run.query == row].tolist())) == len(ranks) <= ctx.depth
        scores = run.score[run.query == row]
        assert (np.diff(scores) <= 0).all()
    assert before == (queries.fingerprint, ctx.corpus.fingerprint)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_second_call_is_equal_with_and_without_memory(name, ctx, fresh, queries):
    stage = built(name)
    first = ctx.search(stage, queries)
    again = fresh(ctx.corpus).search(stage, queries)
    assert first.fingerprint == again.fingerprint
    assert first.score.tobytes() == again.score.tobytes()


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_order_of_rows_in_the_chunk_table_does_not_matter(name, ctx, fresh, queries):
    rows = corpus_rows()
    shuffled = corpus_of([rows[i] for i in np.random.default_rng(3).permutation(len(rows))])
    assert shuffled.fingerprint == ctx.corpus.fingerprint
    run = fresh(shuffled).search(built(name), queries)
    assert named(run, queries, shuffled) == named(ctx.search(built(name), queries), queries, ctx.corpus)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "oracle"])
def test_other_queries_and_their_order_do_not_matter(name, ctx, fresh, queries):
    stage = built(name)
    whole = named(ctx.search(stage, queries), queries, ctx.corpus)
    some = Queries.of(["q4", "q1"], [queries.query[3], queries.query[0]])
    assert named(fresh(ctx.corpus).search(stage, some), some, ctx.corpus) == {
        qid: ranking for qid, ranking in whole.items() if qid in ("q1", "q4")
    }


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "oracle"])
def test_the_order_of_branches_does_not_matter(name, ctx, fresh, queries):
    stage = built(name)
    fused = stage.first if isinstance(stage, Pipeline) else stage
    if not isinstance(fused, Fused):
        pytest.skip("one retriever alone")
    turned = replace(fused, branches=fused.branches[::-1])
    one, two = fresh(ctx.corpus).search(fused, queries), fresh(ctx.corpus).search(turned, queries)
    assert one.fingerprint == two.fingerprint
    assert one.score.tolist() == two.score.tolist()


@pytest.mark.parametrize("name", LEXICAL)
def test_queries_that_match_nothing_have_an_empty_ranking(name, ctx, queries):
    run = ctx.search(built(name), queries)
    empty = {queries.qid.index("q5"), queries.qid.index("q6")}
    assert not empty & set(run.query.tolist())
    assert set(run.query.tolist()) == set(range(len(queries))) - empty


@pytest.mark.parametrize("name", STRATEGIES)
def test_depth_is_obeyed(name, ctx, fresh, queries):
    run = fresh(ctx.corpus, depth=3).search(built(name), queries)
    assert run.rank.max() <= 3


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_filter_is_obeyed(name, fresh, queries, corpus):
    ctx = fresh(corpus)
    ctx.where = Where(document=("d1", "d3"))
    run = ctx.search(built(name), queries)
    assert set(corpus.column("doc_id")[run.chunk]) <= {"d1", "d3"}
    assert len(run) > 0 or name == "oracle"


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in ("oracle",)])
def test_an_empty_corpus_gives_empty_rankings(name, fresh, queries):
    assert len(fresh(corpus_of([])).search(built(name), queries)) == 0


def test_hash_seeds_do_not_matter(tmp_path):
    program = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from ingestion.artifacts import ArtifactStore
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows
ctx = Context(corpus_of(corpus_rows()), ArtifactStore(Path(sys.argv[1])), depth=20)
queries = Queries.of(["q1", "q2"], ["reciprocal rank fusion", "bootstrap cluster sample interval"])
for name in sys.argv[3:]:
    run = ctx.search(build_strategy(strategy_config(name)), queries)
    print(name, run.fingerprint, run.score.tobytes().hex())
"""
    root = str(Path(CONF).parent)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / seed), root, *LEXICAL, "random"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == len(LEXICAL) + 1


@pytest.mark.parametrize("graph", [True, False])
@pytest.mark.parametrize("dedup", [True, False])
@pytest.mark.parametrize("mmr", [True, False])
def test_a_cell_made_with_switches_is_the_strategy_of_that_name(graph, dedup, mmr, fresh, corpus, queries):
    name = "rrf" + "_graph" * graph + "_dedup" * dedup + "_mmr" * mmr
    on = {"graph": graph, "dedup": dedup, "mmr": mmr}
    switches = [f"strategy.use.{part}={str(used).lower()}" for part, used in on.items()]
    cell = build_strategy(strategy_config("rrf_graph_dedup_mmr", switches))
    strategy = build_strategy(strategy_config(name))
    assert fingerprint(cell) == fingerprint(strategy)
    assert fresh(corpus).search(cell, queries).fingerprint == fresh(corpus).search(strategy, queries).fingerprint


def test_every_suite_names_strategies_that_exist():
    for suite in names("suite"):
        listed = OmegaConf.load(CONF / "suite" / f"{suite}.yaml").strategies
        assert set(listed) <= set(STRATEGIES)
    everything = OmegaConf.load(CONF / "suite" / "all.yaml").strategies
    prints = [fingerprint(build_strategy(strategy_config(name))) for name in everything]
    assert len(set(prints)) == len(prints)  # no alias beside its strategy
    assert set(prints) == {fingerprint(build_strategy(strategy_config(name))) for name in STRATEGIES}


def test_common_stages_run_once(fresh, queries, corpus, monkeypatch, tmp_path):
    from ingestion.artifacts import ArtifactStore
    from retrieval.retrievers.bm25 import Bm25
    from retrieval.stage import Context

    batches = []
    search = Bm25.search

    def counted(self, ctx, asked):
        batches.append(len(asked))
        return search(self, ctx, asked)

    monkeypatch.setattr(Bm25, "search", counted)
    ctx = Context(corpus, ArtifactStore(tmp_path), depth=20)
    for name in ("bm25", "rrf", "rrf_dedup", "rrf_dedup_mmr", "linear_0.3"):
        ctx.search(build_strategy(strategy_config(name)), queries)
    assert batches.count(len(queries)) == 1  # the other calls time single queries
    batches.clear()
    Context(corpus, ArtifactStore(tmp_path), depth=20).search(build_strategy(strategy_config("rrf")), queries)
    assert batches == []


def test_a_run_of_the_oracle_is_what_was_given(ctx, queries):
    run = ctx.search(built("oracle"), queries)
    assert (run.query.tolist(), run.chunk.tolist(), run.rank.tolist()) == ([0, 0, 1], [3, 5, 7], [1, 2, 1])
    assert make_run([], [], [], 5).fingerprint != run.fingerprint

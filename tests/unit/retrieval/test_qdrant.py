"""Qdrant in process and through its client: the scores and order of a full sort, filters inside the engine, one fill.

`QdrantClient(":memory:")` stands in for a server; it has the client's interface but scans all vectors.
"""

from __future__ import annotations

import importlib.util
import re
import socket
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval import ann, qdrant_server, qdrant_status
from retrieval.build import build_strategy, strategy_config
from retrieval.errors import IndexingError, ModelLoadError
from retrieval.retrievers.qdrant import Qdrant
from retrieval.schema import make_run
from retrieval.stage import Context, components
from tests.contract.conftest import corpus_of, corpus_rows, fresh  # noqa: F401
from tests.unit.retrieval.stand_in import (
    QUERIES,
    Hashed,
    by_sorting,
    check_filters,
    check_nothing,
    check_ranking,
    large_corpus,
    large_queries,
    rankings,
    share_found,
)

pytest.importorskip("qdrant_edge")
qdrant_client = pytest.importorskip("qdrant_client")
pytestmark = [  # the stand-in says that it has no indexes
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
URL = "http://stand-in:6333"
SCAN, GRAPH, SERVER = Qdrant(Hashed()), Qdrant(Hashed(), full_scan_threshold=10), Qdrant(Hashed(), url=URL)


@pytest.fixture(scope="module")
def corpus():
    return large_corpus()


@pytest.fixture(autouse=True)
def client(monkeypatch):
    """What every connection to a server gets."""
    shared = qdrant_client.QdrantClient(":memory:")
    connect = qdrant_server.connect
    monkeypatch.setattr(qdrant_server, "connect", lambda url: shared if url == URL else connect(url))
    return shared


def context(corpus, folder: Path, depth: int = 20) -> Context:
    return Context(corpus, ArtifactStore(folder), depth=depth)


@pytest.mark.parametrize("stage", [SCAN, GRAPH, SERVER], ids=["scan", "graph", "server"])
def test_a_tiny_corpus_is_ranked_as_by_a_full_sort(stage, fresh):  # noqa: F811
    check_ranking(stage, fresh, corpus_of(corpus_rows()), QUERIES[:8])


@pytest.mark.parametrize("stage", [SCAN, SERVER], ids=["scan", "server"])
def test_a_scan_is_a_full_sort(stage, fresh, corpus):  # noqa: F811
    check_ranking(stage, fresh, corpus, QUERIES)


@pytest.mark.parametrize(
    ("stage", "least"), [(SCAN, 1.0), (GRAPH, 0.98), (SERVER, 1.0)], ids=["scan", "graph", "server"]
)
def test_filters(stage, least, fresh, corpus):  # noqa: F811
    check_filters(stage, fresh, corpus, least)


@pytest.mark.parametrize("stage", [GRAPH, SERVER], ids=["graph", "server"])
def test_nothing_asked_or_allowed_nothing_found(stage, fresh, corpus):  # noqa: F811
    check_nothing(stage, fresh, corpus)


def test_the_facts_say_recall_and_what_is_indexed(tmp_path, corpus):
    for stage, share in ((SCAN, 0.0), (GRAPH, 1.0)):
        said = context(corpus, tmp_path).remembered(stage, large_queries())
        found, expected = rankings(said.run, len(QUERIES)), by_sorting(corpus, QUERIES, 20)
        assert said.facts["ANN recall@10"].value == pytest.approx(share_found(found, expected))
        assert said.facts["ANN recall@10"].value >= 0.99
        scanned = said.facts["vectors scanned, not in a graph"]
        assert 1 - scanned.value / scanned.of == share


def test_recall_counts_what_exact_search_finds():
    """Chunk r scores cos of r degrees, so exact search finds 0, 1, 2, ...; the second query is the first turned."""
    angles = np.deg2rad(np.arange(90))
    chunks = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    queries = np.array([[1, 0], [0, 1]], dtype=np.float32)
    nine_of_ten = make_run([0] * 10, [*range(9), 40], np.arange(10, 0, -1), 10)
    assert ann.recall(nine_of_ten, queries[:1], chunks, None) == pytest.approx(0.9)
    run = make_run([0] * 10 + [1] * 10, [*range(9), 40, *range(80, 84), *range(6)], [*range(20, 0, -1)], 10)
    assert ann.recall(run, queries, chunks, None) == pytest.approx((9 + 4) / 20)
    odd = np.arange(90) % 2 == 1  # allowed: 1, 3, ..., of which the run has 1, 3, 5, 7
    assert ann.recall(nine_of_ten, queries[:1], chunks, odd) == pytest.approx(0.4)


def test_equal_vectors_stay_a_tie_wherever_the_index_puts_them():
    rng = np.random.default_rng(3)
    chunks = np.repeat(rng.normal(size=(1, 384)), 60, axis=0).astype(np.float32)
    queries = rng.normal(size=(4, 384)).astype(np.float32)
    found = [rng.permutation(60)[:37] for _ in queries]
    run = ann.rescored(queries, chunks, found, 37)
    assert rankings(run, 4) == [
        [(row, round(float(chunks[0].astype(float) @ query.astype(float)), 6)) for row in sorted(rows.tolist())]
        for query, rows in zip(queries, found, strict=True)
    ]


def test_the_comparison_with_exact_search_is_not_the_stages_time(tmp_path, corpus, monkeypatch):
    monkeypatch.setattr(ann, "recall", lambda *_: time.sleep(3) or 1.0)
    monkeypatch.setattr("retrieval.stage.LATENCY_SAMPLE", 0)
    ctx = context(corpus, tmp_path)
    start = time.perf_counter()
    seconds = ctx.remembered(SCAN, large_queries()).seconds
    assert time.perf_counter() - start > 3
    assert seconds < 3


def test_chunks_are_embedded_once_for_exact_search_and_every_index(tmp_path, corpus):
    ctx = context(corpus, tmp_path)
    for stage in (Hashed(), SCAN, GRAPH, SERVER):
        ctx.search(stage, large_queries())
    kinds = [built.kind for built in ctx.store.built.values() if built.kind != "runs"]
    assert sorted(kinds) == ["qdrant", "qdrant", "qdrant-server", "vectors"]


def test_a_query_alone_is_ranked_as_in_the_batch(fresh, corpus):  # noqa: F811
    whole = fresh(corpus).search(GRAPH, large_queries())
    alone = fresh(corpus).search(GRAPH, large_queries().take([7]))
    assert rankings(alone, 1)[0] == rankings(whole, len(QUERIES))[7]


def test_a_scan_is_the_same_after_a_new_build(tmp_path, corpus):
    runs = [context(corpus, tmp_path / name).search(SCAN, large_queries()) for name in ("one", "two")]
    assert runs[0].fingerprint == runs[1].fingerprint
    assert runs[0].score.tobytes() == runs[1].score.tobytes()


@pytest.mark.parametrize("stage", [SCAN, GRAPH], ids=["scan", "graph"])
def test_searching_leaves_the_files_as_they_were_built(stage, tmp_path, corpus):
    first = context(corpus, tmp_path).search(stage, large_queries())
    store = ArtifactStore(tmp_path)  # as another process would: every digest is checked
    again = Context(corpus, store, depth=20, remember=False).search(stage, large_queries())
    assert first.fingerprint == again.fingerprint
    assert store.damaged == []
    assert all(built.cached for built in store.built.values())


def test_a_collection_is_filled_once_and_again_if_the_server_has_lost_it(tmp_path, corpus, client, monkeypatch):
    sent = []
    upsert = client.upsert
    monkeypatch.setattr(
        client, "upsert", lambda name, batch, wait: sent.append(len(batch.ids)) or upsert(name, batch)
    )
    for _ in range(2):
        Context(corpus, ArtifactStore(tmp_path), depth=20, remember=False).search(SERVER, large_queries())
    assert sum(sent) == len(corpus)
    (collection,) = client.get_collections().collections
    assert collection.name.startswith(qdrant_server.PREFIX)
    client.delete_collection(collection.name)
    Context(corpus, ArtifactStore(tmp_path), depth=20, remember=False).search(SERVER, large_queries())
    assert sum(sent) == 2 * len(corpus)
    assert client.count(collection.name).count == len(corpus)


def test_a_search_waits_until_the_server_has_indexed(corpus, client, monkeypatch):
    states = iter(["grey", "yellow", "green"])
    pushed = []

    def state(name):
        status = qdrant_client.models.CollectionStatus(next(states))
        return SimpleNamespace(status=status, indexed_vectors_count=900, optimizer_status="ok")

    monkeypatch.setattr(client, "get_collection", state)
    monkeypatch.setattr(client, "update_collection", lambda name, optimizers_config: pushed.append(name))
    monkeypatch.setattr(qdrant_server, "PAUSE", 0)
    graph = qdrant_server.Graph(16, 100, 10_000)
    found = qdrant_server.Collection.filled(URL, "x", graph, 256, corpus, Hashed().query_vectors(corpus.texts))
    assert found.indexed == 900
    assert next(states, None) is None
    assert pushed == ["rankproof_x"]  # a grey collection waits for a change
    states = iter(["red"])
    with pytest.raises(IndexingError, match="rankproof_x at http://stand-in:6333 has status red"):
        qdrant_server.Collection.filled(URL, "x", graph, 256, corpus, Hashed().query_vectors(corpus.texts))


@pytest.fixture
def closed() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_server_that_does_not_answer_is_named_with_the_remedy(tmp_path, corpus, closed):
    with pytest.raises(IndexingError, match=f"{closed}.*docker compose up -d qdrant"):
        context(corpus, tmp_path).search(Qdrant(Hashed(), url=closed), large_queries())


def test_status_of_a_server(tmp_path, corpus, client, closed, capsys, monkeypatch):
    monkeypatch.setattr(client, "info", lambda: SimpleNamespace(version="1.2.3"), raising=False)
    monkeypatch.setattr(qdrant_status, "connect", qdrant_server.connect)
    assert qdrant_status.main([f"url={URL}"]) == 0
    assert "no collection" in capsys.readouterr().out
    context(corpus, tmp_path).search(SERVER, large_queries())
    assert qdrant_status.main([f"url={URL}"]) == 0
    (name,) = [collection.name for collection in client.get_collections().collections]
    said = capsys.readouterr().out
    assert "server 1.2.3" in said
    assert f"{name}  900 points" in said
    assert "32 dimensions, status green, 0.1 MB" in said  # 900 x 32 x 4 bytes
    assert qdrant_status.main([f"url={closed}"]) == 1
    assert "docker compose up -d qdrant" in capsys.readouterr().err


def test_status_of_the_engine_in_process(tmp_path, corpus, capsys):
    assert qdrant_status.main([f"artifacts={tmp_path}"]) == 0
    assert "no shard" in capsys.readouterr().out
    ctx = context(corpus, tmp_path)
    ctx.search(GRAPH, large_queries())
    du = subprocess.run(["du", "-sk", tmp_path / "qdrant"], check=True, capture_output=True, text=True)
    assert qdrant_status.main([f"artifacts={tmp_path}"]) == 0
    said = capsys.readouterr().out
    assert "qdrant-edge-py" in said
    assert "900 points, 900 in the graph, 32 dimensions" in said
    megabytes = float(re.search(r"dimensions, ([0-9.]+) MB on disk", said)[1])
    assert megabytes == pytest.approx(int(du.stdout.split()[0]) * 1024 / 1e6, abs=0.3)  # du counts folders, too


@pytest.mark.parametrize("wrong", [["address"], ["url="], ["port=6333"]])
def test_status_refuses_what_it_does_not_know(wrong, capsys):
    assert qdrant_status.main(wrong) == 2
    assert "usage" in capsys.readouterr().err


def test_an_absent_package_or_model_is_named_with_the_remedy(monkeypatch):
    assert SCAN.missing() is None
    monkeypatch.setattr(Hashed, "missing", lambda self: "no weights; get them", raising=False)
    assert SCAN.missing() == "no weights; get them"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert SCAN.missing() == "qdrant_edge is not installed; pip install 'rankproof[qdrant]'"
    assert SERVER.missing() == "qdrant_client is not installed; pip install 'rankproof[qdrant]'"
    with pytest.raises(ModelLoadError, match="pip install"):
        ann.engine("no-such-package", "qdrant")


@pytest.mark.neural
def test_the_strategy_finds_what_sentence_transformer_finds(tmp_path):
    queries = large_queries().take(range(5))
    ctx = context(corpus_of(corpus_rows()), tmp_path)
    exact, scan, named, lance = (
        ctx.search(build_strategy(strategy_config(name)), queries)
        for name in ("sentence_transformer", "qdrant", "qdrant_vector", "lance")
    )
    assert scan.fingerprint == named.fingerprint == lance.fingerprint
    np.testing.assert_allclose(scan.score, exact.score, atol=1.01e-6)
    assert share_found(rankings(scan, 5), rankings(exact, 5)) == 1
    assert [built.kind for built in ctx.store.built.values()].count("vectors") == 1


def test_the_encoder_counts_as_a_component():
    assert [type(part) for _, part in components(SCAN)] == [Qdrant, Hashed]


@pytest.mark.parametrize(
    "wrong", [{"m": 1}, {"ef": 0}, {"ef_construct": 3}, {"full_scan_threshold": 9}, {"url": "localhost:6333"}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=r"at least|must be"):
        Qdrant(Hashed(), **wrong)

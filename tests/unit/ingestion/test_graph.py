"""The graph of a handful of chunks: its tables, its evidence, its communities."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ingestion.artifacts import ArtifactStore
from ingestion.communities import louvain, python_louvain
from ingestion.errors import GraphExtractionError
from ingestion.graph import GraphSpec, KnowledgeGraph, adjacency, build_graph, open_graph
from ingestion.graph_command import figures, find_node, neighbourhood, report
from ingestion.schema import CHUNKS, DOCUMENTS, PAGES, Corpus

TEXTS = {
    "a": [
        "The random forest uses bootstrap aggregation. We trust the random forest.",
        "We trust the random forest. Bootstrap aggregation of a random forest helps with bootstrap aggregation.",
        "Bootstrap aggregation (BA) is old. PyTorch is fast.",
    ],
    "b": ["PyTorch and BA meet here.", "PyTorch runs. The random forest outperforms PyTorch."],
}


def corpus_of(texts: dict[str, list[str]]) -> Corpus:
    rows = [
        (f"{doc}{n:03}", doc, f"{doc}.pdf", "", 1, 1, 100 * n, 100 * n + len(text), "", "body", text, "{}")
        for doc, chunks in texts.items()
        for n, text in enumerate(chunks)
    ]
    chunks = pa.Table.from_pylist([dict(zip(CHUNKS.names, row, strict=True)) for row in rows], CHUNKS)
    documents = pa.Table.from_pylist(
        [dict(zip(DOCUMENTS.names, (d, f"{d}.pdf", "0", "", 1, "", 1.0, "ok", "", ""), strict=True)) for d in texts],
        DOCUMENTS,
    )
    return Corpus.of(chunks, documents, PAGES.empty_table())


@pytest.fixture(scope="module")
def graph() -> KnowledgeGraph:
    return build_graph(corpus_of(TEXTS), GraphSpec())


def test_nodes_hold_what_can_be_counted_by_hand(graph):
    rows = {row["label"]: row for row in graph.nodes.to_pylist()}
    assert list(rows) == ["Bootstrap aggregation (BA)", "PyTorch", "random forest"]
    bagging = rows["Bootstrap aggregation (BA)"]
    assert bagging["forms"] == [["BA"], ["ba"], ["bootstrap", "aggregation"]]
    # chunks a0, a1 (twice), a2 (with its acronym: twice), b0
    assert (bagging["mentions"], bagging["chunks"], bagging["documents"]) == (6, 4, 2)
    assert rows["random forest"]["chunks"] == 3  # a0, a1, b1
    # ln(1 + (5 - 3 + .5) / (3 + .5)) = ln(1.714286)
    assert rows["random forest"]["idf"] == pytest.approx(0.538997)
    assert rows["PyTorch"]["idf"] == pytest.approx(0.538997)


def test_edges_count_distinct_sentences_and_keep_every_chunk(graph):
    labels = graph.labels
    found = {
        (labels[row["head"]], row["type"], labels[row["tail"]]): (row["weight"], row["documents"])
        for row in graph.edges.to_pylist()
    }
    assert found == {
        ("random forest", "uses", "Bootstrap aggregation (BA)"): (1, 1),
        ("random forest", "outperforms", "PyTorch"): (1, 1),
        ("Bootstrap aggregation (BA)", "co_occurs", "random forest"): (1, 1),
        ("Bootstrap aggregation (BA)", "co_occurs", "PyTorch"): (1, 1),
    }
    # degrees: random forest 1 + 1 + 1, BA 1 + 1 + 1, PyTorch 1 + 1
    assert dict(zip(labels, graph.nodes["degree"].to_pylist(), strict=True)) == {
        "random forest": 3.0, "Bootstrap aggregation (BA)": 3.0, "PyTorch": 2.0,
    }  # fmt: skip


def test_evidence_is_the_sentence_itself(graph):
    corpus = corpus_of(TEXTS)
    sentences = {
        corpus.texts[row["chunk"]][row["char_start"] : row["char_end"]] for row in graph.evidence.to_pylist()
    }
    assert sentences == {
        "The random forest uses bootstrap aggregation.",
        "Bootstrap aggregation of a random forest helps with bootstrap aggregation.",
        "PyTorch and BA meet here.",
        "The random forest outperforms PyTorch.",
    }


def test_a_sentence_in_two_overlapping_chunks_is_one_sentence_with_two_places():
    texts = {
        "a": [
            "The random forest is better than BERT. The random forest is slow.",
            "The random forest is better than BERT.",
        ]
        * 2
    }
    texts["a"].append("A random forest is no BERT. See how BERT learns. The BERT of old waits for BERT.")
    graph = build_graph(corpus_of(texts), GraphSpec())
    edge = next(n for n, row in enumerate(graph.edges.to_pylist()) if row["type"] == "outperforms")
    assert graph.edges["weight"][edge].as_py() == 1
    assert graph.evidence["edge"].to_pylist().count(edge) == 4


def test_it_is_read_back_as_it_was_written_and_built_once(graph, tmp_path):
    graph.save(tmp_path)
    again = KnowledgeGraph.load(tmp_path)
    for name in ("nodes", "edges", "evidence"):
        assert getattr(again, name).equals(getattr(graph, name))
    assert (again.mentions != graph.mentions).nnz == 0
    assert again.facts == graph.facts
    store = ArtifactStore(tmp_path / "store")
    assert open_graph(corpus_of(TEXTS), GraphSpec(), store) is open_graph(corpus_of(TEXTS), GraphSpec(), store)


def test_networkx_sees_the_same_graph(graph):
    other = graph.to_networkx()
    assert sorted(other.nodes) == sorted(graph.labels)
    assert other["random forest"]["Bootstrap aggregation (BA)"]["uses"]["weight"] == 1
    assert other.number_of_edges() == graph.edges.num_rows


def test_the_neighbourhood_of_any_spelling(graph):
    corpus = corpus_of(TEXTS)
    for name in ("BA", "bootstrap aggregations", "Bootstrap-Aggregation"):
        assert graph.labels[find_node(graph, name)] == "Bootstrap aggregation (BA)"
    said = neighbourhood(graph, corpus, "random forests", 2)
    assert "random forest -> outperforms -> PyTorch" in said
    assert "The random forest uses bootstrap aggregation." in said
    assert "3 relations, the 2 strongest" in said
    with pytest.raises(GraphExtractionError, match=r"'random florist' is not in the graph; did you mean 'random fo"):
        find_node(graph, "random florist")


def test_figures(graph):
    found = figures(graph)
    assert (found["nodes"], found["edges"], found["alone"]) == (3, 4, 0)
    assert found["edges_by_type"] == {"co_occurs": 2, "outperforms": 1, "uses": 1}
    assert found["hub_share"] == pytest.approx(2 / 6)  # the one node at the top has 2 of 6 ends of joined pairs
    assert "3 (1 acronym, 1 coined, 1 phrase)" in report(graph, 1.0)


def test_an_empty_corpus_has_an_empty_graph(tmp_path):
    graph = build_graph(corpus_of({"a": ["nothing"]}), GraphSpec())
    assert (len(graph), graph.edges.num_rows, graph.evidence.num_rows) == (0, 0, 0)
    graph.save(tmp_path)
    assert "0" in report(KnowledgeGraph.load(tmp_path), 0.0)


def planted(order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of four groups of ten nodes with some noise between them, in this order."""
    rng = np.random.default_rng(5)
    pairs = [(a, b) for a in range(40) for b in range(a) if rng.random() < (0.6 if a // 10 == b // 10 else 0.03)]
    ends = np.asarray(pairs)[order[: len(pairs)] % len(pairs)] if len(order) else np.asarray(pairs)
    return ends[:, 0], ends[:, 1], np.ones(len(ends))


def test_communities_do_not_depend_on_the_order_of_edges():
    head, tail, weight = planted(np.zeros(0, dtype=int))
    for find in (louvain, python_louvain):
        first, modularity = find(adjacency(head, tail, weight, 40), 1.0, 0)
        assert [len(set(first[low : low + 10].tolist())) for low in (0, 10, 20, 30)] == [1, 1, 1, 1]
        for seed in range(20):
            order = np.random.default_rng(seed).permutation(len(head))
            flip = np.random.default_rng(seed).random(len(head)) < 0.5
            ends = np.where(flip, tail, head)[order], np.where(flip, head, tail)[order]
            again, same = find(adjacency(*ends, weight[order], 40), 1.0, 0)
            assert again.tolist() == first.tolist()
            assert same == pytest.approx(modularity, abs=1e-12)


def test_communities_do_not_depend_on_hash_seeds():
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.unit.ingestion.test_graph import TEXTS, corpus_of, planted
from ingestion.graph import GraphSpec, adjacency, build_graph
from ingestion.communities import louvain, python_louvain
import numpy as np
graph = build_graph(corpus_of(TEXTS), GraphSpec())
print(graph.nodes.to_pylist(), graph.edges.to_pylist(), graph.evidence.to_pylist())
for find in (louvain, python_louvain):
    print(find(adjacency(*planted(np.zeros(0, dtype=int)), 40), 1.0, 0)[0].tolist())
"""
    root = str(Path(__file__).parents[3])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, root],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3", "77", "123")
    }
    assert len(outputs) == 1

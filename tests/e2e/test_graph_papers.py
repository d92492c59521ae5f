"""The knowledge graph of 47 scientific papers: what may be no node is none, and known acronyms are one node."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ingestion import lexicon
from ingestion.artifacts import ArtifactStore
from ingestion.communities import louvain
from ingestion.graph import GraphSpec, build_graph
from ingestion.graph_command import find_node
from ingestion.pipeline import build_chunker, build_ingest, ingest

MONTHS = set("january february april june july august september october november december".split())  # noqa: SIM905
pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def papers(data, tmp_path_factory):
    from ingestion.config import load, to_plain

    plain = to_plain(load())
    store = ArtifactStore(tmp_path_factory.mktemp("artifacts"))
    chunker, spec = build_chunker(plain["chunker"]), build_ingest(plain["ingest"])
    return ingest(data / "pdf_scientific", spec, chunker, store)


@pytest.fixture(scope="module")
def graph(papers):
    return build_graph(papers, GraphSpec())


def test_no_node_is_a_stop_word_date_number_citation_or_figure(graph):
    stop = lexicon.FUNCTION | lexicon.CALENDAR | lexicon.LABELS
    bad = [
        label
        for label in graph.labels
        if label.lower() in stop
        or re.fullmatch(r"[\d.,%\s-]+", label)
        or re.search(r"\b(?:19|20)\d\d\b|\bet al\b|^\W|\[\d+\]", label)
        or re.match(r"(?:fig(?:ure)?|table|sec(?:tion)?|eq(?:uation)?|appendix|theorem|lemma)s?\b", label.lower())
        or set(re.findall(r"[a-z]+", label.lower())) & MONTHS
    ]
    assert len(graph) > 600
    assert bad == []


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("SGLD", "stochastic gradient Langevin dynamics"),
        ("LSTM", "long short-term memory"),
        ("GPUs", "graphics processing unit"),
        ("OOD", "out-of-distribution"),
        ("PCA", "principal component analysis"),
        ("HPC", "high performance computing"),
    ],
)
def test_an_acronym_and_its_expansion_are_one_node(graph, short, long):
    assert find_node(graph, short) == find_node(graph, long)


def test_the_same_graph_from_chunks_in_another_order(papers, graph):
    from ingestion.schema import Corpus

    order = np.random.default_rng(4).permutation(len(papers))
    again = build_graph(Corpus.of(papers.chunks.take(order), papers.documents, papers.pages), GraphSpec())
    assert again.nodes.equals(graph.nodes)
    assert again.edges.equals(graph.edges)
    assert louvain(graph.adjacency, 1.0, 0)[0].tolist() == graph.nodes["community"].to_pylist()

"""The knowledge graph of a corpus: entities, the chunks that hold them, and relations with their sentences.

Nodes are numbered by label, edges by head, tail and type: equal corpora give equal graphs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from ingestion.artifacts import ArtifactStore, write_atomic
from ingestion.entities import Entity, EntitySpec, extract
from ingestion.linking import Linker, Mentions
from ingestion.pairs import edges_of
from ingestion.schema import Corpus
from ingestion.tokens import Words

KIND = "graph"
VERSION = 1
NODES = pa.schema(
    [
        ("label", pa.string()),
        ("kind", pa.string()),
        ("forms", pa.list_(pa.list_(pa.string()))),
        ("mentions", pa.int64()),
        ("chunks", pa.int64()),
        ("documents", pa.int64()),
        ("idf", pa.float64()),
        ("degree", pa.float64()),
        ("community", pa.int32()),
    ]
)
EDGES = pa.schema(
    [
        ("head", pa.int32()),
        ("tail", pa.int32()),
        ("type", pa.string()),
        ("weight", pa.int64()),
        ("documents", pa.int64()),
    ]
)
EVIDENCE = pa.schema(
    [("edge", pa.int32()), ("chunk", pa.int32()), ("char_start", pa.int64()), ("char_end", pa.int64())]
)
TABLES = {"nodes": NODES, "edges": EDGES, "evidence": EVIDENCE}


@dataclass(frozen=True)
class GraphSpec:
    """What goes into the graph.

    `entities`: thresholds of entities. `min_weight`: distinct sentences in which two entities must stand together,
    where no typed relation joins them. `resolution` and `seed` of the communities.
    """

    entities: EntitySpec = field(default_factory=EntitySpec)
    min_weight: int = 1
    resolution: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class KnowledgeGraph:
    """Tables of nodes, edges and evidence, and which chunk holds which entity.

    `mentions`: int32 sparse [n_nodes, n_chunks], how often. `weight` of an edge: distinct sentences that state it.
    `evidence`: every chunk and sentence of every edge. `facts`: figures for the report.
    """

    nodes: pa.Table
    edges: pa.Table
    evidence: pa.Table
    mentions: csr_array
    facts: Mapping[str, Any]

    def __len__(self) -> int:
        return int(self.nodes.num_rows)

    @cached_property
    def labels(self) -> list[str]:
        """The label of every node."""
        return [str(label) for label in self.nodes["label"].to_pylist()]

    @cached_property
    def linker(self) -> Linker:
        """Finds the graph's entities in texts."""
        return Linker(tuple(tuple(map(tuple, forms)) for forms in self.nodes["forms"].to_pylist()))

    @cached_property
    def adjacency(self) -> csr_array:
        """Symmetric float64 sparse [n_nodes, n_nodes]: sentences that join two entities, whatever the relation."""
        head, tail = self.edges["head"].to_numpy(), self.edges["tail"].to_numpy()
        weight = self.edges["weight"].to_numpy().astype(np.float64)
        return adjacency(head, tail, weight, len(self))

    def save(self, folder: Path) -> None:
        """Write Parquet tables, the arrays of `mentions`, and the figures as JSON."""
        for name in TABLES:
            pq.write_table(getattr(self, name), folder / f"{name}.parquet", compression="zstd")
        for name in ("indptr", "indices", "data"):
            np.save(folder / f"mentions_{name}.npy", getattr(self.mentions, name))
        write_atomic(folder / "facts.json", json.dumps(dict(self.facts), indent=1, sort_keys=True))

    @staticmethod
    def load(folder: Path) -> KnowledgeGraph:
        """Read what `save` wrote."""
        nodes, edges, evidence = (pq.read_table(folder / f"{name}.parquet", schema=TABLES[name]) for name in TABLES)
        facts = json.loads((folder / "facts.json").read_text())
        arrays = [np.load(folder / f"mentions_{name}.npy") for name in ("data", "indices", "indptr")]
        mentions = csr_array(tuple(arrays), shape=(nodes.num_rows, facts["chunks"]))
        return KnowledgeGraph(nodes, edges, evidence, mentions, facts)

    def to_networkx(self) -> Any:
        """A `networkx.MultiDiGraph`; nodes are labels, an edge's key is its type."""
        import networkx as nx

        graph = nx.MultiDiGraph()
        for row in self.nodes.drop_columns(["forms"]).to_pylist():
            graph.add_node(row.pop("label"), **row)
        for row in self.edges.to_pylist():
            ends = (self.labels[row["head"]], self.labels[row["tail"]])
            graph.add_edge(*ends, key=row["type"], weight=row["weight"], documents=row["documents"])
        return graph


def graph_spec(corpus: Corpus, spec: GraphSpec) -> dict[str, object]:
    """What a graph depends on: the spec of its artifact."""
    return {"corpus": corpus.fingerprint, "graph": spec, "version": VERSION}


def open_graph(corpus: Corpus, spec: GraphSpec, store: ArtifactStore) -> KnowledgeGraph:
    """The graph of a corpus, an artifact: built once."""
    return store.get(
        KIND, graph_spec(corpus, spec), lambda folder: build_graph(corpus, spec).save(folder), KnowledgeGraph.load
    )


def build_graph(corpus: Corpus, spec: GraphSpec) -> KnowledgeGraph:
    """Extract entities and relations and find communities."""
    from ingestion.communities import louvain

    documents = [str(name) for name in corpus.column("doc_id")]
    entities, words = extract(corpus.texts, documents, spec.entities)
    linker = Linker(tuple(entity.forms for entity in entities))
    found = linker.link(words)
    mentions = csr_array(
        (np.ones(len(found.node), np.int32), (found.node, words.text[found.first])),
        shape=(len(entities), len(corpus)),
    )
    mentions.sum_duplicates()
    edges = edges_of(words, found, corpus.texts, documents, spec.min_weight)
    weights = adjacency(edges.head, edges.tail, edges.weight.astype(np.float64), len(entities))
    community, modularity = louvain(weights, spec.resolution, spec.seed)
    facts = {
        "chunks": len(corpus),
        "documents": len(set(documents)),
        "variants_merged": sum(len(entity.forms) - 1 for entity in entities),
        "modularity": modularity,
        "words": len(words),
        "words_linked": int((found.last - found.first + 1).sum()),
    }
    nodes = _nodes(entities, found, words, documents, mentions, weights, community)
    return KnowledgeGraph(nodes, edges.table(EDGES), edges.evidence(EVIDENCE), mentions, facts)


def adjacency(head: Any, tail: Any, weight: Any, n_nodes: int) -> csr_array:
    """Symmetric sparse matrix of edge weights; parallel edges add up."""
    ends = (np.concatenate([head, tail]), np.concatenate([tail, head]))
    matrix = csr_array((np.concatenate([weight, weight]), ends), shape=(n_nodes, n_nodes))
    matrix.sum_duplicates()
    return matrix


def _nodes(
    entities: list[Entity],
    found: Mentions,
    words: Words,
    documents: list[str],
    mentions: csr_array,
    weights: csr_array,
    community: Any,
) -> pa.Table:
    n_chunks = mentions.shape[1]
    chunks = np.diff(mentions.indptr)
    numbers = (
        np.unique(np.asarray(documents, dtype=object), return_inverse=True)[1] if documents else np.zeros(0, int)
    )
    held = np.unique(np.stack([found.node, numbers[words.text[found.first]]]), axis=1)[0]
    columns = {
        "label": [entity.label for entity in entities],
        "kind": [entity.kind for entity in entities],
        "forms": [[list(form) for form in entity.forms] for entity in entities],
        "mentions": np.bincount(found.node, minlength=len(entities)),
        "chunks": chunks,
        "documents": np.bincount(held, minlength=len(entities)),
        "idf": np.log(1 + (n_chunks - chunks + 0.5) / (chunks + 0.5)),
        "degree": np.asarray(weights.sum(axis=1)).reshape(-1),
        "community": community,
    }
    return pa.table(columns, schema=NODES)

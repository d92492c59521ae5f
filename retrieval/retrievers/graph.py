"""Retrieval over the knowledge graph: the question's entities, one hop along their relations, and who holds them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array, load_npz, save_npz

from ingestion.entities import EntitySpec
from ingestion.graph import KIND, GraphSpec, KnowledgeGraph, build_graph, graph_spec
from ingestion.linking import linked
from retrieval.analysis import tokens
from retrieval.schema import Queries, Run, empty_run
from retrieval.sparse import Postings
from retrieval.stage import Context


@dataclass(frozen=True)
class Graph:
    """Ranks chunks by the activation of the entities that they hold.

    `mode` local: the question's entities (longest match first) are activated with their IDF; each entity hands
    `hop` times its activation to its neighbours, in proportion to w_ij / sqrt(d_i d_j) (w: sentences that join two
    entities, d: their sum over a node, so that hubs are damped), to the `neighbours` strongest ones; a chunk's score
    is the sum of the activations of its entities. `mode` global: the question is compared with the words of the
    Louvain communities (cosine of TF-IDF), and the entities of the best `communities` are activated with similarity
    times IDF. `fallback` community: a question without a known entity is asked globally, which the trace says.
    """

    VERSION: ClassVar[int] = 1
    mode: Literal["local", "global"] = "local"
    fallback: Literal["none", "community"] = "none"
    hop: float = 0.5
    neighbours: int = 30
    communities: int = 3
    min_count: int = 3
    min_weight: int = 1

    def __post_init__(self) -> None:
        if self.hop < 0 or min(self.neighbours, self.communities, self.min_count, self.min_weight) < 1:
            raise ValueError("hop must be at least 0; neighbours, communities, min_count, min_weight at least 1")

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank the chunks that hold an activated entity."""
        if not len(ctx.corpus):
            return empty_run()
        graph = self.graph(ctx)
        spec = {"of": graph_spec(ctx.corpus, self.graph_spec), "neighbours": self.neighbours, "version": 1}
        index = ctx.artifact("graph_index", spec, lambda out: self._build(graph, out), GraphIndex.load)
        active = self.activation(ctx, graph, index, queries)
        return index.holders.search(active, ctx.depth, ctx.allowed)

    def graph(self, ctx: Context) -> KnowledgeGraph:
        """The knowledge graph of the corpus, an artifact that `python -m ingestion graph` reads too."""
        spec = self.graph_spec
        return ctx.artifact(
            KIND,
            graph_spec(ctx.corpus, spec),
            lambda out: build_graph(ctx.corpus, spec).save(out),
            KnowledgeGraph.load,
        )

    @property
    def graph_spec(self) -> GraphSpec:
        """What is extracted from the corpus."""
        return GraphSpec(EntitySpec(min_count=self.min_count), self.min_weight)

    def activation(self, ctx: Context, graph: KnowledgeGraph, index: GraphIndex, queries: Queries) -> csr_array:
        """How strongly each question activates each entity, float64 sparse [n_queries, n_nodes]."""
        if self.mode == "global":
            return self._communities(graph, queries)
        active = self._entities(graph, queries)
        known = np.diff(active.indptr) > 0
        ctx.fact("questions without a known entity", int((~known).sum()), of=len(queries))
        hopped = csr_array(active + self.hop * (active @ index.hops))
        if self.fallback == "community" and not known.all():
            ctx.note("fell back to communities", np.flatnonzero(~known), np.full(int((~known).sum()), -1))
            ctx.fact("questions asked of communities", int((~known).sum()), of=len(queries))
            hopped = csr_array(hopped + diags_array((~known).astype(np.float64)) @ self._communities(graph, queries))
        hopped.sort_indices()
        return hopped

    def _entities(self, graph: KnowledgeGraph, queries: Queries) -> csr_array:
        """The IDF of each entity that a question names, each once."""
        query, node = linked(graph.linker, queries.query)
        pairs = np.unique(np.stack([query, node]), axis=1)
        idf = graph.nodes["idf"].to_numpy()
        return csr_array((idf[pairs[1]], (pairs[0], pairs[1])), shape=(len(queries), len(graph)))

    def _communities(self, graph: KnowledgeGraph, queries: Queries) -> csr_array:
        """Similarity of the best communities times the IDF of their entities."""
        similar = np.round(_community_similarity(graph, queries), 12)
        community = graph.nodes["community"].to_numpy()
        kept = np.zeros_like(similar)
        best = np.argsort(-similar, axis=1, kind="stable")[:, : self.communities]
        np.put_along_axis(kept, best, np.take_along_axis(similar, best, axis=1), axis=1)
        active = csr_array(kept[:, community] * graph.nodes["idf"].to_numpy())
        active.sort_indices()
        return active

    def _build(self, graph: KnowledgeGraph, folder: Path) -> None:
        """Which chunks hold an entity, weight 1, and the way from entity to entity."""
        holds = csr_array(graph.mentions.T)
        holds.data = np.ones(len(holds.data))
        Postings.of(holds).save(folder)
        save_npz(folder / "hops.npz", damped(graph.adjacency, self.neighbours))


@dataclass(frozen=True)
class GraphIndex:
    """Postings of entities, and the damped adjacency, float64 sparse [n_nodes, n_nodes]."""

    holders: Postings
    hops: csr_array

    @staticmethod
    def load(folder: Path) -> GraphIndex:
        """Read what `Graph` built."""
        return GraphIndex(Postings.load(folder), csr_array(load_npz(folder / "hops.npz")))


def damped(adjacency: csr_array, strongest: int) -> csr_array:
    """W_ij = w_ij / sqrt(d_i d_j), the `strongest` entries of each row, ties by the smaller node."""
    degree = np.asarray(adjacency.sum(axis=1)).reshape(-1)
    scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0.0)
    weights = csr_array(diags_array(scale) @ adjacency @ diags_array(scale))
    row = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    order = np.lexsort((weights.indices, -np.round(weights.data, 12), row))
    place = np.arange(len(row)) - weights.indptr[row[order]]
    top = order[place < strongest]
    kept = csr_array((weights.data[top], (row[top], weights.indices[top])), shape=weights.shape)
    kept.sort_indices()
    return kept


def _community_similarity(
    graph: KnowledgeGraph, queries: Queries
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Cosine of TF-IDF between questions and communities, float64 [n_queries, n_communities].

    A community's words are those of its entities' labels, each as often as the entity is mentioned (1 + ln).
    """
    community = graph.nodes["community"].to_numpy()
    weight = 1 + np.log(np.maximum(graph.nodes["mentions"].to_numpy(), 1))
    n_communities = int(community.max(initial=-1)) + 1
    known: dict[str, int] = {}
    cells = [
        (community[node], known.setdefault(term, len(known)), weight[node])
        for node, label in enumerate(graph.labels)
        for term in tokens(label)
    ]
    if not cells:
        return np.zeros((len(queries), n_communities))
    rows, columns, values = (np.asarray(column) for column in zip(*cells, strict=True))
    words = csr_array((values, (rows, columns)), shape=(n_communities, len(known)))
    words.sum_duplicates()
    held = np.bincount(words.indices, minlength=len(known))
    idf = np.log(1 + (n_communities - held + 0.5) / (held + 0.5))
    asked = [(row, known[term]) for row, text in enumerate(queries.query) for term in tokens(text) if term in known]
    at = np.asarray(asked, dtype=np.int64).reshape(len(asked), 2)
    question = csr_array((np.ones(len(at)), (at[:, 0], at[:, 1])), shape=(len(queries), len(known)))
    return np.asarray((_unit(question, idf) @ _unit(words, idf).T).toarray(), dtype=np.float64)


def _unit(counts: csr_array, idf: np.ndarray[tuple[int], np.dtype[np.float64]]) -> csr_array:
    """Rows weighted by IDF, of length 1."""
    weighted = csr_array(counts @ diags_array(idf))
    norm = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).reshape(-1))
    return csr_array(diags_array(np.where(norm > 0, 1 / np.where(norm > 0, norm, 1), 0.0)) @ weighted)

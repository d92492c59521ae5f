"""What the knowledge graph says about the entities of a question, as lines for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ingestion.graph import GraphSpec, KnowledgeGraph, open_graph
from ingestion.linking import linked
from ingestion.relations import CO_OCCURS
from retrieval.stage import Context

MOST = 10
WORDING = {CO_OCCURS: "mentioned together with"}

Longs = npt.NDArray[np.int64]


def related(ctx: Context, questions: Sequence[str], most: int = MOST) -> list[tuple[str, ...]]:
    """For each question up to `most` lines such as `BM25 - compared with - TF-IDF (report.pdf, page 2)`.

    A line is an edge of the graph between two entities that the question names: typed relations first, then by the
    number of sentences that state them. The place is the first chunk, by id, that states it and passes the filter of
    the context; an edge without such a chunk is no line. The graph is the artifact that graph retrieval uses.
    """
    if not len(ctx.corpus):
        return [() for _ in questions]
    graph = open_graph(ctx.corpus, GraphSpec(), ctx.store)
    edges = _Edges(graph, ctx.allowed)
    text, node = linked(graph.linker, questions)
    bounds = np.searchsorted(text, np.arange(len(questions) + 1)).tolist()
    found = [edges.among(np.unique(node[low:high]))[:most].tolist() for low, high in pairwise(bounds)]
    return [tuple(_line(ctx, graph, edge, int(edges.chunk[edge])) for edge in rows) for rows in found]


class _Edges:
    """The edges of a graph as arrays, with the chunk that each is shown from, -1 for none; int64 [n_edges] each."""

    def __init__(self, graph: KnowledgeGraph, allowed: npt.NDArray[np.bool_] | None) -> None:
        self.head = graph.edges["head"].to_numpy().astype(np.int64)
        self.tail = graph.edges["tail"].to_numpy().astype(np.int64)
        loose = np.asarray([kind == CO_OCCURS for kind in graph.edges["type"].to_pylist()], dtype=np.bool_)
        self.chunk = _first_chunk(graph, allowed)
        order = np.lexsort((np.arange(len(loose)), -graph.edges["weight"].to_numpy(), loose))
        self.place = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order))

    def among(self, nodes: npt.NDArray[np.integer]) -> Longs:
        """The edges between these nodes (ascending) that may be shown, the best first."""
        low, high = np.searchsorted(self.head, nodes), np.searchsorted(self.head, nodes, side="right")
        rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(a, b) for a, b in zip(low, high, strict=True))])
        rows = rows[np.isin(self.tail[rows], nodes) & (self.chunk[rows] >= 0)]
        return np.asarray(rows[np.argsort(self.place[rows])], dtype=np.int64)


def _first_chunk(graph: KnowledgeGraph, allowed: npt.NDArray[np.bool_] | None) -> Longs:
    """The first allowed chunk that states each edge, -1 for none."""
    edge, chunk = graph.evidence["edge"].to_numpy(), graph.evidence["chunk"].to_numpy()
    if allowed is not None:
        edge, chunk = edge[allowed[chunk]], chunk[allowed[chunk]]
    order = np.lexsort((chunk, edge))
    known, first = np.unique(edge[order], return_index=True)
    found = np.full(graph.edges.num_rows, -1, dtype=np.int64)
    found[known] = chunk[order][first]
    return found


def _line(ctx: Context, graph: KnowledgeGraph, edge: int, chunk: int) -> str:
    row = graph.edges.slice(edge, 1).to_pylist()[0]
    place = ctx.corpus.chunks.slice(chunk, 1).select(["doc_name", "page_start"]).to_pylist()[0]
    wording = WORDING.get(row["type"], row["type"].replace("_", " "))
    ends = f"{graph.labels[row['head']]} - {wording} - {graph.labels[row['tail']]}"
    return f"{ends} ({place['doc_name']}, page {place['page_start']})"

"""`python -m ingestion graph`: the figures of a corpus' knowledge graph, or the neighbourhood of one entity."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ingestion.artifacts import ArtifactStore
from ingestion.config import load, nearest, to_plain, whole_number
from ingestion.errors import GraphExtractionError
from ingestion.graph import KIND, GraphSpec, KnowledgeGraph, graph_spec, open_graph
from ingestion.linking import linked
from ingestion.pipeline import ingest_configured
from ingestion.schema import Corpus

USAGE = """\
python -m ingestion graph [<entity>] [corpus.path=<folder>] [k=10] [key=value ...]

Without an entity: the graph's figures. With one: its k strongest relations, each with a sentence that states it.
An entity is found by any of its spellings: case, plural, hyphens, acronym or expansion.
"""
HUB_SHARE = 0.01  # the nodes with most edges that count as hubs


def main(arguments: Sequence[str]) -> int:
    """Print figures or a neighbourhood; returns the exit code.

    Raises:
        ConfigError, IngestionError: what is wrong, and the remedy.
    """
    if {"-h", "--help"} & set(arguments):
        print(USAGE, end="")
        return 0
    named = [argument for argument in arguments if "=" not in argument]
    overrides = [argument for argument in arguments if "=" in argument and not argument.startswith("k=")]
    k = next((whole_number("k", text[2:]) for text in reversed(arguments) if text.startswith("k=")), 10)
    plain = to_plain(load(overrides))
    store = ArtifactStore(Path(plain["artifacts"]))
    corpus = ingest_configured(plain, store)
    graph = open_graph(corpus, GraphSpec(), store)
    seconds = store.built[f"{KIND}/{store.key(KIND, graph_spec(corpus, GraphSpec()))}"].seconds
    print(neighbourhood(graph, corpus, " ".join(named), k) if named else report(graph, seconds))
    return 0


def figures(graph: KnowledgeGraph) -> dict[str, Any]:
    """Figures of a graph: nodes by kind, edges by type, hub share, merged variants, communities, modularity."""
    degree = np.sort(np.asarray((graph.adjacency > 0).sum(axis=1)).reshape(-1))[::-1]
    hubs = max(1, round(HUB_SHARE * len(graph))) if len(graph) else 0
    sizes = np.bincount(graph.nodes["community"].to_numpy()) if len(graph) else np.zeros(0, int)
    return {
        "nodes": len(graph),
        "nodes_by_kind": dict(sorted(Counter(graph.nodes["kind"].to_pylist()).items())),
        "edges": graph.edges.num_rows,
        "edges_by_type": dict(sorted(Counter(graph.edges["type"].to_pylist()).items())),
        "hub_share": float(degree[:hubs].sum() / max(1, degree.sum())),
        "alone": int((degree == 0).sum()),
        "communities": int((sizes > 1).sum()),
        "largest_community": int(sizes.max(initial=0)),
        **graph.facts,
    }


def report(graph: KnowledgeGraph, seconds: float) -> str:
    """The figures as lines of text."""
    found = figures(graph)
    kinds = ", ".join(f"{count} {kind}" for kind, count in found["nodes_by_kind"].items())
    types = ", ".join(f"{count} {kind}" for kind, count in found["edges_by_type"].items())
    return "\n".join(
        [
            f"corpus       {found['documents']} documents, {found['chunks']} chunks, {found['words']} words",
            f"nodes        {found['nodes']} ({kinds}); {found['alone']} of them without an edge",
            f"variants     {found['variants_merged']} merged into other spellings",
            f"edges        {found['edges']} ({types})",
            f"hubs         {found['hub_share']:.1%} of all edge ends are at the top {HUB_SHARE:.0%} of nodes",
            f"communities  {found['communities']} of two or more nodes, the largest {found['largest_community']}; "
            f"modularity {found['modularity']:.3f}",
            f"mentions     {found['words_linked'] / max(1, found['words']):.1%} of words stand in a mention",
            f"built in     {seconds:.1f} s",
        ]
    )


def find_node(graph: KnowledgeGraph, name: str) -> int:
    """The node that a name stands for, by any spelling.

    Raises:
        GraphExtractionError: no node has this name; the message offers the nearest one.
    """
    _, nodes = linked(graph.linker, [name])
    if not len(nodes):
        raise GraphExtractionError(f"entity {name!r} is not in the graph{nearest(name, graph.labels)}"[:300])
    return int(nodes[0])


def neighbourhood(graph: KnowledgeGraph, corpus: Corpus, name: str, k: int) -> str:
    """A node, its variants and its k strongest edges, typed ones first, each with document, page and sentence."""
    node = find_node(graph, name)
    row = graph.nodes.slice(node, 1).to_pylist()[0]
    head, tail = graph.edges["head"].to_numpy(), graph.edges["tail"].to_numpy()
    own = np.flatnonzero((head == node) | (tail == node)).tolist()
    edges = {edge: graph.edges.slice(edge, 1).to_pylist()[0] for edge in own}
    best = sorted(own, key=lambda edge: (edges[edge]["type"] == "co_occurs", -edges[edge]["weight"], edge))[:k]
    spelled = ", ".join(" ".join(form) for form in row["forms"])
    lines = [
        f"{row['label']}: {row['kind']}, {row['mentions']} mentions in {row['documents']} documents, "
        f"{row['chunks']} chunks; community {row['community']}",
        f"   found as: {spelled}",
        f"   {len(own)} relations" + (f", the {k} strongest:" if len(own) > k else ":"),
    ]
    return "\n".join([*lines, *(_edge(graph, corpus, edge, edges[edge]) for edge in best)])


def _edge(graph: KnowledgeGraph, corpus: Corpus, edge: int, row: dict[str, Any]) -> str:
    width = min(110, shutil.get_terminal_size().columns)
    found = graph.evidence.slice(int(np.searchsorted(graph.evidence["edge"].to_numpy(), edge)), 1).to_pylist()[0]
    chunk = corpus.chunks.slice(found["chunk"], 1).to_pylist()[0]
    sentence = chunk["text"][found["char_start"] : found["char_end"]]
    arrow = "--" if row["type"] == "co_occurs" else "->"
    head = f"{graph.labels[row['head']]} {arrow} {row['type']} {arrow} {graph.labels[row['tail']]}"
    place = f"({row['weight']} sentences; {chunk['doc_name']}, page {chunk['page_start']})"
    return f"\n   {head}  {place}\n" + textwrap.fill(
        sentence, width, initial_indent="      ", subsequent_indent="      "
    )

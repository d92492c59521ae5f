"""Louvain communities of a graph (Blondel et al., J. Stat. Mech. 2008), the same whatever the order of its edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, triu


def louvain(weights: csr_array, resolution: float, seed: int) -> tuple[npt.NDArray[np.int32], float]:
    """Community of every node, int32 [n_nodes], and the modularity; communities are numbered by falling size.

    networkx's implementation over sorted nodes and edges: it takes the resolution that the literature defines, needs
    no global random state, and is the quicker one (see `python_louvain` for the other).
    """
    import networkx as nx

    graph = _graph(weights)
    if not graph.number_of_edges():
        return np.arange(weights.shape[0], dtype=np.int32), 0.0
    groups = nx.community.louvain_communities(graph, weight="weight", resolution=resolution, seed=seed)
    return _number(groups, weights.shape[0]), float(nx.community.modularity(graph, groups, resolution=resolution))


def python_louvain(weights: csr_array, resolution: float, seed: int) -> tuple[npt.NDArray[np.int32], float]:
    """The same by the package python-louvain, for comparison."""
    import community
    import networkx as nx

    graph = _graph(weights)
    if not graph.number_of_edges():
        return np.arange(weights.shape[0], dtype=np.int32), 0.0
    best = community.best_partition(graph, weight="weight", resolution=resolution, random_state=seed)
    groups: dict[int, set[int]] = {}
    for node, group in best.items():
        groups.setdefault(group, set()).add(node)
    modularity = float(nx.community.modularity(graph, groups.values(), resolution=1.0))
    return _number(groups.values(), weights.shape[0]), modularity


def _graph(weights: csr_array) -> Any:
    """A networkx graph with nodes and edges in ascending order."""
    import networkx as nx

    upper = triu(weights, k=1).tocoo()
    order = np.lexsort((upper.col, upper.row))
    graph = nx.Graph()
    graph.add_nodes_from(range(weights.shape[0]))
    rows = (upper.row[order].tolist(), upper.col[order].tolist(), upper.data[order].tolist())
    graph.add_weighted_edges_from(zip(*rows, strict=True))
    return graph


def _number(groups: Iterable[set[int]], n_nodes: int) -> npt.NDArray[np.int32]:
    """Communities numbered by size, the largest first, ties by their smallest node."""
    numbers = np.zeros(n_nodes, dtype=np.int32)
    for number, group in enumerate(sorted(groups, key=lambda nodes: (-len(nodes), min(nodes)))):
        numbers[list(group)] = number
    return numbers

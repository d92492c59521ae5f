"""Edges of the graph: entities that stand in one sentence, with what the sentence says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ingestion.linking import Mentions
from ingestion.relations import CO_OCCURS, TYPES, relation
from ingestion.tokens import Ints, Longs, Words
from ingestion.vocabulary import numbered

FARTHEST = 12  # mentions of a sentence between which pairs are made


@dataclass(frozen=True)
class Edges:
    """Distinct edges, int64 [n_edges] each, sorted by head, tail and type (row of `TYPES`), and their evidence.

    `weight`: distinct sentences, `documents`: distinct documents. `edge`, `chunk`, `start`, `end` int64 [n_evidence].
    """

    head: Longs
    tail: Longs
    kind: Longs
    weight: Longs
    documents: Longs
    edge: Longs
    chunk: Longs
    start: Longs
    end: Longs

    def table(self, schema: pa.Schema) -> pa.Table:
        """The edges as a table."""
        kinds = pa.array([TYPES[kind] for kind in self.kind.tolist()], pa.string())
        columns = [self.head.astype(np.int32), self.tail.astype(np.int32), kinds, self.weight, self.documents]
        return pa.table(columns, schema=schema)

    def evidence(self, schema: pa.Schema) -> pa.Table:
        """The evidence as a table."""
        return pa.table(
            [self.edge.astype(np.int32), self.chunk.astype(np.int32), self.start, self.end], schema=schema
        )


def edges_of(words: Words, found: Mentions, texts: Sequence[str], documents: Sequence[str], min_weight: int) -> Edges:
    """Typed relations of neighbouring mentions; co-occurrence of all others in at least `min_weight` sentences."""
    first, second = _pairs(words.sentence[found.first], found.node)
    head, tail = found.node[first].astype(np.int64), found.node[second].astype(np.int64)
    kind = np.full(len(first), TYPES.index(CO_OCCURS), dtype=np.int64)
    for row in np.flatnonzero(second == first + 1).tolist():
        left, right = found.last[first[row]], found.first[second[row]]
        stated = relation(texts[words.text[left]][words.end[left] : words.start[right]])
        if stated is not None:
            kind[row] = TYPES.index(stated[0])
            if stated[1]:
                head[row], tail[row] = tail[row], head[row]
    loose = kind == TYPES.index(CO_OCCURS)
    head[loose], tail[loose] = np.minimum(head, tail)[loose], np.maximum(head, tail)[loose]
    sentence = words.sentence[found.first[first]]
    return _distinct(head, tail, kind, sentence, words, numbered(documents), min_weight)


def _pairs(sentence: Ints, node: Ints) -> tuple[Longs, Longs]:
    """All pairs of different entities of a sentence, as rows of the mentions."""
    parts = []
    for step in range(1, FARTHEST):
        rows = np.arange(max(0, len(sentence) - step))
        together = (sentence[rows] == sentence[rows + step]) & (node[rows] != node[rows + step])
        parts.append((rows[together], rows[together] + step))
    return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])


def _distinct(
    head: Longs, tail: Longs, kind: Longs, sentence: Ints, words: Words, document: Longs, min_weight: int
) -> Edges:
    order = np.lexsort((sentence, kind, tail, head))
    head, tail, kind, sentence = head[order], tail[order], kind[order], sentence[order]
    new = np.ones(len(head), dtype=np.bool_)
    new[1:] = (np.diff(head) != 0) | (np.diff(tail) != 0) | (np.diff(kind) != 0)
    edge = np.cumsum(new) - 1
    chunk, start, end = words.sentences[sentence].T.reshape(3, -1)
    owner = document[chunk]
    wording = _wordings(words)[sentence]
    n_edges = int(edge.max(initial=-1)) + 1
    weight = _count_distinct(edge, owner * (int(wording.max(initial=0)) + 1) + wording, n_edges)
    kept = (kind[new] != TYPES.index(CO_OCCURS)) | (weight >= min_weight)
    number = np.cumsum(kept) - 1
    stays = kept[edge]
    rows = np.unique(np.stack([number[edge[stays]], chunk[stays], start[stays], end[stays]]), axis=1)
    return Edges(
        head[new][kept],
        tail[new][kept],
        kind[new][kept],
        weight[kept],
        _count_distinct(edge, owner, n_edges)[kept],
        *rows,
    )


def _wordings(words: Words) -> Longs:
    """Equal numbers for sentences of equal words, int64 [n_sentences]."""
    known: dict[bytes, int] = {}
    spelled = words.spelling.tobytes()
    bounds = np.searchsorted(words.sentence, np.arange(len(words.sentences) + 1)).tolist()
    keys = (spelled[4 * low : 4 * high] for low, high in pairwise(bounds))
    return np.asarray([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)


def _count_distinct(group: Longs, value: Longs, n_groups: int) -> Longs:
    """How many distinct values each group has, int64 [n_groups]."""
    pairs = np.unique(np.stack([group, value]), axis=1)
    return np.bincount(pairs[0], minlength=n_groups).astype(np.int64)

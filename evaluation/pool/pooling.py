"""Pooling: the top of several rankings united, in an order that tells nothing about who found what.

Pooling after Sparck Jones and van Rijsbergen (1975), "Report on the need for and provision of an 'ideal' information
retrieval test collection". A pair of query row and chunk row is one int64 that sorts as the pair does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.grades import grade_matrix
from evaluation.judging import Judged
from evaluation.locate import Library
from evaluation.metrics import judged as judged_at
from evaluation.pool.file import Passage
from evaluation.qrels import chunk_documents, span_qrels
from evaluation.schema import Longs, Qrels, Spans
from ingestion.schema import Corpus
from retrieval.schema import Ints, Run


def pairs_of(query: Ints, chunk: Ints) -> Longs:
    """Pairs, int64 [n], in the given order."""
    return query.astype(np.int64) << 32 | chunk.astype(np.int64)


def queries_of(pairs: Longs) -> Ints:
    """Query rows of pairs, int32 [n]."""
    return (pairs >> 32).astype(np.int32)


def chunks_of(pairs: Longs) -> Ints:
    """Chunk rows of pairs, int32 [n]."""
    return (pairs & 0xFFFFFFFF).astype(np.int32)


def top(run: Run, k: int) -> Longs:
    """The pairs of the first k ranks, ascending."""
    head = run.rank <= k
    return np.sort(pairs_of(run.query[head], run.chunk[head]))


def pool(runs: Mapping[str, Run], k: int) -> Longs:
    """Every pair that stands in the first k ranks of any run, each once, ascending."""
    tops = [top(run, k) for run in runs.values()]
    return np.unique(np.concatenate([*tops, np.zeros(0, dtype=np.int64)]))


def unjudged(pairs: Longs, qrels: Qrels) -> Longs:
    """Those of the pairs that have no grade yet, not even 0."""
    return pairs[~np.isin(pairs, pairs_of(qrels.query, qrels.chunk))]


def with_pool(pairs: Longs, judged: Judged, min_coverage: float) -> Qrels:
    """The judgments as they will be once every pair is judged, grades apart: what is new has grade 0.

    Where spans are judged, the new ones judge neighbours too that lie in them by half.
    """
    if judged.spans is not None and judged.corpus is not None:
        spans = _with_spans(judged.spans, pairs, judged.corpus)
        return span_qrels(spans, judged.corpus, len(judged.benchmark.queries), min_coverage)
    qrels, new = judged.qrels, unjudged(pairs, judged.qrels)
    both = np.concatenate([pairs_of(qrels.query, qrels.chunk), new])
    order = np.argsort(both)

    return Qrels(
        queries_of(both[order]),
        chunks_of(both[order]),
        np.append(qrels.grade, np.zeros(len(new), dtype=np.int8))[order],
        np.append(qrels.group, np.full(len(new), -1, dtype=np.int32))[order],
        np.append(qrels.parts, np.zeros(len(new), dtype=np.int64))[order],
        qrels.n_parts,
    )


def judged_shares(runs: Mapping[str, Run], qrels: Qrels, n_queries: int, k: int) -> dict[str, float]:
    """Judged@k of every run: the share of its top k that has a judgment, averaged over all queries."""
    return {name: float(judged_at(grade_matrix(run, qrels, n_queries), k).mean()) for name, run in runs.items()}


def passages(pairs: Longs, judged: Judged) -> list[Passage]:
    """The pairs as rows for people: by qid, and within a question in blind order.

    The order is that of sha256(qid, chunk_id): random, the same on every machine, and untouched by who retrieved a
    passage or what else is in the pool. Pairs without a text (ids that the corpus lacks) are left out.
    """
    if judged.corpus is None:
        return []
    library, corpus = Library(judged.corpus), judged.corpus
    queries, documents = judged.benchmark.queries, corpus.documents["doc_name"].to_pylist()
    starts, ends = corpus.numbers("char_start"), corpus.numbers("char_end")
    owner = chunk_documents(corpus)
    rows = []
    for query, chunk in zip(queries_of(pairs).tolist(), chunks_of(pairs).tolist(), strict=True):
        if chunk >= len(corpus) or owner[chunk] < 0:
            continue
        doc = int(owner[chunk])
        at = library.on_page(doc, int(starts[chunk]), int(ends[chunk]))
        place = at["page"], at["char_start"], at["char_end"]
        name = documents[doc] if library.row(documents[doc]) == doc else corpus.column("doc_id")[chunk]
        identity = queries.qid[query], queries.query[query], str(corpus.chunk_ids[chunk])
        rows.append(Passage(*identity, str(name), *place, quote=corpus.texts[chunk]))
    return sorted(rows, key=lambda row: (row.qid, _blind(row)))


def united(parts: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Rows over several ways of chunking as one list, a span that two of them share once."""
    rows = {row.key: row for part in parts for row in part}
    return sorted(rows.values(), key=lambda row: (row.qid, _blind(row)))


def _blind(row: Passage) -> str:
    return hashlib.sha256(f"{row.qid}\x1f{row.chunk_id}".encode()).hexdigest()


def _with_spans(spans: Spans, pairs: Longs, corpus: Corpus) -> Spans:
    """The spans, followed by those of the pairs at grade 0."""
    known = pairs[chunks_of(pairs) < len(corpus)]
    chunk, new = chunks_of(known), len(known)
    return Spans(
        query=np.append(spans.query, queries_of(known)),
        doc=np.append(spans.doc, chunk_documents(corpus)[chunk].astype(np.int32)),
        start=np.append(spans.start, corpus.numbers("char_start")[chunk]),
        end=np.append(spans.end, corpus.numbers("char_end")[chunk]),
        grade=np.append(spans.grade, np.zeros(new, dtype=np.int8)),
        part=np.append(spans.part, np.full(new, -1, dtype=np.int32)),
        whole_page=np.append(spans.whole_page, np.zeros(new, dtype=np.bool_)),
        orphans=spans.orphans,
    )

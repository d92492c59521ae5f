"""A small corpus with overlapping neighbours, equal texts and documents of several chunks."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pytest

from ingestion.artifacts import ArtifactStore
from ingestion.schema import CHUNKS, DOCUMENTS, PAGES, Corpus
from retrieval.schema import Queries, make_run
from retrieval.stage import Context

WORDS = [
    "retrieval", "ranking", "fusion", "reciprocal", "rank", "score", "chunk", "document",
    "query", "term", "frequency", "inverse", "length", "vector", "dense", "sparse",
    "cosine", "overlap", "duplicate", "novelty", "relevance", "judgment", "span", "evidence",
    "interval", "bootstrap", "cluster", "sample",
]  # fmt: skip


def sentences(document: int) -> list[str]:
    return [" ".join(WORDS[(document * 5 + s * 3 + w) % len(WORDS)] for w in range(9)) for s in range(6)]


def corpus_rows() -> list[dict[str, object]]:
    rows = []
    for document in range(6):
        text = sentences(document)
        for start in range(5):
            body = " ".join([*text[start : start + 2], f"marker{document}x{start}"])
            if (document, start) in ((4, 0), (5, 0)):
                body = "the very same boilerplate about evidence and spans"
            if document in (1, 3) and start < 3:
                body += ". Reciprocal rank fusion (RRF) extends the Borda count."
            identifier = hashlib.sha256(f"{document}/{start}".encode()).hexdigest()[:16]
            values = (identifier, f"d{document}", f"d{document}.pdf", "", 1, 1, start * 100, start * 100 + len(body))
            rows.append(dict(zip(CHUNKS.names, (*values, "Body", "body", body, "{}"), strict=True)))
    return rows


def corpus_of(rows: list[dict[str, object]]) -> Corpus:
    documents = [
        dict(zip(DOCUMENTS.names, (f"d{n}", f"d{n}.pdf", "0" * 64, "", 1, "test", 1.0, "ok", "", ""), strict=True))
        for n in range(6)
    ]
    tables = pa.Table.from_pylist(rows, CHUNKS), pa.Table.from_pylist(documents, DOCUMENTS)
    return Corpus.of(*tables, pa.Table.from_pylist([], PAGES))


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return corpus_of(corpus_rows())


@pytest.fixture(scope="session")
def queries() -> Queries:
    texts = {
        "q1": "reciprocal rank fusion of retrieval scores",
        "q2": "bootstrap interval of a cluster sample",
        "q3": "the very same boilerplate about evidence and spans",
        "q4": "marker3x2",
        "q5": "",
        "q6": "zzzz qqqq",
    }
    return Queries.of(list(texts), list(texts.values()))


@pytest.fixture(scope="session")
def ctx(corpus, tmp_path_factory) -> Context:
    given = {"oracle": make_run([0, 0, 1], [3, 5, 7], [2.0, 1.0, 1.0], depth=100)}
    return Context(corpus, ArtifactStore(tmp_path_factory.mktemp("artifacts")), depth=20, given=given)


@pytest.fixture
def fresh(tmp_path: Path):
    """A context without any memory over a given corpus."""

    def make(corpus: Corpus, depth: int = 20) -> Context:
        given = {"oracle": make_run([0, 0, 1], [3, 5, 7], [2.0, 1.0, 1.0], depth=100)}
        return Context(corpus, ArtifactStore(tmp_path / "fresh"), depth=depth, given=given, remember=False)

    return make

"""Recall and speed of the vector stores against exact search over 100,000 vectors of real text.

    RANKPROOF_DATA=<folder> python benchmarks/ann_recall.py [number of vectors]

Passages of 60 words, each 30 words after the one before it (chunks overlap, too), of scientific collections; queries
are the first passages of 1,000 documents that are left out. Vectors are WordLlama's, 256 dimensions: static, so that
100,000 take seconds. Each store runs at its defaults in a process of its own, at the default depth of 100: its index
is built, and a batch of 1,000 queries is searched in turns by the store and exactly, five times; medians count. Peak
memory is that of the process after the first search, corpus and mapped vectors included. The filter leaves the
passages of one collection, by section. Asked: recall@10 at least .98, with the filter and without.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ingestion.artifacts import ArtifactStore
from ingestion.schema import CHUNKS, DOCUMENTS, PAGES, Corpus
from retrieval.ann import recall
from retrieval.filters import Where
from retrieval.retrievers.lance import Lance
from retrieval.retrievers.qdrant import Qdrant
from retrieval.schema import Queries, Run
from retrieval.stage import Context, Retriever
from retrieval.vectors import Vectors, exact_search

ASKED = 0.98
COLLECTIONS = ("cacm", "cranfield", "csfcube", "med", "nfcorpus_stopped", "npl", "pubmedqa", "scifact")
LONG = ("chunking_eval", "covid_qa")
WORDS, STEP, LEAST = 60, 30, 30
N_VECTORS, N_QUERIES, DEPTH, ROUNDS = 100_000, 1_000, 100, 5
FILTER = Where(section="scifact")


@dataclass(frozen=True)
class Stored:
    """An encoder whose vectors are in a folder: `chunks.npy`, `queries.npy`."""

    VERSION: ClassVar[int] = 1
    folder: str

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Exact search."""
        return exact_search(self.query_vectors(queries.query), self.chunk_vectors(ctx), ctx.depth, ctx.allowed)

    def chunk_vectors(self, ctx: Context) -> Vectors:
        """Memory-mapped."""
        return np.load(Path(self.folder) / "chunks.npy", mmap_mode="r")

    def query_vectors(self, texts: Sequence[str], store: ArtifactStore | None = None) -> Vectors:
        """A text is the row of its vector."""
        return np.load(Path(self.folder) / "queries.npy")[[int(text) for text in texts]]


STORES = {"qdrant": Qdrant, "lance": Lance}


def documents(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Collection and words of every document."""
    files = [(name, data / "beir" / name / "corpus.jsonl.gz") for name in COLLECTIONS]
    files += [(name, data / "longdoc" / name / "documents.jsonl.gz") for name in LONG]
    for name, path in files:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                yield name, f"{record.get('title') or ''} {record.get('text') or ''}".split()


def passages(words: list[str]) -> list[str]:
    parts = [words[start : start + WORDS] for start in range(0, len(words), STEP)]
    return [" ".join(part) for part in parts if len(part) >= LEAST]


def material(data: Path, n_vectors: int) -> tuple[Corpus, list[str]]:
    """The corpus of distinct passages, and the queries."""
    found = list(documents(data))
    queries: list[str] = []
    texts: dict[str, str] = {}
    for row in np.random.default_rng(0).permutation(len(found)).tolist():
        name, words = found[row]
        cut = passages(words)
        if len(queries) < N_QUERIES:
            queries += [text for text in cut[:1] if text not in queries]
        else:
            texts |= {text: name for text in cut if text not in texts}
    for text in queries:
        texts.pop(text, None)
    rows = [
        (
            hashlib.sha256(text.encode()).hexdigest()[:16],
            "d0",
            "d0",
            "",
            1,
            1,
            n,
            n + len(text),
            name,
            "body",
            text,
            "{}",
        )
        for n, (text, name) in enumerate(list(texts.items())[:n_vectors])
    ]
    chunks = pa.Table.from_pylist([dict(zip(CHUNKS.names, row, strict=True)) for row in rows], CHUNKS)
    document = dict(zip(DOCUMENTS.names, ("d0", "d0", "0" * 64, "", 1, "text", 1.0, "ok", "", ""), strict=True))
    return Corpus.of(chunks, pa.Table.from_pylist([document], DOCUMENTS), PAGES.empty_table()), queries


def embed(texts: Sequence[str]) -> Vectors:
    import wordllama

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return np.asarray(model.embed(list(texts), norm=True), dtype=np.float32)


def megabytes() -> float:
    """Peak memory of this process; `ru_maxrss` would also know that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def measure(name: str, folder: Path, corpus: Corpus) -> None:
    """Print the line of one store; writes its lower recall to `<name>.json`."""
    store = ArtifactStore(folder / "artifacts" / name)
    encoder = Stored(str(folder))
    stage = STORES[name](encoder) if name in STORES else encoder
    queries = Queries.of([f"{n:04}" for n in range(N_QUERIES)], [str(n) for n in range(N_QUERIES)])
    vectors, chunks = np.load(folder / "queries.npy"), np.load(folder / "chunks.npy", mmap_mode="r")
    ctx = Context(corpus, store, DEPTH, remember=False)
    filtered = Context(corpus, store, DEPTH, remember=False, where=FILTER)

    def seconds(searched: Retriever) -> float:
        with store.timed() as own:  # without what a store's comparison with exact search takes
            searched.search(ctx, queries)
        return own[0]

    run = stage.search(ctx, queries)  # builds
    peak = megabytes()
    rounds = [(seconds(stage), seconds(encoder)) for _ in range(ROUNDS)]
    own, exact = (statistics.median(column) for column in zip(*rounds, strict=True))
    built = sum(index.seconds for index in store.built.values())
    size = on_disk(store.root) if name in STORES else (folder / "chunks.npy").stat().st_size
    share = recall(run, vectors, chunks, None)
    narrow = recall(stage.search(filtered, queries), vectors, chunks, filtered.allowed)
    print(
        f"{name:8} recall@10 {share:.4f}, filtered {narrow:.4f}   build {built:6.1f} s   {size / 1e6:6.1f} MB   "
        f"{N_QUERIES / own:6.0f} QPS, {exact / own:5.2f} x exact   peak {peak:5.0f} MB",
        flush=True,
    )
    (folder / f"{name}.json").write_text(json.dumps(min(share, narrow)))


def main() -> int:
    data = Path(os.environ.get("RANKPROOF_DATA", ""))
    if not (data / "beir").is_dir():
        print("ann_recall: skipped; set RANKPROOF_DATA to the folder that holds beir/")
        return 0
    n_vectors = int(sys.argv[1]) if len(sys.argv) > 1 else N_VECTORS
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, queries = material(data, n_vectors)
        np.save(folder / "chunks.npy", embed(corpus.texts))
        np.save(folder / "queries.npy", embed(queries))
        kept = FILTER.mask(corpus).mean()
        print(
            f"{len(corpus)} passages, {len(queries)} queries, depth {DEPTH}; the filter leaves {kept:.0%}", flush=True
        )
        for store in ("exact", *STORES):
            child = processes.Process(target=measure, args=(store, folder, corpus))
            child.start()
            child.join()
            if child.exitcode:
                return 1
        least = min(json.loads((folder / f"{store}.json").read_text()) for store in STORES)
    print(f"asked: recall@10 >= {ASKED}")
    return 0 if least >= ASKED else 1


if __name__ == "__main__":
    sys.exit(main())

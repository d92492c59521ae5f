"""Scale: 100,000 chunks made by resampling real text, 1,000 real questions; each strategy alone in a fresh process.

Prints index seconds, queries per second and peak memory. `python benchmarks/scale.py [chunks] [strategy ...]`.
Real text comes from the collections that RANKPROOF_DATA names. Transformers are left out: they embed about 10 chunks
a second on 2 cores, which is all there is to know; `static` stands for the search over dense vectors.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ingestion.artifacts import ArtifactStore
from ingestion.schema import CHUNKS, DOCUMENTS, PAGES, Corpus, chunk_id
from ingestion.sentences import spans
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Queries
from retrieval.stage import Context

STRATEGIES = (
    "bm25", "tfidf", "linear_0.5", "adaptive", "rrf", "rrf_dedup", "rrf_dedup_mmr", "rrf_novelty", "bm25_prf",
    "neighbours", "decompose", "ppmi", "graph_only", "rrf_graph_dedup_mmr", "static",
)  # fmt: skip
COLLECTIONS = ("scifact", "pubmedqa", "csfcube", "cacm", "med")
WORDS, PER_DOCUMENT, MOST_MB = 150, 40, 6_000


def documents(data: Path) -> Iterator[list[str]]:
    """The sentences of every real document."""
    paths = [data / "beir" / name / "corpus.jsonl.gz" for name in COLLECTIONS]
    for path in [*paths, data / "longdoc" / "covid_qa" / "documents.jsonl.gz"]:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                text = json.loads(line)["text"]
                if found := [text[low:high].replace("\n", " ") for low, high in spans(text)]:
                    yield found


def resampled(data: Path, n_chunks: int) -> Corpus:
    """Chunks of about 150 words, each from consecutive sentences of real documents drawn with replacement."""
    rng = np.random.default_rng(0)
    real = list(documents(data))
    rows = []
    for number in range(n_chunks):
        words, parts = 0, []
        while words < WORDS:
            source = real[int(rng.integers(len(real)))]
            start = int(rng.integers(len(source)))
            for sentence in source[start : start + 6]:
                parts.append(sentence)
                words += sentence.count(" ") + 1
        doc, place = f"d{number // PER_DOCUMENT:06}", number % PER_DOCUMENT * 1000
        text = " ".join(parts)
        name = chunk_id(doc, place, place + len(text), "scale")
        rows.append((name, doc, f"{doc}.pdf", "", 1, 1, place, place + len(text), "", "body", text, "{}"))
    names = sorted({row[1] for row in rows})
    files = [(name, f"{name}.pdf", "0" * 64, "", 1, "", 1.0, "ok", "", "") for name in names]
    return Corpus.of(_table(rows, CHUNKS), _table(files, DOCUMENTS), PAGES.empty_table())


def _table(rows: list[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)


def questions(data: Path) -> Queries:
    with gzip.open(data / "beir" / "scifact" / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines][:1000]
    return Queries.of([f"q{n:04}" for n in range(len(texts))], texts)


def measure(folder: Path, name: str) -> None:
    """One strategy in this process: a first search builds the indexes, the second one is timed."""
    corpus = Corpus.load(folder)
    queries = questions(Path(os.environ["RANKPROOF_DATA"]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with tempfile.TemporaryDirectory() as artifacts:
        store = ArtifactStore(Path(artifacts))
        stage = build_strategy(strategy_config(name))
        start = time.perf_counter()
        Context(corpus, store, remember=False).search(stage, queries.take([0]))
        index = time.perf_counter() - start
        start = time.perf_counter()
        run = stage.search(Context(corpus, store, remember=False).inside(), queries)
        seconds = time.perf_counter() - start
        size = sum(built.size for built in store.built.values()) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([name, index, len(queries) / seconds, size, peak, before, len(run)]))


def main(arguments: list[str]) -> int:
    data = Path(os.environ.get("RANKPROOF_DATA", ""))
    if not (data / "beir").is_dir():
        print("scale: skipped, RANKPROOF_DATA does not name the collections")
        return 0
    if arguments[:1] == ["--one"]:
        measure(Path(arguments[1]), arguments[2])
        return 0
    n_chunks = int(arguments[0]) if arguments else 100_000
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        resampled(data, n_chunks).save(Path(folder))
        print(f"{n_chunks} chunks, 1000 questions; peak includes the corpus in memory (second figure)")
        print(f"{'strategy':22} {'index s':>8} {'queries/s':>10} {'index MB':>9} {'peak MB':>8} {'corpus MB':>9}")
        for name in arguments[1:] or STRATEGIES:
            command = [sys.executable, __file__, "--one", folder, name]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(
                f"{name:22} {found[1]:8.1f} {found[2]:10.0f} {found[3]:9.0f} {found[4]:8.0f} {found[5]:9.0f}",
                flush=True,
            )
            failed |= found[4] > MOST_MB or (name == "graph_only" and found[2] < 200)
    print("asked: at most 6,000 MB each, graph_only at least 200 queries/s:", "missed" if failed else "held")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

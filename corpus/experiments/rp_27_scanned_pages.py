"""RP-TR-27: what pages without text, and pages with a bad text layer, cost BM25 on CL-SciSumm.

RANKPROOF_DATA=<folder> python corpus/experiments/rp_27_scanned_pages.py [artifact folder]
"""

from __future__ import annotations

import json
import os
import string
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluation.coverage import Gold, Ranked
from evaluation.grades import grade_matrix
from evaluation.locate import locate
from evaluation.metrics import evaluate, parse_metric
from evaluation.pdf_bench import load_pdf_bench
from evaluation.qrels import span_qrels
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, run
from ingestion.quality import page_quality
from ingestion.repair import vocabulary
from ingestion.schema import Corpus
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import Queries, Run
from retrieval.stage import Context

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-27.json"
DATA = Path(os.environ["RANKPROOF_DATA"])
BENCH = DATA / "pdf_bench" / "clscisumm"
METRICS = [parse_metric(name) for name in ("R@5", "nDCG@5", "EvRecall@1000w")]
SHARES, SEEDS = (0.05, 0.1, 0.2, 0.3, 0.5), range(20)
NOISE, NOISE_SEEDS = (0.01, 0.02, 0.05, 0.1, 0.2), range(3)
LETTERS = np.array(list(string.ascii_lowercase))


def search(corpus: Corpus, full: Corpus, queries: Queries) -> Run:
    """BM25 over a part of a corpus (or over other texts of the same chunks), in rows of the full corpus."""
    with tempfile.TemporaryDirectory() as scratch:
        found = Bm25().search(Context(corpus, ArtifactStore(Path(scratch)), depth=100), queries)
    rows = np.asarray([full.row_of[name] for name in corpus.chunk_ids], dtype=np.int32)
    return replace(found, chunk=rows[found.chunk])


def noisy(text: str, rate: float, rng: np.random.Generator) -> str:
    """The text with a share of its letters replaced by random ones."""
    chars = np.array(list(text))
    hit = (np.char.isalpha(chars)) & (rng.random(len(chars)) < rate)
    chars[hit] = rng.choice(LETTERS, int(hit.sum()))
    return "".join(chars)


def with_texts(corpus: Corpus, texts: list[str]) -> Corpus:
    """The corpus with other texts in its chunks."""
    at = corpus.chunks.schema.get_field_index("text")
    return Corpus.of(corpus.chunks.set_column(at, "text", pa.array(texts)), corpus.documents, corpus.pages)


def main(store: ArtifactStore) -> None:
    """Write all figures."""
    plain = to_plain(load([]))
    spec, chunker = build_ingest(plain["ingest"]), build_chunker(plain["chunker"])
    full = run(BENCH / "pdfs", spec, chunker, store, False).corpus
    kept = full.chunks.filter(pa.compute.not_equal(full.chunks["kind"], "references"))
    full = Corpus.of(kept, full.documents, full.pages)
    benchmark = load_pdf_bench(BENCH, "all")
    spans, queries = locate(benchmark, full), benchmark.queries
    qrels, gold = span_qrels(spans, full, len(queries)), Gold(full, spans, benchmark)

    def scores(found: Run) -> np.ndarray:
        values = evaluate(grade_matrix(found, qrels, len(queries), "once"), METRICS, Ranked(found, gold))
        return np.nanmean(values, axis=1)

    found = search(full, full, queries)
    base = scores(found)
    right = set(zip(qrels.query[qrels.grade > 0].tolist(), qrels.chunk[qrels.grade > 0].tolist(), strict=True))
    stems = [Path(name).stem for name in full.column("doc_name")]
    top = found.rank <= 5
    shown = list(zip(found.query[top].tolist(), found.chunk[top].tolist(), strict=True))
    rivals = [stems[chunk] == queries.cluster[query] for query, chunk in shown if (query, chunk) not in right]
    pages = [(row["doc_id"], row["page"]) for row in full.pages.to_pylist()]
    docs = sorted({doc for doc, _ in pages})
    # A chunk belongs to the page on which most of it stands.
    starts = {(row["doc_id"], row["page"]): row["char_start"] for row in full.pages.to_pylist()}
    home, crossing = [], 0
    for row in full.chunks.to_pylist():
        first, last = row["page_start"], row["page_end"]
        cut = [row["char_start"], *(starts[row["doc_id"], n] for n in range(first + 1, last + 1)), row["char_end"]]
        home.append((row["doc_id"], first + int(np.argmax(np.diff(cut)))))
        crossing += first != last
    result: dict[str, Any] = {"questions": len(queries), "papers": len(docs), "pages": len(pages)}
    result |= {"chunks": len(full), "crossing": crossing, "base": np.round(base, 4).tolist(), "missing": {}}
    result["rivals_at_home"] = round(float(np.mean(rivals)), 4)
    answered = np.flatnonzero(qrels.grade > 0)
    for pattern in ("pages", "papers"):
        for share in SHARES:
            rows = []
            for seed in SEEDS:
                rng = np.random.default_rng([seed, round(share * 100)])
                if pattern == "pages":
                    gone = {pages[i] for i in rng.choice(len(pages), round(share * len(pages)), replace=False)}
                else:
                    lost = {docs[i] for i in rng.choice(len(docs), round(share * len(docs)), replace=False)}
                    gone = {place for place in pages if place[0] in lost}
                keep = [place not in gone for place in home]
                part = Corpus.of(full.chunks.filter(pa.array(keep)), full.documents, full.pages)
                left = np.mean([home[row] not in gone for row in qrels.chunk[answered].tolist()])
                rows.append([*scores(search(part, full, queries)), left])
            table = np.asarray(rows)
            result["missing"][f"{pattern} {share}"] = {
                "mean": np.round(table.mean(axis=0), 4).tolist(),
                "sd": np.round(table.std(axis=0, ddof=1), 4).tolist(),
            }
    result["noise"] = {}
    words = vocabulary((text, False) for text in full.texts)
    for rate in (0.0, *NOISE):
        rows = []
        for seed in NOISE_SEEDS if rate else range(1):
            rng = np.random.default_rng([seed, round(rate * 1000)])
            texts = [noisy(text, rate, rng) for text in full.texts]
            seen = vocabulary((text, False) for text in texts)
            quality = np.mean([page_quality(text, 0, (), seen) for text in texts[::10]])
            rows.append([*scores(search(with_texts(full, texts), full, queries)), quality, len(seen) / len(words)])
        result["noise"][str(rate)] = np.round(np.mean(rows, axis=0), 4).tolist()
    TARGET.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())))

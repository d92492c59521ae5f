"""Judged sentences of CL-SciSumm under several chunkers: found again, covered, and what identifiers would have kept.

    RANKPROOF_DATA=<data> python corpus/experiments/rp_09_evidence_spans.py [<artifacts>]

Writes `corpus/sources/measured/rp-09.json`. `<artifacts>` keeps extractions (default: a temporary folder).
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from evaluation.coverage import Gold, Ranked, evidence_recall
from evaluation.grades import grade_matrix
from evaluation.locate import Library, locate
from evaluation.metrics import judged, ndcg, recall
from evaluation.pdf_bench import load_pdf_bench
from evaluation.qrels import span_qrels
from evaluation.quotes import Normal
from evaluation.schema import Benchmark, Spans
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from ingestion.chunkers.fixed import FixedChunker
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.compose import build_ingest
from ingestion.config import load, to_plain
from ingestion.document import Chunker
from ingestion.pipeline import ingest
from ingestion.schema import Corpus
from retrieval.retrievers.bm25 import Bm25
from retrieval.stage import Context

FOLDER = Path(os.environ["RANKPROOF_DATA"]) / "pdf_bench" / "clscisumm"
TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-09.json"
SIZES, SHARES, SEED = (100, 200, 400), (0.25, 0.5, 0.75, 0.9, 1.0), 9


def read(chunker: Chunker, store: ArtifactStore) -> Corpus:
    """The papers under one chunker; extractions are shared."""
    return ingest(FOLDER / "pdfs", build_ingest(to_plain(load([]))["ingest"]), chunker, store)


def steps(benchmark: Benchmark, corpus: Corpus) -> dict:
    """How the judged sentences were found: letter by letter after folding, by letters and digits alone, or alike."""
    library, found = Library(corpus), {"folded": 0, "letters": 0, "similar": 0, "orphan": 0, "other page": 0}
    for row in benchmark.evidence:
        place = library.find(row)
        if place is None:
            found["orphan"] += 1
            continue
        text = library.texts[place[0]]
        there, page = text.text[place[1] : place[2]], text.pages.get(row.page, (-1, -1))
        same = [
            Normal.of(there, only).text.strip() == Normal.of(row.quote, only).text.strip() for only in (False, True)
        ]
        found["folded" if same[0] else "letters" if same[1] else "similar"] += 1
        found["other page"] += not page[0] <= place[1] < page[1]
    return found


def coverage(spans: Spans, corpus: Corpus) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every span the largest share that one chunk holds, how many chunks hold a half, and that chunk's number."""
    start, end, doc = corpus.numbers("char_start"), corpus.numbers("char_end"), corpus.column("doc_id")
    names, best, holders, number = corpus.documents["doc_id"].to_pylist(), [], [], []
    rows = {name: np.flatnonzero(doc == name) for name in names}
    rows = {name: row[np.argsort(start[row], kind="stable")] for name, row in rows.items()}
    for of, low, high in zip(spans.doc, spans.start, spans.end, strict=True):
        own = rows[names[of]]
        share = np.clip(np.minimum(end[own], high) - np.maximum(start[own], low), 0, None) / (high - low)
        best.append(share.max(initial=0))
        holders.append((share >= 0.5).sum())
        number.append(share.argmax())
    return np.asarray(best), np.asarray(holders), np.asarray(number)


def whole(words: np.ndarray, size: int, overlap: int) -> float:
    """What the report's formula says of spans of these lengths: the mean share that some chunk holds whole."""
    return float(np.clip((size - words) / (size - overlap), 0, 1).mean())


def measured(benchmark: Benchmark, spans: Spans, corpus: Corpus, store: ArtifactStore) -> dict:
    """Coverage of the spans, and BM25 judged by them."""
    best, holders, _ = coverage(spans, corpus)
    queries = benchmark.queries
    run, gold = Context(corpus, store).search(Bm25(), queries), Gold(corpus, spans, benchmark)
    grades = grade_matrix(run, span_qrels(spans, corpus, len(queries)), len(queries))
    series = [ndcg(grades, 5), recall(grades, 5), evidence_recall(Ranked(run, gold), 1000), judged(grades, 5)]
    found = intervals(np.stack(series), queries.cluster, SEED)
    scores = zip(("nDCG@5", "R@5", "EvRecall@1000w", "Judged@5"), found.mean, found.lo, found.hi, strict=True)
    return {
        "chunks": len(corpus),
        "at_least": {str(share): round(float((best >= share - 1e-9).mean()), 4) for share in SHARES},
        "without_half": int((best < 0.5).sum()),
        "holders": np.bincount(np.minimum(holders, 3), minlength=4).tolist(),
        **{name: [round(float(x), 4) for x in values] for name, *values in scores},
    }


def main() -> None:
    """Measure all chunkers and write the file."""
    with tempfile.TemporaryDirectory() as spare:
        store = ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else spare))
        both, test = load_pdf_bench(FOLDER, "all"), load_pdf_bench(FOLDER, "test")
        corpus = read(FixedChunker(200, 0), store)
        spans = locate(both, corpus)
        words = np.asarray([len(row.quote.split()) for row in both.evidence])
        found: dict = {"steps": steps(both, corpus), "judgments": len(both.evidence), "chunkers": {}}
        found["words"] = {
            "mean": round(float(words.mean()), 1),
            "median": int(np.median(words)),
            "max": int(words.max()),
        }
        found["long"] = {str(size): int((words > size).sum()) for size in SIZES}
        found["questions"], found["documents"] = len(test.queries), len(set(test.queries.cluster))
        for size in SIZES:
            for name, overlap, chunker in (
                (f"fixed {size}", 0, FixedChunker(size, 0)),
                (f"fixed {size}, overlap", size // 4, FixedChunker(size, size // 4)),
                (f"sentence {size}", None, SentenceChunker(size, 1)),
            ):
                cut = read(chunker, store)
                rows = measured(test, locate(test, cut), cut, store)
                best, holders, _ = coverage(locate(both, cut), cut)
                rows["at_least"] = {str(x): round(float((best >= x - 1e-9).mean()), 4) for x in SHARES}
                rows["holders"] = np.bincount(np.minimum(holders, 3), minlength=4).tolist()
                rows["without_half"] = int((best < 0.5).sum())
                if overlap is not None:
                    rows["formula"] = round(whole(words, size, overlap), 4)
                found["chunkers"][name] = rows
        before = coverage(spans, corpus)[2]
        for size in (180, 190, 199):
            after = read(FixedChunker(size, 0), store)
            best, _, number = coverage(locate(both, after), after)
            found.setdefault("numbers", {})[str(size)] = round(float((before == number).mean()), 4)
        places = np.bincount(np.minimum(before, 40), minlength=41)
        found["first nine"] = round(float(places[:9].sum() / places.sum()), 4)
    TARGET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

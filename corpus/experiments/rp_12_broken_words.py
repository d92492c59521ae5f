"""RP-TR-12: what joining words at line ends is worth to BM25 and TF-IDF on CL-SciSumm.

RANKPROOF_DATA=<folder> python corpus/experiments/rp_12_broken_words.py [artifact folder]
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rp_12_text_repair import BENCH, Join, read

from evaluation.grades import grade_matrix
from evaluation.locate import locate
from evaluation.metrics import evaluate, parse_metric
from evaluation.pdf_bench import load_pdf_bench
from evaluation.qrels import span_qrels
from evaluation.randomise import sign_flips
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, ingest
from ingestion.schema import Corpus
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.tfidf import Tfidf
from retrieval.stage import Context

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-12-broken.json"
SEED, REPEATS = 12, 5


def broken(corpus: Corpus, joins: Mapping[str, list[Join]], rng: random.Random) -> tuple[list[str], int]:
    """The chunks with every joined word broken again, each at one of its places in the document."""
    texts, rows, done = list(corpus.texts), defaultdict(list), 0
    lower = [text.lower() for text in texts]  # searched first: it is much faster than a pattern
    for row, name in enumerate(corpus.column("doc_name")):
        rows[Path(name).stem].append(row)
    for name, decisions in joins.items():
        for left, right, outcome, _ in decisions:
            word = re.compile(rf"\b({re.escape(left)})({re.escape(right)})\b", re.IGNORECASE)
            near = [row for row in rows[name] if left + right in lower[row]] if outcome == "" else []
            places = [row for row in near if word.search(texts[row])]
            if places:
                row = rng.choice(places)
                texts[row], done = word.sub(r"\1 \2", texts[row], count=1), done + 1
                lower[row] = texts[row].lower()
    return texts, done


def worth(joins: Mapping[str, list[Join]], store: ArtifactStore) -> dict[str, Any]:
    """nDCG@5 of BM25 and TF-IDF on repaired text and on text whose words are broken again; paired over papers."""
    plain = to_plain(load([]))
    corpus = ingest(BENCH / "pdfs", build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), store, False)
    benchmark = load_pdf_bench(BENCH, "all")
    n = len(benchmark.queries)
    qrels = span_qrels(locate(benchmark, corpus), corpus, n)
    at = corpus.chunks.schema.get_field_index("text")
    result: dict[str, Any] = {"questions": n, "papers": corpus.documents.num_rows, "chunks": len(corpus)}
    clusters = np.asarray(benchmark.queries.cluster, dtype=object)

    def score(stage: Any, texts: list[str]) -> np.ndarray:
        table = corpus.chunks.set_column(at, "text", pa.array(texts))
        with tempfile.TemporaryDirectory() as scratch:
            changed = Corpus.of(table, corpus.documents, corpus.pages)
            run = stage.search(Context(changed, ArtifactStore(Path(scratch))), benchmark.queries)
        return evaluate(grade_matrix(run, qrels, n, "once"), [parse_metric("nDCG@5")])[0]

    damaged = [broken(corpus, joins, random.Random(f"{SEED} {number}")) for number in range(REPEATS)]
    result["broken"] = damaged[0][1]
    for name, stage in (("bm25", Bm25()), ("tfidf", Tfidf())):
        whole = score(stage, corpus.texts)
        worse = np.mean([score(stage, texts) for texts, _ in damaged], axis=0)
        known = ~np.isnan(whole)
        values = np.stack([whole, worse, whole - worse])[:, known]
        p = sign_flips(values[:2], np.array([[0, 1]]), clusters[known], SEED)[0]
        ci = intervals(values, list(clusters[known]), seed=SEED)
        rows = [[round(float(x[i]), 4) for x in (ci.mean, ci.lo, ci.hi)] for i in range(3)]
        result[name] = {"whole": rows[0], "broken": rows[1], "diff": rows[2], "p": round(float(p), 4)}
    return result


def main(store: ArtifactStore) -> None:
    """Write the figures."""
    documents = read(sorted((BENCH / "pdfs").glob("*.pdf")))
    result = worth({name: joins for name, (_, joins) in documents.items()}, store)
    TARGET.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())))

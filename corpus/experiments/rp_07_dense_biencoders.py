"""Dense against BM25 where BM25 reads no further than the encoder (RP-TR-07).

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_07_dense_biencoders.py <results folder> <artifacts folder>

Takes the rankings of BM25 and MiniLM from `<results folder>/<collection>-core/runs`, runs BM25 again over the same
chunks cut after 254 word pieces, and writes `corpus/sources/measured/rp-07.json`: what lies beyond the limit, nDCG@5
of the three, paired differences with intervals and p-values, and the better of the two rankings for every question.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from shared import judged_collection

from evaluation.grades import grade_matrix
from evaluation.judging import Judged, without_excluded
from evaluation.metrics import ndcg
from evaluation.randomise import sign_flips
from evaluation.stats import intervals
from evaluation.trec import read_run
from ingestion.artifacts import ArtifactStore
from ingestion.schema import Corpus
from retrieval.models import load_encoder
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import Floats, Run
from retrieval.stage import Context

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-07.json"
COLLECTIONS = ("med", "cacm", "cranfield", "csfcube", "scifact", "npl", "clscisumm")
MODEL, PIECES, SHOWN, DEPTH, SEED = "all-MiniLM-L6-v2", 254, 5, 100, 7


def cut(texts: Sequence[str]) -> tuple[list[str], dict[str, float]]:
    """Every text up to its last piece that the encoder reads, and how much is left out."""
    tokenizer = load_encoder(MODEL, None).tokenizer
    read = tokenizer(list(texts), verbose=False, add_special_tokens=False, return_offsets_mapping=True)
    lengths = np.asarray([len(ids) for ids in read["input_ids"]])
    ends = [offsets[PIECES - 1][1] if len(offsets) > PIECES else None for offsets in read["offset_mapping"]]
    beyond = np.maximum(lengths - PIECES, 0)
    words = np.asarray([max(1, len(text.split())) for text in texts])
    shares = {"cut": (beyond > 0).mean(), "lost": beyond.sum() / lengths.sum(), "ratio": lengths.sum() / words.sum()}
    return [text[:end] for text, end in zip(texts, ends, strict=True)], {
        key: round(float(value), 4) for key, value in shares.items()
    }


def values(run: Run, judged: Judged) -> Floats:
    """nDCG@5 of every question."""
    run = without_excluded(run, judged, DEPTH)
    return ndcg(grade_matrix(run, judged.qrels, len(judged.benchmark.queries)), SHOWN)


def compare(series: dict[str, Floats], clusters: Sequence[str]) -> dict[str, Any]:
    """Means with intervals, and paired differences with p-values (100,000 sign flips of whole clusters)."""
    pairs = (("dense", "bm25"), ("dense", "bm25 cut"), ("bm25", "bm25 cut"))
    table = np.stack([*series.values(), *(series[a] - series[b] for a, b in pairs)])
    found = intervals(table, clusters, seed=SEED)
    names = [*series, *(f"{a} - {b}" for a, b in pairs)]
    rows = np.asarray([[list(series).index(a), list(series).index(b)] for a, b in pairs])
    p = sign_flips(np.stack(list(series.values())), rows, clusters, seed=SEED)
    spans = zip(names, found.mean, found.lo, found.hi, strict=True)
    out: dict[str, Any] = {name: [round(float(x), 4) for x in row] for name, *row in spans}
    out["p"] = {f"{a} - {b}": round(float(value), 4) for (a, b), value in zip(pairs, p, strict=True)}
    return out


def main(arguments: Sequence[str]) -> int:
    """Measure every collection whose results are there."""
    results, artifacts = Path(arguments[0]), Path(arguments[1])
    out: dict[str, Any] = {}
    for name in COLLECTIONS:
        folder = results / f"{name}-core"
        if not (folder / "summary.parquet").is_file():
            print(f"{name}: no results yet", file=sys.stderr)
            continue
        judged = judged_collection(name, artifacts / name)
        corpus, queries = judged.corpus, judged.benchmark.queries
        if corpus is None:
            raise SystemExit(f"{name}: no texts")
        rows = {key: row for row, key in enumerate(judged.ids)}
        arms = {"bm25": "bm25", "dense": "sentence_transformer"}
        read = {key: read_run(folder / "runs" / f"{arm}.trec") for key, arm in arms.items()}
        if any(set(run.ids) - rows.keys() for run in read.values()):
            raise SystemExit(f"{folder}: ranks chunks that the corpus does not have; run the collection again")
        runs = {key: run.to_run(queries.qid, rows)[0] for key, run in read.items()}
        short, shares = cut(corpus.texts)
        at = corpus.chunks.schema.get_field_index("text")
        chunks = corpus.chunks.set_column(at, corpus.chunks.schema.field(at), pa.array(short))
        with tempfile.TemporaryDirectory() as store:
            ctx = Context(Corpus.of(chunks, corpus.documents, corpus.pages), ArtifactStore(Path(store)), DEPTH + 1)
            runs["bm25 cut"] = Bm25().search(ctx, queries)
        series = {key: values(run, judged) for key, run in runs.items()}
        series["better"] = np.maximum(series["bm25"], series["dense"])
        out[name] = {**compare(series, queries.cluster), **shares, "questions": len(queries), "chunks": len(corpus)}
        print(name, json.dumps(out[name]))
    TARGET.write_text(json.dumps(out, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

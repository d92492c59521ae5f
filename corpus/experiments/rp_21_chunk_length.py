"""RP-TR-21: how often chunk boundaries cut evidence, and what budgets of words show, on CL-SciSumm.

RANKPROOF_DATA=<folder> python corpus/experiments/rp_21_chunk_length.py [artifact folder]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation.locate import locate
from evaluation.pdf_bench import load_pdf_bench
from evaluation.schema import Spans
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, ingest
from ingestion.schema import Corpus

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "corpus" / "sources" / "measured" / "rp-21.json"
BENCH = Path(os.environ["RANKPROOF_DATA"]) / "pdf_bench" / "clscisumm"
METRICS = [f"EvRecall@{words}w" for words in (1000, 250, 500, 2000)] + ["EvPrecision@250w", "EvPrecision@1000w"]
PRIMARIES = ("EvRecall@1000w", "EvRecall@250w")
CHUNKERS = {
    **{f"sentence_{words}": ("sentence", {"max_words": words}) for words in (50, 100, 150, 200, 400)},
    "sentence_200_apart": ("sentence", {"max_words": 200, "overlap_sentences": 0}),
    **{f"fixed_{words}": ("fixed", {"words": words, "overlap": words // 5}) for words in (50, 100, 200, 400)},
    "fixed_200_apart": ("fixed", {"words": 200, "overlap": 0}),
    "page": ("page", {}),
}


def ranked(split: str, artifacts: Path, out: Path) -> dict[str, Any]:
    """Means with intervals of every chunker under BM25, and every pair's difference in recall at two budgets."""
    found: dict[str, Any] = {"pairs": {}}
    for primary in PRIMARIES:
        metrics = ",".join(dict.fromkeys([primary, *METRICS]))
        command = [sys.executable, "run_eval.py", "ablation=chunker", "benchmark=clscisumm", f"split={split}"]
        command += ["+ablation.chunkers.sentence_150={kind: sentence, max_words: 150}", "tracking=none"]
        command += [f"ablation.metrics=[{metrics}]", f"artifacts={artifacts}", f"ledger={out / 'ledger.jsonl'}"]
        subprocess.run([*command, f"out={out / split / primary}"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        summary, pairs = (pd.read_parquet(out / split / primary / f"{n}.parquet") for n in ("summary", "comparisons"))
        pairs = pairs[pairs.metric == primary]
        for row in pairs.itertuples():
            name = f"{row.a} - {row.b} {row.metric}".replace("bm25_", "")
            numbers = [round(float(x), 4) for x in (row.diff, row.lo, row.hi, row.p_adjusted, row.detectable)]
            found["pairs"][name] = [*numbers, row.verdict]
    found |= {"questions": int(summary.n.max()), "documents": int(summary.clusters.max()), "family": len(pairs)}
    found["arms"] = {
        arm.removeprefix("bm25_"): {
            row.metric: [round(float(x), 4) for x in (row.mean, row.lo, row.hi)] for row in rows.itertuples()
        }
        for arm, rows in summary.groupby("strategy")
    }
    return found


def cuts(corpus: Corpus, spans: Spans, size: dict[str, Any]) -> dict[str, float]:
    """What a chunker does to the judged spans: how many stay whole in some chunk, how full of evidence it is."""
    names = corpus.documents["doc_id"].to_pylist()
    row_of = {name: row for row, name in enumerate(names)}
    doc = np.asarray([row_of[name] for name in corpus.column("doc_id")])
    start, end = corpus.numbers("char_start"), corpus.numbers("char_end")
    words = np.asarray([len(text.split()) for text in corpus.texts])
    texts = dict.fromkeys(names, "")
    for name, text in zip(corpus.pages["doc_id"].to_pylist(), corpus.pages["text"].to_pylist(), strict=True):
        texts[name] += text + "\n"
    distinct = sorted(set(zip(spans.doc.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)))
    whole, share, model, best = [], [], [], []
    for span_doc, low, high in distinct:
        mine = np.flatnonzero((doc == span_doc) & (start < high) & (end > low))
        if not len(mine):
            continue
        held = (np.minimum(end[mine], high) - np.maximum(start[mine], low)) / (high - low)
        top = mine[np.argmax(held)]
        length = len(texts[names[span_doc]][low:high].split())
        whole.append(held.max() == 1.0)
        best.append(held.max())
        share.append(min(1.0, held.max() * length / words[top]))
        if "words" in size:
            model.append(np.clip((size["words"] - length) / (size["words"] - size["overlap"]), 0, 1))
    body = words[np.asarray(corpus.column("kind")) == "body"]
    found = {"chunks": len(words), "mean_words": float(words.mean()), "median_body_words": float(np.median(body))}
    found |= {"whole": float(np.mean(whole)), "held": float(np.mean(best)), "evidence_share": float(np.median(share))}
    return {name: round(value, 4) for name, value in (found | ({"model": np.mean(model)} if model else {})).items()}


def main(artifacts: Path) -> None:
    """Write the figures of all chunkers on both splits."""
    store, benchmark = ArtifactStore(artifacts), load_pdf_bench(BENCH, "all")
    result: dict[str, Any] = {"cuts": {}, "papers": len(list((BENCH / "pdfs").glob("*.pdf")))}
    for label, (kind, size) in CHUNKERS.items():
        plain = to_plain(load([f"chunker={kind}", *(f"chunker.{key}={value}" for key, value in size.items())]))
        corpus = ingest(BENCH / "pdfs", build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), store, False)
        spans = locate(benchmark, corpus)
        result["cuts"][label] = cuts(corpus, spans, size)
        result["spans"] = len(set(zip(spans.doc.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)))
        result["span_chars"] = round(float(np.median(spans.end - spans.start)), 1)
    with tempfile.TemporaryDirectory() as out:
        for split in ("graded", "train"):
            result[split] = ranked(split, artifacts, Path(out))
    TARGET.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))

"""RP-TR-27: what becomes of public PDFs, page by page, and whether the quality of a paper says what is found in it.

RANKPROOF_DATA=<folder> python corpus/experiments/rp_27_page_counts.py [artifact folder]
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.locate import Library
from evaluation.schema import Evidence
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, run
from ingestion.schema import Corpus

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-27-counts.json"
DATA = Path(os.environ["RANKPROOF_DATA"])
BENCH = DATA / "pdf_bench" / "clscisumm"


def read(folder: Path, artifacts: ArtifactStore) -> Corpus:
    """Everything below a folder, with a limit of 30 seconds per file."""
    plain = to_plain(load(["ingest.timeout=30"]))
    return run(folder, build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), artifacts, False).corpus


def counts(folder: Path, artifacts: ArtifactStore) -> dict[str, Any]:
    """Files by outcome, and pages by what was read from them."""
    found = read(folder, artifacts)
    status = Counter(found.documents["status"].to_pylist())
    pages = found.pages.to_pylist()
    blank = [page for page in pages if not page["text"].strip()]
    full = sorted(page["quality"] for page in pages if page["text"].strip())
    result = {"files": found.documents.num_rows, **{name: status[name] for name in ("ok", "empty", "error")}}
    noted = {row["doc_id"] for row in found.documents.to_pylist() if row["status"] == "ok" and row["error"]}
    result["noted_pages"] = sum(page["doc_id"] in noted for page in blank)
    result |= {"pages": len(pages), "blank_pages": len(blank), "mixed_files": len({p["doc_id"] for p in blank})}
    result["below_half"] = sum(value < 0.5 for value in full)
    result["quality"] = [round(float(np.quantile(full, q)), 3) for q in (0.05, 0.5)] if full else []
    return result


def found_quotes(corpus: Corpus) -> dict[str, list[float]]:
    """Per paper: its quality and the share of all its sentences (at least 40 characters) that are in its text."""
    library, hits, total = Library(corpus), Counter(), Counter()
    with gzip.open(BENCH / "corpus.jsonl.gz", "rt") as handle:
        lines = [json.loads(line) for line in handle]
    for row in lines:
        paper, page = row["metadata"]["paper_id"], row["metadata"]["page"]
        if len(row["text"]) >= 40:
            quote = Evidence("q", paper, 0 if page is None else page + 1, -1, -1, row["text"], 1, "x")
            hits[paper] += library.find(quote) is not None
            total[paper] += 1
    documents = corpus.documents.to_pylist()
    quality = {Path(row["doc_name"]).stem: row["quality"] for row in documents}
    return {name: [quality[name], round(hits[name] / total[name], 4)] for name in sorted(total)}


def main(store: ArtifactStore) -> None:
    """Write all counts."""
    hostile, scientific = DATA / "pdf_hostile", DATA / "pdf_scientific"
    result: dict[str, Any] = {"found": found_quotes(read(BENCH / "pdfs", store))}
    result["hostile"] = {f.name: counts(f, store) for f in sorted(hostile.iterdir()) if f.is_dir()}
    result["scientific"] = {f.name: counts(f, store) for f in sorted(scientific.iterdir()) if f.is_dir()}
    result["clscisumm"] = counts(BENCH / "pdfs", store)
    TARGET.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())))

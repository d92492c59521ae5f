"""Speed of ingestion as a ratio within one run: a bare loop over PDFium's text against everything that we do.

    python benchmarks/ingest_speed.py [folder of PDFs]

A: one process, only `get_text_range` of every page. B: a fresh artifact folder, two worker processes, from file to
corpus tables. C: the same again with everything kept. The best of three rounds each, since other processes only ever
slow a round down. Targets: A / B at least 0.3, C / B at most 0.15.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import pypdfium2

from ingestion.artifacts import ArtifactStore
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.pipeline import IngestSpec, pdf_files, run

BARE, KEPT = 0.3, 0.15
ROUNDS = 3


def bare(files: list[Path]) -> tuple[float, int]:
    start = time.perf_counter()
    characters = 0
    for path in files:
        with pypdfium2.PdfDocument(path) as document:
            for page in document:
                characters += len(page.get_textpage().get_text_range())
    return time.perf_counter() - start, characters


def ours(folder: Path, artifacts: Path) -> tuple[float, int]:
    start = time.perf_counter()
    found = run(folder, IngestSpec(workers=2), SentenceChunker(), ArtifactStore(artifacts), progress=False)
    return time.perf_counter() - start, len(found.corpus)


def main() -> int:
    default = Path(os.environ.get("RANKPROOF_DATA", "")) / "pdf_scientific"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not folder.is_dir():
        print("ingest_speed: skipped; give a folder of PDFs, or set RANKPROOF_DATA")
        return 0
    files = pdf_files(folder)
    bare(files)  # the files into the system's cache
    rounds = []
    for _ in range(ROUNDS):
        seconds, characters = bare(files)
        with tempfile.TemporaryDirectory() as artifacts:
            rounds.append((seconds, ours(folder, Path(artifacts)), ours(folder, Path(artifacts))))
    a = min(seconds for seconds, _, _ in rounds)
    b, chunks = min(first for _, first, _ in rounds)
    c, _ = min(second for _, _, second in rounds)
    print(f"A bare text    {a:6.2f} s  {len(files)} files, {characters} characters")
    print(f"B ingestion    {b:6.2f} s  {chunks} chunks   A/B = {a / b:.2f} (target >= {BARE})")
    print(f"C once more    {c:6.2f} s  C/B = {c / b:.3f} (target <= {KEPT})")
    return 0 if a / b >= BARE and c / b <= KEPT else 1


if __name__ == "__main__":
    sys.exit(main())

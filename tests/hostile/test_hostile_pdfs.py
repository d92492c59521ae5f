"""129 broken, locked, odd and hostile PDFs as one corpus: the run ends, names each file, and stays small."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ingestion.chunkers.sentence import SentenceChunker
from ingestion.extract import Job, extract_all
from ingestion.pipeline import IngestSpec

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, resource, sys
from pathlib import Path
from ingestion.artifacts import ArtifactStore
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.pipeline import IngestSpec, run

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

small = sorted((Path(sys.argv[1]) / "repairable").glob("*.pdf"))[0]  # what is loaded once does not count
run(small, IngestSpec(), SentenceChunker(), ArtifactStore(Path(sys.argv[2])), False)
before = resident()
found = run(Path(sys.argv[1]), IngestSpec(timeout=30), SentenceChunker(), ArtifactStore(Path(sys.argv[2])), False)
print(json.dumps({
    "grown": resident() - before,
    "documents": found.corpus.documents.select(["doc_name", "status", "error_type", "error", "pages"]).to_pylist(),
    "texts": found.corpus.texts,
    "duplicates": found.sources.duplicates,
}))
"""


@pytest.fixture(scope="module")
def hostile(data: Path) -> Path:
    folder = data / "pdf_hostile"
    if not folder.is_dir():
        pytest.skip("RANKPROOF_DATA has no folder pdf_hostile")
    return folder


@pytest.fixture(scope="module")
def found(hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    artifacts = str(tmp_path_factory.mktemp("artifacts"))
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(hostile), artifacts], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stderr == ""  # nothing of native code reaches the terminal
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def manifest(hostile: Path) -> dict[str, dict[str, Any]]:
    lines = (hostile / "manifest.jsonl").read_text().splitlines()
    return {record["path"]: record for record in map(json.loads, lines)}


def test_every_file_is_listed_once_with_an_outcome(found: dict[str, Any], manifest: dict[str, Any]) -> None:
    names = [row["doc_name"] for row in found["documents"]]
    assert sorted([*names, *(name for name, _ in found["duplicates"])]) == sorted(manifest)
    for row in found["documents"]:
        assert row["status"] in ("ok", "empty", "error")
        assert bool(row["error_type"]) == (row["status"] != "ok")
        assert row["status"] == "ok" or row["error"]


def test_outcomes_agree_with_what_each_file_is(found: dict[str, Any], manifest: dict[str, Any]) -> None:
    kinds = {row["doc_name"]: row["error_type"] for row in found["documents"]}
    by_category: dict[str, Counter[str]] = {}
    for name, kind in kinds.items():
        by_category.setdefault(manifest[name]["category"], Counter())[kind] += 1
    assert by_category["not_a_pdf"] == {"NotAPdfError": 7}
    assert by_category["encrypted_password"] == {"EncryptedPdfError": 11}
    assert by_category["encrypted_open"] == {"": 4}
    assert by_category["scan_no_text"] == {"NoTextError": 8, "": 1}  # one has the word "Background" as its text
    for name, kind in kinds.items():
        observed = manifest[name]["pypdfium2"]
        if "open_err" in observed and manifest[name]["category"] != "encrypted_password":
            assert kind == "NotAPdfError", name
        elif observed.get("chars", 0) > 100:
            assert kind == "", name


def test_the_parent_stays_small(found: dict[str, Any]) -> None:
    assert found["grown"] <= 100 * 2**20


def test_no_chunk_holds_a_hyphen_mark_or_control_character(found: dict[str, Any]) -> None:
    assert len(found["texts"]) > 500
    for text in found["texts"]:
        assert "\ufffe" not in text
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in text)


def test_limits_hold(hostile: Path) -> None:
    """A page limit and a memory limit that is far too small turn into their own errors, file by file."""
    largest = sorted((hostile / "resource_stress").glob("*.pdf"))
    assert largest
    jobs = [Job(path) for path in largest]
    pages = list(extract_all(jobs, SentenceChunker(), IngestSpec(max_pages=1)))
    assert "PageLimitError" in {type(reply.error).__name__ for reply in pages}
    little = list(extract_all(jobs, SentenceChunker(), IngestSpec(memory_mb=256, timeout=30)))
    errors = {type(reply.error).__name__ for reply in little if reply.error}
    assert errors <= {"ExtractionTimeoutError"}

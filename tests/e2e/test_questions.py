"""A user's own questions: a spreadsheet becomes a benchmark that is run; drafts become one by way of a reviewer."""

from __future__ import annotations

import csv
import importlib
import json
import os
import pty
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from evaluation.synthesize.draft import read_drafts, review_path
from evaluation.synthesize.sentences import is_prose
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, ingest
from ingestion.schema import Corpus
from ingestion.sentences import spans
from tests.e2e.test_run_eval import ROOT, run_eval

PAPERS = ("rp-01-bm25-saturation.pdf", "rp-11-clustered-bootstrap.pdf")
ENDING = ("suite.strategies=[bm25,tfidf]", "tracking=none")


@pytest.fixture(scope="module")
def where(tmp_path_factory) -> list[str]:
    """Two papers in a folder, and artifacts of their own."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "my papers").mkdir()
    for name in PAPERS:
        (folder / "my papers" / name).symlink_to(ROOT / "corpus" / "pdf" / name)
    return [f"corpus.path={folder / 'my papers'}", f"artifacts={folder / 'artifacts'}"]


@pytest.fixture(scope="module")
def corpus(where) -> Corpus:
    plain = to_plain(load(where))
    store = ArtifactStore(Path(plain["artifacts"]))
    limits, chunker = build_ingest(plain["ingest"]), build_chunker(plain["chunker"])
    return ingest(Path(plain["corpus"]["path"]), limits, chunker, store, progress=False)


def sentence_of(corpus: Corpus, paper: str, page: int) -> str:
    """The longest whole sentence of a page that is not too long."""
    row = corpus.documents["doc_name"].to_pylist().index(paper)
    doc_id = corpus.documents["doc_id"][row].as_py()
    pages = corpus.pages.to_pylist()
    text = next(one["text"] for one in pages if (one["doc_id"], one["page"]) == (doc_id, page)).replace("\n", " ")
    found = [text[low:high] for low, high in spans(text)]
    return max((one for one in found if is_prose(one) and len(one) < 220), key=len)


def command(name: str, *arguments: str) -> int:
    module = f"evaluation.{name}.__main__" if name == "synthesize" else f"evaluation.{name}"
    return importlib.import_module(module).main(arguments)


@pytest.mark.parametrize("name", ["import", "synthesize"])
def test_commands_start_and_say_how_they_are_used(name):
    line = [sys.executable, "-m", f"evaluation.{name}", "--help"]
    process = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    assert process.returncode == 0
    assert process.stdout.startswith(f"usage: python -m evaluation.{name}")
    assert process.stderr == ""


def test_a_spreadsheet_is_imported_and_the_command_that_is_told_runs_it(where, corpus, tmp_path, capsys):
    quotes = [sentence_of(corpus, paper, page) for paper in PAPERS for page in (1, 2)]
    stems = [paper.removesuffix(".pdf") for paper in PAPERS for _ in (1, 2)]
    sheet = tmp_path / "my questions.csv"
    with sheet.open("w", encoding="utf-8-sig", newline="") as handle:
        rows = csv.writer(handle, delimiter=";")
        rows.writerow(["Nr", "Frage", "Question", "File", "Page", "Quote", "Grade"])
        for at, (stem, quote) in enumerate(zip(stems, quotes, strict=True)):
            wrong_page = 3 if at == 0 else 1 + at % 2
            rows.writerow(
                [f"00{at}", "", f"Where is it said that {quote.lower()}", stem, wrong_page, quote.upper(), 3]
            )
        rows.writerow(["", "", "", stems[3], 3, "", 1])  # a page, for the question above
    into = tmp_path / "bench"
    assert command("import", f"file={sheet}", f"into={into}", *where) == 0
    said = capsys.readouterr().out
    assert "4 quotes found exactly" in said
    assert "000: rp-01-bm25-saturation.pdf, page 3: is on 1" in said
    assert "columns that were not read: Frage" in said
    assert f"{into}: 4 questions added, 0 there already; 5 judgments added, 0 there already" in said
    told = shlex.split(said.strip().splitlines()[-1])
    assert told[:2] == ["python", "run_eval.py"]

    out = tmp_path / "out"
    process = run_eval(*told[3:], *ENDING, f"ledger={tmp_path / 'ledger'}", f"out={out}")
    assert process.returncode == 0, process.stderr
    summary = pd.read_csv(out / "summary.csv").set_index(["strategy", "metric"])
    assert summary.loc[("bm25", "RR"), "n"] == 4
    assert summary.loc[("bm25", "RR"), "mean"] == 1.0  # each question repeats its sentence
    per_query = pd.read_csv(out / "per_query.csv", dtype={"qid": str})
    assert sorted(set(per_query["qid"])) == ["000", "001", "002", "003"]

    stored = {path: path.read_bytes() for path in into.iterdir()}
    sheet.write_text(sheet.read_text(encoding="utf-8-sig").replace(quotes[1].upper(), "nothing that any paper says"))
    assert command("import", f"file={sheet}", f"into={into}", *where) == 1
    refused = capsys.readouterr().err
    assert "1 row is refused, nothing was written" in refused
    assert "the quote is not in it; nearest (" in refused
    assert {path: path.read_bytes() for path in into.iterdir()} == stored


def test_drafts_are_reviewed_in_a_terminal_and_the_accepted_ones_imported_and_run(where, tmp_path, capsys):
    drafts = tmp_path / "drafts.jsonl"
    arguments = [f"out={drafts}", *where, "n=6", "strategies=[bm25,tfidf]", "discriminating=false"]
    assert command("synthesize", *arguments) == 0
    said = capsys.readouterr().out
    assert "dropped because" in said
    found = read_drafts(drafts)
    assert 3 <= len(found) <= 6
    first = drafts.read_bytes()
    assert command("synthesize", *arguments) == 0
    assert drafts.read_bytes() == first  # the same seed, the same drafts
    capsys.readouterr()

    review = [sys.executable, "-m", "evaluation.synthesize", f"review={drafts}", "source=hand:ada"]
    _typed(review, drafts, [b"a", b"r", b"eWhat is it that is asked here?\n", b"a", b"q"])
    decisions = [json.loads(line) for line in review_path(drafts).read_text().splitlines()]
    assert [(row["qid"], row["state"], row["query"]) for row in decisions] == [
        (found[0].qid, "accepted", ""),
        (found[1].qid, "rejected", ""),
        (found[2].qid, "", "What is it that is asked here?"),
        (found[2].qid, "accepted", "What is it that is asked here?"),
    ]
    into = tmp_path / "drafted.jsonl"
    assert command("import", f"file={drafts}", f"into={into}", *where) == 0
    assert f"2 accepted, 1 rejected, 0 disputed, {len(found) - 3} undecided" in capsys.readouterr().out
    rows = [json.loads(line) for line in into.read_text().splitlines()]
    assert [row["question"] for row in rows] == [found[0].query, "What is it that is asked here?"]
    assert {(row["drafted_by"], row["reviewed_by"]) for row in rows} == {("synthetic:templates", "hand:ada")}
    assert [row.get("edited_by") for row in rows] == [None, "hand:ada"]
    assert {part["source"] for row in rows for part in row["evidence"]} == {"synthetic:templates"}
    process = run_eval(
        *where, f"benchmark.path={into}", *ENDING, f"ledger={tmp_path / 'ledger'}", f"out={tmp_path / 'out'}"
    )
    assert process.returncode == 0, process.stderr
    assert (
        command(
            "synthesize",
            f"out={tmp_path / 'more.jsonl'}",
            *where,
            f"benchmark.path={into}",
            "n=50",
            "discriminating=false",
        )
        == 0
    )
    again = {draft.query for draft in read_drafts(tmp_path / "more.jsonl")}
    assert found[0].query not in again  # it is there already


def _typed(line: list[str], drafts: Path, keys: list[bytes]) -> None:
    """Run a command in a terminal of its own and type, each key once what it did before is stored or shown."""
    main, its = pty.openpty()
    with subprocess.Popen(line, stdin=its, stdout=its, stderr=its, cwd=ROOT) as process:
        os.close(its)
        shown = _until(main, b"q stop")
        for key in keys:
            for part in (key[:1], key[1:]):
                if part:
                    os.write(main, part)
                    shown = _until(
                        main, b"as it is): " if part == b"e" else b"stored in" if part == b"q" else b"q stop"
                    )
        assert str(review_path(drafts)).encode() in shown.replace(b"\r\n", b"")
        process.wait(timeout=20)
        os.close(main)


def _until(main: int, wanted: bytes) -> bytes:
    shown, end = b"", time.monotonic() + 30
    while wanted not in shown and time.monotonic() < end:
        shown += os.read(main, 65536)
    time.sleep(0.1)  # what follows on the same screen
    return shown

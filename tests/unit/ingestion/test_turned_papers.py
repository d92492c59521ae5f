"""A paper that lies on its side is read as if it stood upright: same text, same sections, same blocks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ingestion.__main__ import main
from ingestion.config import ROOT
from ingestion.extract_worker import PdfReader, extract

sys.path.insert(0, str(ROOT / "corpus"))
from scanner import Finish, finished, read_finish

PAPERS = ["rp-02-tfidf-cosine", "rp-09-evidence-spans"]


@pytest.mark.parametrize("rotate", [90, 180, 270])
@pytest.mark.parametrize("stem", PAPERS)
def test_turned_pages_read_as_upright_ones(tmp_path: Path, stem: str, rotate: int) -> None:
    paper = ROOT / "corpus" / "pdf" / f"{stem}.pdf"
    turned = tmp_path / "turned.pdf"
    turned.write_bytes(finished(paper.read_bytes(), Finish(rotate)))
    upright, found = (extract(PdfReader(), str(path), 99) for path in (paper, turned))
    assert found.text == upright.text
    assert found.sections == upright.sections
    assert found.blocks == upright.blocks


def test_a_scanned_page_holds_no_text_and_the_others_stay(tmp_path: Path) -> None:
    paper = ROOT / "corpus" / "pdf" / f"{PAPERS[0]}.pdf"
    scanned = tmp_path / "scanned.pdf"
    scanned.write_bytes(finished(paper.read_bytes(), Finish(scan=(2,))))
    before, after = (extract(PdfReader(), str(path), 99) for path in (paper, scanned))
    assert after.pages[1].text == ""
    assert len(after.pages) == len(before.pages)
    assert after.pages[0].text[:500] == before.pages[0].text[:500]


def test_equal_papers_give_equal_bytes() -> None:
    data = (ROOT / "corpus" / "pdf" / f"{PAPERS[0]}.pdf").read_bytes()
    for finish in (Finish(90), Finish(scan=(2,)), Finish(270, (1, 3))):
        assert finished(data, finish) == finished(data, finish)
    assert finished(data, Finish()) is data


def test_a_source_asks_in_a_line_of_its_own() -> None:
    assert read_finish("a\n// build: rotate=90\n// build: scan=3,4\n") == Finish(90, (3, 4))
    assert read_finish("see // build: rotate=90") == Finish()


def test_the_summary_says_which_page_has_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paper = ROOT / "corpus" / "pdf" / f"{PAPERS[0]}.pdf"
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "scan.pdf").write_bytes(finished(paper.read_bytes(), Finish(scan=(3,))))
    assert main([f"corpus.path={tmp_path / 'papers'}", f"artifacts={tmp_path / 'artifacts'}"]) == 0
    assert "weak page: scan.pdf page 3: no text (a scan? run OCR over the file first)" in capsys.readouterr().out


def test_a_line_with_code_in_its_middle_stays_in_its_paragraph() -> None:
    """Code is set in a smaller font: taken for the size of the line, it would make a caption of it."""
    found = extract(PdfReader(), str(ROOT / "corpus" / "pdf" / "rp-04-reciprocal-rank-fusion.pdf"), 99)
    text = " ".join(" ".join(page.text for page in found.pages).split())
    assert (
        "With TF-IDF in the place of the encoder, linear_0.3 and rrf are equivalent in Cranfield and undecided"
        in text
    )

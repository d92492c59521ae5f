"""Section titles of 24 real papers, as their publishers' XML lists them, found in their PDFs."""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from ingestion.chunkers.sentence import SentenceChunker
from ingestion.document import ExtractedDocument
from ingestion.extract import Job, extract_all
from ingestion.pipeline import IngestSpec

WANTED = 0.9
NUMBERING = re.compile(r"^\s*(?:appendix\s+)?(?:\d+(?:\.\d+)*|[a-z](?:\.\d+)+|[ivx]+\.)[.)]?\s+")


def normal(title: str) -> str:
    """A title without case, numbering, white space and punctuation."""
    return re.sub(r"[\W_]+", "", NUMBERING.sub("", unicodedata.normalize("NFKC", title).lower()))


@pytest.fixture(scope="module")
def papers(data: Path) -> list[tuple[dict[str, Any], ExtractedDocument]]:
    folder = data / "pdf_scientific"
    with gzip.open(folder / "ground_truth.jsonl.gz", "rt") as handle:
        truth = [record for record in map(json.loads, handle) if record["kind"].startswith(("jats", "grobid_tei"))]
    jobs = [Job(folder / record["path"]) for record in truth]
    replies = list(extract_all(jobs, SentenceChunker(), IngestSpec()))
    assert [reply.error for reply in replies] == [None] * 24
    return [
        (record, ExtractedDocument.from_json(reply.document)) for record, reply in zip(truth, replies, strict=True)
    ]


def test_section_titles_are_found(papers: list[tuple[dict[str, Any], ExtractedDocument]]) -> None:
    wanted = found = 0
    missed = []
    for record, document in papers:
        titles = {normal(section.title) for section in document.sections}
        for section in record["sections"]:
            wanted += 1
            hit = normal(section["title"]) in titles
            found += hit
            missed += [] if hit else [f"{record['path']}: {section['title']}"]
    assert found >= WANTED * wanted, missed


def test_not_every_short_line_is_a_section(papers: list[tuple[dict[str, Any], ExtractedDocument]]) -> None:
    """Precision, with the headings that the truth leaves out (references, abstract, acknowledgements) allowed."""
    usual = {"references", "abstract", "acknowledgements", "acknowledgments", "acknowledgement"}
    total = wrong = 0
    for record, document in papers:
        true = {normal(section["title"]) for section in record["sections"]} | usual
        total += len(document.sections)
        wrong += sum(normal(section.title) not in true for section in document.sections)
    assert wrong <= 0.15 * total


def test_titles_are_found(papers: list[tuple[dict[str, Any], ExtractedDocument]]) -> None:
    right = sum(normal(document.title) == normal(record["title"]) for record, document in papers)
    assert right >= WANTED * len(papers)


def test_paragraphs_of_the_publisher_are_in_the_text(papers: list[tuple[dict[str, Any], ExtractedDocument]]) -> None:
    """Repair and layout lose and break nothing: the openings of the XML's paragraphs stand in our text."""
    wanted = found = 0
    for record, document in papers:
        text = normal(document.text)
        for paragraph in record.get("paragraphs", []):
            opening = normal(re.split(r"[(\[]", paragraph)[0][:80])  # citations are set differently
            if len(opening) >= 20:
                wanted += 1
                found += opening in text
    assert wanted > 200
    assert found >= 0.9 * wanted, (found, wanted)


def test_references_are_typed(papers: list[tuple[dict[str, Any], ExtractedDocument]]) -> None:
    checked = 0
    for record, document in papers:
        headed = any(normal(section.title) == "references" for section in document.sections)
        if headed and record.get("references", 0) >= 5:
            listed = [block for block in document.blocks if block.kind == "references" and not block.heading]
            assert len(listed) >= 0.5 * record["references"], record["path"]
            checked += 1
    assert checked >= 15

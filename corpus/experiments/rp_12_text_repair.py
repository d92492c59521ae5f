"""RP-TR-12: line-end hyphens of public PDFs, who decides them and how often rightly; section titles found.

RANKPROOF_DATA=<folder> python corpus/experiments/rp_12_text_repair.py
"""

from __future__ import annotations

import gzip
import json
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ingestion import repair
from ingestion.document import ExtractedDocument
from ingestion.extract_worker import PdfReader, extract

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-12.json"
DATA = Path(os.environ["RANKPROOF_DATA"])
SCIENTIFIC, BENCH = DATA / "pdf_scientific", DATA / "pdf_bench" / "clscisumm"
NUMBERING = re.compile(r"^\s*(?:appendix\s+)?(?:\d+(?:\.\d+)*|[a-z](?:\.\d+)+|[ivx]+\.)[.)]?\s+")
WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
Join = tuple[str, str, str, str]  # fragments, what was put between, who decided


def watched(decide: Callable[..., str], joins: list[Join]) -> Callable[..., str]:
    """`repair.join`, which notes every decision that it takes between two word fragments."""

    def join(before: str, after: str, words: Mapping[str, int]) -> str:
        outcome = decide(before, after, words)
        head, tail = re.search(r"[^\W_]+(?:-[^\W_]+)*$", before), re.match(r"[^\W_]+(?:[-'’][^\W_]+)*", after)
        if head and tail:
            left, right = head[0].lower(), tail[0].lower()
            last, first = left.rpartition("-")[2], right.partition("-")[0]
            forms = (left + right, last + first, f"{left}-{right}", f"{last}-{first}")
            same_case = tail[0][0].isupper() == head[0].isupper()
            voted = last.isalpha() and first.isalpha() and same_case and any(words.get(form, 0) for form in forms)
            joins.append((left, right, outcome, "vote" if voted else "fallback"))
        return outcome

    return join


def read(paths: list[Path]) -> dict[str, tuple[ExtractedDocument, list[Join]]]:
    """Every document with its decisions, by file name."""
    reader, original, found = PdfReader(), repair.join, {}
    for path in paths:
        joins: list[Join] = []
        repair.join = watched(original, joins)
        found[path.stem] = (extract(reader, str(path), 400), joins)
    repair.join = original
    return found


def judge(documents: Mapping[str, tuple[ExtractedDocument, list[Join]]], truth: Mapping[str, str]) -> dict[str, Any]:
    """Decisions by decider, and errors among those where the publisher's text has exactly one of the two forms."""
    count: Counter[str] = Counter()
    for name, (_, joins) in documents.items():
        forms = Counter(WORD.findall(truth[name].lower())) if name in truth else Counter()
        for left, right, outcome, who in joins:
            count[f"{who} {'join' if outcome == '' else 'keep'}"] += 1
            joined, kept = forms[left + right] > 0, forms[f"{left}-{right}"] > 0
            if joined != kept:
                count[f"{who} known"] += 1
                count["known joined"] += joined
                count[f"{who} wrong"] += (outcome == "") != joined
    return {"files": len(documents), **{name: count[name] for name in sorted(count)}}


def records(path: Path) -> list[dict[str, Any]]:
    """The lines of a compressed JSON Lines file."""
    with gzip.open(path, "rt") as handle:
        return [json.loads(line) for line in handle]


def normal(title: str) -> str:
    """A title without case, numbering, white space and punctuation."""
    return re.sub(r"[\W_]+", "", NUMBERING.sub("", unicodedata.normalize("NFKC", title).lower()))


def titles(documents: Mapping[str, tuple[ExtractedDocument, Any]], true: Mapping[str, list[str]]) -> dict[str, int]:
    """Section titles of the publisher, those found as headings, and headings that the publisher does not list."""
    wanted = found = headings = 0
    for name, listed in true.items():
        printed = {normal(section.title) for section in documents[name][0].sections}
        wanted += len(listed)
        found += sum(normal(title) in printed for title in listed)
        headings += len(printed)
    return {"files": len(true), "wanted": wanted, "found": found, "headings": headings}


def main() -> None:
    """Write all figures."""
    truth, papers = records(SCIENTIFIC / "ground_truth.jsonl.gz"), records(BENCH / "papers.jsonl.gz")
    sentences: defaultdict[str, list[str]] = defaultdict(list)
    for row in records(BENCH / "corpus.jsonl.gz"):
        sentences[row["metadata"]["paper_id"]].append(row["text"])
    result: dict[str, Any] = {}
    for group in ("jose", "pmlr", "rescience", "acl_tei", "grobid_tei", "clscisumm"):
        folder = BENCH / "pdfs" if group == "clscisumm" else SCIENTIFIC / group
        documents = read(sorted(folder.glob("*.pdf")))
        own = {Path(r["path"]).stem: r for r in truth if r["path"].startswith(f"{group}/")}
        text = {name: " ".join([*r.get("paragraphs", ()), r.get("abstract") or ""]) for name, r in own.items()}
        listed = {name: [s["title"] for s in r["sections"]] for name, r in own.items() if r.get("sections")}
        if group == "clscisumm":
            text = {name: " ".join(found) for name, found in sentences.items()}
            listed = {p["paper_id"]: [s["title"] for s in p["sections"]] for p in papers}
        pages = sum(len(document.pages) for document, _ in documents.values())
        result[group] = {"pages": pages, "hyphens": judge(documents, text), "titles": titles(documents, listed)}
    TARGET.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

"""Collections of PDFs: units, splits and pages, by hand and over the real ones."""

from collections import Counter
from dataclasses import replace

import pypdfium2
import pytest

from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.errors import BenchmarkError
from evaluation.locate import locate
from evaluation.pdf_bench import load_pdf_bench
from evaluation.qrels import span_qrels
from evaluation.schema import Evidence
from tests.unit.evaluation.papers import corpus_of, write_lines

HEAD = "query-id\tcorpus-id\tscore\n"
QUERIES = [
    {"_id": "q1", "text": "one?", "metadata": {"paper_id": "P-1.2", "set": "graded"}},
    {"_id": "q2", "text": "two?", "metadata": {"doc_id": "P-2", "answer": "Not answerable"}},
    {"_id": "q3", "text": "three?", "metadata": {"doc_id": "P-2", "answer": "42"}},
]
SENTENCES = [
    {"_id": "P-1.2#s0", "text": "First.", "metadata": {"paper_id": "P-1.2", "page": 0}},
    {"_id": "P-1.2#s1", "text": "Somewhere.", "metadata": {"paper_id": "P-1.2", "page": None}},
]


def collection(folder, files, sentences=()):
    write_lines(folder / "queries.jsonl", QUERIES)
    if sentences:
        write_lines(folder / "corpus.jsonl", sentences)
    for name, lines in files.items():
        (folder / "qrels").mkdir(exist_ok=True)
        (folder / "qrels" / f"{name}.tsv").write_text(HEAD + "".join(f"{line}\n" for line in lines))
    return folder


def test_a_collection_without_splits_is_all_test_and_keeps_what_is_unanswerable(tmp_path):
    folder = collection(tmp_path / "set", {"pages": ["q1\tP-1.2#p0\t2", "q3\tP-2#p11\t1"]})
    benchmark = load_pdf_bench(folder, "test")
    assert benchmark.queries.qid == ("q1", "q2", "q3")
    assert benchmark.queries.kind == ("", "unanswerable", "")
    assert benchmark.queries.cluster == ("P-1.2", "P-2", "P-2")
    assert benchmark.answers == {"q2": "Not answerable", "q3": "42"}
    assert benchmark.evidence == (
        Evidence("q1", "P-1.2", 1, -1, -1, "", 2, "imported:set"),  # pages count from 0 there, from 1 here
        Evidence("q3", "P-2", 12, -1, -1, "", 1, "imported:set"),
    )


def test_units_and_splits_are_files(tmp_path):
    files = {
        "sentences_graded": ["q1\tP-1.2#s0\t3", "q1\tP-1.2#s1\t1"],
        "pages_graded": ["q1\tP-1.2#p0\t3", "q3\tP-2#p0\t1"],
        "sentences_train": ["q2\tP-1.2#s0\t1"],
        "papers_train": ["q2\tP-1.2\t1"],
    }
    folder = collection(tmp_path, files, SENTENCES)
    test = load_pdf_bench(folder, "test")
    assert test.evidence == (
        Evidence("q1", "P-1.2", 1, -1, -1, "First.", 3, f"imported:{tmp_path.name}"),
        Evidence("q1", "P-1.2", 0, -1, -1, "Somewhere.", 1, f"imported:{tmp_path.name}"),
    )
    assert test.queries.qid == ("q1", "q3")  # any file of the split judges them
    assert test == load_pdf_bench(folder, "graded")
    assert load_pdf_bench(folder, "all").queries.split == ("test", "train", "test")
    assert load_pdf_bench(folder, "train", "papers").evidence[0].quote == ""
    assert load_pdf_bench(folder, "train", "papers").evidence[0].page == 0
    with pytest.raises(BenchmarkError, match="no pages judged for split 'train'; there are: test"):
        load_pdf_bench(folder, "train", "pages")


@pytest.mark.parametrize(
    ("files", "unit", "words"),
    [
        ({"pages": ["q9\tP-2#p0\t1"]}, "auto", "query 'q9' is judged but not in"),
        ({"sentences": ["q1\tP-1.2#s9\t1"]}, "auto", "'P-1.2#s9' is judged for 'q1' but not in"),
        ({"pages": ["q1\tP-2#p0\t1"]}, "papers", "no papers.tsv; choose another benchmark.unit"),
        ({}, "auto", "no sentences or pages.tsv"),
        ({"pages": []}, "words", "benchmark.unit='words': must be one of auto, sentences, pages, papers"),
    ],
)
def test_what_is_missing_is_named(tmp_path, files, unit, words):
    with pytest.raises(BenchmarkError) as error:
        load_pdf_bench(collection(tmp_path, files, SENTENCES), "test", unit)
    assert words in str(error.value)


def page_texts(folder, names):
    """Page texts of some PDFs as PDFium gives them."""
    texts = {}
    for name in names:
        pdf = pypdfium2.PdfDocument(folder / "pdfs" / f"{name}.pdf")
        texts[f"{name}.pdf"] = [page.get_textpage().get_text_range() for page in pdf]
    return texts


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "unit", "queries", "judgments", "clusters"),
    [
        ("clscisumm", "test", "auto", 242, 642, 13),
        ("clscisumm", "train", "auto", 514, 828, 27),
        ("clscisumm", "all", "auto", 756, 1470, 40),
        ("clscisumm", "test", "pages", 242, 519, 13),
        ("clscisumm", "train", "pages", 514, 595, 27),
        ("clscisumm", "test", "papers", 242, 242, 13),
        ("finance", "test", "auto", 363, 370, 15),
        ("mmlongbench_academic", "test", "auto", 51, 60, 7),
    ],
)
def test_the_counts_of_real_collections(data, name, split, unit, queries, judgments, clusters):
    spec = BenchmarkSpec(path=str(data / "pdf_bench" / name), unit=unit)
    benchmark = load_benchmark(spec, split)
    assert len(benchmark.queries) == queries
    assert len(benchmark.evidence) == judgments
    assert len(set(benchmark.queries.cluster)) == clusters
    assert Counter(benchmark.queries.kind)["unanswerable"] == (11 if name == "mmlongbench_academic" else 0)


@pytest.mark.data
def test_annotated_sentences_are_found_in_pdfs_that_know_nothing_of_them(data):
    """The sentences come from XML with its own OCR; the shortest three papers stand for all (3 of 1,470 are lost)."""
    folder = data / "pdf_bench" / "clscisumm"
    names = ["A97-1014", "P05-1013", "W06-2932"]
    corpus = corpus_of(page_texts(folder, names))
    whole = load_pdf_bench(folder, "test")
    evidence = tuple(row for row in whole.evidence if row.doc in names)
    spans = locate(replace(whole, evidence=evidence), corpus)
    assert len(evidence) > 100
    assert spans.orphans == ()
    lengths = (spans.end - spans.start) / [len(row.quote) for row in evidence]
    assert lengths.min() > 0.3  # the longest run of a sentence in pieces
    assert lengths.max() < 1.5
    qrels = span_qrels(spans, corpus, len(whole.queries))
    assert set(qrels.query.tolist()) == set(spans.query.tolist())

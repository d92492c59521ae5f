"""BEIR folders: what becomes a corpus, which queries and judgments a split has, what is refused."""

import gzip
import json

import pytest

from evaluation.beir import load_beir, load_corpus, read_tsv
from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.errors import BenchmarkError
from evaluation.qrels import id_qrels
from evaluation.schema import DocumentJudgment
from tests.unit.evaluation.papers import write_lines

DOCUMENTS = [
    {"_id": "d2", "title": "Cosine", "text": "of an\nangle", "metadata": {"year": 1975}},
    {"_id": "007", "title": "", "text": " untitled "},
    {"_id": "a b", "title": "Only a title", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "angle", "metadata": {"paper_id": "d2"}},
    {"_id": "q2", "text": "title", "metadata": {"doc_id": "elsewhere"}},
    {"_id": "q3", "text": "never judged"},
]
TEST = "query-id\tcorpus-id\tscore\nq1\td2\t3\nq1\t007\t1\nq2\ta b\t-1\n"


@pytest.fixture
def folder(tmp_path):
    write_lines(tmp_path / "corpus.jsonl", DOCUMENTS)
    write_lines(tmp_path / "queries.jsonl", QUERIES)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(TEST)
    (tmp_path / "qrels" / "train.tsv").write_text("q2\t007\t1\n")  # without a header line
    return tmp_path


def test_a_document_is_one_chunk_under_its_own_id(folder):
    corpus = load_corpus(folder)
    assert list(corpus.chunk_ids) == ["007", "a b", "d2"]
    assert corpus.texts == ["untitled", "Only a title", "Cosine of an angle"]
    assert corpus.pages["text"].to_pylist() == ["untitled", "Only a title", "Cosine of an\nangle"]
    assert corpus.numbers("char_end").tolist() == [8, 12, 18]
    assert json.loads(corpus.column("metadata_json")[2]) == {"year": 1975}
    assert corpus.documents["title"].to_pylist() == ["", "Only a title", "Cosine"]


def test_packed_files_read_the_same(folder):
    plain = load_corpus(folder)
    for name in ("corpus", "queries"):
        file = folder / f"{name}.jsonl"
        file.with_name(f"{name}.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    assert load_corpus(folder).fingerprint == plain.fingerprint
    assert load_beir(folder, "test").queries.qid == ("q1", "q2")


def test_a_split_has_the_queries_that_its_file_judges(folder):
    benchmark = load_beir(folder, "test")
    assert benchmark.queries.qid == ("q1", "q2")
    assert benchmark.queries.cluster == ("d2", "elsewhere")  # what they ask about
    assert benchmark.documents == (
        DocumentJudgment("q1", "007", 1),
        DocumentJudgment("q1", "d2", 3),
        DocumentJudgment("q2", "a b", 0),  # a negative score is "judged, not relevant"
    )
    assert load_beir(folder, "train").documents == (DocumentJudgment("q2", "007", 1),)
    assert load_beir(folder, "all").queries.split == ("test", "test")  # q2 stands in both; the first name counts
    assert len(load_beir(folder, "all").documents) == 4


def test_the_document_that_a_query_is_made_from_is_not_ranked(folder):
    benchmark = load_beir(folder, "test", "paper_id")
    assert benchmark.exclude == {"q1": frozenset({"d2"})}
    assert load_beir(folder, "test", "doc_id").exclude == {}  # q2 names a document that is not there
    assert DocumentJudgment("q1", "d2", 3) in benchmark.documents  # as trec_eval over these files has it


def test_a_missing_split_lists_those_that_exist(folder):
    with pytest.raises(BenchmarkError, match=r"dev\.tsv: no such split; there are: test, train"):
        load_benchmark(BenchmarkSpec(kind="beir", path=str(folder)), "dev")
    with pytest.raises(BenchmarkError, match="there are: none"):
        load_beir(folder / "nowhere", "all")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("q1\td2", "line 5: 2 columns; 3 separated by tabs"),
        ("q1 d2 1", "line 5: 1 columns"),
        ("q1\td2\t1.5", "line 5: score '1.5' is not a whole number up to 127"),
        ("q1\td2\t128", "score '128'"),
        ("q9\td2\t1", "query 'q9' is judged but not in"),
    ],
)
def test_an_unreadable_judgment_is_named(folder, line, words):
    (folder / "qrels" / "test.tsv").write_text(TEST + line + "\n")
    with pytest.raises(BenchmarkError) as error:
        load_beir(folder, "test")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"_id": 7, "text": "t"}, "_id is the number 7"),
        ({"text": "t"}, "_id is missing"),
        ({"_id": "d2", "text": "t"}, "_id 'd2' stands already in line 1"),
        ({"_id": "x", "text": ["t"]}, "text must be a string, not a list"),
        ({"_id": "x", "text": "t", "metadata": "m"}, "metadata must be an object"),
    ],
)
def test_an_unreadable_document_is_named(folder, row, words):
    write_lines(folder / "corpus.jsonl", [*DOCUMENTS, row])
    with pytest.raises(BenchmarkError) as error:
        load_corpus(folder)
    assert words in str(error.value)
    assert "line 4" in str(error.value)


def test_an_empty_corpus_is_refused(folder):
    (folder / "corpus.jsonl").write_text("")
    with pytest.raises(BenchmarkError, match="no documents"):
        load_corpus(folder)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "documents", "queries", "judgments"),
    [
        ("scifact", "test", 5183, 300, 339),
        ("scifact", "train", 5183, 809, 919),
        ("nfcorpus_stopped", "test", 3395, 323, 12334),
        ("cranfield", "test", 1400, 225, 1837),
        ("limit-small", "test", 46, 1000, 2000),
    ],
)
def test_the_counts_of_real_collections(data, name, split, documents, queries, judgments):
    folder = data / "beir" / name
    benchmark, corpus = load_beir(folder, split, "paper_id"), load_corpus(folder)
    assert (len(corpus), len(benchmark.queries), len(benchmark.documents)) == (documents, queries, judgments)
    ids, qrels = id_qrels(benchmark, [], corpus.chunk_ids)
    assert len(ids) == documents  # every judged document is there
    assert len(qrels.query) == judgments


@pytest.mark.data
def test_csfcube_leaves_out_the_paper_that_a_query_is(data):
    benchmark = load_beir(data / "beir" / "csfcube", "test", "paper_id")
    assert len(benchmark.exclude) == len(benchmark.queries) == 50
    assert all(qid.startswith(next(iter(docs))) for qid, docs in benchmark.exclude.items())
    assert len(benchmark.documents) == 6244
    assert len(set(benchmark.queries.cluster)) == 34  # several facets of one paper are no independent questions


def test_ids_with_tabs_and_quotation_marks_come_back_from_a_quoted_field(tmp_path):
    (tmp_path / "test.tsv").write_text('query-id\tcorpus-id\tscore\nq\t"a\tb ""c"""\t1\n')
    assert [row.doc_id for row in read_tsv(tmp_path / "test.tsv")] == ['a\tb "c"']

"""Questions and judgments from files: what is read, what is refused and with which words."""

import gzip
import hashlib
import json

import pytest

from evaluation.benchmark import BenchmarkSpec, load_benchmark, resolve
from evaluation.errors import BenchmarkError, EvaluationError
from evaluation.schema import Evidence
from ingestion.artifacts import fingerprint
from ingestion.config import load, names, to_plain
from ingestion.errors import ConfigError
from ingestion.typed import build_spec
from tests.unit.evaluation.papers import write_lines

KINDS = ("jsonl", "beir", "trec", "pdf_bench")
QUESTION = {"qid": "a", "question": "what?", "evidence": [{"doc": "x.pdf", "page": 2, "quote": "this"}]}


def questions(tmp_path, *rows, split="test"):
    return load_benchmark(BenchmarkSpec(path=str(write_lines(tmp_path / "questions.jsonl", rows))), split)


def refusal(tmp_path, *rows, split="test"):
    with pytest.raises(BenchmarkError) as error:
        questions(tmp_path, *rows, split=split)
    return str(error.value)


def bundled(folder, queries, evidence):
    write_lines(folder / "queries.jsonl", queries)
    write_lines(folder / "evidence.jsonl", evidence)
    return BenchmarkSpec(path=str(folder))


def test_one_file_holds_questions_and_judgments(tmp_path):
    benchmark = questions(
        tmp_path,
        {**QUESTION, "entities": ["BM25"], "relations": [["BM25", "idf"]], "answer": "so", "kind": "numeric"},
        {"qid": "007", "query": "who?", "evidence": [{"doc": "2605.23950", "grade": 0, "part": "1"}]},
    )
    assert benchmark.queries.qid == ("007", "a")
    assert benchmark.queries.query == ("who?", "what?")
    assert benchmark.queries.split == ("test", "test")
    assert benchmark.queries.cluster == ("007", "x")  # the first relevant document, without .pdf
    assert set(benchmark.evidence) == {
        Evidence("a", "x.pdf", 2, -1, -1, "this", 1, "hand", ""),
        Evidence("007", "2605.23950", 0, -1, -1, "", 0, "hand", "1"),
    }
    assert benchmark.entities == {"a": ("BM25",)}
    assert benchmark.relations == {"a": (("BM25", "idf"),)}
    assert benchmark.answers == {"a": "so"}
    assert benchmark.name == "questions"


def test_a_question_without_an_id_keeps_the_same_one_wherever_it_stands(tmp_path):
    expected = "q-" + hashlib.sha256(b"why?").hexdigest()[:12]
    first = questions(tmp_path, {"question": "why?"}, QUESTION)
    second = questions(tmp_path, QUESTION, {"question": "why?"})
    assert expected in first.queries.qid
    assert first.queries == second.queries
    assert first.digest == second.digest


def test_a_query_without_evidence_is_its_own_cluster(tmp_path):
    assert questions(tmp_path, {"qid": "a", "question": "why?"}).queries.cluster == ("a",)


def test_the_digest_changes_with_every_judgment(tmp_path):
    changes = [{"grade": 2}, {"page": 3}, {"quote": "that"}, {"doc": "y.pdf"}, {"part": "1"}]
    variants = [{**QUESTION, "evidence": [{**QUESTION["evidence"][0], **change}]} for change in ({}, *changes)]
    variants += [{**QUESTION, key: "other"} for key in ("question", "kind", "cluster", "answer")]
    assert len({questions(tmp_path, variant).digest for variant in variants}) == len(variants)


def test_the_digest_is_the_fingerprint_of_what_is_judged(tmp_path):
    """Stored baselines and results name judgments by it, so a faster way must give the same."""
    quotes = ("that \u2014 “ﬁne”", 'p < .05 \\ "q"\n', "\u2028\u0000", "this")
    rows = [{"doc": "x.pdf", "page": page, "quote": quote, "grade": page} for page, quote in enumerate(quotes)]
    asked = {**QUESTION, "answer": "ø", "entities": ["BM25"], "relations": [["BM25", "idf"]], "evidence": rows}
    benchmark = questions(tmp_path, asked, {"question": "why?"})
    content = {
        name: getattr(benchmark, name) for name in ("queries", "entities", "relations", "answers", "documents")
    }
    evidence = sorted(benchmark.evidence, key=fingerprint)
    assert benchmark.digest == fingerprint({**content, "exclude": {}, "evidence": evidence})


def test_the_digest_of_documents_is_their_fingerprint(tmp_path):
    write_lines(tmp_path / "corpus.jsonl", [{"_id": name, "text": "t"} for name in ("d1", "d2")])
    write_lines(tmp_path / "queries.jsonl", [{"_id": "q", "text": "what?", "metadata": {"paper_id": "d2"}}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td2\t1\nq\td1\t2\n")
    benchmark = load_benchmark(BenchmarkSpec(path=str(tmp_path)), "test")
    content = {name: getattr(benchmark, name) for name in ("queries", "evidence", "entities", "relations", "answers")}
    documents = sorted(benchmark.documents, key=lambda row: row.doc_id)
    assert benchmark.exclude == {"q": {"d2"}}
    assert benchmark.digest == fingerprint({**content, "documents": documents, "exclude": {"q": ["d2"]}})


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"qid": 7, "question": "q"}, "line 2: qid is the number 7; ids are strings, so quote it"),
        ({"qid": 2605.23950, "question": "q"}, "quote it"),
        ({"qid": True, "question": "q"}, "qid must be a string, not true/false"),
        ({"qid": "b"}, "line 2: query or question is missing or empty"),
        ({"qid": "b", "question": "  "}, "query or question is missing or empty"),
        ({"qid": "a", "question": "q"}, "qid 'a' stands already in line 1"),
        ({"question": "q", "evidences": []}, "unknown key 'evidences'; did you mean 'evidence'?"),
        ({"question": "q", "evidence": {"doc": "x"}}, "evidence must be a list"),
        ({"question": "q", "evidence": ["x"]}, "evidence must be a list of objects"),
        (
            {"question": "q", "evidence": [{"doc": "x"}, {"quote": "y"}]},
            "line 2, evidence 2: doc_name or doc is missing",
        ),
        ({"question": "q", "evidence": [{"doc": 2605.2395}]}, "line 2, evidence 1: doc is the number 2605.2395"),
        ({"question": "q", "evidence": [{"doc": "x", "text": "y"}]}, "unknown key 'text'"),
        ({"question": "q", "evidence": [{"doc": "x", "page": -1}]}, "page is -1"),
        ({"question": "q", "evidence": [{"doc": "x", "page": "3"}]}, "page must be a whole number, not a string"),
        ({"question": "q", "evidence": [{"doc": "x", "page": True}]}, "page must be a whole number, not true/false"),
        ({"question": "q", "evidence": [{"doc": "x", "grade": 128}]}, "grade is 128; it must lie between 0 and 127"),
        ({"question": "q", "evidence": [{"doc": "x", "grade": 0.5}]}, "grade must be a whole number"),
        ({"question": "q", "relations": [["a", "b", "c"]]}, "relations must be a list of [head, tail] pairs"),
        ({"question": "q", "entities": [1]}, "entities must be a list of strings"),
        ({"question": "q", "answer": 4}, "answer must be a string, not a number"),
        (["q"], "a list instead of a JSON object"),
    ],
)
def test_an_unreadable_line_is_named_with_the_remedy(tmp_path, row, words):
    message = refusal(tmp_path, QUESTION, row)
    assert words in message
    assert message.startswith(f"{tmp_path / 'questions.jsonl'}, line 2")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"question": "q"}\n\n{"question": "q"', "line 3: not JSON"),
        (b'{"question": "\xff"}\n', "line 1: not UTF-8"),
        (b'{"question": "\\ud800"}\n', "line 1: not JSON"),
        (b"[" * 100_000, "line 1: not JSON"),
        (b"\n \n", "no questions"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, content, words):
    path = tmp_path / "q.jsonl"
    path.write_bytes(content)
    with pytest.raises(BenchmarkError, match=r"q\.jsonl, line|no questions") as error:
        load_benchmark(BenchmarkSpec(path=str(path)), "test")
    assert words in str(error.value)


def test_a_byte_order_mark_blank_lines_and_gzip_do_not_matter(tmp_path):
    plain = questions(tmp_path, QUESTION)
    path = tmp_path / "questions.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(QUESTION).encode() + b"\r\n\r\n"))
    assert load_benchmark(BenchmarkSpec(path=str(path)), "test").digest == plain.digest


def test_a_truncated_gzip_file_is_refused(tmp_path):
    path = tmp_path / "questions.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(QUESTION).encode())[:-9])
    with pytest.raises(BenchmarkError, match="cannot be read"):
        load_benchmark(BenchmarkSpec(path=str(path)), "test")


def test_splits_are_stored_and_named_when_missing(tmp_path):
    rows = [{"qid": "a", "question": "q", "split": "dev"}, {"qid": "b", "question": "r", "split": "test"}]
    assert questions(tmp_path, *rows, split="dev").queries.qid == ("a",)
    assert questions(tmp_path, *rows, split="all").queries.qid == ("a", "b")
    assert "no question in split 'train'; there are: dev, test" in refusal(tmp_path, *rows, split="train")
    assert "no question in split 'dev'; there are: test" in refusal(tmp_path, QUESTION, split="dev")
    assert "line 2: no split, while other questions have one" in refusal(tmp_path, rows[1], QUESTION)


def test_a_folder_holds_questions_and_judgments_apart(tmp_path):
    evidence = {
        "qid": "a",
        "doc_name": "x.pdf",
        "page": 1,
        "char_start": 3,
        "char_end": 7,
        "quote": "this",
        "grade": 3,
    }
    queries = [
        {"qid": "a", "query": "q", "split": "dev", "cluster": "c"},
        {"qid": "b", "query": "r", "split": "test"},
    ]
    spec = bundled(tmp_path / "mine", queries, [evidence, {"qid": "b", "doc_name": "y.pdf", "source": "llm:m"}])
    dev, everything = load_benchmark(spec, "dev"), load_benchmark(spec, "all")
    assert dev.evidence == (Evidence("a", "x.pdf", 1, 3, 7, "this", 3, "hand", ""),)
    assert dev.queries.cluster == ("c",)
    assert everything.queries.cluster == ("c", "y")
    assert everything.evidence[1].source == "llm:m"


def test_evidence_for_an_unknown_question_is_refused(tmp_path):
    spec = bundled(tmp_path, [{"qid": "a", "query": "q"}], [{"qid": "b", "doc": "x"}])
    with pytest.raises(BenchmarkError, match=r"evidence.jsonl, line 1: qid 'b' is not in queries.jsonl"):
        load_benchmark(spec, "test")


def test_what_a_path_is_shows_in_its_files(tmp_path):
    for name, files in {
        "bundled": ("queries.jsonl", "evidence.jsonl"),
        "beir": ("corpus.jsonl.gz", "queries.jsonl"),
        "pdf_bench": ("corpus.jsonl.gz", "pdfs/a.pdf"),
    }.items():
        for file in files:
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).touch()
        assert resolve(BenchmarkSpec(path=str(tmp_path / name))).kind == name
    assert resolve(BenchmarkSpec(path="anything.jsonl")).kind == "jsonl"
    assert resolve(BenchmarkSpec(kind="beir", path="anything")).kind == "beir"
    with pytest.raises(BenchmarkError, match=r"neither a \.jsonl file nor a folder"):
        resolve(BenchmarkSpec(path=str(tmp_path)))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"kind": "beir"}, "path is missing; add benchmark.path="),
        ({"kind": "trec", "path": "x"}, "qrels is missing; add benchmark.qrels="),
        ({"path": "x", "qrels": "y"}, "choose benchmark=trec"),
        ({"path": "x", "kind": "bier"}, "did you mean 'beir'"),
        ({"path": 7}, "must be str"),
    ],
)
def test_a_spec_that_lacks_or_contradicts_something_is_refused(values, words):
    with pytest.raises(ConfigError) as error:
        build_spec(BenchmarkSpec, values, "benchmark")
    assert words in str(error.value)


@pytest.mark.parametrize("name", names("benchmark"))
def test_every_benchmark_of_conf_is_a_spec(name, monkeypatch):
    monkeypatch.setenv("RANKPROOF_DATA", "somewhere")
    key = "qrels" if name == "trec" else "path"
    plain = to_plain(load([f"benchmark={name}", f"benchmark.{key}=given"]))
    spec = build_spec(BenchmarkSpec, plain["benchmark"], "benchmark")
    assert getattr(spec, key) == "given"
    assert spec.kind == {"bundled": "auto"}.get(name, name if name in KINDS else "pdf_bench")


def test_only_chosen_sources_count(tmp_path):
    questions = [{"qid": "q1", "query": "one"}, {"qid": "q2", "query": "two"}]
    rows = [
        {"qid": "q1", "doc": "a", "quote": "x", "grade": 2, "source": "llm:m"},
        {"qid": "q1", "doc": "a", "quote": "x", "grade": 0, "source": "hand"},
        {"qid": "q2", "doc": "b", "quote": "y", "grade": 1, "source": "hand"},
    ]
    for name, content in (("queries", questions), ("evidence", rows)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
    everybody = load_benchmark(BenchmarkSpec("bundled", str(tmp_path)), "test")
    people = load_benchmark(BenchmarkSpec("bundled", str(tmp_path), sources=("hand",)), "test")
    assert [row.grade for row in everybody.evidence] == [2, 0, 1]
    assert [row.grade for row in people.evidence] == [0, 1]
    assert people.queries.qid == ("q1", "q2")
    assert people.digest != everybody.digest
    with pytest.raises(EvaluationError, match="did you mean 'hand'"):
        load_benchmark(BenchmarkSpec("bundled", str(tmp_path), sources=("hands",)), "test")


def test_a_passage_judged_irrelevant_gives_a_question_no_document(tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"qid": "q1", "query": "one"}\n{"qid": "q2", "query": "two"}\n')
    rows = [("q1", "z", 0), ("q1", "a", 1), ("q2", "z", 0)]
    lines = [json.dumps({"qid": qid, "doc": doc, "quote": "x", "grade": grade}) for qid, doc, grade in rows]
    (tmp_path / "evidence.jsonl").write_text("\n".join(lines))
    assert load_benchmark(BenchmarkSpec("bundled", str(tmp_path)), "test").queries.cluster == ("a", "q2")

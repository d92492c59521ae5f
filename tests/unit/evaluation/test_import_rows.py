"""Questions from spreadsheets and JSON lines: dialects, spellings of columns, and every complaint."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from evaluation.benchmark import derived_qid, load_questions
from evaluation.errors import BenchmarkError
from evaluation.importing.columns import ColumnError, fields_of
from evaluation.importing.questions import Read, Said, read_questions
from evaluation.importing.rows import QuestionsError, read_rows, whole_number
from evaluation.records import Record
from tests.unit.evaluation.papers import write_lines

HEAD = "question,doc,page,quote,grade\n"


def sheet(tmp_path: Path, content: str | bytes, name: str = "q.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path: Path, source: str = "hand", grade: int = 1) -> Read:
    return read_questions(read_rows(path), source, grade)


def test_columns_are_known_by_many_names_in_any_order():
    assert fields_of(["Paper Name", "QUESTION", "Page No.", "evidence_text", "Relevance", "notes"]) == {
        "Paper Name": "doc", "QUESTION": "query", "Page No.": "page", "evidence_text": "quote", "Relevance": "grade",
    }  # fmt: skip
    with pytest.raises(ColumnError, match="'file' and 'Document' both mean doc"):
        fields_of(["file", "Document"])
    with pytest.raises(ColumnError, match="unknown column 'questoin'; did you mean 'question'"):
        fields_of(["questoin", "doc"])
    assert fields_of(["question", "questions asked"]) == {"question": "query"}  # the field is there already


PLAIN = 'question;file;page;quote\n"What, and why?";a.pdf;2;"two\nlines"\n'
DIALECTS = {
    "semicolons": PLAIN.encode(),
    "with a byte order mark": PLAIN.encode("utf-8-sig"),
    "utf-16 of spreadsheets": PLAIN.encode("utf-16"),
    "a line that names the separator": b"sep=;\n" + PLAIN.encode(),
    "commas": PLAIN.replace(";", ",").encode(),
    "tabs": PLAIN.replace(";", "\t").encode(),
    "bars": PLAIN.replace(";", "|").encode(),
    "line ends of Windows": PLAIN.replace("\n", "\r\n").encode(),
    "empty columns and rows behind": b'question;file;page;quote;;\n"What, and why?";a.pdf;2;"two\nlines";;\n;;;;;\n',
}


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_gives_the_same_question(tmp_path, name):
    found = read(sheet(tmp_path, DIALECTS[name]))
    assert found.problems == ()
    (question,) = found.questions.values()
    assert (question.text, question.qid) == ("What, and why?", derived_qid("What, and why?"))
    assert [(one.doc, one.page, one.quote, one.grade) for one in question.evidence] == [("a.pdf", 2, "two lines", 1)]


def test_the_qid_is_the_one_that_the_benchmark_derives(tmp_path):
    path = write_lines(tmp_path / "q.jsonl", [{"question": "Why?", "evidence": [{"doc": "a.pdf"}]}])
    assert load_questions(path, "test").queries.qid == (derived_qid("Why?"),)


def test_several_rows_are_one_question_and_an_empty_cell_means_the_one_above(tmp_path):
    found = read(
        sheet(
            tmp_path,
            "id,question,kind,pdf,page,passage,relevance,part,entities,relations\n"
            "007,What is A?,Multi-Hop,a.pdf,p. 1,alpha,3.0,a,A; B,A -> B\n"
            ",,,b.pdf,2.0,beta,2,b,C,\n"
            "007,,,c.pdf,,,,,,\n"
            ",Other?,,a.pdf,,,0,,,\n",
        )
    )
    assert found.problems == ()
    assert (found.filled_down, found.ungraded) == (1, 1)
    first, other = found.questions.values()
    assert (first.qid, first.named, other.qid) == ("007", True, derived_qid("Other?"))
    assert first.fields == {"kind": "multi_hop", "entities": ["A", "B", "C"], "relations": [("A", "B")]}
    assert first.evidence == [
        Said("a.pdf", 1, "alpha", 3, "hand", "a", "line 2"),
        Said("b.pdf", 2, "beta", 2, "hand", "b", "line 3"),
        Said("c.pdf", 0, "", 1, "hand", "", "line 4"),
    ]
    assert [(one.page, one.grade) for one in other.evidence] == [(0, 0)]


def test_json_lines_may_nest_evidence_list_quotes_or_repeat_the_question(tmp_path):
    rows = [
        {"question": "A?", "evidence": [{"document": "a.pdf", "quote": "x", "relevance": 2}, {"doc": "b.pdf"}]},
        {"question": "B?", "doc": "a.pdf", "page": 3, "evidence": ["one", "two"]},
        {"question": "C?", "doc": "a.pdf", "quote": "x", "grade": 3},
        {"question": "C?", "doc": "a.pdf", "quote": "y", "grade": 1, "entities": ["E"], "relations": [["E", "F"]]},
        {"question": "D?", "note": "nobody knows"},
    ]
    packed = tmp_path / "q.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    listed = tmp_path / "q.json"
    listed.write_text(json.dumps(rows))
    for path in (write_lines(tmp_path / "q.jsonl", rows), packed, listed):
        found = read(path, grade=2)
        assert found.problems == ()
        told = [[(e.doc, e.page, e.quote, e.grade) for e in one.evidence] for one in found.questions.values()]
        assert told == [
            [("a.pdf", 0, "x", 2), ("b.pdf", 0, "", 2)],
            [("a.pdf", 3, "one", 2), ("a.pdf", 3, "two", 2)],
            [("a.pdf", 0, "x", 3), ("a.pdf", 0, "y", 1)],
            [],
        ]


def test_columns_are_told_and_unread_ones_too(tmp_path):
    rows = read_rows(sheet(tmp_path, "Question,File,my notes\nA?,a.pdf,x\n"))
    assert dict(rows.columns) == {"Question": "query", "File": "doc"}
    assert rows.ignored == ("my notes",)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("", "no rows"),
        (HEAD, "no rows"),
        ("file,quote\na.pdf,x\n", "no column of questions; call one `question` .there are: 'file', 'quote'."),
        (HEAD + "A?,a.pdf,1,x,3,one too many\n", "line 2: a cell behind the last column; put cells that hold ','"),
        ("question,doc,doc\nA?,a,b\n", "two columns are called 'doc'"),
        (HEAD.encode() + "Größe?,a.pdf,1,x,3\n".encode("latin-1"), "line 2: not UTF-8"),
        (HEAD + '"A?,a.pdf,1,x,3\n', "no CSV"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_line_and_remedy(tmp_path, content, hint):
    with pytest.raises(QuestionsError, match=hint):
        read_rows(sheet(tmp_path, content))


def test_files_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(QuestionsError, match="no such file"):
        read_rows(tmp_path / "none.csv")
    with pytest.raises(QuestionsError, match="save spreadsheets as CSV UTF-8"):
        read_rows(sheet(tmp_path, "x", "q.xlsx"))
    with pytest.raises(QuestionsError, match="must be a list of objects"):
        read_rows(sheet(tmp_path, "{}", "q.json"))
    with pytest.raises(QuestionsError, match="not JSON"):
        read_rows(sheet(tmp_path, "[", "q.json"))
    with pytest.raises(BenchmarkError, match="line 1: not JSON"):
        read_rows(sheet(tmp_path, "{\n", "q.jsonl"))


@pytest.mark.parametrize(
    ("rows", "hint"),
    [
        ("A?,a.pdf,1,x,4\n", "line 2: grade 4: must be 0"),
        ("A?,a.pdf,1,x,-1\n", "grade -1"),
        ("A?,a.pdf,1,x,good\n", "grade 'good' is no whole number"),
        ("A?,a.pdf,0,x,1\n", "pages count from 1"),
        ("A?,a.pdf,3-4,x,1\n", "page '3-4' is no whole number; one per row"),
        ("A?,,1,x,1\n", "no document"),
        (",a.pdf,1,x,1\n", "no question"),
    ],
)
def test_rows_are_refused_with_their_line(tmp_path, rows, hint):
    (problem,) = read(sheet(tmp_path, HEAD + rows)).problems
    assert hint in problem


@pytest.mark.parametrize(
    ("rows", "hint"),
    [
        (
            [{"qid": "q1", "question": "A?"}, {"qid": "q1", "question": "B?"}],
            "qid 'q1' is the question 'A?' in line 1",
        ),
        ([{"qid": "q1", "question": "A?"}, {"qid": "q2", "question": "A?"}], "has the qid 'q1' above and 'q2' here"),
        ([{"question": "A?", "split": "dev"}, {"question": "A?", "split": "test"}], "split of"),
        ([{"question": "A?", "split": "val"}], "split 'val'; must be dev or test"),
        ([{"question": "A?", "split": "tset"}], "did you mean 'test'?"),
        ([{"question": "A?", "kind": "numerical"}], "did you mean 'numeric'?"),
        ([{"question": "A?", "relations": "a, b"}], "head -> tail"),
        ([{"question": "A?", "doc": "a", "source": "b.pdf"}], "a column of file names is called `doc`"),
        ([{"question": "A?", "evidence": [1]}], "evidence must be a quote"),
        ([{"question": "A?", "evidence": [{"doc": "a", "qoute": "x"}]}], "did you mean 'quote'"),
        ([{"question": "A?", "qid": 7}], "ids are strings"),
    ],
)
def test_contradictions_and_wrong_values_are_refused(tmp_path, rows, hint):
    (problem,) = read(write_lines(tmp_path / "q.jsonl", rows)).problems
    assert hint in problem


def test_kinds_of_ones_own_are_kept_and_known_ones_are_spelt_as_known(tmp_path):
    rows = [{"question": "A?", "kind": "Single Hop", "split": "TEST"}, {"question": "B?", "kind": "policy"}]
    found = read(write_lines(tmp_path / "q.jsonl", rows))
    assert [one.fields for one in found.questions.values()] == [
        {"kind": "single_hop", "split": "test"},
        {"kind": "policy"},
    ]


@pytest.mark.parametrize(
    ("value", "number"), [("3", 3), ("3.0", 3), ("p. 3", 3), ("Page 12", 12), (4.0, 4), ("", None)]
)
def test_whole_numbers_as_spreadsheets_have_them(value, number):
    assert whole_number(Record(Path("f"), 1, {}), "page", value) == number


@pytest.mark.parametrize("value", ["3.5", "iii", 2.5, True, "²", [3]])
def test_other_numbers_are_refused(value):
    with pytest.raises(BenchmarkError, match="no whole number"):
        whole_number(Record(Path("f"), 1, {}), "page", value)

"""TREC files: trec_eval's order, what is dropped and counted, what is refused, and the way back."""

import gzip

import numpy as np
import pytest

from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.errors import BenchmarkError, RunFileError
from evaluation.schema import DocumentJudgment, Qrels
from evaluation.trec import read_qrels, read_run, write_qrels, write_run
from retrieval.schema import Queries, make_run
from tests.unit.evaluation.papers import write_lines


def run_file(tmp_path, *lines):
    path = tmp_path / "theirs.trec"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def listed(outside):
    """Ids in order, by qid."""
    return {
        str(qid): [str(outside.ids[item]) for item in outside.item[outside.query == row]]
        for row, qid in enumerate(outside.qids)
    }


def refusal(path, reader=read_run):
    with pytest.raises(RunFileError) as error:
        reader(path)
    assert str(path) in str(error.value)
    return str(error.value)


def test_scores_decide_then_the_larger_id(tmp_path):
    outside = read_run(
        run_file(
            tmp_path,
            "q2 Q0 d1 9 1.5 t",
            "q1 Q0 a 1 2 t",
            "q1 Q0 b 2 2.0 t",
            "q1 Q0 B 3 2e0 t",
            "q1 Q0 é 4 2 t",
            "q1 Q0 z 5 3 t",
            "q1 Q0 y 6 -1 t",
        )
    )
    assert listed(outside) == {"q1": ["z", "é", "b", "a", "B", "y"], "q2": ["d1"]}
    assert outside.tied == pytest.approx(4 / 7)


def test_scores_that_single_precision_cannot_tell_apart_are_ties(tmp_path):
    """trec_eval keeps scores as C floats: 1 + 5e-8 is 1, 1 + 6e-8 is not, and 1e40 and 1e41 are both infinite."""
    outside = read_run(
        run_file(
            tmp_path,
            *("q1 Q0 a 1 1.00000005 t", "q1 Q0 b 2 1 t"),
            *("q2 Q0 a 1 1.00000006 t", "q2 Q0 b 2 1 t"),
            *("q3 Q0 a 1 1e41 t", "q3 Q0 b 2 1e40 t"),
        )
    )
    assert listed(outside) == {"q1": ["b", "a"], "q2": ["a", "b"], "q3": ["b", "a"]}


def test_of_an_id_that_stands_twice_the_better_place_stays(tmp_path):
    outside = read_run(run_file(tmp_path, "q Q0 a 1 1 t", "q Q0 b 2 2 t", "q Q0 a 3 3 t", "q Q0 a 4 3 t"))
    assert listed(outside) == {"q": ["a", "b"]}
    assert outside.duplicates == 2
    assert outside.tied == 0.0


def test_ids_are_strings_whatever_they_look_like(tmp_path):
    ids = ["007", "7", "NA", "nan", "2605.23950", "1e5", '"quoted', "None", "#x"]
    outside = read_run(run_file(tmp_path, *(f"{name} Q0 {name} 1 {9 - row} t" for row, name in enumerate(ids))))
    assert listed(outside) == {name: [name] for name in ids}


def test_packed_files_tabs_blank_lines_and_a_byte_order_mark_do_not_matter(tmp_path):
    path = tmp_path / "theirs.trec.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfq\tQ0\ta\t1\t1\tt\r\n\r\n  q Q0   b 2 2 t"))
    assert listed(read_run(path)) == {"q": ["b", "a"]}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("q Q0 b 2 1", "line 2: 5 columns; 6 are needed"),
        ("q Q0 b c 2 1 t", "line 2: 7 columns; 6 are needed"),
        ("q Q0 b 2 NaN t", "score 'NaN' of query 'q', document 'b' is not a finite number"),
        ("q Q0 b 2 -inf t", "score '-inf' of query 'q', document 'b'"),
        ("q Q0 b 2 1e999 t", "score '1e999'"),
        ("q Q0 b 2 high t", "score 'high' of query 'q', document 'b'"),
    ],
)
def test_an_unusable_line_is_named(tmp_path, line, words):
    assert words in refusal(run_file(tmp_path, "q Q0 a 1 2 t", line))


def test_unreadable_and_empty_files_are_refused(tmp_path):
    assert "cannot be read" in refusal(tmp_path / "missing.trec")
    assert "no rows" in refusal(run_file(tmp_path, "", " "))
    path = tmp_path / "latin.trec"
    path.write_bytes("q Q0 \xe9 1 1 t\n".encode("latin-1"))
    assert "not UTF-8" in refusal(path)
    path = tmp_path / "short.gz"
    path.write_bytes(gzip.compress(b"q Q0 a 1 1 t\n")[:-6])
    assert "cannot be read" in refusal(path)


def test_a_run_joins_our_queries_and_unknown_ids_hold_their_rank(tmp_path):
    outside = read_run(
        run_file(tmp_path, "q1 Q0 x 1 3 t", "q1 Q0 b 2 2 t", "q1 Q0 a 2 2 t", "q9 Q0 a 1 1 t", "q3 Q0 b 1 1 t")
    )
    run, counts = outside.to_run(["q1", "q2", "q3"], {"a": 0, "b": 1})
    assert run.query.tolist() == [0, 0, 0, 2]
    assert run.chunk.tolist()[1:] == [1, 0, 1]  # b before a: the tie keeps trec_eval's order, not ours
    assert run.chunk[0] > 1
    assert run.rank.tolist() == [1, 2, 3, 1]
    assert list(counts.values()) == [0, 2, 1, 1, 1]  # duplicates, tied rows, queries unknown, queries missing, ids


def test_what_we_write_reads_back_the_same(tmp_path):
    queries = Queries.of(["007", "q 1", "ünï"], ["", "", ""])
    ids = np.asarray(["a", "b%20c", "d e\tf", "g\u2003h", "%"], dtype=object)
    run = make_run([0, 0, 0, 1, 1, 2], [0, 1, 2, 3, 4, 0], [1, 1, 1, 2, 1, 5], depth=10)
    path = tmp_path / "ours.trec"
    write_run(path, run, queries, ids, "my tag")
    again, counts = read_run(path).to_run(queries.qid, {name: row for row, name in enumerate(ids)})
    assert again.fingerprint == run.fingerprint
    assert not any(counts.values())
    lines = [line.split() for line in path.read_text().splitlines()]
    assert lines[0] == ["007", "Q0", "a", "1", "3", "my_tag"]
    assert lines[1] == ["007", "Q0%", "b%2520c", "2", "2", "my_tag"]
    assert lines[2][:3] == ["007", "Q0%", "d%20e%09f"]
    assert lines[3][:3] == ["q%201", "Q0%", "g%E2%80%83h"]


def test_a_percent_sign_in_a_run_made_elsewhere_is_just_a_character(tmp_path):
    assert listed(read_run(run_file(tmp_path, "q Q0 http://x/%20y 1 1 t"))) == {"q": ["http://x/%20y"]}


def test_equal_runs_give_equal_bytes(tmp_path):
    queries, ids = Queries.of(["q"], [""]), ["a", "b"]
    for name, scores in (("one", [2, 1]), ("two", [0.9, 0.1])):
        write_run(tmp_path / name, make_run([0, 0], [1, 0], scores, depth=2), queries, ids, "t")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == b"q Q0 b 1 2 t\nq Q0 a 2 1 t\n"


def test_judgments_read_sorted_with_negative_grades_as_zero(tmp_path):
    path = run_file(tmp_path, "q2 0 007 2", "q1 0 b -2", "q1 0 a 0", "q2 0 007 2")
    assert read_qrels(path) == (
        DocumentJudgment("q1", "a", 0),
        DocumentJudgment("q1", "b", 0),
        DocumentJudgment("q2", "007", 2),
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("q 0 a", "line 2: 3 columns; 4 are needed"),
        ("q 0 b high", "line 2: grade 'high' is not a whole number up to 127"),
        ("q 0 b 1.0", "grade '1.0'"),
        ("q 0 b 128", "grade '128'"),
        ("q 0 a 2", "line 2: 'q' and 'a' stand twice, with different grades"),
    ],
)
def test_an_unusable_judgment_is_named(tmp_path, line, words):
    assert words in refusal(run_file(tmp_path, "q 0 a 1", line), read_qrels)


def test_judgments_of_chunks_read_back_the_same(tmp_path):
    qrels = Qrels(
        *(np.asarray(column) for column in ([0, 0, 1], [0, 1, 1], [3, 0, 1], [0, -1, 0], [1, 0, 1], [1, 1]))
    )
    write_qrels(tmp_path / "qrels", qrels, Queries.of(["q1", "q2"], ["", ""]), ["a", "b c"])
    assert (tmp_path / "qrels").read_text() == "q1 0 a 3\nq1 0% b%20c 0\nq2 0% b%20c 1\n"
    assert read_qrels(tmp_path / "qrels") == (
        DocumentJudgment("q1", "a", 3),
        DocumentJudgment("q1", "b c", 0),
        DocumentJudgment("q2", "b c", 1),
    )


def trec_benchmark(qrels, topics=None, split="test"):
    return load_benchmark(BenchmarkSpec("trec", queries=topics and str(topics), qrels=str(qrels)), split)


def test_topics_and_judgments_make_a_benchmark(tmp_path):
    qrels = run_file(tmp_path, "007 0 a 1", "q2 0 b 0")
    topics = tmp_path / "topics.tsv"
    topics.write_text("q3\tnever judged\n007\tJames\tBond\nq2\tother\n")
    benchmark = trec_benchmark(qrels, topics)
    assert benchmark.queries.qid == ("007", "q2")
    assert benchmark.queries.query == ("James\tBond", "other")
    lines = write_lines(
        tmp_path / "t.jsonl", [{"_id": "007", "text": "James\tBond"}, {"qid": "q2", "query": "other"}]
    )
    assert trec_benchmark(qrels, lines).digest == benchmark.digest
    assert trec_benchmark(qrels).queries.query == ("", "")


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        ("007 James Bond\n", "line 1: no tab; a topic is one line of qid<TAB>text"),
        ("007\tx\nq2\ty\n007\tz\n", "line 3: query '007' stands twice"),
        ("007\tx\n", "query 'q2' is judged but not in"),
    ],
)
def test_unusable_topics_are_named(tmp_path, topics, words):
    (tmp_path / "topics.tsv").write_text(topics)
    with pytest.raises(BenchmarkError) as error:
        trec_benchmark(run_file(tmp_path, "007 0 a 1", "q2 0 b 0"), tmp_path / "topics.tsv")
    assert words in str(error.value)


def test_judgment_files_have_no_splits(tmp_path):
    with pytest.raises(BenchmarkError, match="no question in split 'dev'; there are: test"):
        trec_benchmark(run_file(tmp_path, "q 0 a 1"), split="dev")

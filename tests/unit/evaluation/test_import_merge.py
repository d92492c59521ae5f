"""Evidence found in a corpus, questions merged with what is there, documents divided: all of it or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.benchmark import BenchmarkSpec, derived_qid, load_benchmark
from evaluation.errors import RequestError
from evaluation.importing import report
from evaluation.importing.command import main
from evaluation.importing.divide import connected, divide, shared_by_splits
from evaluation.importing.merge import Merge, merge
from evaluation.importing.places import Finder
from evaluation.importing.questions import Said, read_questions
from evaluation.importing.rows import read_rows
from evaluation.importing.target import Target
from evaluation.locate import Library
from tests.unit.evaluation.papers import corpus_of, write_lines

# "beta gamma" begins at offset 6 of page 1; page 2 begins with the sentence about 97.1 percent.
PAPERS = {
    "a.pdf": [
        "alpha beta gamma. Rank fusion adds reciprocal ranks.",
        "The tagger reaches 97.1 percent accuracy on the whole test set of the treebank.",
    ],
    "b.pdf": ["Nothing of the kind stands here but a line about cosine similarity of two vectors."],
    "folder/c.pdf": ["One c."],
    "other/c.pdf": ["Another c."],
}
FINDER = Finder(Library(corpus_of(PAPERS)))


def said(doc: str, page: int = 0, quote: str = "", grade: int = 3) -> Said:
    return Said(doc, page, quote, grade, "hand", "", "line 2")


def test_a_quote_is_found_exactly_and_placed_by_hand_counted_offsets():
    found = FINDER.find("q", said("a", 1, "beta  GAMMA"))
    assert (found.how, found.similarity, found.text, found.moved) == ("exact", 100.0, "", 0)
    row = found.evidence
    assert (row.doc, row.page, row.char_start, row.char_end, row.quote) == ("a.pdf", 1, 6, 16, "beta  GAMMA")


def test_a_quote_with_differences_says_how_alike_it_is_and_that_a_number_differs():
    found = FINDER.find("q", said("a.pdf", 2, "The tagger reaches 97.7 percent accuracy on the whole test set"))
    assert found.how == "similar"
    # 51 letters and digits, one of them another: 2 * 50 / (51 + 51)
    assert found.similarity == pytest.approx(100 * 50 / 51, abs=0.01)
    assert found.text == "The tagger reaches 97.1 percent accuracy on the whole test set"
    assert found.other_numbers
    same = FINDER.find("q", said("a.pdf", 2, "The tager reaches 97.1 percent accuracy on the whole test set"))
    assert (same.how, same.other_numbers) == ("similar", False)


def test_a_wrong_page_is_corrected_and_a_missing_one_found():
    found = FINDER.find("q", said("a.pdf", 1, "The tagger reaches 97.1 percent"))
    assert (found.how, found.moved, found.evidence.page, found.evidence.char_start) == ("exact", 1, 2, 0)
    assert FINDER.find("q", said("a.pdf", 0, "The tagger reaches 97.1 percent")).moved == 0


def test_without_a_quote_page_or_document_are_judged():
    page = FINDER.find("q", said("a.pdf", 2))
    assert (page.how, page.evidence.page, page.evidence.char_start, page.evidence.quote) == ("page", 2, -1, "")
    whole = FINDER.find("q", said("a.pdf"))
    assert (whole.how, whole.evidence.page) == ("document", 0)


@pytest.mark.parametrize(
    ("evidence", "notes"),
    [
        (said("aa.pdf", 1, "beta"), ["no document 'aa.pdf'", "did you mean 'a.pdf'?"]),
        (said("c.pdf", 1, "One"), ["folder/c.pdf or other/c.pdf", "with its folder"]),
        (said("a.pdf", 9), ["no page 9", "has 2 pages"]),
        (said("b.pdf", 1, "Rank fusion adds reciprocal ranks"), ["not in it, but in a.pdf"]),
        (
            said("b.pdf", 1, "a table on cosine distances between several matrices"),
            ["nearest (", "page 1", "cosine similarity of two"],
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(evidence, notes):
    found = FINDER.find("q", evidence)
    assert found.how == "missing"
    for note in notes:
        assert note in found.note


def merged(tmp_path: Path, rows: list[dict], into: Path, auto: bool = False, seed: int = 0) -> tuple[Merge, Target]:
    read = read_questions(read_rows(write_lines(tmp_path / "q.jsonl", rows)), "hand", 1)
    assert read.problems == ()
    target = Target.open(into)
    return merge(read.questions.values(), target, FINDER, auto, seed), target


def stored(tmp_path: Path, rows: list[dict], into: Path, **options) -> Merge:
    plan, target = merged(tmp_path, rows, into, **options)
    assert plan.problems == []
    plan.apply(target)
    target.write()
    return plan


ROWS = [
    {"question": "What does fusion add?", "doc": "a.pdf", "quote": "Rank fusion adds reciprocal ranks", "grade": 3},
    {"question": "What does fusion add?", "doc": "a.pdf", "page": 1, "grade": 1, "part": "b"},
    {"qid": "q7", "question": "How accurate?", "doc": "a", "quote": "97.1 percent accuracy", "kind": "numeric"},
    {"question": "Nobody knows?", "answer": "unknown"},
]


@pytest.mark.parametrize("name", ["bench", "bench.jsonl"])
def test_a_new_benchmark_reads_back_as_it_was_said_and_a_second_import_changes_nothing(tmp_path, name):
    into = tmp_path / name
    plan = stored(tmp_path, ROWS, into)
    assert (len(plan.new), plan.known, plan.questions_known) == (3, 0, 0)
    benchmark = load_benchmark(BenchmarkSpec(path=str(into)), "test")
    fusion = derived_qid("What does fusion add?")
    assert dict(zip(benchmark.queries.qid, benchmark.queries.query, strict=True)) == {
        fusion: "What does fusion add?", "q7": "How accurate?", derived_qid("Nobody knows?"): "Nobody knows?",
    }  # fmt: skip
    assert benchmark.answers == {derived_qid("Nobody knows?"): "unknown"}
    assert sorted((row.qid, row.page, row.quote, row.grade, row.part) for row in benchmark.evidence) == sorted(
        [
            (fusion, 1, "Rank fusion adds reciprocal ranks", 3, ""),
            (fusion, 1, "", 1, "b"),
            ("q7", 2, ROWS[2]["quote"], 1, ""),
        ]
    )
    files = [into] if into.is_file() else sorted(into.iterdir())
    before = [path.read_bytes() for path in files]
    again = stored(tmp_path, ROWS, into)
    assert (again.new, again.changed, again.judgments, again.known, again.questions_known) == ({}, {}, {}, 3, 3)
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize("nested", [False, True])
def test_an_existing_benchmark_loses_nothing_and_gets_what_it_lacks(tmp_path, nested):
    hand = '{"qid": "x1", "query":   "What does  fusion add?", "note": "mine", "entities": ["rank fusion"]}'
    if nested:
        into = tmp_path / "q7.jsonl"
        into.write_text(hand.replace('"query"', '"question"') + "\n\n" + '{"question":  "untouched"}' + "\n")
    else:
        into = tmp_path / "bench"
        into.mkdir()
        (into / "queries.jsonl").write_text(hand + "\n" + '{"qid": "x2",  "query": "untouched"}' + "\n")
        old = {"qid": "x1", "doc_name": "a.pdf", "page": 2, "quote": "97.1 percent", "grade": 1, "mark": "x"}
        del old["mark"]
        (into / "evidence.jsonl").write_text(json.dumps(old) + "\n")
    rows = [
        {
            "question": "What does fusion add?",
            "doc": "a",
            "quote": "reciprocal ranks",
            "entities": ["ranks"],
            "answer": "r",
        },
        {"question": "New?", "doc": "b", "quote": "cosine similarity"},
    ]
    plan = stored(tmp_path, rows, into)
    assert list(plan.judgments) == ["x1", derived_qid("New?")]
    assert plan.changed == {"x1": {"entities": ["rank fusion", "ranks"], "answer": "r"}}
    file = into if nested else into / "queries.jsonl"
    lines = file.read_text().splitlines()
    assert any(
        line.replace("question", "query").endswith('"query":  "untouched"}' if nested else '"query": "untouched"}')
        for line in lines
    )
    first = json.loads(lines[0])
    assert (first["note"], first["entities"], first["answer"]) == ("mine", ["rank fusion", "ranks"], "r")
    benchmark = load_benchmark(BenchmarkSpec(path=str(into)), "test")
    assert {row.quote for row in benchmark.evidence if row.qid == "x1"} == (
        {"reciprocal ranks"} if nested else {"97.1 percent", "reciprocal ranks"}
    )


def test_contradictions_with_what_is_there_are_refused(tmp_path):
    into = tmp_path / "bench"
    stored(tmp_path, ROWS, into)
    wrong = [
        {"qid": "q7", "question": "Another question?"},
        {"qid": "q8", "question": "What does fusion add?"},
        {"qid": "q7b", "question": "How?", "doc": "a", "quote": "97.1 percent", "grade": 2},
        {"qid": "q7b", "question": "How?", "doc": "a", "quote": "97.1 PERCENT", "grade": 3},
        {"question": "Nobody knows?", "answer": "known"},
    ]
    plan, _ = merged(tmp_path, wrong, into)
    assert [problem.partition(": ")[0] for problem in plan.problems] == ["line 1", "line 2", "line 4", "line 5"]
    for problem, hint in zip(
        plan.problems, ("is another question", "give it that qid", "gave grade 2", "answer of"), strict=True
    ):
        assert hint in problem


def test_another_grade_of_a_stored_judgment_is_refused_but_another_judge_may_differ(tmp_path):
    into = tmp_path / "bench"
    stored(tmp_path, ROWS[2:3], into)
    row = {**ROWS[2], "grade": 3}
    plan, _ = merged(tmp_path, [row], into)
    assert "hand gave grade 1 to the same span" in plan.problems[0]
    plan = stored(tmp_path, [{**row, "source": "hand:ada"}], into)
    assert plan.judgments["q7"][0].source == "hand:ada"


def test_groups_follow_shared_documents_and_clusters():
    links = {"q1": ["a"], "q2": ["a", "b"], "q3": ["b"], "q4": ["c"], "q5": []}
    assert connected(links) == [["q1", "q2", "q3"], ["q4"], ["q5"]]


def test_a_division_keeps_groups_together_stays_near_a_third_and_repeats():
    links = {f"q{at:02}": [f"d{at // 3}"] for at in range(30)}  # ten documents with three questions each
    links["q00"] = ["d0", "d1"]
    first, again, other = (divide(links, {}, seed).split_of for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert list(first.values()).count("dev") in (9, 12)  # groups of 3 and one of 6: 9 or 12 is nearest to 10
    for document in range(10):
        assert len({first[qid] for qid, own in links.items() if f"d{document}" in own}) == 1
    assert shared_by_splits(links, first) == []
    assert set(divide({"q1": ["a"], "q2": ["a"]}, {}, 0).split_of.values()) == {"test"}  # one group is test


def test_stored_splits_stay_are_followed_and_tear_nothing():
    links = {"q1": ["a"], "q2": ["b"], "q3": ["a"], "q4": ["a", "b"], "q5": ["b"]}
    found = divide(links, {"q1": "dev", "q2": "test"}, 0)
    assert (found.torn, found.split_of) == (("q3", "q4", "q5"), {"q1": "dev", "q2": "test"})
    del links["q4"]
    found = divide(links, {"q1": "dev", "q2": "test"}, 0)
    assert (found.torn, found.split_of["q3"], found.split_of["q5"]) == ((), "dev", "test")
    assert shared_by_splits({"q1": ["a"], "q2": ["a"]}, {"q1": "dev", "q2": "test"}) == ["a"]


def test_a_question_without_a_split_among_others_is_refused_unless_it_is_drawn(tmp_path):
    rows = [{**ROWS[0], "split": "dev"}, ROWS[2], {"question": "Other?", "doc": "b", "quote": "cosine similarity"}]
    plan, _ = merged(tmp_path, rows, tmp_path / "bench")
    assert len(plan.problems) == 2
    assert "add split=auto" in plan.problems[0]
    plan = stored(tmp_path, rows, tmp_path / "bench", auto=True)
    assert plan.split_of == {
        derived_qid("What does fusion add?"): "dev", "q7": "dev", derived_qid("Other?"): "test",
    }  # fmt: skip
    assert plan.divided == 2
    assert "split: 2 dev, 1 test, 2 of them drawn" in "\n".join(report.written(tmp_path, plan))


def test_the_command_that_is_told_names_the_split_where_there_is_no_test():
    plan = Merge(split_of={"q1": "dev"})
    assert report.command(Path("my bench"), ["corpus.path=p"], plan) == (
        "python run_eval.py suite=core corpus.path=p 'benchmark.path=my bench' split=dev"
    )


def test_targets_that_are_none_are_refused(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.pdf").write_text("")
    (tmp_path / "x.jsonl").mkdir()
    (tmp_path / "file").write_text("")
    for name, hint in (
        ("papers", "name a new folder"),
        ("x.jsonl", "ends in .jsonl"),
        ("file", "must be a folder"),
        ("q.csv", "must be"),
    ):
        with pytest.raises(RequestError, match=hint):
            Target.open(tmp_path / name)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["into=x"], "file is missing"),
        (["file=x.csv"], "into is missing"),
        (["q.csv", "into=x"], "write file=q.csv"),
        (["fil=x"], "did you mean 'file'?"),
        (["file=none.csv", "into=x"], "no such file"),
        (["file=none.csv", "into=x", "split=dev"], "must be auto"),
        (["file=none.csv", "into=x", "grade=4"], "must be 0 to 3"),
        (["file=none.csv", "into=x", "source=ada"], "hand:<name>"),
    ],
)
def test_wrong_requests_end_with_2_and_the_remedy(arguments, hint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert hint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

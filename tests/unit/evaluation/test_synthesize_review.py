"""Review of drafts: every key on disk at once, taken back, taken up again; and the import of what was accepted."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from evaluation.benchmark import derived_qid, load_questions
from evaluation.errors import BenchmarkError
from evaluation.importing.drafts import accepted, is_drafts
from evaluation.importing.rows import QuestionsError
from evaluation.schema import Evidence
from evaluation.synthesize.__main__ import main
from evaluation.synthesize.draft import (
    Draft,
    DraftError,
    Dropped,
    Sifted,
    dropped_path,
    read_drafts,
    review_path,
    write_drafts,
)
from evaluation.synthesize.review import ReviewDesk
from evaluation.synthesize.terminal import review_in_terminal
from tests.unit.evaluation.papers import write_lines


def draft(at: int) -> Draft:
    query = f"What is rule {at}?"
    row = Evidence(derived_qid(query), "a.pdf", 1, at, at + 5, f"rule {at} is so", 3, "synthetic:templates")
    return Draft(
        query, "jargon", "definition", f"so {at}", (f"rule {at}",), (("rule", "so"),), (row,), "synthetic:templates",
        (("before it", "behind it"),),
    )  # fmt: skip


DRAFTS = tuple(draft(at) for at in range(4))


@pytest.fixture
def path(tmp_path) -> Path:
    write_drafts(tmp_path / "drafts.jsonl", Sifted(DRAFTS, (Dropped(draft(9), "duplicate", "What is rule 1?"),)))
    return tmp_path / "drafts.jsonl"


def typed(path: Path, keys: str, source: str = "hand:ada") -> str:
    screen = io.StringIO()
    review_in_terminal(ReviewDesk.open(path, source), io.StringIO(keys), screen)
    return screen.getvalue()


def states(path: Path, source: str = "hand:ada") -> list[str]:
    desk = ReviewDesk.open(path, source)
    return [desk.decision(at).state for at in range(len(desk.drafts))]


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in review_path(path).read_text().splitlines()]


def test_drafts_and_dropped_ones_are_written_and_read_back(path):
    assert read_drafts(path) == list(DRAFTS)
    (dropped,) = (json.loads(line) for line in dropped_path(path).read_text().splitlines())
    assert (dropped["query"], dropped["reason"], dropped["detail"]) == (
        "What is rule 9?",
        "duplicate",
        "What is rule 1?",
    )


def test_every_key_is_on_disk_at_once_and_the_review_is_taken_up_again(path):
    typed(path, "a")
    assert [(row["qid"], row["state"], row["source"]) for row in lines(path)] == [
        (DRAFTS[0].qid, "accepted", "hand:ada")
    ]
    shown = typed(path, "r q")
    assert shown.index("What is rule 1?") < shown.index("What is rule 2?")
    assert "What is rule 0?" not in shown
    assert states(path) == ["accepted", "rejected", "", ""]
    assert "1 accepted, 1 rejected, 2 undecided" in shown


def test_keys_move_change_and_take_back(path):
    typed(path, "a" + "eWhich rule is the second?\n" + "a" + "t4" + "a" + "u" + "kk" + "r" + "q")
    desk = ReviewDesk.open(path, "hand:ada")
    # draft 0 accepted; 1 reworded, accepted; 2 another kind, accepted, taken back; two back to 0: rejected
    assert states(path) == ["rejected", "accepted", "", ""]
    assert desk.draft(1).query == "Which rule is the second?"
    assert desk.draft(1).evidence[0].qid == derived_qid("Which rule is the second?")
    assert (desk.draft(2).kind, desk.draft(2).query) == ("paraphrase", "What is rule 2?")
    assert len(lines(path)) == 7
    assert desk.undo() == 0
    assert states(path)[0] == "accepted"  # what counted before the rejection


def test_a_new_wording_opens_what_was_decided_and_an_empty_one_changes_nothing(path):
    typed(path, "ak" + "e\n")
    assert states(path)[0] == "accepted"
    typed(path, "k" + "eAnother wording?\n" + "q")
    assert states(path)[0] == ""
    assert ReviewDesk.open(path, "hand:ada").draft(0).query == "Another wording?"


def test_the_last_key_ends_the_review_and_skipped_ones_come_back(path):
    shown = typed(path, "a raa")  # accept 0, skip 1, reject 2, accept 3, back to 1: accept
    assert states(path) == ["accepted", "accepted", "rejected", "accepted"]
    assert "3 accepted, 1 rejected, 0 undecided" in shown
    assert typed(path, "o").count("1 of 4") == 2  # nothing is open: it stays where it is


def test_the_evidence_is_shown_within_its_surroundings_without_control_characters(path):
    shown = typed(path, "q")
    assert "... before it >> rule 0 is so << behind it ..." in shown
    assert "answer: so 0" in shown
    wild = Draft("What is \x1b[2J it?", "jargon", "t", "", (), (), DRAFTS[0].evidence, "llm:m")
    write_drafts(path.with_name("w.jsonl"), Sifted((wild,)))
    assert "\x1b" not in typed(path.with_name("w.jsonl"), "q")


def test_a_line_cut_short_by_a_crash_is_cut_off(path):
    typed(path, "ar")
    whole = review_path(path).read_bytes()
    review_path(path).write_bytes(whole + b'{"qid": "q-')
    assert states(path) == ["accepted", "rejected", "", ""]
    assert review_path(path).read_bytes() == whole


def test_decisions_are_never_lost_to_another_draft_file(path):
    typed(path, "a")
    write_drafts(path, Sifted(DRAFTS))  # the same ones
    with pytest.raises(DraftError, match="decisions about other drafts"):
        write_drafts(path, Sifted(DRAFTS[1:]))
    assert read_drafts(path) == list(DRAFTS)


def test_accepted_drafts_are_imported_with_maker_reviewer_and_editor(path):
    typed(path, "a" + "eWhich rule is the second?\na" + "r", "hand:ada")
    typed(path, "a", "hand:bob")
    found = accepted(path)
    assert is_drafts(path)
    assert not is_drafts(dropped_path(path).with_name("none.jsonl"))
    assert found.lines == [f"{path}: 4 drafts: 2 accepted, 1 rejected, 0 disputed, 1 undecided"]
    first, second = found.questions.values()
    assert (first.text, first.fields["reviewed_by"], "edited_by" in first.fields) == (
        "What is rule 0?",
        "hand:ada, hand:bob",
        False,
    )
    assert (second.text, second.qid, second.fields["edited_by"]) == (
        "Which rule is the second?", derived_qid("Which rule is the second?"), "hand:ada",
    )  # fmt: skip
    assert first.fields["drafted_by"] == "synthetic:templates"
    (said,) = first.evidence
    assert (said.doc, said.page, said.quote, said.grade, said.source) == (
        "a.pdf",
        1,
        "rule 0 is so",
        3,
        "synthetic:templates",
    )
    assert (said.char_start, said.char_end) == (0, 5)


def test_what_reviewers_disagree_about_stays_out(path):
    typed(path, "aa", "hand:ada")
    typed(path, "r", "hand:bob")
    found = accepted(path)
    assert [one.text for one in found.questions.values()] == ["What is rule 1?"]
    assert "1 accepted, 0 rejected, 1 disputed, 2 undecided" in found.lines[0]


def test_nothing_accepted_or_accepted_twice_is_refused(path):
    with pytest.raises(QuestionsError, match="review them with python"):
        accepted(path)
    typed(path, "a" + "eWhat is rule 0?\na")
    assert "accepted twice" in accepted(path).problems[0]


def test_extra_fields_of_an_imported_question_are_read_as_a_users_own(tmp_path):
    row = {"qid": "q1", "question": "Q?", "drafted_by": "llm:m", "reviewed_by": "hand:ada", "edited_by": "hand:ada"}
    assert load_questions(write_lines(tmp_path / "q.jsonl", [row]), "test").queries.qid == ("q1",)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "out is missing"),
        (["out=d.csv"], "must end in .jsonl"),
        (["drafts.jsonl"], "review=<drafts.jsonl>"),
        (["out=d.jsonl", "by=magic"], "hand, hand:<name>"),
        (["out=d.jsonl", "by=hand"], "must be templates or llm:<model>"),
        (["out=d.jsonl", "copied=2"], "share from 0 to 1"),
        (["out=d.jsonl", "common=x"], "share from 0 to 1"),
        (["out=d.jsonl", "n=0"], "whole number from 1"),
        (["out=d.jsonl", "discriminating=maybe"], "true or false"),
        (["out=d.jsonl", "benchmark.path=none"], "neither"),
        (["out=d.jsonl", "strategie=[bm25]"], "did you mean 'strategies'?"),
        (["review=none.jsonl"], "no such file"),
        (["review=none.jsonl", "source=llm:m"], "a person reviews"),
    ],
)
def test_wrong_requests_end_with_2_and_the_remedy(arguments, hint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert hint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_unreadable_files_are_refused_with_their_line(path):
    review_path(path).write_text('{"qid": "x", "state": "maybe", "source": "hand"}\n')
    with pytest.raises(BenchmarkError, match="line 1: state 'maybe'"):
        ReviewDesk.open(path, "hand")
    path.write_text('{"query": "Q?", "drafted_by": "llm:m"}\n')
    with pytest.raises(BenchmarkError, match="line 1: a draft needs evidence"):
        read_drafts(path)
    path.write_text("")
    with pytest.raises(DraftError, match="no drafts"):
        read_drafts(path)

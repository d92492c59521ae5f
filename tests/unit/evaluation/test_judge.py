"""The judge's journal, desk, terminal and web server."""

from __future__ import annotations

import http.client
import io
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.judge.__main__ import main
from evaluation.judge.desk import Desk, marks
from evaluation.judge.journal import Journal
from evaluation.judge.server import JudgeServer
from evaluation.judge.terminal import judge_in_terminal
from evaluation.pool.file import Passage, PoolError, journal_path, read_judgments, write_pool

ROWS = tuple(
    Passage(
        f"q{at // 2}", f"Which question is {at // 2}?", f"c{at}", "p.pdf", 1, at * 10, at * 10 + 9, f"passage {at}"
    )
    for at in range(4)
)


def desk(path: Path, source: str = "hand:a") -> Desk:
    return Desk(ROWS, Journal.open(path, source))


def grades(one: Desk) -> list[int | None]:
    return [one.passage(at).grade for at in range(len(one.passages))]


def test_every_judgment_is_on_disk_at_once_and_taken_up_again(tmp_path):
    path = tmp_path / "p.judgments.jsonl"
    one = desk(path)
    one.judge(0, 2)
    assert json.loads(path.read_text())["grade"] == 2
    one.judge(2, 0, "off topic")
    one.judge(0, 3)
    assert path.read_text().count("\n") == 3  # it only grows
    again = desk(path)
    assert grades(again) == [3, None, 0, None]
    assert again.passage(2).comment == "off topic"
    assert (again.done, again.first_open(), again.first_open(1), again.first_open(3)) == (2, 1, 3, 1)


def test_a_line_cut_short_by_a_crash_is_cut_off(tmp_path):
    path = tmp_path / "p.judgments.jsonl"
    desk(path).judge(0, 2)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"qid": "q0", "query": "Wh')
    again = desk(path)
    assert grades(again) == [2, None, None, None]
    assert path.read_bytes() == whole
    again.judge(1, 1)
    assert grades(desk(path)) == [2, 1, None, None]


def test_undo_brings_back_what_counted_before_also_after_a_restart(tmp_path):
    path = tmp_path / "p.judgments.jsonl"
    one = desk(path)
    one.judge(0, 1)
    one.judge(1, 2)
    one.judge(0, 3)
    assert (one.undo(), grades(one)) == (0, [1, 2, None, None])
    again = desk(path)
    assert (again.undo(), grades(again)) == (1, [1, None, None, None])
    assert (again.undo(), grades(again)) == (0, [None] * 4)
    assert again.undo() is None
    assert grades(desk(path)) == [None] * 4
    assert read_judgments(path).rows == ()


def test_sources_in_one_file_are_kept_apart(tmp_path):
    path = tmp_path / "p.judgments.jsonl"
    a = desk(path)
    a.judge(0, 1)
    b = desk(path, "hand:b")
    assert grades(b) == [None] * 4
    b.judge(0, 3)
    assert grades(desk(path)) == [1, None, None, None]
    assert [(row.source, row.grade) for row in read_judgments(path).rows] == [("hand:a", 1), ("hand:b", 3)]


def test_wrong_grades_and_numbers_are_refused(tmp_path):
    one = desk(tmp_path / "p.judgments.jsonl")
    for number, grade in ((4, 1), (-1, 1), (0, 4), (0, -1)):
        with pytest.raises(PoolError):
            one.judge(number, grade)
    assert not one.journal.path.exists()


def test_words_of_the_question_are_marked_as_the_lexical_stages_compare_them():
    text = "Rankings were fused; the k of RRF-fusion ranked. When?"
    found = [text[start:end] for start, end in marks("When are rankings ranked by RRF?", text)]
    assert found == ["Rankings", "RRF-fusion", "ranked"]  # not the function word


def typed(keys: str, path: Path) -> tuple[Desk, str]:
    one, screen = desk(path), io.StringIO()
    judge_in_terminal(one, io.StringIO(keys), screen)
    return one, screen.getvalue()


def test_keys_of_the_terminal(tmp_path):
    one, screen = typed("2 0k3q", tmp_path / "a")  # judge 0, skip 1, judge 2, back to 2 (from 3), judge again, stop
    assert grades(one) == [2, None, 3, None]
    assert "2 of 4 judged" in screen
    one, _ = typed("1u2jjx0", tmp_path / "b")  # undo goes back to the passage; x does nothing
    assert grades(one) == [2, None, None, 0]
    one, screen = typed("0123", tmp_path / "c")
    assert grades(one) == [0, 1, 2, 3]
    assert screen.endswith(f"4 of 4 judged; stored in {tmp_path / 'c'}\n")


def test_the_terminal_is_not_commanded_by_a_passage(tmp_path):
    rows = (replace(ROWS[0], quote="\x1b]0;title\x07 red \x1b[31m"),)
    screen = io.StringIO()
    judge_in_terminal(Desk(rows, Journal.open(tmp_path / "a", "hand")), io.StringIO("q"), screen)
    assert "\x1b" not in screen.getvalue()
    assert "\x07" not in screen.getvalue()


@pytest.fixture
def server(tmp_path) -> Iterator[JudgeServer]:
    with JudgeServer(desk(tmp_path / "p.judgments.jsonl")) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(server: JudgeServer, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    sent = {"Content-Type": "application/json"} if method == "POST" else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, content, answer.headers.get("Content-Security-Policy", "")


def test_the_page_its_files_and_the_state(server):
    token = f"?token={server.token}"
    assert server.address.endswith(f"/{token}")
    status, page, policy = ask(server, "GET", f"/{token}")
    assert (status, "default-src 'self'" in policy) == (200, True)
    assert "http://" not in page
    assert "https://" not in page
    assert [ask(server, "GET", path)[0] for path in ("/judge.css", "/judge.js")] == [200, 200]
    assert [ask(server, "GET", f"/{name}{token}")[0] for name in ("nothing", "judge.py", "../judge.py")] == [404] * 3
    state = json.loads(ask(server, "GET", f"/state{token}")[1])
    assert state["source"] == "hand:a"
    assert [row["qid"] for row in state["passages"]] == ["q0", "q0", "q1", "q1"]
    assert "strategy" not in json.dumps(state)


def test_a_judgment_and_its_undo_over_http(server):
    token = f"?token={server.token}"
    status, told, _ = ask(server, "POST", f"/judge{token}", {"number": 1, "grade": 3, "comment": "yes"})
    assert (status, json.loads(told)) == (200, {"number": 1, "grade": 3, "comment": "yes"})
    assert grades(server.desk) == [None, 3, None, None]
    assert json.loads(ask(server, "POST", f"/undo{token}", {})[1]) == {"number": 1, "grade": None, "comment": ""}
    assert json.loads(ask(server, "POST", f"/undo{token}", {})[1])["number"] is None
    for wrong in (
        {"number": 9, "grade": 1},
        {"number": 0, "grade": "3"},
        {"grade": 1},
        {"number": 0, "grade": 9},
        [1],
    ):
        assert ask(server, "POST", f"/judge{token}", wrong)[0] == 400, wrong
    assert ask(server, "POST", f"/judge{token}", {"number": 0, "grade": 1, "comment": "x" * 100_000})[0] == 413
    assert grades(server.desk) == [None] * 4


def test_other_pages_and_rebound_names_are_refused(server):
    token, port = f"?token={server.token}", server.server_port
    body = {"number": 0, "grade": 3}
    assert ask(server, "POST", "/judge", body)[0] == 403
    assert ask(server, "POST", "/judge?token=x", body)[0] == 403
    assert ask(server, "GET", "/state")[0] == 403
    assert ask(server, "GET", "/")[0] == 403
    assert ask(server, "POST", f"/judge{token}", body, Origin="https://evil.example")[0] == 403
    assert ask(server, "POST", f"/judge{token}", body, Origin="null")[0] == 403
    assert ask(server, "GET", f"/state{token}", Host=f"evil.example:{port}")[0] == 403
    assert ask(server, "GET", "/judge.js", Host="evil.example")[0] == 403
    assert ask(server, "POST", f"/judge{token}", body, Content_Type="text/plain")[0] == 415
    assert grades(server.desk) == [None] * 4
    assert ask(server, "POST", f"/judge{token}", body, Origin=f"http://127.0.0.1:{port}")[0] == 200
    assert ask(server, "POST", f"/undo{token}", {}, Host=f"localhost:{port}")[0] == 200


def test_the_command_checks_its_arguments(tmp_path, capsys, monkeypatch):
    pool = tmp_path / "pool.jsonl"
    write_pool(pool, ROWS)
    assert journal_path(pool).name == "pool.judgments.jsonl"
    assert main(["-h"]) == 0
    for arguments, hint in (
        ([], "name one pool"),
        (["nowhere.jsonl"], "no such file"),
        ([str(pool), "source=me"], "hand:<name>"),
        ([str(pool), "source=llm:x"], "by=llm:<model>"),
        ([str(pool), "sorce=hand"], "did you mean 'source'?"),
        ([str(pool), "port=web"], "port=web"),
        ([str(pool), "by=llm:some-model"], "by=llm:some-model: no model can be asked"),
    ):
        assert main(arguments) == 2, arguments
        assert hint in capsys.readouterr().err, arguments
    monkeypatch.setattr("sys.stdin", io.StringIO("3q"))
    assert main([str(pool), "terminal=true"]) == 0
    assert [row.grade for row in read_judgments(journal_path(pool)).rows] == [3]

"""Asking in parallel: order, failures, resuming, and what stops everything."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest

from evaluation.judge.generator import CallError, GeneratorError
from evaluation.llm_judges.asking import ask
from evaluation.llm_judges.journal import Verdicts
from evaluation.llm_judges.kinds import CORRECTNESS, PREFERENCE, Item

ITEMS = [
    Item((f"k{at}",), "c", {"question": f"q{at}", "reference": "r", "answer": f"answer {at}"}) for at in range(12)
]


def data_of(text: str) -> tuple[str, dict]:
    code = re.search(r"the code ([0-9a-f]{16})", text)[1]
    return code, json.loads(text.split(f"--- texts {code}\n")[1].split("\n--- end")[0])


def graded(text: str) -> str:
    """Grades an answer by its number, modulo 3."""
    code, data = data_of(text)
    return json.dumps({"code": code, "reason": data["answer"], "grade": int(data["answer"].split()[1]) % 3})


class Judge:
    """Counts what it is asked; waits the longer the earlier an item is, so that replies arrive in another order."""

    def __init__(self, answer=graded) -> None:
        self.answer, self.lock = answer, threading.Lock()
        self.asked: list[str] = []
        self.now = self.most = 0

    def __call__(self, text: str) -> str:
        with self.lock:
            self.asked.append(text)
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            time.sleep(0.02 if data_of(text)[1].get("question") in ("q0", "q4") else 0.002)
            return self.answer(text)
        finally:
            with self.lock:
                self.now -= 1


def journal(tmp_path, source="llm:m") -> Verdicts:
    return Verdicts.open(tmp_path / "j.jsonl", source)


def test_verdicts_come_back_in_the_order_of_the_items(tmp_path):
    judge = Judge()
    found = ask(CORRECTNESS, ITEMS, judge, journal(tmp_path), parallel=4)
    assert found.verdicts[:, 0, 0].tolist() == [at % 3 for at in range(12)]
    assert found.reasons == tuple((f"answer {at}",) for at in range(12))
    assert (found.requests, found.retries, found.remembered, found.failures) == (12, 0, 0, ())
    assert 1 < judge.most <= 4
    arrived = [json.loads(line)["reason"] for line in (tmp_path / "j.jsonl").read_text().splitlines()]
    assert sorted(arrived) == sorted(f"answer {at}" for at in range(12))
    assert arrived != [f"answer {at}" for at in range(12)]


def test_nothing_is_asked_twice_and_other_judges_are_left_alone(tmp_path):
    first = ask(CORRECTNESS, ITEMS[:5], Judge(), journal(tmp_path))
    judge = Judge()
    again = ask(CORRECTNESS, ITEMS, judge, journal(tmp_path))
    assert (len(judge.asked), again.remembered) == (7, 5)
    assert again.verdicts[:5].tolist() == first.verdicts.tolist()
    assert ask(CORRECTNESS, ITEMS[:5], Judge(), journal(tmp_path, "llm:other")).requests == 5
    twins = [ITEMS[1], Item(("twin",), "d", ITEMS[1].texts)]
    assert ask(CORRECTNESS, twins, Judge(), journal(tmp_path, "llm:third")).requests == 1


def test_a_line_that_a_crash_cut_short_is_asked_again(tmp_path):
    ask(CORRECTNESS, ITEMS[:3], Judge(), journal(tmp_path), parallel=1)
    path = tmp_path / "j.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    found = ask(CORRECTNESS, ITEMS[:3], Judge(), journal(tmp_path))
    assert (found.requests, found.remembered) == (1, 2)
    assert found.verdicts[:, 0, 0].tolist() == [0, 1, 2]


def test_repeats_and_orders_are_all_asked(tmp_path):
    texts = {"question": "q", "reference": None, "first": "a", "second": "b"}

    def first(text: str) -> str:
        return json.dumps({"code": data_of(text)[0], "reason": "", "better": "first"})

    judge = Judge(first)
    found = ask(PREFERENCE, [Item(("k",), "c", texts)], judge, journal(tmp_path), repeats=3)
    assert found.verdicts.tolist() == [[[2, 2, 2], [0, 0, 0]]]
    assert len(set(judge.asked)) == 6  # no two prompts are the same, so no cache can answer one for another
    assert [data_of(text)[1]["first"] for text in sorted(judge.asked)].count("a") == 3


def test_failed_calls_are_listed_and_asked_again_the_next_time(tmp_path):
    def moody(text: str) -> str:
        number = int(data_of(text)[1]["answer"].split()[1])
        if number == 2:
            raise CallError("the server is overloaded")
        if number == 3:
            return "I would say 2"
        if number == 5 and "could not be read" not in text:
            return "{}"
        return graded(text)

    found = ask(CORRECTNESS, ITEMS[:6], Judge(moody), journal(tmp_path))
    assert found.verdicts[:, 0, 0].tolist() == [0, 1, -1, -1, 1, 2]
    assert [(one.key, one.error) for one in found.failures] == [
        (("k2",), "the server is overloaded"),
        (("k3",), "no readable reply in 3 attempts, at last: no JSON object"),
    ]
    assert (found.requests, found.retries) == (1 + 1 + 1 + 3 + 1 + 2, 3)
    assert found.reasons[2] == ()
    again = ask(CORRECTNESS, ITEMS[:6], Judge(), journal(tmp_path))
    assert (again.requests, again.failures) == (2, ())


@pytest.mark.parametrize("error", [CallError("no credit is left", final=True), GeneratorError("no key")])
def test_what_no_other_call_can_survive_stops_everything(tmp_path, error):
    def broke(text: str) -> str:
        if int(data_of(text)[1]["answer"].split()[1]) == 3:
            raise error
        return graded(text)

    judge = Judge(broke)
    with pytest.raises(CallError, match=rf"{error}\n\d+ of 12 verdicts came before") as raised:
        ask(CORRECTNESS, ITEMS, judge, journal(tmp_path), parallel=2)
    assert raised.value.final
    assert len(judge.asked) < 12
    stored = len((tmp_path / "j.jsonl").read_text().splitlines())
    assert stored == len(judge.asked) - 1  # what was under way is kept
    assert ask(CORRECTNESS, ITEMS, Judge(), journal(tmp_path)).remembered == stored


def test_an_error_of_ours_is_not_swallowed(tmp_path):
    def wrong(text: str) -> str:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        ask(CORRECTNESS, ITEMS, wrong, journal(tmp_path))

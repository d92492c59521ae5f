"""`python -m evaluation.llm_judges` over real sockets, with a scripted judge whose errors and bias are known."""

from __future__ import annotations

import importlib.util
import json
import logging
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from evaluation.judge.__main__ import main as judge_pool
from evaluation.judge.generator import configured_generator
from evaluation.llm_judges.__main__ import main
from evaluation.pool.file import Passage, read_judgments, write_pool
from evaluation.results import write_json, write_parquet
from generation.router.environment import Environment
from ingestion.config import ROOT, load, to_plain
from tests.providers import FakeProvider, Request, answer, auth_error, quota, server_error, tokens_of
from tests.unit.evaluation.papers import write_lines

if importlib.util.find_spec("litellm") is None:  # not imported here: that takes seconds
    pytest.skip("needs litellm", allow_module_level=True)
N = 100
TRUE = {"alpha": 70, "beta": 40}  # of 100 answers, the first so many are correct
MODEL = "compatible/any:judge-7"


def text_of(generator: str, number: int) -> str:
    return f"{generator} says {number} and means {2 if number < TRUE[generator] else 0}"


@pytest.fixture
def run(tmp_path) -> Path:
    """A results folder: two generators answer 100 questions, each of a document of its own."""
    folder = tmp_path / "run"
    questions = [
        {"qid": f"q{at}", "query": f"question {at}?", "cluster": f"p{at}", "answer": f"it is {at}"} for at in range(N)
    ]
    bench = write_lines(tmp_path / "q.jsonl", questions)
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.pdf").symlink_to(ROOT / "corpus" / "pdf" / "rp-01-bm25-saturation.pdf")
    config = to_plain(load([f"corpus.path={papers}", f"benchmark.path={bench}", "suite=smoke", "seed=3"]))
    write_json(folder / "manifest.json", {"config": config, "name": "smoke"})
    write_json(folder / "arms.json", {})
    key = {"strategy": "bm25", "context": "retrieved"}
    answers = [
        {**key, "generator": name, "qid": f"q{at}", "refused": False, "text": text_of(name, at), "error": None}
        for name in TRUE
        for at in range(N)
    ]
    claims = [
        {**key, "generator": "alpha", "qid": "q0", "claim": number, "text": text}
        for number, text in enumerate(("the sky is blue", "garbled", "the sky is green", "not cited"))
    ]
    citations = [{**one, "quote": "The sky is blue."} for one in claims[:3]]
    tables = {"answers": answers, "claims": claims, "citations": citations, "questions": questions}
    for name, rows in tables.items():
        write_parquet(folder / f"{name}.parquet", _arrow(rows))
    return folder


def _arrow(rows: list[dict]) -> object:
    import pyarrow as pa

    return pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False)


@pytest.fixture
def router(tmp_path) -> Iterator[Path]:
    """A router file whose folder is this test's own; what a command changes in this process is put back."""
    path = tmp_path / "router.yaml"
    path.write_text(f"folder: {tmp_path / 'router'}\nretry:\n  base: 0\n")
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.formatwarning
    records = logging.getLogRecordFactory()
    yield path
    sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.formatwarning = hooks
    logging.setLogRecordFactory(records)


@pytest.fixture
def served(router, monkeypatch) -> Iterator[FakeProvider]:
    """A server with a judge."""
    with FakeProvider("compatible", [answer(judge)]) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def judge(request: Request) -> str:
    """Errs on every tenth correct answer and every fifth wrong one; takes what comes first of every fourth pair."""
    code = re.search(r"the code ([0-9a-f]{16})", request.prompt)[1]
    data = json.loads(request.prompt.split(f"--- texts {code}\n")[1].split("\n--- end")[0])
    if "claim" in data:
        verdict = {"supported": "yes" if "blue" in data["claim"] else "no"}
        return "I cannot say" if data["claim"] == "garbled" else json.dumps({"code": code, "reason": "", **verdict})
    if "answer" in data:
        number, grade = (int(found) for found in re.findall(r"\d+", data["answer"]))
        wrong = number % 10 == 0 if grade == 2 else number % 5 == 0
        verdict = {"grade": {2: 1, 0: 2}[grade] if wrong else grade}
    else:
        number = int(re.search(r"\d+", data["first"])[0])
        better = "alpha" if number % 2 else "beta"
        verdict = {"better": "first" if number % 4 == 0 or better in data["first"] else "second"}
    return json.dumps({"code": code, "reason": "as it is", **verdict})


def arguments(run: Path, what: str, *more: str) -> list[str]:
    return [f"run={run}", f"what={what}", f"by=llm:{MODEL}", f"router={run.parent / 'router.yaml'}", *more]


def labelled(run: Path, label: Callable[[dict], object]) -> Path:
    """A sample of all answers, labelled by `label`."""
    path = run.parent / "labels.jsonl"
    assert main([f"run={run}", "what=correctness", f"sample={path}", "n=1000"]) == 0
    return write_lines(path, [{**row, "label": label(row)} for row in map(json.loads, path.read_text().splitlines())])


def some(row: dict) -> object:
    """The true grade of alpha's answers 10 to 19, 30 to 39 and so on, and none of the others."""
    name, *numbers = re.findall(r"alpha|beta|\d+", row["answer"])
    number, grade = map(int, numbers)
    return grade if name == "alpha" and number // 10 % 2 else None


def test_known_errors_are_found_and_corrected(run, served, capsys):
    labels = labelled(run, some)
    assert main(arguments(run, "correctness", f"labels={labels}")) == 0
    said = capsys.readouterr().out
    assert "judging" not in said  # no bar where nobody looks
    found = json.loads((run / "judge_correctness.json").read_text())
    assert found["labels"]["n"] == 50
    assert found["labels"]["confusion"] == [[16, 0, 4], [0, 0, 0], [0, 3, 27]]
    assert found["labels"]["sensitivity"]["value"] == pytest.approx(0.9)
    assert found["labels"]["specificity"]["value"] == pytest.approx(0.8)
    rows = {(row["generator"], row["measure"]): row for row in found["rates"]}
    alpha, beta = rows["alpha", "correct"], rows["beta", "correct"]
    # as judged: of alpha's 70 correct ones 63 and of 30 wrong ones 6; of beta's 40 and 60, 36 and 12
    assert (alpha["mean"], beta["mean"]) == (pytest.approx(0.69), pytest.approx(0.48))
    # of alpha's 50 answers without a label 40 are correct, of all of beta's 40 in 100: found again exactly
    assert (alpha["corrected"], beta["corrected"]) == (pytest.approx(0.8), pytest.approx(0.4))
    assert beta["corrected_lo"] < 0.4 < beta["corrected_hi"] < beta["mean"] + 0.15
    # 38 of 50 without a label, and on the labelled ones 30 correct where the judge sees 31
    assert alpha["ppi"] == pytest.approx(0.76 - 0.02)
    assert (beta["ppi"], beta["ppi_note"]) == (None, "too few labels")
    table = pd.read_parquet(run / "judge_correctness.parquet")
    assert (table["verdict"] != "").all()
    assert len(served.asked) == 2 * N
    assert re.search(rf"llm:{MODEL}, [\d.]+ \w+", said)


def test_a_second_command_asks_nothing_and_writes_the_same_bytes(run, served, capsys):
    assert main(arguments(run, "correctness", "generators=[alpha]", "plan=true")) == 0
    assert f"{N} items, {N} requests" in capsys.readouterr().out
    assert main(arguments(run, "correctness", "generators=[alpha]", "parallel=8")) == 0
    files = {path: path.read_bytes() for path in run.glob("judge_*")}
    assert len(files) == 4
    assert main(arguments(run, "correctness", "generators=[alpha]")) == 0
    assert "nothing spent" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in run.glob("judge_*")} == files
    assert len(served.asked) == N


def test_position_bias_is_measured_and_makes_ties(run, served, capsys):
    assert main(arguments(run, "preference", "parallel=8")) == 0
    found = json.loads((run / "judge_preference.json").read_text())
    assert found["position"]["n"] == N
    assert found["position"]["share"] == 0.25
    assert found["position"]["lo"] == pytest.approx(0.1755, abs=1e-4)  # Wilson, 25 of 100
    assert found["position"]["hi"] == pytest.approx(0.3430, abs=1e-4)
    assert (found["position"]["toward_first"], found["position"]["toward_second"]) == (25, 0)
    (wins, score) = found["rates"]
    assert (wins["verdicts"], wins["mean"]) == ("25/25/50", 0.5)  # beta, tie, alpha
    assert score["mean"] == 0.625
    assert len(served.asked) == 2 * N
    assert "25 toward the first shown" in capsys.readouterr().out


def test_what_cannot_be_read_is_listed_and_left_out(run, served, capsys):
    assert main(arguments(run, "faithfulness", "repeats=2")) == 1
    found = json.loads((run / "judge_faithfulness.json").read_text())
    assert (found["items"], found["judged"], found["repeats"]) == (3, 2, 2)
    assert [(one["key"][-1], one["repeat"]) for one in found["failures"]] == [("1", 0), ("1", 1)]
    (row,) = found["rates"]
    assert (row["n"], row["failed"], row["mean"], row["verdicts"]) == (2, 1, 0.5, "1/1")
    assert found["left_out"] == {"claims without a quote, which nothing supports": 1}
    assert found["self_agreement"]["raw"]["value"] == 1.0
    said = capsys.readouterr().out
    assert "2 calls failed and count nowhere" in said
    assert len(served.asked) == 2 * 2 + 2 * 3


@pytest.mark.parametrize("behaviour", [auth_error(), quota()])
def test_a_judge_that_cannot_go_on_stops_and_keeps_what_it_has(run, served, capsys, behaviour):
    served.script = [*[answer(judge)] * 10, behaviour]
    assert main(arguments(run, "correctness", "parallel=2")) == 1
    error = capsys.readouterr().err
    assert "verdicts came before and are stored" in error
    assert "Remedy" in error
    assert not any(secret in error for secret in served.secrets)
    assert not (run / "judge_correctness.json").exists()
    assert len(served.asked) <= 13
    served.script = [answer(judge)]
    assert main(arguments(run, "correctness", "generators=[alpha]")) == 0
    stored = (run / "judge_correctness.journal.jsonl").read_text().splitlines()
    assert len(stored) == N


def test_a_call_that_fails_is_one_failure(run, served, capsys):
    served.script = [server_error(500), server_error(500), answer(judge)]  # two attempts of one call
    assert main(arguments(run, "correctness", "generators=[alpha]", "parallel=1")) == 1
    found = json.loads((run / "judge_correctness.json").read_text())
    assert (found["judged"], len(found["failures"])) == (N - 1, 1)
    assert "CapacityError" in found["failures"][0]["error"]
    assert main(arguments(run, "correctness", "generators=[alpha]")) == 0
    assert json.loads((run / "judge_correctness.json").read_text())["judged"] == N


def test_a_pool_is_judged_by_the_configured_model(served, router, tmp_path, capsys):
    def graded(request: Request) -> str:
        code = re.search(r"the code ([0-9a-f]{16})", request.prompt)[1]
        return json.dumps({"code": code, "grades": [{"passage": 1, "grade": 2}]})

    served.script = [answer(graded)]
    passages = [Passage("q", "a question", f"c{at}", "p.pdf", 1, at, at + 1, f"text {at}") for at in range(3)]
    write_pool(tmp_path / "pool.jsonl", passages)
    assert judge_pool([str(tmp_path / "pool.jsonl"), f"by=llm:{MODEL}", f"router={router}"]) == 0
    said = capsys.readouterr().out
    assert "3 passages judged in 3 requests" in said
    assert re.search(r"\d+ input tokens, \d+ output tokens, 3 requests, 3 requests without a known price", said)
    stored = read_judgments(tmp_path / "pool.judgments.jsonl").rows
    assert [(row.grade, row.source) for row in stored] == [(2, f"llm:{MODEL}")] * 3


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "openai", "azure", "gemini", "vertex", "compatible"])
def test_every_route_answers_a_judge(provider, router, tmp_path):
    with FakeProvider(provider, [answer("a verdict")]) as server:
        more = {"COMPATIBLE_ANY_MODEL": "llama3.1", "ANTHROPIC_BEDROCK_OUTPUT_TPM": "off"}
        environment = Environment(server.environment(tmp_path) | more)
        model = server.target().model
        plain = configured_generator(model, router_file=router, environment=environment)
        exact = configured_generator(f"{server.target().name}:{model}", router_file=router, environment=environment)
        assert [plain("judge this"), exact("judge this")] == ["a verdict", "a verdict"]
        assert len(server.asked) == 2  # no reply came from a cache
    for complete in (plain, exact):
        usage = dict(complete.usage)
        assert (usage["requests"], usage["output tokens"]) == (1, tokens_of("a verdict"))
        assert ("US dollars" in usage) != ("requests without a known price" in usage)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["what=correctness"], "by is missing"),
        (["what=correctnes", "by=llm:m"], "did you mean 'correctness'"),
        (["what=correctness", "by=hand:me"], "must be llm:<model>"),
        (["what=correctness", "by=llm:m", "generators=[alfa]"], "there are: alpha, beta"),
        (["what=correctness", "by=llm:m", "seed=0", "labels=none.csv"], "no such file"),
        (["what=correctness", "by=llm:m", "repeat=2"], "did you mean 'repeats'"),
        (["what=faithfulness", "by=llm:m", "generators=[beta]"], "nothing to judge"),
        (["what=correctness", "by=llm:no-such-model"], "no model can be asked"),
    ],
)
def test_wrong_requests_are_refused_with_a_remedy(run, capsys, more, said):
    assert main([f"run={run}", *more]) == 2
    assert said in capsys.readouterr().err
    assert list(run.glob("judge_*")) == []


def test_a_run_without_answers_says_so(run, capsys):
    (run / "answers.parquet").unlink()
    assert main([f"run={run}", "what=correctness", "by=llm:m"]) == 2
    assert "only a run that generates answers leaves them" in capsys.readouterr().err


def test_the_command_says_how_it_is_used():
    line = [sys.executable, "-m", "evaluation.llm_judges", "--help"]
    process = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    assert process.returncode == 0
    assert process.stdout.startswith("usage: python -m evaluation.llm_judges")
    assert process.stderr == ""

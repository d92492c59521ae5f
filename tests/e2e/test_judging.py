"""From a run to a pool, to judgments in a real browser, back into the benchmark, and to what they change."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluation.pool.file import read_pool
from tests.e2e.test_run_eval import ROOT, run_eval

PAPER = "rp-01-bm25-saturation.pdf"
BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
needs_browser = pytest.mark.skipif(
    not BROWSER or importlib.util.find_spec("playwright") is None, reason="needs playwright and Chromium"
)


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def command(name: str, *arguments: str) -> Done:
    """`python -m evaluation.<name>`, without the start of another Python."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        module = f"evaluation.{name}" if name == "fairness" else f"evaluation.{name}.__main__"
        code = importlib.import_module(module).main(arguments)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> list[str]:
    """One paper with the bundled questions about it."""
    folder = tmp_path_factory.mktemp("judging")
    benchmark = ROOT / "corpus" / "benchmark"
    (folder / "bench").mkdir()
    for name in ("queries.jsonl", "evidence.jsonl"):
        lines = (benchmark / name).read_text().splitlines(keepends=True)
        rows = [(line, json.loads(line)) for line in lines]
        own = [line for line, row in rows if row["qid"].startswith("q-01-") and row.get("doc_name", PAPER) == PAPER]
        (folder / "bench" / name).write_text("".join(own))
    return [
        f"corpus.path={ROOT / 'corpus' / 'pdf' / PAPER}",
        f"benchmark.path={folder / 'bench'}",
        f"artifacts={folder / 'artifacts'}",
    ]


def evaluated(base: list[str], out: Path) -> Path:
    process = run_eval(
        *base, "suite.strategies=[bm25,tfidf,rrf]", "tracking=none", f"ledger={out}.ledger", f"out={out}"
    )
    assert process.returncode == 0, process.stderr
    return out


@pytest.fixture(scope="module")
def run(base, tmp_path_factory) -> Path:
    return evaluated(base, tmp_path_factory.mktemp("run") / "r")


@pytest.fixture(scope="module")
def pool(run, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pool") / "pool.jsonl"
    process = command("pool", f"runs={run}", f"out={path}")
    assert process.returncode == 0, process.stderr
    return path


def judged_at_5(run: Path) -> dict[str, float]:
    summary = pd.read_csv(run / "summary.csv").set_index(["metric", "strategy"])["mean"]
    return summary["Judged@5"].to_dict()


def test_a_pool_is_the_union_of_what_the_trec_files_hold_less_what_is_judged(run, pool):
    tops = set()
    for path in (run / "runs").glob("*.trec"):
        rows = [line.split() for line in path.read_text().splitlines()]
        tops |= {(row[0], row[2]) for row in rows if int(row[3]) <= 5}
    again = pool.with_name("all.csv")
    assert command("pool", f"runs={run}", f"out={again}", "unjudged=false").returncode == 0
    assert {(row.qid, row.chunk_id) for row in read_pool(again)} == tops
    new = {(row.qid, row.chunk_id) for row in read_pool(pool)}
    assert new < tops
    shown = dict.fromkeys(judged_at_5(run), 0.0)
    for name in shown:
        rows = [line.split() for line in (run / "runs" / f"{name}.trec").read_text().splitlines()]
        top = [(row[0], row[2]) for row in rows if int(row[3]) <= 5]
        shown[name] = 1 - sum(pair in new for pair in top) / len(top)
    assert shown == pytest.approx(judged_at_5(run))


@pytest.mark.parametrize("name", ["pool", "judge", "agreement", "fairness"])
def test_commands_start_and_say_how_they_are_used(name):
    line = [sys.executable, "-m", f"evaluation.{name}", "--help"]
    process = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    assert process.returncode == 0
    assert process.stdout.startswith(f"usage: python -m evaluation.{name}")
    assert process.stderr == ""


def test_one_strategy_then_a_newcomer_adds_only_its_own(run, pool, tmp_path):
    one, rest = tmp_path / "one.jsonl", tmp_path / "rest.csv"
    assert command("pool", f"runs={run}", f"out={one}", "strategies=[bm25]").returncode == 0
    outside = f"outside.theirs={run / 'runs' / 'tfidf.trec'}"
    assert command("pool", f"runs={run}", f"out={rest}", "strategies=[bm25,rrf]", outside).returncode == 0
    assert read_pool(rest) == read_pool(pool)
    first = read_pool(one)
    assert [row for row in read_pool(pool) if row in first] == first
    wrong = command("pool", f"runs={run}", "strategies=[bm52]", f"out={tmp_path / 'x.csv'}")
    assert (wrong.returncode, "did you mean 'bm25'?" in wrong.stderr) == (2, True)


@pytest.fixture
def page(pool) -> Iterator[tuple[Any, list[str]]]:
    """The judging page in Chromium, and everything that its console said."""
    from playwright.sync_api import sync_playwright

    line = [sys.executable, "-m", "evaluation.judge", str(pool), "source=hand:tester"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process, sync_playwright() as tool:
        assert process.stdout is not None
        address = re.search(r"http://127\S+", process.stdout.readline() + process.stdout.readline())
        assert address is not None
        browser = tool.chromium.launch(executable_path=BROWSER)
        said: list[str] = []
        tab = browser.new_page(viewport={"width": 1100, "height": 800})
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.goto(address[0])
        tab.wait_for_selector("#desk:not([hidden])")
        yield tab, said
        browser.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0


def settled(tab: Any, count: int, total: int) -> None:
    tab.get_by_text(f"{count} of {total} judged", exact=True).wait_for()


@needs_browser
def test_judging_with_keys_in_a_browser(pool, page):
    tab, said = page
    rows = read_pool(pool)
    total, journal = len(rows), pool.with_name("pool.judgments.jsonl")
    assert tab.inner_text("#question") == rows[0].query
    assert tab.inner_text("#text") == rows[0].quote
    assert tab.locator("#text mark").count() > 0
    assert tab.inner_text("#count") == f"0 of {total} judged"

    for key in "301":  # quicker than any answer comes back
        tab.keyboard.press(key)
    settled(tab, 3, total)
    assert [json.loads(line)["grade"] for line in journal.read_text().splitlines()] == [3, 0, 1]
    assert [json.loads(line)["quote"] for line in journal.read_text().splitlines()] == [row.quote for row in rows[:3]]

    tab.keyboard.press("u")
    settled(tab, 2, total)
    assert tab.inner_text("#text") == rows[2].quote
    for key in ("ArrowRight", "Enter", "k", "ArrowLeft", "j", "k"):
        tab.keyboard.press(key)
    tab.keyboard.press("c")
    tab.keyboard.type("0 k u")  # a comment, no commands
    tab.keyboard.press("Enter")
    tab.keyboard.press("2")
    settled(tab, 3, total)
    last = json.loads(journal.read_text().splitlines()[-1])
    assert (last["quote"], last["grade"], last["comment"]) == (rows[2].quote, 2, "0 k u")

    tab.keyboard.press("o")  # open ones only: back from the fourth there is none
    tab.keyboard.press("k")
    tab.wait_for_timeout(50)
    assert tab.inner_text("#text") == rows[3].quote
    tab.reload()
    tab.wait_for_selector("#desk:not([hidden])")
    assert tab.inner_text("#text") == rows[3].quote  # it takes up where it stopped
    for at in range(3, total):
        tab.keyboard.press(str(at % 4))
    tab.wait_for_selector("#finished:not([hidden])")
    assert "import=pool.judgments.jsonl" in tab.inner_text("#command")
    assert said == []


@needs_browser
def test_a_stopped_command_is_said_and_loses_nothing(run, tmp_path):
    from playwright.sync_api import sync_playwright

    path = tmp_path / "pool.jsonl"
    assert command("pool", f"runs={run}", f"out={path}").returncode == 0
    line = [sys.executable, "-m", "evaluation.judge", str(path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process, sync_playwright() as tool:
        assert process.stdout is not None
        address = re.search(r"http://127\S+", process.stdout.readline() + process.stdout.readline())
        tab = tool.chromium.launch(executable_path=BROWSER).new_page()
        tab.goto(address[0] if address else "")
        tab.wait_for_selector("#desk:not([hidden])")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
        before = tab.inner_text("#text")
        tab.keyboard.press("3")
        tab.wait_for_selector("#error:not([hidden])")
        assert "Not stored" in tab.inner_text("#error")
        assert tab.inner_text("#text") == before
    assert not path.with_name("pool.judgments.jsonl").exists()


def test_imported_judgments_complete_the_next_run(base, run, pool, tmp_path):
    copy = tmp_path / "bench"
    shutil.copytree(base[1].partition("=")[2], copy)
    filled = tmp_path / "filled.jsonl"
    rows = [json.loads(line) for line in pool.read_text().splitlines()]
    filled.write_text("".join(json.dumps(row | {"grade": at % 3}) + "\n" for at, row in enumerate(rows)))
    arguments = [f"import={filled}", f"into={copy}", "source=hand:tester"]
    done = command("pool", *arguments, f"runs={run}")
    assert done.returncode == 0, done.stderr
    assert f"{len(rows)} judgments added" in done.stdout
    stored = (copy / "evidence.jsonl").read_bytes()
    bad = tmp_path / "bad.jsonl"
    bad.write_text("".join(json.dumps(row | {"grade": 3}) + "\n" for row in [rows[0] | {"qid": "q-99"}, *rows]))
    refused = command("pool", f"import={bad}", *arguments[1:], base[0], base[2])
    assert refused.returncode == 1
    assert "no such question" in refused.stderr
    assert "add replace=true" in refused.stderr
    assert (copy / "evidence.jsonl").read_bytes() == stored

    moved = [base[0], f"benchmark.path={copy}", base[2]]
    later = evaluated(moved, tmp_path / "later")
    assert judged_at_5(later) == dict.fromkeys(judged_at_5(run), 1.0)
    nothing = command("pool", f"runs={later}", f"out={tmp_path / 'none.jsonl'}")
    assert "nothing to judge" in nothing.stdout
    assert not (tmp_path / "none.jsonl").exists()

    listed = command("agreement", f"runs={later}")
    assert f"hand:tester: {len(rows)} judged spans" in listed.stdout
    alike = command("agreement", f"runs={later}", "a=hand:tester", "b=hand:tester")
    assert "kappa         1.000" in alike.stdout, alike.stderr
    assert "Kendall's tau-b 1.000, tau_ap 1.000" in alike.stdout
    fair = command("fairness", f"runs={later}")
    assert "another rank without its own finds" in fair.stdout, fair.stderr
    assert command("agreement", *moved, "a=hand:tester", "b=hand:testre").returncode == 2

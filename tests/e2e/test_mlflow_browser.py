"""What a person sees in MLflow's own UI, in a real Chromium: views, descriptions, artifacts, the compare view."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from evaluation import tracking
from tests.e2e.test_tracking import MEANS, STAGES, manifest_of, write_folder

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the PATH")
PATIENCE = 90_000  # milliseconds: the server compiles nothing, but two cores may be busy
FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20"/></svg>'


@pytest.fixture(scope="module")
def logged(tmp_path_factory) -> tuple[str, str]:
    """The address of a store with one run of four arms and an older one of one arm, and the id of the former."""
    root = tmp_path_factory.mktemp("ui")
    arms = {name: {"state": "ran", "config": config, "backend": ["Bm25"]} for name, config in STAGES.items()}
    folder = write_folder(root / "results" / "runs" / "new", manifest_of("new"), arms, MEANS)
    verdict = {"state": "winner", "sentence": "rrf wins.", "leader": "rrf", "group": ["rrf"]}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    (folder / "report.md").write_text("# core\n\n| strategy | nDCG@5 |\n| --- | ---: |\n| rrf | 0.600 |\n")
    (folder / "report.html").write_text("<!doctype html><title>r</title><h1>The report opens</h1>")
    (folder / "comparisons.csv").write_text("metric,a,b,diff\nnDCG@5,rrf,bm25,0.1\n")
    (folder / "figures").mkdir()
    (folder / "figures" / "leaderboard.svg").write_text(FIGURE)
    before = manifest_of("before", time="2026-05-03T03:02:01Z", name="earlier")
    write_folder(root / "results" / "runs" / "before", before, {"bm25": arms["bm25"]}, {"bm25": 0.5})
    uri = f"sqlite:///{root}/mlflow.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking, "ROOT", root)
        assert tracking.sync(root / "results", uri, "rankproof") == 2
        return uri, tracking.log_results(folder, uri, "rankproof")


@pytest.fixture(scope="module")
def address(logged, tmp_path_factory) -> Iterator[str]:
    """A server on a free port of the loopback, ended with all its workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("mlflow")), "server", "--backend-store-uri", logged[0]]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    log = tmp_path_factory.mktemp("server") / "log"
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    with log.open("w") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 180
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"mlflow server did not come up:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def page(address) -> Iterator[object]:
    """A page that fails the module where a script of the UI does."""
    errors: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1800, "height": 1000})
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        browser.close()
    assert errors == []


def names_in(page) -> list[str]:
    """The names of the runs that the table shows, from the top."""
    page.locator(".ag-pinned-left-cols-container .ag-row a").first.wait_for()
    rows = page.locator(".ag-pinned-left-cols-container .ag-row")
    placed = [
        (rows.nth(n).get_attribute("row-index"), rows.nth(n).locator("a").first.inner_text())
        for n in range(rows.count())
    ]
    return [name.strip() for _, name in sorted(placed, key=lambda row: int(row[0]))]


def headers_in(page) -> list[str]:
    """The columns of the table from left to right."""
    cells = page.locator(".ag-header-cell:visible")
    placed = [(cells.nth(n).bounding_box()["x"], cells.nth(n).inner_text().strip()) for n in range(cells.count())]
    return [name for _, name in sorted(placed) if name]


def test_the_view_of_arms_is_a_leaderboard(address, page):
    page.goto(f"{address}/#/experiments/1/runs?viewStateShareKey=rankproof-arms")
    page.get_by_text("5 matching runs").wait_for()
    assert names_in(page)[:2] == ["rrf", "bm25"]
    assert names_in(page)[-1] == "rrf_mmr"
    wanted = ["primary", "primary", "primary_lo", "primary_hi"]  # the metric's name, then its values
    for _ in range(20):  # the order of columns is put right after the rows are there
        if headers_in(page)[2:6] != wanted:
            page.wait_for_timeout(500)
    assert headers_in(page)[2:6] == wanted


def test_runs_open_newest_first_with_their_arms_below_them(address, page):
    page.goto(f"{address}/#/experiments/1/runs?viewStateShareKey=rankproof-verdicts")
    page.get_by_text("2 matching runs").wait_for()
    assert names_in(page) == ["core", "earlier"]
    page.get_by_text("rrf wins.").first.wait_for()
    page.goto("about:blank")
    page.goto(f"{address}/#/experiments/1/runs")
    page.get_by_text("7 matching runs").wait_for()
    assert names_in(page) == ["core", "earlier"]  # arms are folded
    page.get_by_text("tiny (dddddddd-cccccccc)").first.wait_for()


def test_a_run_says_what_it_found_and_shows_its_report(address, page, logged):
    page.goto(f"{address}/#/experiments/1/runs/{logged[1]}")
    page.get_by_text("rrf wins.").first.wait_for()
    page.get_by_role("cell", name="0.600").wait_for()  # the table of report.md
    page.goto(f"{address}/#/experiments/1/runs/{logged[1]}/artifacts")
    page.get_by_text("report.html").first.click()
    page.frame_locator("iframe").get_by_role("heading", name="The report opens").wait_for()
    page.get_by_text("comparisons.csv").first.click()
    page.get_by_text("Previewing the first").wait_for()
    page.get_by_text("figures").first.click()
    page.get_by_text("leaderboard.svg").first.click()
    page.locator("img[src^='data:'], img[src^='blob:'], img[src*='leaderboard.svg']").first.wait_for()


def test_three_arms_compared_differ_in_few_parameters(address, page, logged):
    client = MlflowClient(tracking_uri=logged[0])
    children = client.search_runs(["1"], f"tags.`mlflow.parentRunId` = '{logged[1]}'")
    ids = [run.info.run_id for run in children if run.info.run_name in ("bm25", "rrf", "rrf_mmr")]
    page.goto(f"{address}/#/compare-runs?runs={json.dumps(ids)}&experiments=[%221%22]")
    page.get_by_text("Comparing 3 Runs").wait_for()
    section = page.locator("table").filter(has_text="use.mmr").first
    section.wait_for()
    rows = [text.split("\t")[0].strip() for text in section.locator("tr").all_inner_texts()]
    assert [row for row in rows if row] == ["stages", "strategy", "use.mmr"]

"""The report in a real Chromium, from disk and without a network: charts, filters, both rankings, dark and print."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluation.findings import Findings
from evaluation.report import write_reports
from evaluation.report.comparisons import cells
from tests.unit.evaluation.findings_factory import make_findings

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LOCAL = ("file:", "data:", "blob:")
PLANTED = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1">'
CHARTS = ["leaderboard", "pairs", "differences", "effects", "losses", "latency", "index_size", "kinds"]


@pytest.fixture(scope="module")
def browser() -> Iterator:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def findings() -> Findings:
    """A run with one hostile question, passage and note; the passage stands first in the first ranking."""
    found = make_findings(n_strategies=8, n_questions=60, n_documents=12)
    first = found.shown["chunk_id"].iloc[0]
    passages = found.passages.assign(
        text=[PLANTED if name == first else text for name, text in found.passages[["chunk_id", "text"]].to_numpy()]
    )
    questions = found.questions.assign(query=[f"{PLANTED} what?", *found.questions["query"].iloc[1:]])
    return replace(found, passages=passages, questions=questions)


@pytest.fixture(scope="module")
def file(findings, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_reports(folder, findings)
    return folder / "report.html"


@pytest.fixture
def page(browser, file) -> Iterator:
    """The page, opened from disk; the test fails on a request that leaves it and on any error in the console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    context.set_default_timeout(15_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("request", lambda request: None if request.url.startswith(LOCAL) else wrong.append(request.url))
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert wrong == []


def values(findings: Findings, name: str, metric: str = "nDCG@5") -> pd.Series:
    rows = findings.per_query
    return rows[(rows["strategy"] == name) & (rows["metric"] == metric)].set_index("qid")["value"]


def visible(page) -> list[list[str]]:
    return page.eval_on_selector_all(
        "#per-query tr.row", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def choose(page, a: str, b: str) -> None:
    page.select_option("#a", label=a)
    page.select_option("#b", label=b)


def test_the_verdict_comes_first_and_names_the_top_group(page, findings):
    assert page.inner_text("main > section:first-child .sentence") == findings.verdict.sentence
    chips = page.locator(".chip b").all_inner_texts()
    assert tuple(chips) == findings.verdict.group
    box = page.locator(".chips").bounding_box()
    assert box["y"] + box["height"] < 900  # seen without scrolling
    assert "27 configurations have read this test split" in page.inner_text(".ledger")


def test_every_chart_is_drawn_with_its_marks_inside_its_frame(page, findings):
    drawn = page.eval_on_selector_all(
        "figure:not([hidden]) svg.chart",
        """charts => charts.map(chart => {
          const frame = chart.getBoundingClientRect();
          const marks = [...chart.querySelectorAll('.role-mark [aria-label]')];
          const boxes = marks.map(mark => mark.getBoundingClientRect());
          const inside = boxes.filter(box => box.left >= frame.left - 1 && box.right <= frame.right + 1
            && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1 && box.width + box.height > 0);
          return [boxes.length, inside.length, frame.width * frame.height > 20000];
        })""",
    )
    segments = len(findings.losses[["strategy", "stage"]].drop_duplicates())
    kinds = 8 * findings.questions["kind"].nunique()
    assert drawn == [[count, count, True] for count in (8, 56, 7, 21, segments, 8, 8, kinds)]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_another_metric_shows_its_own_bars(page, findings):
    page.select_option("#metric", "R@5")
    shown = page.locator("#leaderboards figure:not([hidden])")
    assert shown.count() == 1
    means = findings.summary[findings.summary["metric"] == "R@5"].set_index("strategy")["mean"]
    label = shown.locator(".role-mark [aria-label]").first.get_attribute("aria-label")
    name = label.split("; ")[0]
    assert f"R@5 {means[name]:.3f}" in label


def test_pointing_at_a_mark_tells_its_numbers(page, findings):
    row = cells(findings).iloc[3]
    mark = page.locator("#pairs .role-mark [aria-label]").nth(3)
    mark.scroll_into_view_if_needed()
    mark.hover()
    said = page.inner_text("#tip")
    assert said.splitlines()[0] == f"{row['a']} minus {row['b']}"
    assert f"{row['diff']:+.3f} nDCG@5 [{row['lo']:+.3f}, {row['hi']:+.3f}]: {row['verdict']}" in said


def test_tables_sort_by_a_click(page, findings):
    heads = page.locator("#leaderboard thead th")
    at = heads.all_inner_texts().index("R@5")
    heads.nth(at).locator("button").click()
    column = [float(text) for text in page.locator(f"#leaderboard tbody tr > :nth-child({at + 1})").all_inner_texts()]
    means = findings.summary[findings.summary["metric"] == "R@5"]["mean"]
    assert column == sorted((round(mean, 3) for mean in means), reverse=True)
    heads.nth(at).locator("button").click()
    first = page.locator("#leaderboard tbody tr > :first-child").first.inner_text()
    assert first == findings.summary[findings.summary["metric"] == "R@5"].sort_values("mean")["strategy"].iloc[0]


def test_two_strategies_side_by_side_show_the_values_of_the_table(page, findings):
    choose(page, "rrf_dedup", "rrf")
    a, b = values(findings, "rrf_dedup"), values(findings, "rrf")
    rows = visible(page)
    assert len(rows) == 60
    for question, kind, left, right, diff in rows:
        qid = question[:4]
        assert (float(left), float(right)) == pytest.approx((a[qid], b[qid]), abs=5.01e-4)
        assert float(diff.replace("−", "-")) == pytest.approx(a[qid] - b[qid], abs=5.01e-4)
        assert kind == findings.questions.set_index("qid").loc[qid, "kind"]
    sizes = [abs(float(row[4].replace("−", "-"))) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    apart = a - b
    said = page.inner_text("#totals")
    assert f"A better on {(apart > 1e-9).sum()}, equal on {(apart.abs() <= 1e-9).sum()}" in said
    assert f"mean of A {a.mean():.3f}, of B {b.mean():.3f}" in said
    page.click("#swap")
    assert page.eval_on_selector("#a", "box => box.selectedOptions[0].textContent") == "rrf"
    assert f"mean of A {b.mean():.3f}" in page.inner_text("#totals")


def test_filters_by_kind_text_and_difference(page, findings):
    choose(page, "rrf_dedup", "rrf")
    page.select_option("#kind", label="numeric")
    kinds = findings.questions.set_index("qid")["kind"]
    assert {row[0][:4] for row in visible(page)} == set(kinds[kinds == "numeric"].index)
    page.check("#differ")
    apart = (values(findings, "rrf_dedup") - values(findings, "rrf")).abs() > 1e-9
    assert {row[0][:4] for row in visible(page)} == set(kinds[(kinds == "numeric") & apart].index)
    page.uncheck("#differ")
    page.select_option("#kind", label="all")
    word = "latency"
    page.fill("#find", word.upper())
    with_word = findings.questions[findings.questions["query"].str.contains(word)]
    assert {row[0][:4] for row in visible(page)} == set(with_word["qid"])
    page.fill("#find", "q017")
    assert len(visible(page)) == 1
    page.fill("#find", "nothing holds this")
    assert visible(page) == []
    assert page.inner_text("#totals").startswith("0 of 60 questions")


def test_a_question_opens_both_rankings_with_texts_grades_and_fates(page, findings):
    choose(page, "rrf_graph_dedup_mmr", "rrf_graph")
    page.fill("#find", "q023")
    page.click("#per-query tr.row button")
    text = findings.passages.set_index("chunk_id")
    for side, name in enumerate(("rrf_graph_dedup_mmr", "rrf_graph")):
        box = page.locator(".sides > div").nth(side)
        rows = findings.shown[(findings.shown["strategy"] == name) & (findings.shown["qid"] == "q023")]
        assert box.locator("h4").inner_text() == f"{'AB'[side]}: {name}"
        assert box.locator("ol p").all_inner_texts() == [text.loc[chunk, "text"] for chunk in rows["chunk_id"]]
        grades = ["?" if grade < 0 else str(grade) for grade in rows["grade"]]
        assert box.locator("ol .grade").all_inner_texts() == grades
        assert text.loc[rows["chunk_id"].iloc[0], "document"] in box.locator(".meta").first.inner_text()
        lost = findings.losses[(findings.losses["strategy"] == name) & (findings.losses["qid"] == "q023")]
        said = box.locator(".evidence li").all_inner_texts()
        assert len(said) == len(lost)
        for line, row in zip(said, lost.itertuples(), strict=True):
            assert line.startswith(f"evidence of grade {row.grade}: ")
            assert (f"found at rank {row.final_rank}" if row.stage == "found" else row.stage) in line
    question = findings.questions.set_index("qid").loc["q023", "query"].lower()
    marked = set(page.locator(".sides mark").all_inner_texts())
    assert marked
    assert all(re.sub(r"(ies|ing|ed|es|s)$", "", word.lower()) in question for word in marked)
    page.click("#per-query tr.row button")
    assert page.locator(".sides").count() == 0


def test_planted_markup_is_shown_as_text(page, findings):
    leader = findings.shown["strategy"].iloc[0]
    choose(page, leader, "rrf")
    page.fill("#find", "q000")
    assert PLANTED in visible(page)[0][0]
    page.click("#per-query tr.row button")
    assert page.locator(".sides > div").first.locator("ol p").first.inner_text() == PLANTED
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_a_cell_of_the_matrix_opens_its_pair(page, findings):
    row = cells(findings).iloc[20]
    page.locator("#pairs .role-mark [aria-label]").nth(20).click()
    chosen = [page.eval_on_selector(box, "box => box.selectedOptions[0].textContent") for box in ("#a", "#b")]
    assert chosen == [row["a"], row["b"]]
    page.wait_for_function("document.querySelector('#questions').getBoundingClientRect().top < innerHeight")


@pytest.mark.parametrize("media", [{"color_scheme": "dark"}, {"media": "print", "color_scheme": "dark"}, {}])
def test_text_is_readable_in_light_dark_and_print(page, media):
    """Contrast of text and of the words in charts against the paper, as WCAG 2.2 computes it: at least 4.5."""
    page.emulate_media(**media)
    colours = page.evaluate(
        """() => ['.sentence', '.how', '.said li', '#leaderboard svg text', '.chip b', 'td'].map(
          at => getComputedStyle(document.querySelector(at))).map(style => [style.color, style.fill])
          .concat([[getComputedStyle(document.body).backgroundColor, '']])"""
    )
    rgb = [
        [[int(part) for part in re.findall(r"\d+", colour)[:3]] for colour in pair if "rgb" in colour]
        for pair in colours
    ]
    paper = rgb[-1][0]
    dark_screen = media == {"color_scheme": "dark"}
    assert (sum(paper) < 150) == dark_screen
    for at, pair in enumerate(rgb[:-1]):
        ink = pair[1] if at == 3 else pair[0]
        assert contrast(ink, paper) >= 4.5, (at, ink, paper)


def contrast(first: list[int], second: list[int]) -> float:
    def light(colour: list[int]) -> float:
        part = np.asarray(colour) / 255
        linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((light(first), light(second)))
    return (high + 0.05) / (low + 0.05)


def test_print_hides_what_needs_a_screen(page):
    page.emulate_media(media="print")
    assert not page.is_visible("#per-query")
    assert not page.is_visible("nav")
    assert page.is_visible("text=its figures are in per_query.csv")
    assert len(page.pdf(format="A4")) > 20_000


def test_a_narrow_window_scrolls_tables_not_the_page(page):
    page.set_viewport_size({"width": 900, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 900


def test_it_stays_quick_with_a_thousand_questions_and_twenty_strategies(browser, tmp_path):
    found = make_findings(n_strategies=20, n_questions=1000, n_documents=50)
    write_reports(tmp_path, found)
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    seconds = page.evaluate(
        """() => {
          const find = document.querySelector('#find'), start = performance.now();
          for (const text of ['l', 'la', 'lat', '']) { find.value = text; find.dispatchEvent(new Event('input')); }
          document.body.getBoundingClientRect();
          return (performance.now() - start) / 4000;
        }"""
    )
    assert page.inner_text("#totals").startswith("1000 of 1000 questions")
    assert page.inner_text("#more").startswith("the first 500 of 1000")
    context.close()
    assert seconds < 1  # a keystroke; about .03 s on an idle machine

"""The command-line contract: what scripts outside this repository rely on."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import ir_measures
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
LEDGER = f"ledger={tempfile.mkdtemp()}/ledger.jsonl"  # no reading of a test belongs into the project's own
DOCUMENTS = {
    "d1": ("Okapi weighting", "BM25 saturates the term frequency and normalises by document length."),
    "d2": ("Cosine", "TF-IDF vectors are compared by the cosine of their angle."),
    "d3": ("Fusion", "Reciprocal rank fusion adds one over k plus rank of every list."),
    "d4": ("Diversity", "Maximal marginal relevance trades relevance against redundancy."),
    "d5": ("Length", "Document length normalisation in BM25 is governed by the parameter b."),
}
QUESTIONS = {"q1": "document length in BM25", "q2": "rank fusion of lists", "q3": "zzz qqq", "q4": "redundancy"}
JUDGMENTS = [("q1", "d5", 2), ("q1", "d1", 1), ("q2", "d3", 1), ("q3", "d2", 1), ("q4", "d1", 0)]


def run_eval(*arguments: str, seed: str = "0", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "HF_HUB_OFFLINE": "1"}
    ledger = [] if "--help" in arguments or any(text.startswith("ledger=") for text in arguments) else [LEDGER]
    command = [sys.executable, str(ROOT / "run_eval.py"), *arguments, *ledger]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """Five documents in BEIR layout, in a folder whose name has a blank and a comma."""
    folder = tmp_path_factory.mktemp("beir") / "five documents, in all"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": name, "title": title, "text": text} for name, (title, text) in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rows = [{"_id": name, "text": text} for name, text in QUESTIONS.items()]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = "".join(f"{qid}\t{doc}\t{grade}\n" for qid, doc, grade in JUDGMENTS)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + lines)
    return folder


@pytest.fixture(scope="module")
def base(collection, tmp_path_factory) -> list[str]:
    artifacts = tmp_path_factory.mktemp("artifacts")
    return ["benchmark=beir", f"benchmark.path={collection}", "tracking=none", f"artifacts={artifacts}"]


@pytest.fixture(scope="module")
def done(base, tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One run of four lexical strategies and an outside run."""
    out = tmp_path_factory.mktemp("out") / "r"
    trec = tmp_path_factory.mktemp("trec") / "theirs.trec"
    trec.write_text("q1 Q0 d1 1 2.0 x\nq1 Q0 d5 2 2.0 x\nq1 Q0 elsewhere 3 1.0 x\nq2 Q0 d3 1 5 x\nq2 Q0 d3 2 4 x\n")
    names = "suite.strategies=[bm25,tfidf,rrf,rrf_dedup_mmr]"
    return out, run_eval(*base, names, f"out={out}", f"outside.theirs={trec}")


def test_a_run_ends_with_its_folder_and_every_file_is_there(done):
    out, process = done
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-1] == str(out)
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    arms = ["bm25", "tfidf", "rrf", "rrf_dedup_mmr", "theirs"]
    wanted = {"config.yaml", "manifest.json", "arms.json", "verdict.json", "report.html", "report.md"}
    tables = ("summary", "per_query", "comparisons", "kinds", "losses", "shares")
    wanted |= {f"{table}.{ending}" for table in tables for ending in ("csv", "parquet")}
    wanted |= {f"{table}.parquet" for table in ("questions", "shown", "passages")}
    charts = ("leaderboard", "pairs", "differences", "losses", "latency", "index_size")
    wanted |= {f"figures/{name}.svg" for name in charts}
    wanted |= {f"runs/{arm}.trec" for arm in arms} | {f"traces/{arm}.parquet" for arm in arms if arm != "theirs"}
    assert files == wanted
    assert {name: arm["state"] for name, arm in json.loads((out / "arms.json").read_text()).items()} == dict.fromkeys(
        arms, "ran"
    )


def test_every_value_is_what_ir_measures_computes_from_the_written_run(done):
    out, _ = done
    per_query = pd.read_csv(out / "per_query.csv", dtype={"qid": str}, keep_default_na=False)
    qrels = [ir_measures.Qrel(*row) for row in JUDGMENTS]
    names = ["nDCG@5", "RR", "R@5", "Success@5", "P@5", "AP", "nDCG@10", "Judged@5"]
    for arm in ("bm25", "rrf_dedup_mmr"):
        run = list(ir_measures.read_trec_run(str(out / "runs" / f"{arm}.trec")))
        theirs = ir_measures.iter_calc([ir_measures.parse_measure(name) for name in names], qrels, run)
        expected = {(str(m.measure), m.query_id): m.value for m in theirs}
        ours = per_query[per_query["strategy"] == arm]
        for row in ours[ours["metric"].isin(names) & (ours["qid"] != "q4")].itertuples():
            assert row.value == pytest.approx(expected.get((row.metric, row.qid), 0.0), abs=1e-9), (arm, row)


def test_queries_without_a_relevant_judgment_are_left_out_and_empty_rankings_score_zero(done):
    out, _ = done
    per_query = pd.read_csv(out / "per_query.csv")
    recall = per_query[(per_query["strategy"] == "bm25") & (per_query["metric"] == "R@5")]
    assert list(recall["qid"]) == ["q1", "q2", "q3"]  # q4 has only a judgment of grade 0
    assert recall.set_index("qid")["value"]["q3"] == 0.0  # no known term: empty ranking
    summary = pd.read_csv(out / "summary.csv").set_index(["strategy", "metric"])
    assert summary.loc[("bm25", "R@5"), "n"] == 3
    assert summary.loc[("bm25", "R@5"), "mean"] == pytest.approx(recall["value"].mean())
    assert summary.loc[("bm25", "R@5"), "note"] == "too few documents"


def test_an_outside_run_joins_with_the_tie_order_of_trec_eval(done):
    out, process = done
    per_query = pd.read_csv(out / "per_query.csv")
    theirs = per_query[per_query["strategy"] == "theirs"].set_index(["metric", "qid"])["value"]
    # q1: d5 (grade 2) and d1 (grade 1) tie, trec_eval puts the larger id first: d5, d1 is the ideal order
    assert theirs["nDCG@5", "q1"] == pytest.approx(1.0)
    assert theirs["RR", "q3"] == 0.0  # not in the run
    assert "1 duplicate" in process.stdout


def test_equal_requests_give_equal_bytes_whatever_the_hash_seed(base, tmp_path, done):
    out, _ = done
    again = tmp_path / "again"
    fresh = [argument for argument in base if not argument.startswith("artifacts=")]
    trec = json.loads((out / "arms.json").read_text())["theirs"]["config"]["outside"]
    names = "suite.strategies=[bm25,tfidf,rrf,rrf_dedup_mmr]"
    process = run_eval(
        *fresh, f"artifacts={tmp_path / 'a'}", names, f"out={again}", f"outside.theirs={trec}", seed="77"
    )
    assert process.returncode == 0, process.stderr

    def digests(folder: Path) -> dict[str, str]:
        files = [
            *folder.glob("runs/*"),
            *folder.glob("traces/*"),
            *folder.glob("per_query.*"),
            *folder.glob("summary.*"),
        ]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    assert digests(again) == digests(out)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["strategy=bm52"], "'bm25'"),
        (["suite=cor"], "'core'"),
        (["dept=10"], "'depth'"),
        (["depth=ten"], "depth"),
        (["depth=0"], "at least 1"),
        (["+unknown=1"], "unknown"),
        (["strategy=bm25", "strategy.first.k=1"], "'strategy.first.k1'"),
        (["strategy=bm25", "strategy.first.k1=high"], "must be float"),
        (["strategy=rrf_dedup", "+strategy.use.mrm=false"], "mrm"),
        (["strategy=bm25", "suite=core"], "contradict"),
        (["strategy.first.k1=2"], "strategy=<name>"),
        (["suite=core", "strategy.first.k1=2"], "strategy=<name>"),
        (["metrics=[nDCG@5,MRR]"], "'RR'"),
        (["corpus.path=/nowhere"], "/nowhere"),
        (["corpus.path=docs"], "benchmark.path"),
        (["benchmark.path=/nowhere.jsonl"], "/nowhere.jsonl"),
        (["suite=none"], "outside."),
        (["outside.x=/nowhere.trec", "suite=none"], "/nowhere.trec"),
        (["outside.x", "suite=none"], "outside."),
        (["benchmark=beir", "benchmark.path=docs"], "qrels/test.tsv"),
    ],
)
def test_a_wrong_request_exits_2_with_the_remedy_in_three_lines(arguments, hint, tmp_path):
    out = tmp_path / "out"
    process = run_eval(*arguments, f"out={out}")
    assert process.returncode == 2, process.stdout + process.stderr
    assert hint in process.stderr
    assert len(process.stderr.strip().splitlines()) <= 3
    assert "Traceback" not in process.stderr
    assert not out.exists()


@pytest.mark.neural
def test_an_absent_arm_is_listed_and_forgiven_only_when_told(base, tmp_path):
    arguments = [*base, "strategy=sentence_transformer", "strategy.first.model=no-such-model"]
    process = run_eval(*arguments, f"out={tmp_path / 'a'}")
    assert process.returncode == 1
    assert "absent: sentence_transformer: did not run" in process.stdout
    assert run_eval(*arguments, f"out={tmp_path / 'b'}", "allow_missing=true").returncode == 0
    arm = json.loads((tmp_path / "b" / "arms.json").read_text())["sentence_transformer"]
    assert arm["state"] == "absent"
    assert "no-such-model" in arm["reason"]
    assert pd.read_csv(tmp_path / "b" / "summary.csv").empty


def test_plan_says_what_would_run_and_then_what_is_cached(base, collection, tmp_path):
    arguments = ["strategy=rrf_dedup", *(a for a in base if not a.startswith("artifacts")), f"artifacts={tmp_path}"]
    before = run_eval(*arguments, "plan=true")
    assert before.returncode == 0, before.stderr
    assert "4 of 4 stages to run" in before.stdout
    assert run_eval(*arguments, f"out={tmp_path / 'out'}").returncode == 0
    after = run_eval(*arguments, "plan=true").stdout
    assert "cached     rrf_dedup" in after
    assert "stages to run" not in after


def test_suite_none_scores_a_run_by_document_id_without_a_corpus(tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "r.trec"
    qrels.write_text("007 0 2605.23950 1\n007 0 b 0\n")
    run.write_text("007 Q0 b 1 9 x\n007 Q0 2605.23950 2 8 x\n")
    process = run_eval(
        "benchmark=trec",
        f"benchmark.qrels={qrels}",
        "suite=none",
        f"outside.mine={run}",
        f"out={tmp_path / 'out'}",
        "tracking=none",
        "metrics=[RR]",
    )
    assert process.returncode == 0, process.stderr
    per_query = pd.read_csv(tmp_path / "out" / "per_query.csv", dtype={"qid": str})
    row = per_query[per_query["metric"] == "RR"].iloc[0]
    assert (row["qid"], row["value"]) == ("007", 0.5)


def test_a_failing_store_loses_no_result(base, tmp_path):
    arguments = [argument for argument in base if argument != "tracking=none"]
    blocked = tmp_path / "file"
    blocked.write_text("")
    process = run_eval(
        *arguments, "strategy=bm25", f"out={tmp_path / 'out'}", f"tracking.uri=sqlite:///{blocked}/mlflow.db"
    )
    assert process.returncode == 0, process.stderr
    assert "not logged" in process.stderr
    assert (tmp_path / "out" / "manifest.json").is_file()
    assert process.stdout.splitlines()[-1] == str(tmp_path / "out")


def test_help_names_the_contract():
    process = run_eval("--help")
    assert process.returncode == 0
    for word in ("suite=core", "benchmark.path", "outside.<arm>", "plan=true"):
        assert word in process.stdout


def test_the_verdict_and_every_comparison_are_on_disk_and_on_the_screen(done):
    out, process = done
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["sentence"] in process.stdout
    assert verdict["state"] == "no verdict"  # three questions of their own documents
    assert "3 documents are too few (10 are needed)" in verdict["sentence"]
    found = pd.read_csv(out / "comparisons.csv")
    pairs = found[found["metric"] == "nDCG@5"]
    assert len(pairs) == len({frozenset(pair) for pair in pairs[["a", "b"]].to_numpy().tolist()})
    rows = pd.read_csv(out / "per_query.csv").query("metric == 'nDCG@5'")
    values = rows.pivot_table(index="qid", columns="strategy", values="value")
    for row in pairs.itertuples():
        difference = values[row.a] - values[row.b]
        assert row.diff == pytest.approx(difference.mean(), abs=1e-9)
    assert set(pairs["verdict"]) == {"undecided"}


def test_readings_of_a_test_split_are_counted_by_configuration(base, tmp_path):
    own = [*base, f"ledger={tmp_path / 'ledger.jsonl'}", "strategy=bm25"]
    one = run_eval(*own, f"out={tmp_path / '1'}")
    assert one.returncode == 0, one.stderr
    assert "have read this" not in one.stdout
    again = run_eval(*own, f"out={tmp_path / '2'}")
    assert "have read this" not in again.stdout
    other = run_eval(*own, "strategy.first.k1=.9", f"out={tmp_path / '3'}")
    assert "2 configurations have read this test split" in other.stdout, other.stderr


def test_who_optimises_must_not_see_the_sealed_split(base, tmp_path):
    process = run_eval(*base, "strategy=bm25", "objective=nDCG@5", f"out={tmp_path / 'o'}")
    assert process.returncode == 2
    assert "add split=dev" in process.stderr
    assert not (tmp_path / "o").exists()

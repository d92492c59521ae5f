"""What `python -m evaluation.export` writes: other tools, and our own reader, get the run's values from it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest

from evaluation.beir import load_corpus
from evaluation.export.__main__ import main as export
from evaluation.export.beir import write_beir
from evaluation.replay import replay
from evaluation.runner import run
from ingestion.config import ROOT, load
from tests.unit.evaluation.papers import write_lines

BENCHMARK = ROOT / "corpus" / "benchmark"
BINARY = ["RR", "RR@10", "R@1", "R@5", "R@100", "P@5", "AP", "AP@10", "Success@5", "Bpref"]
GRADED = ["nDCG", "nDCG@3", "nDCG@5", "nDCG@10"]
METRICS = f"metrics=[{','.join([*BINARY, *GRADED, 'Judged@5'])}]"
OVERLAP = ["chunker.max_words=80", "chunker.overlap_sentences=3", "suite.strategies=[bm25,tfidf,rrf_dedup_mmr]"]


def evaluated(out: Path, *overrides: str) -> Path:
    """A run of ours in-process; returns its folder."""
    given = [f"out={out}", f"ledger={out.parent / 'ledger.jsonl'}", "tracking=none", *overrides]
    assert run(load(given), given, {}).code == 0
    return out


def values_of(folder: Path) -> pd.Series:
    """Our values by strategy, metric and qid."""
    table = pd.read_parquet(folder / "per_query.parquet")
    return table.set_index(["strategy", "metric", "qid"])["value"].sort_index()


def outside_values(folder: Path, arm: str, names: list[str]) -> dict[tuple[str, str], float]:
    """What ir-measures reads from exported files, by metric and qid."""
    judged = list(ir_measures.read_trec_qrels(str(folder / "qrels.trec")))
    ranked = list(ir_measures.read_trec_run(str(folder / "runs" / f"{arm}.trec")))
    found = ir_measures.iter_calc([ir_measures.parse_measure(name) for name in names], judged, ranked)
    return {(str(value.measure), value.query_id): value.value for value in found}


@pytest.fixture(scope="module")
def once(tmp_path_factory) -> Path:
    """The bundled corpus in short chunks that overlap by three sentences, measured as by default."""
    return evaluated(tmp_path_factory.mktemp("once") / "out", METRICS, *OVERLAP)


@pytest.fixture(scope="module")
def each(tmp_path_factory) -> Path:
    return evaluated(tmp_path_factory.mktemp("each") / "out", METRICS, *OVERLAP, "eval.credit=each")


def compare(ours: pd.Series, folder: Path, names: list[str], left_out: set[tuple[str, str]] = frozenset()) -> int:
    """Assert equality per strategy, metric and query; returns how many values were compared."""
    compared = 0
    for arm in ours.index.unique("strategy"):
        theirs = outside_values(folder, arm, names)
        for name in names:
            values = ours[arm, name]
            assert {qid for metric, qid in theirs if metric == name} >= set(values.index)
            for qid, value in values.items():
                if (arm, qid) not in left_out:
                    assert theirs[name, qid] == pytest.approx(value, abs=1e-9), (arm, name, qid)
                    compared += 1
    return compared


def test_chunks_of_one_span_are_scored_as_we_score_them(once, tmp_path):
    out = tmp_path / "files"
    assert export([f"run={once}", "to=trec", f"out={out}"]) == 0
    ours = values_of(once)
    repeats = sum(" repeat-" in line for file in (out / "runs").iterdir() for line in file.read_text().splitlines())
    assert repeats > 50  # the corpus does overlap
    lower = pd.read_csv(out / "lower_grades.csv", dtype=str)
    rankings = 3 * ours["bm25", "nDCG@5"].size
    assert 0 < len(lower) < rankings / 10
    assert compare(ours, out, BINARY) == len(BINARY) * rankings
    compared = compare(ours, out, GRADED, set(zip(lower["strategy"], lower["qid"], strict=True)))
    assert compared >= len(GRADED) * (rankings - len(lower))
    readme = (out / "README.txt").read_text()
    assert "credit=once" in readme
    assert f"{len(lower)} times a class is led" in readme


def test_chunk_by_chunk_every_metric_agrees(each, tmp_path):
    out = tmp_path / "files"
    assert export([f"run={each}", "to=trec", f"out={out}"]) == 0
    ours = values_of(each)
    n_queries = ours["bm25", "nDCG@5"].size
    assert compare(ours, out, BINARY + GRADED) == 3 * len(BINARY + GRADED) * n_queries
    judged = ours["bm25", "Judged@5"]
    theirs = outside_values(out, "bm25", ["Judged@5"])
    known = [qid for metric, qid in theirs if qid in judged.index]
    assert [theirs["Judged@5", qid] for qid in known] == pytest.approx(judged[known].tolist(), abs=1e-9)
    assert "measured with" not in (out / "README.txt").read_text()


def test_the_printed_command_gives_the_mean_of_our_table(once, tmp_path):
    out = tmp_path / "files"
    assert export([f"run={once}", "to=trec", f"out={out}"]) == 0
    line = next(line for line in (out / "README.txt").read_text().splitlines() if line.startswith("ir_measures"))
    program, _, *files_and_names = line.split()
    command = [str(Path(sys.executable).with_name(program)), *files_and_names]  # without -q: the means
    printed = subprocess.run(command, cwd=out, capture_output=True, text=True, check=True).stdout
    means = {name: float(mean) for name, mean in (row.split("\t") for row in printed.splitlines())}
    ours = values_of(once)[Path(files_and_names[1]).stem]
    assert {name: means[name] for name in BINARY} == {
        name: pytest.approx(ours[name].mean(), abs=5e-5) for name in BINARY
    }


def test_credit_can_be_chosen_and_the_readme_says_so(once, each, tmp_path):
    out = tmp_path / "files"
    assert export([f"run={once}", "to=trec", f"out={out}", "credit=each"]) == 0
    assert compare(values_of(each), out, ["nDCG@5", "AP"]) > 0
    assert "measured with credit=once" in (out / "README.txt").read_text()


def relevant_questions() -> int:
    """How many test questions of the bundled benchmark have a relevant passage."""
    lines = [json.loads(line) for line in (BENCHMARK / "evidence.jsonl").read_text().splitlines()]
    questions = [json.loads(line) for line in (BENCHMARK / "queries.jsonl").read_text().splitlines()]
    test = {question["qid"] for question in questions if question["split"] == "test"}
    return len(test & {line["qid"] for line in lines if line["grade"] > 0})


def test_the_bundled_corpus_comes_back_from_beir_layout(each, tmp_path):
    out = tmp_path / "beir"
    assert export([f"run={each}", "to=beir", f"out={out}"]) == 0
    first = json.loads((out / "corpus.jsonl").read_text().splitlines()[0])
    assert set(first) == {"_id", "title", "text", "metadata"}
    assert first["metadata"]["document"].startswith("rp-")
    assert first["metadata"]["page"] >= 1
    names = ["benchmark=beir", f"benchmark.path={out}", "split=test", "eval.credit=each", "suite.strategies=[bm25]"]
    back = evaluated(tmp_path / "back", "metrics=[nDCG@5,AP]", f"artifacts={tmp_path / 'artifacts'}", *names)
    ours, theirs = values_of(each), values_of(back)
    for name in ("nDCG@5", "AP"):
        expected = ours["bm25", name]
        assert len(expected) == relevant_questions()
        assert theirs["bm25", name][expected.index].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    clusters = [
        pd.read_parquet(folder / "summary.parquet").set_index("metric")["clusters"] for folder in (each, back)
    ]
    assert clusters[1]["nDCG@5"] == set(clusters[0]["nDCG@5"]).pop()  # a question still belongs to its paper


@pytest.mark.parametrize("name", ["csfcube", "limit-small"])
def test_a_collection_comes_back_from_beir_layout(data, name, tmp_path):
    source, out = data / "beir" / name, tmp_path / "beir"
    splits = sorted(path.stem for path in (source / "qrels").glob("*.tsv"))
    base = ["benchmark=beir", "suite.strategies=[bm25]", "metrics=[nDCG@5]", "eval.credit=each"]
    base += [f"split={splits[0]}", f"artifacts={tmp_path / 'artifacts'}"]
    first = evaluated(tmp_path / "first", *base, f"benchmark.path={source}")
    assert export([f"run={first}", "to=beir", f"out={out}"]) == 0
    second = evaluated(tmp_path / "second", *base, f"benchmark.path={out}")
    ours, theirs = values_of(first), values_of(second)
    assert ours.size > 10
    assert theirs.to_dict() == ours.to_dict()


def test_ids_with_blanks_percent_signs_and_letters_of_any_alphabet_come_back(tmp_path):
    names = ["a b", "5%", "5%25", "Ünïcode-文", "plain", "a/b"]
    folder = tmp_path / "odd"
    write_lines(folder / "corpus.jsonl", [{"_id": name, "text": f"shared word{n}"} for n, name in enumerate(names)])
    qids = ["q 1", "q%", "問"]
    write_lines(folder / "queries.jsonl", [{"_id": qid, "text": f"shared word{n}"} for n, qid in enumerate(qids)])
    (folder / "qrels").mkdir()
    rows = [f"{qid}\t{names[n]}\t2\n{qid}\t{names[-1]}\t1\n" for n, qid in enumerate(qids)]
    (folder / "qrels" / "test.tsv").write_text("".join(rows))
    base = ["benchmark=beir", "suite.strategies=[bm25]", "metrics=[nDCG@5]", f"artifacts={tmp_path / 'artifacts'}"]
    first = evaluated(tmp_path / "first", *base, f"benchmark.path={folder}")
    for layout in ("trec", "beir"):
        assert export([f"run={first}", f"to={layout}", f"out={tmp_path / layout}"]) == 0
    assert set(load_corpus(tmp_path / "beir").chunk_ids) == set(names)
    second = evaluated(tmp_path / "second", *base, f"benchmark.path={tmp_path / 'beir'}")
    assert (second / "runs" / "bm25.trec").read_bytes() == (first / "runs" / "bm25.trec").read_bytes()
    assert values_of(second).to_dict() == values_of(first).to_dict()
    theirs = outside_values(tmp_path / "trec", "bm25", ["nDCG@5"])
    ours = values_of(first)["bm25", "nDCG@5"]
    assert [theirs["nDCG@5", qid] for qid in ("q%201", "q%25", "問")] == pytest.approx(ours[qids].tolist(), abs=1e-9)


def test_an_id_with_a_tab_or_a_quote_is_written_as_beirs_own_loader_reads_it(tmp_path):
    folder, odd = tmp_path / "odd", '"a\tb" c'
    write_lines(folder / "corpus.jsonl", [{"_id": odd, "text": "one"}])
    write_lines(folder / "queries.jsonl", [{"_id": "q", "text": "one"}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("q\telsewhere\t1\n")
    base = ["benchmark=beir", f"benchmark.path={folder}", "suite.strategies=[bm25]", "metrics=[RR]"]
    (found,) = replay(evaluated(tmp_path / "first", *base, f"artifacts={tmp_path / 'artifacts'}"))
    row = list(found.judged.ids).index(odd)
    qrels = replace(found.judged.qrels, chunk=np.full(1, row, np.int32))
    write_beir(tmp_path / "beir", replace(found, judged=replace(found.judged, qrels=qrels)))
    with (tmp_path / "beir" / "qrels" / "test.tsv").open(newline="") as handle:  # as beir.datasets.data_loader does
        assert list(csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_MINIMAL))[1:] == [["q", odd, "1"]]
    assert json.loads((tmp_path / "beir" / "corpus.jsonl").read_text())["_id"] == odd


def test_rankings_without_a_corpus_have_no_beir_layout(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n2 0 b 0\n")
    (tmp_path / "r.trec").write_text("1 Q0 a 1 9 x\n2 Q0 b 1 9 x\n")
    given = ["benchmark=trec", f"benchmark.qrels={tmp_path / 'qrels.txt'}", "suite=none", "metrics=[RR]"]
    given += [f"out={tmp_path / 'out'}", f"ledger={tmp_path / 'ledger.jsonl'}", "tracking=none"]
    assert run(load(given), given, {"mine": tmp_path / "r.trec"}).code == 0
    assert export([f"run={tmp_path / 'out'}", "to=beir", f"out={tmp_path / 'beir'}"]) == 2
    assert "choose to=trec" in capsys.readouterr().err
    assert not (tmp_path / "beir").exists()
    assert export([f"run={tmp_path / 'out'}", "to=trec", f"out={tmp_path / 'trec'}"]) == 0
    assert (tmp_path / "trec" / "qrels.trec").read_text() == "1 0 a 1\n"
    assert (tmp_path / "trec" / "qrels_nothing_relevant.trec").read_text() == "2 0 b 0\n"

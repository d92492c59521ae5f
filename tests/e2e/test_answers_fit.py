"""`python -m evaluation.answers` on the bundled corpus: what it refuses, what it writes, that it is what we ship."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from evaluation.answers.__main__ import main
from generation.confidence import Confidence
from ingestion.config import CONF, flatten

SHIPPED = CONF / "confidence" / "default.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The file that the command writes, and nothing but its exit code before."""
    out = tmp_path_factory.mktemp("fit") / "own.yaml"
    assert main([f"out={out}"]) == 0
    return out


def test_the_shipped_confidence_is_what_the_command_fits(made):
    ours, shipped = (flatten(yaml.safe_load(path.read_text())) for path in (made, SHIPPED))
    assert list(ours) == list(shipped)
    for key, value in ours.items():
        assert value == (pytest.approx(shipped[key], abs=1e-4) if isinstance(value, float) else shipped[key]), key


def test_what_is_printed_is_what_is_written(made, capsys):
    before = made.read_bytes()
    assert main([f"out={made}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert made.read_bytes() == before
    assert lines[-1] == f"written to {made}"
    said = {line[:15].strip(): line[16:] for line in lines[:-1]}
    content = yaml.safe_load(made.read_text())
    arms = content["fitted"].pop("arms")
    assert said.pop("arms") == ", ".join(arms) == "bm25, rrf, rrf_graph_dedup_mmr"
    assert said == {name: str(value) for name, value in content["fitted"].items()}
    assert Confidence.read(content).refuse == content["refuse"]
    assert content["fitted"]["refused wrong"] <= 0.15


class Shortest:
    """Finds that short texts answer best."""

    def scores(self, question, texts):
        return np.asarray([-len(text) for text in texts], dtype=np.float64)


def test_a_reader_is_learnt_from_and_named_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("evaluation.answers.__main__.build_reader", lambda plain: Shortest())
    out = tmp_path / "own.yaml"
    assert main([f"out={out}", "reader=minilm", "strategies=[bm25]"]) == 0
    content = yaml.safe_load(out.read_text())
    assert content["reader"] == yaml.safe_load((CONF / "reader" / "minilm.yaml").read_text())
    assert list(content["claim"]["features"])[-1] == "read" and content["claim"]["features"]["read"]["mean"] < -50
    assert out.read_text().startswith("# Made by `python -m evaluation.answers reader=minilm strategies=[bm25]`;")


def test_the_shipped_reader_says_something():
    content = yaml.safe_load((CONF / "confidence" / "minilm.yaml").read_text())
    assert content["reader"]["model"] == "all-MiniLM-L6-v2"
    assert content["claim"]["features"]["read"]["weight"] > 0.3
    plain = yaml.safe_load(SHIPPED.read_text())
    assert set(content["claim"]["features"]) - set(plain["claim"]["features"]) == {"read"}


def test_help_names_every_key(capsys):
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    for word in ("strategies", "most_wrong", "reader", "out", "conf/confidence/", "confidence=<name>"):
        assert word in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["split=test"], "split=test is sealed"),
        (["most_wrong=1.5"], "most_wrong=1.5: must be a share between 0 and 1"),
        (["most_wrong=few"], "must be a share"),
        (["strategies=[bm52]"], "'bm25'"),
        (["most_wrang=0.1"], "did you mean 'most_wrong'"),
        (["context.budgett=5"], "context.budget"),
        (["reader=minilmm"], "did you mean 'minilm'"),
    ],
)
def test_a_wrong_request_writes_nothing(arguments, said, tmp_path, capsys):
    out = tmp_path / "own.yaml"
    assert main([*arguments, f"out={out}"]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_benchmark_without_judged_spans_is_refused(tmp_path, capsys):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "rank fusion adds ranks of lists"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "rank fusion"}\n')
    (tmp_path / "qrels" / "dev.tsv").write_text("q\td\t1\n")
    arguments = ["benchmark=beir", f"benchmark.path={tmp_path}", f"artifacts={tmp_path / 'a'}"]
    assert main([*arguments, f"out={tmp_path / 'own.yaml'}"]) == 2
    assert "has no judged spans" in capsys.readouterr().err

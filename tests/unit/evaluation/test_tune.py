"""`python -m evaluation.tune` on collections that are made so that the outcome is known."""

from __future__ import annotations

import json

import pytest

from evaluation.tune.__main__ import main
from evaluation.tune.tuned import FIRST_LINE
from ingestion.config import ROOT

FILLER = " ".join(f"filler{number}" for number in range(60))


def write_collection(folder, n_topics: int = 24, split: str = "dev"):
    """Each topic has a long text that names it twice, which is judged, and a short one that names it once.

    BM25 with its usual b prefers the short one: nDCG@5 is 1 / log2(3) = .6309. With b = 0 length does not count and
    the judged one leads: 1.
    """
    (folder / "qrels").mkdir(parents=True)
    topics = [f"topic{number}word" for number in range(n_topics)]
    corpus = [{"_id": f"long{n}", "text": f"{topic} {FILLER} {topic}"} for n, topic in enumerate(topics)]
    corpus += [{"_id": f"short{n}", "text": f"{topic} aside"} for n, topic in enumerate(topics)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    queries = [{"_id": f"q{n}", "text": topic} for n, topic in enumerate(topics)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    judged = "".join(f"q{n}\tlong{n}\t1\n" for n in range(n_topics))
    (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    write_collection(folder / "collection")
    return folder


def tune(place, *arguments: str, collection: str = "collection", to: str = "bm25_tuned"):
    return main([
        "strategy=bm25", "benchmark=beir", f"benchmark.path={place / collection}", f"artifacts={place / 'artifacts'}",
        f"out={place / to}.yaml", f"study={place / to}.db", *arguments,
    ])  # fmt: skip


@pytest.fixture(scope="module")
def done(place):
    assert tune(place, "trials=14", "folds=4") == 0
    return (place / "bm25_tuned.yaml").read_text()


def content(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_a_known_gain_is_found_and_stands_above_the_file(done):
    lines = done.splitlines()
    assert lines[0] == FIRST_LINE
    assert lines[1].startswith("# better than bm25 beyond noise, out of fold")
    assert "nDCG@5 in-sample (optimistic): 1.0000, bm25: 0.6309; best of 14 trials, mean over 4 folds" in done
    assert "24 questions, 24 documents): 1.000 [1.000, 1.000], bm25: 0.631 [0.631, 0.631], difference +0.369" in done
    assert "split dev" in done
    assert "seed 0" in done
    assert content(done)[:2] == ["defaults: [bm25, _self_]", "first:"]
    b = float(content(done)[2].removeprefix("  b: "))
    assert b < 0.5
    assert len(content(done)) <= 10


def test_the_same_request_goes_on_and_gives_the_same_file(place, done, capsys):
    assert tune(place, "trials=5", "folds=4", to="parts") == 0
    assert tune(place, "trials=14", "folds=4", to="parts") == 0
    assert content((place / "parts.yaml").read_text()) == content(done)
    printed = capsys.readouterr().out
    assert "chosen for folds 1, 2, 3, 4: first.b=" in printed
    assert printed.splitlines()[-1] == (
        f"cp {place / 'parts.yaml'} conf/strategy/parts.yaml && python run_eval.py strategy=parts"
    )


def test_what_test_says_changes_nothing(place, done):
    """The judgments of test are not even readable here; a reader of them would stop."""
    write_collection(place / "collection_with_test").joinpath("qrels", "test.tsv").write_bytes(
        b"\xff poison\tx\n" * 3
    )
    assert tune(place, "trials=14", "folds=4", collection="collection_with_test", to="poisoned") == 0
    swept = (place / "poisoned.yaml").read_text().replace("collection_with_test", "collection")
    assert swept.replace("poisoned", "bm25_tuned").splitlines()[:-4] == done.splitlines()[:-4]
    assert content(swept) == content(done)


@pytest.mark.parametrize("split", ["test", "all", "graded"])
def test_a_sealed_split_is_refused_before_anything_is_read(place, capsys, split):
    assert tune(place, f"split={split}", collection="missing", to="refused") == 2
    assert f"split={split} is sealed" in capsys.readouterr().err
    assert not (place / "refused.yaml").exists()
    assert not (place / "refused.db").exists()


def test_a_missing_dev_split_is_explained(place, capsys):
    write_collection(place / "only_test", 3, "test")
    assert tune(place, collection="only_test", to="refused") == 2
    said = capsys.readouterr().err
    assert "no such split; there are: test" in said
    assert "move them to qrels/dev.tsv" in said


def test_train_is_open_too(place, capsys):
    write_collection(place / "train", 12, "train")
    assert tune(place, "split=train", "trials=3", collection="train", to="train_tuned") == 0
    assert "on split train" in capsys.readouterr().out


def test_a_gain_that_cannot_be_told_from_noise_says_keep(place, capsys):
    write_collection(place / "few", 4)
    assert tune(place, "trials=12", "folds=5", collection="few", to="few_tuned") == 0
    printed = capsys.readouterr().out
    assert "folds=4: only 4 documents have judged questions" in printed
    assert "too few documents (4 < 10) to tell a gain from noise: keep bm25" in printed
    assert "keep bm25" in (place / "few_tuned.yaml").read_text().splitlines()[1]


def test_one_document_is_not_enough(place, capsys):
    write_collection(place / "single", 1)
    assert tune(place, collection="single", to="refused") == 2
    assert "about one document only" in capsys.readouterr().err


def test_a_changed_benchmark_is_another_study(place, done, capsys):
    changed = write_collection(place / "changed")
    lines = (changed / "qrels" / "dev.tsv").read_text().replace("q3\tlong3\t1", "q3\tshort3\t1")
    (changed / "qrels" / "dev.tsv").write_text(lines)
    (place / "changed.db").write_bytes((place / "bm25_tuned.db").read_bytes())
    assert tune(place, "trials=2", "folds=4", "name=bm25_tuned", collection="changed", to="changed") == 0
    # 23 questions as before at .6309, and one whose short text leads: (23 * .6309 + 1) / 24
    assert "bm25: 0.6463; best of 2 trials" in (place / "changed.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trails=3"], "unknown key 'trails'; did you mean 'trials'"),
        (["trials=none"], "trials='none': must be a whole number from 1"),
        (["folds=1"], "2 at least"),
        (["suite=core"], "unknown key 'suite'"),
        (["space=mmr"], "bm25 has no parameter 'then.mmr.lam'"),
        (["space=bm52"], "space 'bm52' not found; did you mean 'bm25'"),
        (["name=bm25", "out="], "needs another name than bm25"),
        (["name=tfidf", "out="], "tfidf.yaml is there and was not written by tuning"),
        (["name=a/b"], "letters, digits"),
        (["out=x.txt"], "name a .yaml file"),
        (["strategy.first.k2=1"], "unknown key 'strategy.first.k2'"),
        (["now"], "'now': write key=value"),
    ],
)
def test_a_wrong_request_is_refused_with_the_remedy(place, capsys, arguments, said):
    given = {argument.partition("=")[0] for argument in arguments}
    base = {
        "strategy": "bm25", "benchmark": "beir", "benchmark.path": place / "collection",
        "out": place / "refused.yaml", "study": place / "refused.db",
    }  # fmt: skip
    assert main([*(f"{key}={value}" for key, value in base.items() if key not in given), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (place / "refused.db").exists()


def test_help_and_a_missing_strategy(capsys):
    assert main(["--help"]) == 0
    assert "Never reads test" in capsys.readouterr().out
    assert main(["trials=3"]) == 2
    assert "strategy is missing; add strategy=<name>" in capsys.readouterr().err
    assert main(["strategy=rff"]) == 2
    assert "did you mean 'rrf'" in capsys.readouterr().err


def test_a_strategy_whose_model_is_not_here_fails_with_the_reason(place, capsys):
    arguments = ["strategy=splade", "strategy.first.model=nobody/nothing", f"space={place / 'own.yaml'}"]
    (place / "own.yaml").write_text("first.batch_size: {low: 1, high: 4}\n")
    base = ["benchmark=beir", f"benchmark.path={place / 'collection'}", f"artifacts={place / 'artifacts'}"]
    assert main([*arguments, *base, f"out={place / 'absent.yaml'}", f"study={place / 'absent.db'}"]) == 1
    assert "did not run" in capsys.readouterr().err
    assert not (place / "absent.yaml").exists()


def test_a_place_that_cannot_be_written_fails_with_the_remedy(place, capsys):
    (place / "file").write_text("")
    assert tune(place, "trials=2", to="file/below") == 1
    said = capsys.readouterr().err
    assert "cannot write" in said
    assert "set study= and out=" in said


def test_nothing_was_written_into_the_project():
    assert not list((ROOT / "conf" / "strategy").glob("*_tuned.yaml"))

"""The figures of a benchmark, each worked out by hand beside."""

import math
from pathlib import Path

import pandas as pd
import pytest

from evaluation.quality.checks import checks, split_documents
from evaluation.quality.discrimination import best, disagreement, leaders
from evaluation.quality.kinship import family
from evaluation.quality.questions import by_kind, wording
from evaluation.schema import Benchmark, Evidence
from evaluation.wording import content_words, shared_words
from retrieval.build import strategy_config
from retrieval.schema import Queries

FAMILIES = {"bm25": "lexical", "tfidf": "lexical", "minilm": "dense", "rrf": "fusion", "oracle": "bound"}


def test_content_words_are_stems_without_function_words():
    assert content_words("Why does the ranking of the chunks matter?") == {"rank", "chunk", "matter"}


@pytest.mark.parametrize(
    ("question", "evidence", "share"),
    [
        ("Which chunks are ranked?", ["The ranking holds chunks."], 1.0),
        ("Which chunks are ranked?", ["Chunks only.", "Ranking only."], 1.0),
        ("Which slices come first?", ["The ranking holds chunks."], 0.0),
        ("How deep is the pool?", ["The pool holds ten."], 0.5),  # pool of {deep, pool}
    ],
)
def test_shared_words_is_the_share_of_the_question(question, evidence, share):
    assert shared_words(question, evidence) == share


def test_a_question_of_function_words_has_no_share():
    assert math.isnan(shared_words("What is it?", ["It is what it is."]))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("bm25", "lexical"),
        ("ppmi", "fusion"),
        ("bm25_prf", "lexical"),
        ("sentence_transformer", "dense"),
        ("qdrant", "dense"),
        ("splade", "dense"),
        ("late_interaction", "dense"),
        ("linear_0.3", "fusion"),
        ("rrf_dedup", "fusion"),
        ("rrf_dense", "fusion"),
        ("rrf_dedup_mmr", "diversity"),
        ("rrf_graph_dedup_mmr", "graph"),
        ("graph_only", "graph"),
        ("cross_encoder", "re-ranked"),
        ("oracle", "bound"),
        ("random", "bound"),
    ],
)
def test_families_are_read_from_the_parts_of_a_strategy(strategy, expected):
    assert family(strategy_config(strategy)) == expected


def per_query() -> pd.DataFrame:
    """Four questions; RR of bm25, tfidf, minilm, rrf, oracle."""
    values = {
        "q1": (1.0, 0.5, 0.5, 1.0, 1.0),  # bm25 and minilm differ by .5
        "q2": (1.0, 1.0, 0.6, 0.9, 1.0),  # by .4
        "q3": (0.0, 0.0, 1.0, 0.5, 1.0),  # by 1
        "q4": (0.2, 0.1, 0.2, 0.2, 1.0),  # by 0
    }
    rows = [
        {"strategy": name, "qid": qid, "metric": metric, "value": value}
        for qid, row in values.items()
        for name, value in zip(FAMILIES, row, strict=True)
        for metric in ("RR", "nDCG@5")
    ]
    return pd.DataFrame(rows)


def test_best_leaves_the_ceiling_out():
    # the sums over four questions: minilm 2.3, rrf 2.6
    assert best(per_query(), FAMILIES, "nDCG@5") == ("rrf", pytest.approx(0.65))


def test_disagreement_compares_the_best_of_both_families():
    assert disagreement(per_query(), FAMILIES) == ("bm25", "minilm", 0.5)


def test_leaders_by_kind():
    kinds = {"q1": "jargon", "q2": "jargon", "q3": "paraphrase", "q4": "numeric"}
    table = leaders(per_query(), kinds, FAMILIES, "nDCG@5").set_index("kind")
    assert table.loc["jargon", "leader"] == "lexical"  # 1.0 against .95 (rrf) and .55
    assert table.loc["jargon", "fusion"] == pytest.approx(0.95)
    assert table.loc["paraphrase", "leader"] == "dense"
    assert table.loc["numeric", "leader"] == "dense, fusion, lexical"
    assert "bound" not in table.columns


def benchmark() -> Benchmark:
    queries = Queries.of(
        ["q1", "q2", "q3", "q4"],
        ["rank chunks", "slices first", "pool depth", "pool width"],
        ["jargon", "paraphrase", "numeric", "unanswerable"],
        ["test", "test", "dev", "test"],
        ["a", "b", "c", "q4"],
    )
    evidence = (
        Evidence("q1", "a", 1, 0, 9, "Chunks are ranked.", 3, "hand"),
        Evidence("q2", "b", 1, 0, 9, "The ranking holds chunks.", 2, "hand"),
        Evidence("q3", "c", 1, 0, 9, "The pool.", 2, "hand"),
        Evidence("q3", "c", 1, 0, 9, "Its depth.", 1, "hand"),  # grade 1 does not answer
    )
    return Benchmark("mine", queries, evidence)


def test_wording_reads_answering_evidence_only():
    words = wording(benchmark()).set_index("qid")["shared"]
    assert words["q1"] == 1 and words["q2"] == 0 and words["q3"] == 0.5 and math.isnan(words["q4"])


def test_by_kind_counts_splits():
    table = by_kind(wording(benchmark())).set_index("kind")
    assert table.loc["numeric", ["dev", "test"]].tolist() == [1, 0]
    assert table.loc["unanswerable", ["dev", "test"]].tolist() == [0, 1]


def test_a_document_of_both_splits_is_named():
    mine = benchmark()
    assert split_documents(mine) == frozenset()
    part = Evidence("q3", "a", 1, 0, 9, "Chunks.", 3, "hand", "a")  # a dev question needs a test document
    assert split_documents(Benchmark("mine", mine.queries, (*mine.evidence, part))) == {"a"}


def _found(values: pd.DataFrame, judged: float) -> dict[str, tuple[str, bool]]:
    summary = pd.DataFrame(
        [
            {"strategy": "bm25", "metric": "Judged@5", "mean": judged, "clusters": 12},
            {"strategy": "rrf", "metric": "Judged@5", "mean": 1.0, "clusters": 12},
            {"strategy": "rrf", "metric": "nDCG@5", "mean": 0.65, "clusters": 12},
        ]
    )
    words = wording(benchmark())
    table = leaders(values, dict(zip(words["qid"], words["kind"], strict=True)), FAMILIES, "nDCG@5")
    found = checks(words, benchmark(), values, summary, FAMILIES, table, "nDCG@5")
    return {check.name: (check.found, check.holds) for check in found}


def test_checks_hold_on_a_good_benchmark_and_name_what_fails():
    assert all(holds for _, holds in _found(per_query(), 0.95).values())
    assert _found(per_query(), 0.94)["lowest Judged@5 of an arm"] == ("0.940 (bm25)", False)
    easy = per_query().assign(value=lambda t: t["value"].clip(lower=0.95))
    found = _found(easy, 1.0)
    assert found["best nDCG@5, oracle apart"][1] is False
    assert found["questions on which bm25 and minilm differ in RR by .5 or more"] == ("0.0%", False)


def test_configurations_of_every_named_strategy_have_a_family():
    names = sorted(path.stem for path in Path("conf/strategy").glob("*.yaml"))
    known = {"lexical", "dense", "fusion", "graph", "diversity", "re-ranked", "bound"}
    assert {family(strategy_config(name)) for name in names} == known

"""Planted losses: each is named as the stage that it was planted at, by hand-made lists and by real stages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.arms import RAN, Arm
from evaluation.errors import EvaluationError
from evaluation.explain.diagnosis import STAGES, attribute, losses, shares, steps, waterfall
from evaluation.explain.pieces import NEVER
from evaluation.grades import grade_matrix
from evaluation.judging import Judged
from evaluation.schema import Benchmark
from retrieval.build import build_strategy
from retrieval.remembered import Fact
from retrieval.schema import Queries, empty_run
from retrieval.stage import Fused, Pipeline, walk
from tests.unit.evaluation.papers import corpus_of
from tests.unit.evaluation.planted import (
    BM25,
    DEDUP,
    LONG,
    MMR,
    N_CHUNKS,
    NEIGHBOURS,
    NOVELTY,
    PATHS,
    RRF,
    TARGET,
    TEXT,
    TFIDF,
    K,
    arm_of,
    given,
    judged_rows,
    paths_of,
    rankings,
    real,
    remembered,
    stages_of,
)


class Planter:
    """Ranks of the target in the seven lists of LONG; 0 is absent. Each plant says what must be named."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def top(self):
        return int(self.rng.integers(1, K + 1))

    def low(self):
        return int(self.rng.integers(K + 1, 30))

    def out(self):
        return self.low() if self.rng.random() < 0.5 else 0

    def any(self):
        return int(self.rng.choice([0, self.top(), self.low()]))

    def branches(self, *first):
        """Three ranks in random order, the first ones given."""
        ranks = [*first, *([self.out()] * 3)][:3]
        return [ranks[at] for at in self.rng.permutation(3)]

    def pushed(self, place):
        """In the top k of the list before `place`, and in none from there on."""
        if place == 3:
            return [*self.branches(self.top(), self.any()), *(self.out() for _ in range(4))]
        before = [self.any() for _ in range(place - 1)]
        return [*before, self.top(), *(self.out() for _ in range(7 - place))]

    def removed(self, place):
        """Below k in the list before `place`, in no list from there on, in no top k at all."""
        if place == 3:
            return [*self.branches(self.low(), self.out()), 0, 0, 0, 0]
        before = [self.out() for _ in range(place - 1)]
        return [*before, self.low(), *([0] * (7 - place))]

    def below(self):
        return [*(self.out() for _ in range(6)), self.low()]

    def found(self):
        return [*(self.any() for _ in range(6)), self.top()]

    def nowhere(self):
        return [0] * 7

    def ranking(self, rank):
        """Random other chunks, with the target at its rank."""
        others = [at for at in self.rng.permutation(N_CHUNKS).tolist() if at != TARGET]
        length = int(self.rng.integers(max(rank, 1), 36)) if rank else int(self.rng.integers(0, 36))
        return [*others[: rank - 1], TARGET, *others[rank - 1 : length]] if rank else others[:length]


PLANTS = [
    ("fusion", "fuser", lambda p: p.pushed(3)),
    ("dedup", "then.first", lambda p: p.pushed(4)),
    ("mmr", "then.fuser", lambda p: p.pushed(5)),
    ("reranker", "then.mmr_0.5", lambda p: p.pushed(6)),
    ("fusion", "fuser", lambda p: p.removed(3)),
    ("dedup", "then.first", lambda p: p.removed(4)),
    ("mmr", "then.fuser", lambda p: p.removed(5)),
    ("reranker", "then.mmr_0.5", lambda p: p.removed(6)),
    ("below k", "", Planter.below),
    ("found", "", Planter.found),
    ("candidates", "", Planter.nowhere),
]


@pytest.mark.parametrize(("stage", "path", "plant"), PLANTS)
def test_planted_losses_are_named_in_every_case(stage, path, plant):
    n = 250
    planters = [Planter((ord(stage[0]), seed)) for seed in range(n)]
    ranks = [plant(planter) for planter in planters]
    runs = [
        rankings([planter.ranking(row[at]) for planter, row in zip(planters, ranks, strict=True)]) for at in range(7)
    ]
    judged = judged_rows([(query, TARGET, 2, 0) for query in range(n)], n)
    found = losses([arm_of(LONG, *runs)], judged, K)
    assert stages_of(found) == [(stage, path)] * n
    assert found["final_rank"].tolist() == [row[-1] for row in ranks]
    assert found["best_rank"].tolist() == [min(filter(None, row), default=0) for row in ranks]
    assert found["qid"].tolist() == [f"q{at:04}" for at in range(n)]


def test_paths_are_those_of_the_pipeline():
    assert paths_of(LONG) == PATHS
    made = steps(arm_of(LONG, *[empty_run()] * 7))
    assert made.kind.tolist() == ["candidates"] * 3 + ["fusion", "dedup", "mmr", "reranker"]
    assert made.reader.tolist() == [3, 3, 3, 4, 5, 6, -1]


def test_a_branch_of_its_own_pipeline_loses_only_what_no_other_branch_keeps():
    # branch a: bm25, then MMR. Evidence 0 is in the top 1 of a's bm25 alone: MMR lost it. Evidence 1 is in b's top 1
    # too, which the fuser reads: it was still there, so fusion lost it
    config = {"branches": {"a": {"first": BM25, "then": {"m": MMR}}, "b": TFIDF}, "fuser": RRF}
    arm = arm_of(
        config,
        rankings([[0, 2], [1, 2]]),
        rankings([[2, 0], [2, 1]]),
        rankings([[3], [1]]),
        rankings([[2, 3, 0], [2, 1]]),
    )
    assert list(arm.stages) == ["branches.a", "branches.a.then.m", "branches.b", "fuser"]
    assert steps(arm).reader.tolist() == [1, 3, 3, -1]
    found = losses([arm], judged_rows([(0, 0, 1, 0), (1, 1, 1, 0)], 2), 1)
    assert stages_of(found) == [("mmr", "branches.a.then.m"), ("fusion", "fuser")]


def test_fused_inside_fused():
    config = {"branches": {"in": {"branches": {"a": BM25, "b": TFIDF}, "fuser": RRF}, "out": BM25}, "fuser": RRF}
    arm = arm_of(
        config, rankings([[0, 1]]), rankings([[2, 1]]), rankings([[1, 2, 0]]), rankings([[3]]), rankings([[1]])
    )
    assert steps(arm).reader.tolist() == [2, 2, 4, 4, -1]
    found = losses([arm], judged_rows([(0, 0, 1, 0), (0, 2, 1, 1), (0, 3, 1, 2)], 1), 1)
    assert stages_of(found) == [("fusion", "branches.in.fuser"), ("fusion", "branches.in.fuser"), ("fusion", "fuser")]


def cause(stage, path, held):
    """The path of the stage after which a piece was never held again, by walking back from the end; None: never held.

    `held` says of each path whether its list holds the piece; that of `stage` does not.
    """
    if isinstance(stage, Fused):
        here = path and f"{path}."
        inputs = [(branch, f"{here}branches.{name}") for name, branch in stage.branches]
    elif isinstance(stage, Pipeline):
        inputs = [(stage.prefix, path)]
    else:
        return None
    if any(held[walk(one, at)[-1][0]] for one, at in inputs):
        return walk(stage, path)[-1][0]
    return next(filter(None, (cause(one, at, held) for one, at in reversed(inputs))), None)


def test_against_walking_back_from_the_end():
    inner = {"branches": {"a": {"first": BM25, "then": {"d": DEDUP, "m": MMR}}, "b": TFIDF}, "fuser": RRF}
    config = {
        "branches": {
            "p": {"first": inner, "then": {"n": NOVELTY}},
            "q": BM25,
            "r": {"first": TFIDF, "then": {"m": MMR}},
        },
        "fuser": RRF,
        "then": {"d": DEDUP, "m": MMR},
    }
    stage, rng, n = build_strategy(config), np.random.default_rng(11), 2000
    paths = [path for path, _ in walk(stage)]
    ranks = rng.choice([1, 3, K, K + 1, 20, NEVER], (len(paths), n), p=[0.05, 0.05, 0.05, 0.15, 0.1, 0.6])
    made = steps(arm_of(config, *[empty_run()] * len(paths)))
    found = attribute(ranks.astype(np.int32), made, np.full(n, "candidates", dtype=object), K)
    kind = dict(zip(paths, made.kind, strict=True))
    expected = []
    for piece in range(n):
        final = ranks[-1, piece]
        top, there = ({path: bool(ranks[at, piece] <= limit) for at, path in enumerate(paths)} for limit in (K, 99))
        lost = cause(stage, "", top) or (cause(stage, "", there) if final == NEVER else None)
        unstaged = "below k" if final < NEVER else "candidates"
        expected.append(("found", "") if final <= K else (kind[lost], lost) if lost else (unstaged, ""))
    assert list(zip(*found, strict=True)) == expected
    assert len(set(expected)) == 2 + 1 + 8  # found, below k, candidates, and every stage that reads another


def test_a_class_stands_where_its_first_chunk_stands():
    # class 0 is chunks 4 and 9. Dedup drops 4 as a copy and keeps 9: nothing is lost
    arm = arm_of({"first": BM25, "then": {"d": DEDUP}}, rankings([[4, 9, 1]]), rankings([[9, 1]]))
    judged = judged_rows([(0, 4, 1, 0), (0, 9, 3, 0), (0, 7, 0, -1)], 1)
    found = losses([arm], judged, 1)
    assert found.to_dict("records") == [
        {"strategy": "x", "qid": "q0000", "evidence": 0, "grade": 3, "stage": "found", "path": "",
         "best_rank": 1, "final_rank": 1}
    ]  # fmt: skip


def test_found_is_what_recall_counts():
    rng = np.random.default_rng(5)
    n = 60
    rows = {
        (query, int(chunk)): (int(rng.integers(0, 4)), int(rng.integers(0, 4)))
        for query in range(n)
        for chunk in rng.permutation(N_CHUNKS)[:8]
    }
    judged = judged_rows([(q, c, grade, group if grade else -1) for (q, c), (grade, group) in rows.items()], n)
    run = rankings([rng.permutation(N_CHUNKS)[: rng.integers(0, 30)].tolist() for _ in range(n)])
    grades = grade_matrix(run, judged.qrels, n)
    for k in (1, 5, 10):
        found = losses([arm_of({"first": BM25}, run)], judged, k)
        assert len(found) == grades.n_relevant.sum()
        per_query = found[found["stage"] == "found"].groupby("qid").size()
        hits = (grades.grades[:, :k] > 0).sum(axis=1)
        assert per_query.to_dict() == {f"q{at:04}": hit for at, hit in enumerate(hits) if hit}


def test_arms_that_did_not_run_are_left_out_and_a_wrong_configuration_is_an_error():
    judged = judged_rows([(0, 1, 1, 0)], 1)
    assert losses([Arm("x", "absent", "no model")], judged, 5).empty
    assert waterfall(losses([], judged, 5)).empty
    arm = arm_of({"first": BM25}, rankings([[1]]))
    with pytest.raises(EvaluationError, match=r"x: its stages are first, its YAML says first, then\.d"):
        losses([replace(arm, config={"first": BM25, "then": {"d": DEDUP}})], judged, 5)
    chunked = replace(
        arm, config={"first": BM25, "chunker": {"kind": "Page"}}
    )  # as an ablation of the chunker has it
    assert losses([chunked], judged, 5)["stage"].tolist() == ["found"]


FILES = {
    "a.pdf": ["alpha beta alpha beta"],
    "b.pdf": ["alpha beta gamma"],
    "c.pdf": ["alpha delta epsilon zeta eta"],
    "d.pdf": ["alpha beta alpha beta"],
    "e.pdf": ["theta iota kappa"],
}


@pytest.mark.parametrize(
    ("doc", "config", "lists", "settings", "stage"),
    [
        ("c.pdf", {"first": BM25}, {}, {"depth": 2}, ("candidates", "")),
        ("c.pdf", {"first": BM25}, {}, {"depth": 4, "k": 3}, ("below k", "")),  # rank k + 1
        ("c.pdf", {"first": BM25}, {}, {"depth": 4, "k": 4}, ("found", "")),
        ("e.pdf", {"first": BM25}, {}, {}, ("candidates", "")),
        (  # rank 1 of u, absent from v; b is 2nd and 1st: 1/61 < 1/62 + 1/61
            "e.pdf",
            {"branches": {"u": given("u"), "v": given("v")}, "fuser": RRF},
            {"u": "eb", "v": "b"},
            {},
            ("fusion", "fuser"),
        ),
        (  # rank 2 of u: 1/62 is less than a's 1/61 + 1/62 and b's 1/61, and two places are all there are
            "e.pdf",
            {"branches": {"u": given("u"), "v": given("v")}, "fuser": RRF},
            {"u": "ae", "v": "ba"},
            {"depth": 2},
            ("fusion", "fuser"),
        ),
        ("d.pdf", {"first": given("u"), "then": {"x": DEDUP}}, {"u": "ade"}, {"k": 2}, ("dedup", "then.x")),
        ("d.pdf", {"first": given("u"), "then": {"x": DEDUP}}, {"u": "ade"}, {}, ("dedup", "then.x")),
        (  # the copy d loses its 2nd place to e, which resembles nothing
            "d.pdf",
            {"first": given("u"), "then": {"x": {**MMR, "lam": 0.1}}},
            {"u": "adeb"},
            {"k": 2},
            ("mmr", "then.x"),
        ),
        (
            "d.pdf",
            {"first": given("u"), "then": {"x": {**NOVELTY, "n": 1, "min_score": 0.5}}},
            {"u": "ade"},
            {"k": 2},
            ("reranker", "then.x"),
        ),
    ],
)
def test_real_stages(doc, config, lists, settings, stage, tmp_path):
    runs = {name: [f"{letter}.pdf:0" for letter in ids] for name, ids in lists.items()}
    found = real(tmp_path, FILES, None, [(doc, FILES[doc][0], 2)], config, runs, **settings)
    assert stages_of(found) == [stage]


def test_neighbours_push_out_what_stood_second(tmp_path):
    papers, cuts = {**FILES, "f.pdf": [TEXT]}, {"f.pdf": [(0, 23), (24, 47)]}
    config = {"first": given("u"), "then": {"n": NEIGHBOURS}}
    found = real(
        tmp_path, papers, cuts, [("e.pdf", FILES["e.pdf"][0], 2)], config, {"u": ["f.pdf:0", "e.pdf:0"]}, k=2
    )
    assert stages_of(found) == [("reranker", "then.n")]
    assert found[["best_rank", "final_rank"]].to_numpy().tolist() == [[2, 3]]


def test_a_waterfall_by_hand():
    # x finds 1 of 4 pieces, loses 2 to dedup and 1 below k; y finds all
    arm = arm_of({"first": BM25, "then": {"d": DEDUP}}, rankings([[0, 1, 2, 3, 4]]), rankings([[0, 4, 3]]))
    other = arm_of({"first": BM25}, rankings([[3, 2, 1, 0]]), name="y")
    judged = judged_rows([(0, chunk, 1, chunk) for chunk in range(4)], 1)
    # k = 2: 0 stays; 1 was 2nd and is removed; 2 was 3rd and is removed; 3 is 3rd
    found = waterfall(losses([arm, replace(other, name="a")], judged, 2))
    assert found["strategy"].tolist() == ["x"] * 9 + ["a"] * 9
    assert found["stage"].tolist() == [*STAGES, *STAGES]
    cells = {(row.strategy, row.stage): (row.n, row.share) for row in found.itertuples() if row.n}
    assert cells == {
        ("x", "dedup"): (2, 0.5), ("x", "below k"): (1, 0.25), ("x", "found"): (1, 0.25),
        ("a", "below k"): (2, 0.5), ("a", "found"): (2, 0.5),
    }  # fmt: skip
    assert found.groupby("strategy")["share"].sum().tolist() == [1.0, 1.0]


def test_shares_by_hand():
    texts = ["Graph-based ranking.", "graph based rankings", "gamma", "+", "-", "delta"]
    papers = {f"{at}.pdf": [text] for at, text in enumerate(texts)}
    corpus = corpus_of(papers)
    qrels = judged_rows([(0, 2, 1, 0), (0, 5, 2, 0), (0, 1, 0, -1), (1, 0, 1, 0)], 2).qrels
    queries = Queries.of(["q1", "q2"], ["", ""])
    ids = np.asarray([*corpus.chunk_ids, "out", "side"], dtype=object)
    judged = Judged(Benchmark("hand", queries), corpus, ids, qrels, None, {})
    # q1: 0, 2, 1 (text of 0), 5 (class of 2). q2: 1, 3, 4 (another sign), an id outside; one more beyond k
    run = rankings([[0, 2, 1, 5], [1, 3, 4, 6, 7]])
    cut = {"branches.s": remembered(run, chunks_truncated_by_the_encoder=Fact(2, 6))}
    arm = Arm("x", RAN, run=run, stages=cut)
    found = shares([arm, Arm("gone", "absent"), Arm("none", RAN, run=empty_run())], judged, 4)
    assert found.to_numpy().tolist() == [
        ["x", "duplicates", 2 / 8, 2, 8],
        ["x", "unjudged", 5 / 8, 5, 8],  # judged: 2, 1 and 5 of q1; of q2 nothing: 0 is not shown
        ["x", "truncated", 2 / 6, 2, 6],
        ["none", "duplicates", 0.0, 0, 0],
        ["none", "unjudged", 0.0, 0, 0],
    ]
    judged_at_4 = grade_matrix(run, qrels, 2).judged[:, 3] / 4
    assert 1 - judged_at_4.mean() == found["value"][1]

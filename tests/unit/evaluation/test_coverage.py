"""Evidence within a word budget, gold entities and relations: by hand, and against a loop over characters."""

import numpy as np
import pytest

from evaluation.coverage import (
    Gold,
    Ranked,
    Stretches,
    entity_coverage,
    evidence_precision,
    evidence_recall,
    relation_coverage,
)
from evaluation.grades import grade_matrix
from evaluation.mentions import mentions, normal_text
from evaluation.metrics import evaluate, parse_metric
from evaluation.qrels import span_qrels
from evaluation.schema import Benchmark
from retrieval.schema import Queries, empty_run, make_run
from tests.unit.evaluation.papers import corpus_of, spans_of

# offsets: aa 0-2, bbb 3-6, cccc 7-11, (page break 11) dd 12-14, eeeee 15-20
PAPERS = {"a.pdf": ["aa bbb cccc", "dd eeeee"], "b.pdf": ["ff gg"]}
CUTS = {"a.pdf": [(0, 6), (3, 11), (12, 20)], "b.pdf": [(0, 5)]}


def ranked(spans, *rankings, papers=PAPERS, cuts=CUTS, **benchmark):
    """Rankings of chunk ids, one per query."""
    corpus = corpus_of(papers, cuts)
    gold = Gold(
        corpus,
        spans,
        Benchmark("hand", Queries.of([f"q{at}" for at in range(len(rankings))], [""] * len(rankings)), **benchmark),
    )
    rows = [
        (query, corpus.row_of.get(chunk, 99), -at)
        for query, ids in enumerate(rankings)
        for at, chunk in enumerate(ids)
    ]
    return Ranked(make_run(*zip(*rows, strict=True), depth=100) if rows else empty_run(), gold)


def test_the_chunk_that_reaches_the_budget_is_cut_at_its_word():
    # evidence: cccc, dd, eeeee = 11 characters. Chunk a:1 shows bbb cccc, chunk a:2 dd eeeee; three words end with dd
    arm = ranked(spans_of((0, 0, 7, 20, 1)), ["a.pdf:1", "a.pdf:2"])
    assert evidence_recall(arm, 3)[0] == pytest.approx((4 + 2) / 11)
    assert evidence_precision(arm, 3)[0] == pytest.approx((4 + 2) / (3 + 4 + 2))
    assert evidence_recall(arm, 1000)[0] == 1.0  # the page break between the chunks is no lost evidence
    assert evidence_precision(arm, 1000)[0] == pytest.approx(11 / 14)


def test_overlapping_chunks_show_a_character_once_but_are_read_twice():
    # evidence: bbb, in chunks a:0 (aa bbb) and a:1 (bbb cccc)
    arm = ranked(spans_of((0, 0, 3, 6, 2)), ["a.pdf:0", "a.pdf:1"])
    assert evidence_recall(arm, 1000)[0] == 1.0
    assert evidence_precision(arm, 1000)[0] == pytest.approx((3 + 3) / (2 + 3 + 3 + 4))


def test_overlapping_judgments_count_a_character_once():
    # aa bbb and bbb cccc: 9 characters in all, of which chunk a:0 shows 5
    arm = ranked(spans_of((0, 0, 0, 6, 1), (0, 0, 3, 11, 2)), ["a.pdf:0"])
    assert evidence_recall(arm, 1000)[0] == pytest.approx(5 / 9)


def test_grade_0_is_no_evidence_and_other_documents_only_cost_words():
    spans = spans_of((0, 0, 0, 2, 1), (0, 0, 3, 20, 0))
    arm = ranked(spans, ["b.pdf:0", "a.pdf:0"])
    assert evidence_recall(arm, 2)[0] == 0.0
    assert evidence_recall(arm, 3)[0] == 1.0  # ff gg aa
    assert evidence_precision(arm, 3)[0] == pytest.approx(2 / 6)


def test_empty_rankings_score_0_and_queries_without_evidence_have_no_value():
    arm = ranked(spans_of((0, 0, 0, 2, 1), (2, 1, 0, 2, 0)), [], ["a.pdf:0"], ["b.pdf:0"])
    for measure in (evidence_recall, evidence_precision):
        values = measure(arm, 1000)
        assert values[0] == 0.0
        assert np.isnan(values[1:]).all()
    nothing = ranked(spans_of(), ["a.pdf:0"])
    assert np.isnan(evidence_recall(nothing, 5)).all()


def test_chunks_that_only_an_outside_run_knows_show_nothing():
    arm = ranked(spans_of((0, 0, 0, 2, 1)), ["elsewhere", "a.pdf:0"], entities={"q0": ("aa",)})
    assert evidence_recall(arm, 1)[0] == 1.0
    assert entity_coverage(arm, 1)[0] == 0.0  # but it holds its rank
    assert entity_coverage(arm, 2)[0] == 1.0


def test_against_a_loop_over_characters():
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abcd"), rng.integers(1, 6))) for _ in range(240)]
    text = " ".join(words)
    starts = np.sort(rng.integers(0, len(text) - 60, 25))
    cuts = {"a.pdf": [(int(low), int(low) + int(rng.integers(10, 60))) for low in starts]}
    spans = []
    for query in range(8):
        for _ in range(int(rng.integers(1, 4))):
            low = int(rng.integers(0, len(text) - 80))
            spans.append((query, 0, low, low + int(rng.integers(5, 80)), int(rng.integers(0, 3))))
    rankings = [[f"a.pdf:{at}" for at in rng.permutation(25)[: rng.integers(1, 12)]] for _ in range(8)]
    arm = ranked(spans_of(*spans), *rankings, papers={"a.pdf": [text]}, cuts=cuts)
    for budget in (1, 7, 30, 1000):
        recalls, precisions = evidence_recall(arm, budget), evidence_precision(arm, budget)
        for query in range(8):
            gold = {at for q, _, low, high, grade in spans if q == query and grade for at in range(low, high)}
            gold = {at for at in gold if text[at] != " "}
            read = characters_read(text, [cuts["a.pdf"][int(name[6:])] for name in rankings[query]], budget)
            if gold:
                assert recalls[query] == pytest.approx(len(gold & set(read)) / len(gold), abs=1e-12)
                assert precisions[query] == pytest.approx(sum(at in gold for at in read) / len(read), abs=1e-12)
            else:
                assert np.isnan([recalls[query], precisions[query]]).all()


def characters_read(text, chunks, budget):
    """Positions of all characters in the first words of these chunks, one by one."""
    read, words, inside = [], 0, False
    for low, high in chunks:
        inside = False
        for at in range(low, high):
            if text[at] == " ":
                inside = False
                continue
            words += not inside
            inside = True
            if words > budget:
                return read
            read.append(at)
    return read


def test_unions_and_what_lies_inside():
    whole = Stretches(np.asarray([5, 0, 3, 9]), np.asarray([7, 4, 4, 9])).union()
    assert (whole.start.tolist(), whole.end.tolist()) == ([0, 5, 9], [4, 7, 9])
    asked = Stretches(np.asarray([0, 3, 4, 6, 8]), np.asarray([10, 6, 5, 20, 9]))
    assert asked.inside(whole).tolist() == [6, 2, 0, 1, 0]


def test_entities_and_relations_in_the_top_k():
    papers = {"a.pdf": ["POMDPs model hidden states. A planner uses rollouts."], "b.pdf": ["Planners for the POMDP."]}
    arm = ranked(
        spans_of(),
        ["a.pdf:0", "b.pdf:0"],
        ["b.pdf:0"],
        [],
        ["a.pdf:0"],
        papers=papers,
        cuts={"a.pdf": [(0, 27)]},  # up to "states."
        entities={"q0": ("POMDP", "planner", "rollout"), "q1": ("pomdp",), "q2": ("POMDP",)},
        relations={"q0": (("planner", "POMDP"), ("hidden state", "planner")), "q1": (("planner", "POMDP"),)},
    )
    assert entity_coverage(arm, 1)[:3].tolist() == [pytest.approx(1 / 3), 1.0, 0.0]
    assert entity_coverage(arm, 2)[0] == pytest.approx(2 / 3)
    assert np.isnan(entity_coverage(arm, 2)[3])
    # hidden state and planner both stand in the top 2, but not in one chunk
    assert relation_coverage(arm, 2)[:2].tolist() == [0.5, 1.0]
    assert relation_coverage(arm, 1)[0] == 0.0
    assert np.isnan(relation_coverage(arm, 2)[2:]).all()


def test_evaluate_runs_text_metrics_beside_rank_metrics():
    arm = ranked(spans_of((0, 0, 7, 20, 1)), ["a.pdf:1", "a.pdf:2"], entities={"q0": ("eeeee",)})
    qrels = span_qrels(arm.gold.spans, arm.gold.corpus, 1)
    names = ["RR", "EvRecall@3w", "EntCov@1", "EvPrecision@3w"]
    values = evaluate(grade_matrix(arm.run, qrels, 1), [parse_metric(name) for name in names], arm)
    assert values[:, 0].tolist() == [0.5, pytest.approx(6 / 11), 0.0, pytest.approx(6 / 9)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A Knowledge Graph of papers", "knowledge graphs"),
        ("several indexes", "index"),
        ("the caches", "cache"),
        ("use cases", "use case"),
        ("two GPUs", "GPU"),
        ("hierarchies of agents", "hierarchy"),
        ("multi-agent systems", "Multi Agent System"),
        ("pretraining helps", "pre-training"),
        ("pre\u2011training helps", "pretraining"),
        ("Zipf’s law", "Zipf law"),
        ("written in C++.", "C++"),
        ("measured by F1@5", "F1@5"),
        ("co\u00adoccurrence", "cooccurrence"),
    ],
)
def test_spelling_does_not_matter(text, name):
    assert mentions(normal_text(text), name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ragged arrays", "RAG"),
        ("a graph of knowledge", "knowledge graph"),
        ("written in C", "C++"),
        ("status report", "statu"),
        ("the class", "clas"),
        ("anything", ""),
        ("anything", "---"),
        ("alpha beta", "beta alpha"),  # not across the two forms either
    ],
)
def test_token_boundaries_do(text, name):
    assert not mentions(normal_text(text), name)

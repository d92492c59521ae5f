"""Neighbours placed by hand, and against a plain walk on random rankings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval.filters import Where
from retrieval.rerankers.neighbours import Neighbours, chunks_around
from retrieval.retrievers.given import Given
from retrieval.schema import Queries, empty_run, make_run
from retrieval.stage import Context, Pipeline
from tests.contract.conftest import corpus_of, corpus_rows

ONE = Queries.of(["q"], ["rank"])


def context(chunks: list[tuple[str, int]], folder: Path, **parameters) -> Context:
    """Chunks (document, char_start); ids in the order given, so row n is chunk n."""
    base = corpus_rows()[0]
    rows = [{**base, "chunk_id": f"{n:04}", "doc_id": doc, "char_start": at} for n, (doc, at) in enumerate(chunks)]
    return Context(corpus_of(rows), ArtifactStore(folder), **{"depth": 100, **parameters})


def ranking(*chunks: int):
    """One query's chunks in this order, with scores n, n - 1, ..., 1."""
    return make_run([0] * len(chunks), chunks, np.arange(len(chunks), 0, -1), 100)


def placed(ctx: Context, *order: int, **parameters) -> list[int]:
    run = Neighbours(**parameters).rerank(ctx, ONE, ranking(*order))
    assert run.rank.tolist() == list(range(1, len(run) + 1))
    return run.chunk.tolist()


TEN = [("d0", 10 * n) for n in range(10)]


def test_the_chunks_before_and_after_a_hit_stand_behind_it(tmp_path):
    ctx = context(TEN, tmp_path)
    assert placed(ctx, 5) == [5, 4, 6]
    assert placed(ctx, 0) == [0, 1]
    assert placed(ctx, 9, 2) == [9, 8, 2, 1, 3]


def test_at_one_distance_the_earlier_one_comes_first(tmp_path):
    ctx = context(TEN, tmp_path)
    assert placed(ctx, 5, window=2) == [5, 4, 6, 3, 7]
    assert placed(ctx, 1, window=3) == [1, 0, 2, 3, 4]
    assert placed(ctx, 5, window=50) == [5, 4, 6, 3, 7, 2, 8, 1, 9, 0]


def test_what_stands_higher_is_not_placed_again(tmp_path):
    # 5 brings 4 and 6; 6 is there already and brings 7 at its own place, behind what stood above it
    ctx = context(TEN, tmp_path)
    assert placed(ctx, 5, 6) == [5, 4, 6, 7]
    assert placed(ctx, 5, 1, 6) == [5, 4, 6, 1, 0, 2, 7]
    assert placed(ctx, 4, 2) == [4, 3, 5, 2, 1]


def test_a_neighbour_from_further_down_moves_up_and_all_else_keeps_its_order(tmp_path):
    ctx = context(TEN, tmp_path)
    assert placed(ctx, 5, 9, 2, 6, 0, hits=1) == [5, 4, 6, 9, 2, 0]


def test_only_the_first_hits_have_neighbours(tmp_path):
    ctx = context(TEN, tmp_path)
    assert placed(ctx, 0, 4, 8, hits=2) == [0, 1, 4, 3, 5, 8]
    assert placed(ctx, 0, 4, 8) == [0, 1, 4, 3, 5, 8, 7, 9]


def test_neighbours_are_those_by_position_in_the_same_document(tmp_path):
    # d0 reads 2, 0, 3; d1 reads 4, 1
    ctx = context([("d0", 20), ("d1", 90), ("d0", 0), ("d0", 30), ("d1", 5)], tmp_path)
    assert chunks_around(ctx.corpus, 1).tolist() == [[2, 3], [4, -1], [-1, 0], [0, -1], [-1, 1]]
    assert chunks_around(ctx.corpus, 2).tolist()[2] == [-1, 0, -1, 3]
    assert placed(ctx, 0, 1) == [0, 2, 3, 1, 4]


def test_depth_is_obeyed(tmp_path):
    assert placed(context(TEN, tmp_path, depth=4), 5, 1, 9) == [5, 4, 6, 1]


def test_a_filter_is_obeyed(tmp_path):
    years = ["2019", "2020", "2020", "2018"]
    base = corpus_rows()[0]
    rows = [
        {**base, "chunk_id": f"{n:04}", "doc_id": "d0", "char_start": n, "section": f"part {year}"}
        for n, year in enumerate(years)
    ]
    ctx = Context(corpus_of(rows), ArtifactStore(tmp_path), depth=9, where=Where.read(section="2020"))
    assert placed(ctx, 1) == [1, 2]
    assert placed(ctx, 2) == [2, 1]


def test_the_trace_names_neighbour_and_hit(tmp_path):
    ctx = context(TEN, tmp_path, depth=5, given={"run": ranking(5, 1, 6)})
    remembered = ctx.remembered(Pipeline(Given("run"), (("neighbours", Neighbours()),)), ONE)
    assert remembered.run.chunk.tolist() == [5, 4, 6, 1, 0]  # 2 and 7 are below depth
    assert [(event["event"], event["chunk"], event["other"]) for event in remembered.events.to_pylist()] == [
        ("neighbour of", 0, 1),
        ("neighbour of", 4, 5),
        ("neighbour of", 6, 5),
    ]


@pytest.mark.parametrize(("window", "hits"), [(1, 10), (2, 3), (4, 1)])
def test_against_a_plain_walk_on_random_rankings(window, hits, tmp_path):
    random = np.random.default_rng(window)
    chunks = [(f"d{random.integers(0, 6)}", 3 * n) for n in random.permutation(70)]
    ctx = context(chunks, tmp_path, depth=40)
    reading = {doc: sorted((at, row) for row, (d, at) in enumerate(chunks) if d == doc) for doc, _ in chunks}
    pairs, expected = [], []
    for query in range(15):
        order = random.permutation(70)[: query * 3].tolist()  # the first has no ranking
        walk: list[int] = []
        for rank, chunk in enumerate(order, start=1):
            walk.append(chunk)
            rows = [row for _, row in reading[chunks[chunk][0]]]
            at = rows.index(chunk)
            for distance in range(1, window + 1):
                beside = (at - distance, at + distance)
                walk += [rows[place] for place in beside if rank <= hits and 0 <= place < len(rows)]
        pairs += [(query, chunk) for chunk in order]
        expected += [(query, chunk) for chunk in list(dict.fromkeys(walk))[:40]]
    run = make_run(*np.asarray(pairs).T, -np.arange(len(pairs)), 100)
    asked = Queries.of([f"q{query:02}" for query in range(15)], [""] * 15)
    found = Neighbours(window, hits).rerank(ctx, asked, run)
    assert list(zip(found.query.tolist(), found.chunk.tolist(), strict=True)) == expected


def test_an_empty_ranking_stays_empty(tmp_path):
    assert len(Neighbours().rerank(context(TEN, tmp_path), ONE, empty_run())) == 0


@pytest.mark.parametrize("value", [{"window": 0}, {"hits": 0}])
def test_parameters_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match="must be"):
        Neighbours(**value)

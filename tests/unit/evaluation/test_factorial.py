"""Effects of a factorial: contrasts worked out by hand, pairing over questions, cells that must be there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from evaluation.errors import RequestError
from evaluation.factorial import Factorial, effects, find_factorial
from ingestion.config import load, to_plain
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Queries

SETTINGS = {"resamples": 1000, "confidence": 0.95, "interval": "bca"}
SWITCHES = ("graph", "dedup", "mmr")
CELLS = tuple(f"cell{n}" for n in range(8))
FACTORIAL = Factorial("full", SWITCHES, CELLS)


def table(values: np.ndarray) -> pd.DataFrame:
    """Per-query values [n_cells, n_queries] as the runner has them."""
    rows = [(CELLS[c], f"q{q:02}", "nDCG@5", values[c, q]) for c in range(8) for q in range(values.shape[1])]
    return pd.DataFrame(rows, columns=["strategy", "qid", "metric", "value"])


def test_contrasts_by_hand():
    """Cells in the order of product: 000, 001, 010, 011, 100, 101, 110, 111 for graph, dedup, mmr."""
    contrasts = dict(FACTORIAL.effects)
    assert list(contrasts) == [
        "graph",
        "dedup",
        "mmr",
        "graph x dedup",
        "graph x mmr",
        "dedup x mmr",
        "graph x dedup x mmr",
    ]
    assert (4 * contrasts["graph"]).tolist() == [-1, -1, -1, -1, 1, 1, 1, 1]
    assert (4 * contrasts["mmr"]).tolist() == [-1, 1, -1, 1, -1, 1, -1, 1]
    # half of graph's effect with dedup, (110 + 111 - 010 - 011) / 2, minus that without, (100 + 101 - 000 - 001) / 2
    assert (4 * contrasts["graph x dedup"]).tolist() == [1, 1, -1, -1, -1, -1, 1, 1]


def test_planted_effects_come_back():
    """y = .4 + .10 graph - .04 mmr + .06 graph dedup (0/1 switches) + noise of the question.

    graph: .10 + .06 / 2 = .13; dedup: .06 / 2 = .03; mmr: -.04; graph x dedup: .06 / 2 = .03; all others 0.
    """
    rng = np.random.default_rng(1)
    question = rng.normal(0, 0.2, 40)
    cells = np.asarray([0.4 + 0.10 * g - 0.04 * m + 0.06 * g * d for g, d, m in product((0, 1), repeat=3)])
    queries = Queries.of([f"q{q:02}" for q in range(40)], ["x"] * 40, cluster=[f"d{q % 12}" for q in range(40)])
    found = effects(table(cells[:, None] + question), FACTORIAL, queries, SETTINGS, seed=0).set_index("effect")
    wanted = {"graph": 0.13, "dedup": 0.03, "mmr": -0.04, "graph x dedup": 0.03}
    for name, value in found["diff"].items():
        assert value == pytest.approx(wanted.get(name, 0.0), abs=1e-12)
        assert found.loc[name, "lo"] == pytest.approx(found.loc[name, "hi"], abs=1e-9)  # questions cancel: paired
    assert set(found["n"]) == {40}
    assert set(found["clusters"]) == {12}


def test_a_question_that_a_cell_lacks_is_left_out_and_a_missing_cell_gives_no_effects():
    values = np.tile(np.arange(8.0)[:, None], (1, 3))
    rows = table(values)
    queries = Queries.of(["q00", "q01", "q02"], ["x"] * 3)
    part = rows[~((rows["strategy"] == "cell3") & (rows["qid"] == "q01"))]
    found = effects(part, FACTORIAL, queries, SETTINGS, seed=0)
    assert set(found["n"]) == {2}
    assert found.set_index("effect").loc["graph", "diff"] == pytest.approx(4.0)
    assert set(found["note"]) == {"too few documents"}
    assert effects(rows[rows["strategy"] != "cell3"], FACTORIAL, queries, SETTINGS, seed=0).empty


def test_the_suite_holds_every_cell_and_a_suite_without_one_is_refused():
    suite = to_plain(load(["suite=ablation"]))["suite"]
    arms = {name: build_strategy(strategy_config(name)) for name in suite["strategies"]}
    found = find_factorial(suite["factorial"], arms)
    assert found.cells == (
        "rrf", "rrf_mmr", "rrf_dedup", "rrf_dedup_mmr", "rrf_graph", "rrf_graph_mmr", "rrf_graph_dedup",
        "rrf_graph_dedup_mmr",
    )  # fmt: skip
    del arms["rrf_graph_mmr"]
    with pytest.raises(RequestError, match=r"use\.graph=true strategy\.use\.dedup=false strategy\.use\.mmr=true"):
        find_factorial(suite["factorial"], arms)

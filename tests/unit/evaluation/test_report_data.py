"""What a report draws and embeds is what the tables say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from evaluation import table
from evaluation.ablation import Ablation
from evaluation.findings import Findings
from evaluation.metrics import looked_at
from evaluation.report import view
from evaluation.report.charts.cost import cost_points, pareto, without_cost
from evaluation.report.charts.intervals import bars
from evaluation.report.charts.kinds import kind_cells
from evaluation.report.charts.labels import Box, place
from evaluation.report.charts.losses import segments
from evaluation.report.charts.sweep import sweep_rows
from evaluation.report.comparisons import cells, differences
from evaluation.report.embed import NONE, SCALE, as_json, payload
from evaluation.report.stages import loss_counts
from evaluation.verdict import Verdict
from tests.unit.evaluation.findings_factory import make_findings


@pytest.fixture(scope="module")
def findings() -> Findings:
    return make_findings(n_strategies=6, n_questions=40, n_documents=10)


def one_comparison(**changes) -> pd.DataFrame:
    row = {"metric": "nDCG@5", "a": "rrf", "b": "bm25", "n": 40, "diff": 0.1, "lo": 0.02, "hi": 0.15, "p": 0.01}
    row |= {"p_adjusted": 0.02, "wins": 20, "ties": 15, "losses": 5, "verdict": "higher", "clusters": 10}
    row |= {"effect": 0.4}
    row |= {"p_hsd": 0.03, "p_equivalent": 0.9, "family": "all pairs", "sentence": "rrf is higher than bm25"}
    return pd.DataFrame([{**row, **changes}])


def small(**changes) -> Findings:
    """Two strategies: rrf at .6, bm25 at .5."""
    columns = ["strategy", "metric", "n", "mean", "lo", "hi", "clusters", "interval", "note"]
    rows = [("bm25", "nDCG@5", 40, 0.5, 0.4, 0.6, 10, "bca", ""), ("rrf", "nDCG@5", 40, 0.6, 0.5, 0.7, 10, "bca", "")]
    fields = {
        "manifest": {"primary": "nDCG@5", "config": {}},
        "arms": {"bm25": {"state": "ran"}, "rrf": {"state": "ran"}},
        "summary": pd.DataFrame(rows, columns=columns),
        "per_query": pd.DataFrame(columns=["strategy", "qid", "metric", "value"]),
        "verdict": Verdict("winner", "rrf wins", "rrf", ("rrf",), ("bm25",)),
        "comparisons": one_comparison(),
    }
    return Findings(**{**fields, **changes})


def test_bars_are_the_means_and_intervals_of_the_summary(findings):
    rows = bars(findings, "RR").set_index("strategy")
    wanted = findings.summary[findings.summary["metric"] == "RR"].set_index("strategy")
    for column in ("n", "mean", "lo", "hi"):
        assert (rows[column] == wanted.loc[rows.index, column]).all()
    primary = findings.summary[findings.summary["metric"] == "nDCG@5"].set_index("strategy")["mean"]
    assert list(rows.index) == list(primary.sort_values(ascending=False).index)
    name = rows.index[0]
    assert f"RR {wanted.loc[name, 'mean']:.3f} [{wanted.loc[name, 'lo']:.3f}, " in rows.loc[name, "text"]


def test_a_comparison_seen_from_the_other_side_turns_everything():
    there, back = cells(small()).to_dict("records")
    assert (there["a"], there["b"], there["diff"], there["verdict"], there["cell"]) == (
        *("rrf", "bm25", 0.1, "higher", "+.10"),
    )
    assert (back["a"], back["b"], back["diff"], back["lo"], back["hi"]) == ("bm25", "rrf", -0.1, -0.15, -0.02)
    assert (back["wins"], back["ties"], back["losses"], back["verdict"], back["cell"]) == (5, 15, 20, "lower", "−.10")
    assert "better on 5 questions, equal on 15, worse on 20" in back["text"]
    assert "corrected p 0.0200, p of Tukey's HSD 0.0300, p of equivalence 0.9000" in back["text"]


def test_cells_name_equivalence_and_do_not_sign_a_difference_that_rounds_to_nothing():
    same = small(comparisons=one_comparison(diff=0.001, verdict="equivalent"))
    assert list(cells(same)["cell"]) == ["≈.00", "≈.00"]
    assert list(cells(small(comparisons=one_comparison(diff=0.001, verdict="undecided")))["cell"]) == [".00", ".00"]


def test_without_a_declared_family_the_leader_stands_against_all_others(findings):
    rows = differences(findings)
    leader = findings.verdict.leader
    assert set(rows["a"]) == {leader}
    assert sorted([leader, *rows["b"]]) == sorted(set(findings.summary["strategy"]))
    means = view.means(findings, "nDCG@5")
    for row in rows.itertuples():
        assert row.diff == pytest.approx(means[row.a][0] - means[row.b][0])
    assert list(rows["diff"]) == sorted(rows["diff"], reverse=True)


def test_declared_comparisons_are_drawn_as_declared():
    both = pd.concat([one_comparison(a="bm25", b="rrf", diff=-0.1, family="declared"), one_comparison(a="x", b="y")])
    rows = differences(small(comparisons=both.reset_index(drop=True)))
    assert rows[["a", "b", "diff"]].to_numpy().tolist() == [["bm25", "rrf", -0.1]]


def test_losses_are_counted_by_strategy_and_stage_and_fill_the_bar(findings):
    counts, losses = loss_counts(findings), findings.losses
    assert (
        counts.loc["rrf_dedup", "fusion"]
        == ((losses["strategy"] == "rrf_dedup") & (losses["stage"] == "fusion")).sum()
    )
    assert counts.to_numpy().sum() == len(losses)
    assert counts.columns[0] == "found"
    bar = segments(findings)
    for name, rows in bar.groupby("strategy"):
        assert rows["count"].sum() == (losses["strategy"] == name).sum()
        assert rows["start"].iloc[0] == 0
        assert rows["end"].iloc[-1] == pytest.approx(1)
        np.testing.assert_allclose(rows["start"].iloc[1:], rows["end"].iloc[:-1])


def test_the_front_holds_what_no_other_matches_at_less_cost():
    cost, quality = np.asarray([1.0, 2.0, 2.0, 3.0, 4.0]), np.asarray([0.3, 0.5, 0.4, 0.5, 0.6])
    assert pareto(cost, quality) == [True, True, False, False, True]  # .5 for 3 is .5 for 2 and wasted
    assert pareto(np.ones(2), np.ones(2)) == [True, True]  # twins do not beat each other


def test_strategies_without_a_cost_are_named_and_not_drawn():
    arms = {"bm25": {"state": "ran", "latency_p50_ms": 2.0, "index_bytes": 3_000_000}, "rrf": {"state": "ran"}}
    found = small(arms=arms)
    assert cost_points(found, "index_size")[["strategy", "cost", "mean"]].to_numpy().tolist() == [["bm25", 3.0, 0.5]]
    assert without_cost(found, "latency") == ["rrf"]


def test_names_beside_points_do_not_overlap():
    rng = np.random.default_rng(5)
    points = [(float(x), float(y)) for x, y in rng.uniform([40, 40], [460, 280], (20, 2))]
    names = [f"strategy_{at}" for at in range(20)]
    frame = Box(0, 0, 500, 320)
    boxes = place(points, names, frame)
    assert not any(a.overlaps(b) for at, a in enumerate(boxes) for b in boxes[:at])
    assert all(box.inside(frame) for box in boxes)
    assert boxes == place(points, names, frame)


def test_kinds_carry_their_number_of_questions(findings):
    rows = kind_cells(findings)
    sizes = findings.questions["kind"].value_counts()
    assert dict(zip(rows["kind"], rows["label"], strict=True)) == {
        kind: f"{kind}|n = {sizes[kind]}*" for kind in sorted(sizes.index)
    }
    assert rows["share"].min() == 0
    assert rows["share"].max() == 1


def test_a_sweep_is_the_means_over_its_values(findings):
    values = {"rrf_dedup": 0.5, "rrf_graph": 0.25}
    rows = sweep_rows(make_findings(6, 40, 10, ablation=Ablation("a", {}, {}, (), "fuser.alpha", values)))
    means = view.means(findings, "nDCG@5")
    found = rows[rows["metric"] == "nDCG@5"].set_index("value")["mean"]
    assert found.to_dict() == {values[name]: means[name][0] for name in values}
    assert not len(sweep_rows(findings))


def test_equal_rankings_share_a_role_and_a_floor_has_none():
    arms = {name: {"state": "ran", "fingerprint": "f" if name != "rrf" else "g"} for name in ("bm25", "rrf", "tfidf")}
    rows = small().summary
    rows = pd.concat([rows, rows[rows["strategy"] == "bm25"].assign(strategy="tfidf", mean=0.5)], ignore_index=True)
    assert view.roles(small(arms=arms, summary=rows)) == {"rrf": "winner", "bm25": "beaten", "tfidf": "beaten"}
    arms["tfidf"]["fingerprint"] = "h"
    assert view.roles(small(arms=arms, summary=rows))["tfidf"] == "not compared"
    open_ = Verdict("no verdict", "too few documents", "rrf", ("rrf", "bm25"))
    assert set(view.roles(small(verdict=open_)).values()) == {"no verdict"}


def test_cutoff_margin_and_ledger():
    assert [looked_at(name) for name in ("nDCG@5", "R@100", "RR", "EvRecall@1000w")] == [5, 100, 5, 5]
    assert view.margin(small()) is None
    assert view.margin(small(manifest={"primary": "nDCG@5", "config": {"eval": {"margin": 0.03}}})) == 0.03
    assert table.ledger_line(make_findings(2, 20, 10, readings=1)) == []
    assert (
        "27 configurations have read this test split: the best of 27"
        in table.ledger_line(make_findings(2, 20, 10))[0]
    )


def test_the_embedded_values_are_those_of_the_table(findings):
    data = payload(findings)
    qids = [question[0] for question in data["questions"]]
    for at, metric in enumerate(data["metrics"]):
        table = findings.per_query[findings.per_query["metric"] == metric]
        wide = table.pivot_table(index="strategy", columns="qid", values="value").loc[data["strategies"], qids]
        np.testing.assert_allclose(np.asarray(data["values"][at]) / SCALE, wide, atol=0.5 / SCALE)


def test_a_question_without_a_value_has_none():
    found = make_findings(3, 20, 10)
    kept = found.per_query[~((found.per_query["strategy"] == "rrf_dedup_mmr") & (found.per_query["qid"] == "q003"))]
    data = payload(make_findings(3, 20, 10, per_query=kept))
    row = data["strategies"].index("rrf_dedup_mmr")
    assert data["values"][0][row][3] == NONE
    assert NONE not in data["values"][0][row][:3]


def test_the_embedded_rankings_and_fates_are_those_of_the_tables(findings):
    data = payload(findings)
    ids = list(findings.passages["chunk_id"])
    shown = findings.shown.set_index(["strategy", "qid"])
    for arm, name in enumerate(data["strategies"]):
        for at in (0, 17, 39):
            qid, flat = data["questions"][at][0], data["shown"][arm][at]
            rows = shown.loc[(name, qid)].sort_values("rank")
            assert [ids[passage] for passage in flat[::2]] == list(rows["chunk_id"])
            assert flat[1::2] == list(rows["grade"])
    back = []
    for arm, name in enumerate(data["strategies"]):
        for question, flat in zip(data["questions"], data["fates"][arm], strict=True):
            for evidence, (grade, stage, path, *ranks) in enumerate(np.reshape(flat, (-1, 5)).tolist()):
                where = (data["stages"][stage], data["paths"][path])
                back.append((name, question[0], evidence, grade, *where, *ranks))
    assert sorted(back) == sorted(findings.losses.itertuples(index=False, name=None))


def test_the_table_opens_with_the_leader_and_the_next_best(findings):
    data = payload(findings)
    group = findings.verdict.group + findings.verdict.beaten
    assert [data["strategies"][at] for at in data["first"]] == list(group[:2])
    wanted = cells(findings)[["a", "b"]].to_numpy().tolist()
    assert [[data["strategies"][at] for at in pair] for pair in data["cells"]] == wanted


def test_json_cannot_end_a_script_element():
    hostile = {"</script><!--": "a\u2028b\u2029&<img src=x onerror=alert(1)>"}
    text = as_json(hostile)
    assert json.loads(text) == hostile
    assert not set("<>&\u2028\u2029") & set(text)

"""Levels: their rates with two intervals, and whether they are in order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, bootstrap

from evaluation.answers.levels import by_level, order


def claims_of(rates, per=20, documents=20, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        (level, f"d{document:02d}", float(rng.random() < rate))
        for level, rate in rates.items()
        for document in range(documents)
        for _ in range(per)
    ]
    return pd.DataFrame(rows, columns=["level", "cluster", "right"])


def test_rates_have_wilson_s_interval_as_scipy_has_it():
    claims = claims_of({"HIGH": 0.9, "LOW": 0.3}, 3)
    extra = pd.DataFrame({"level": ["HIGH"], "cluster": ["d00"], "right": [np.nan]})
    found = by_level(pd.concat([claims, extra]), "level", 0, 200).set_index("level")
    for level in ("HIGH", "LOW"):
        right = claims[claims["level"] == level]["right"]
        want = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
        assert found.loc[level, ["n", "rate"]].tolist() == [60, pytest.approx(right.mean())]
        assert found.loc[level, ["lo", "hi"]].tolist() == pytest.approx([want.low, want.high])
    assert found.loc["HIGH", "unlabelled"] == 1
    assert found.loc["MEDIUM", "n"] == 0
    assert np.isnan(found.loc["MEDIUM", "rate"])


def test_claims_that_are_right_together_widen_the_interval_by_documents():
    rng = np.random.default_rng(1)
    luck = np.repeat((rng.random(20) < 0.7).astype(float), 10)
    claims = pd.DataFrame({"level": "HIGH", "cluster": np.repeat([f"d{at}" for at in range(20)], 10), "right": luck})
    found = by_level(claims, "level", 0, 2000).iloc[0]
    # Ten copies of each document: Wilson takes them for 200 claims, the documents are 20.
    assert found["clustered_hi"] - found["clustered_lo"] > 2.5 * (found["hi"] - found["lo"])


def test_order_of_levels_that_differ_and_of_levels_that_do_not():
    apart = order(claims_of({"HIGH": 0.9, "MEDIUM": 0.6, "LOW": 0.3}), "level", 0, 999)
    assert apart[["higher", "lower"]].to_numpy().tolist() == [["HIGH", "MEDIUM"], ["MEDIUM", "LOW"]]
    assert apart["ordered"].all()
    assert (apart["p"] == 1 / 1000).all()
    assert (apart["lo"] > 0.2).all()
    turned = order(claims_of({"HIGH": 0.3, "LOW": 0.7}), "level", 0, 999).iloc[0]
    assert not turned["ordered"]
    assert turned["p"] == 1.0
    equal = [order(claims_of({"HIGH": 0.5, "LOW": 0.5}, 2, 20, seed), "level", 0, 199)["p"][0] for seed in range(100)]
    assert np.mean(np.asarray(equal) <= 0.05) <= 0.11


def test_the_difference_and_its_interval_agree_with_scipy():
    claims = claims_of({"HIGH": 0.8, "LOW": 0.5}, 1)
    found = order(claims, "level", 4, 4999).iloc[0]
    high, low = (claims[claims["level"] == level]["right"].to_numpy() for level in ("HIGH", "LOW"))
    want = bootstrap(
        (high, low),
        lambda a, b: a.mean() - b.mean(),
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=0,
    ).confidence_interval
    assert found["diff"] == pytest.approx(high.mean() - low.mean())
    assert found[["lo", "hi"]].tolist() == pytest.approx([want.low, want.high], abs=0.05)


def test_one_level_alone_has_no_order():
    assert order(claims_of({"HIGH": 0.9}), "level", 0, 99).empty

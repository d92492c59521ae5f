"""Intervals: against SciPy with the same draws, against slow loops over clusters, against coverage itself."""

import numpy as np
import pytest
from scipy import stats as scipy_stats
from threadpoolctl import threadpool_limits

from evaluation.errors import EvaluationError
from evaluation.stats import intervals, resample_counts, wilson


@pytest.fixture
def rng():
    return np.random.default_rng(20240501)


def scipy_ends(values, seed, method, resamples=10_000):
    result = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=resamples, method=method, rng=np.random.default_rng(seed)
    )
    return [result.confidence_interval.low, result.confidence_interval.high]


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_equal_to_scipy_with_the_same_draws(rng, ours, theirs):
    values = rng.beta(0.4, 0.9, (3, 150))
    values[2] = values[2] > 0.5  # 0/1 values: many resamples tie with the mean, and BCa counts half of them
    result = intervals(values, np.arange(150), seed=11, method=ours)
    for row in range(3):
        expected = scipy_ends(values[row], 11, theirs)
        np.testing.assert_allclose([result.lo[row], result.hi[row]], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_within_monte_carlo_error_of_scipy_with_other_draws(rng, ours, theirs):
    values = rng.beta(0.4, 0.9, 200)
    result = intervals(values, np.arange(200), seed=1, method=ours)
    # a 2.5 % quantile of 10,000 normal draws has a standard error of .0267 standard deviations; two of them, 4 sigma
    tolerance = 4 * np.sqrt(2) * 0.0267 * values.std() / np.sqrt(200)
    np.testing.assert_allclose([result.lo[0], result.hi[0]], scipy_ends(values, 2, theirs), rtol=0, atol=tolerance)


def slow_means(values, clusters, seed, resamples):
    """Draw clusters by index, lay their queries end to end, take the mean: one resample at a time."""
    groups = [values[clusters == name] for name in np.unique(clusters)]
    drawn = np.random.default_rng(seed).integers(0, len(groups), (resamples, len(groups)))
    return np.asarray([np.concatenate([groups[at] for at in row]).mean() for row in drawn])


def test_whole_clusters_are_drawn(rng):
    clusters = rng.integers(0, 14, 60).astype(str)
    values = rng.random((2, 60))
    result = intervals(values, clusters, seed=3, resamples=2_000, method="percentile")
    for row in range(2):
        expected = np.quantile(slow_means(values[row], clusters, 3, 2_000), [0.025, 0.975])
        np.testing.assert_allclose([result.lo[row], result.hi[row]], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.mean, values.mean(axis=1), rtol=0, atol=1e-12)
    assert list(result.n) == [60, 60]
    assert list(result.n_clusters) == [14, 14]


def test_bca_leaves_whole_clusters_out(rng):
    clusters = rng.integers(0, 12, 50)
    values = rng.random(50) ** 3
    result = intervals(values, clusters, seed=5, resamples=2_000, method="bca")
    means = slow_means(values, clusters, 5, 2_000)
    left_out = np.asarray([values[clusters != name].mean() for name in np.unique(clusters)])
    shift = left_out.mean() - left_out
    acceleration = (shift**3).sum() / (6 * (shift**2).sum() ** 1.5)
    bias = scipy_stats.norm.ppf((means < values.mean()).mean())
    shifted = bias + scipy_stats.norm.ppf([0.025, 0.975])
    ends = scipy_stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
    np.testing.assert_allclose([result.lo[0], result.hi[0]], np.quantile(means, ends), rtol=0, atol=1e-12)


def test_two_clusters_by_hand():
    # a: 1, 0; b: 1. Resamples aa (1/4): 2/4 = .5; ab, ba (1/2): 2/3; bb (1/4): 1. So 2.5 % = .5, 97.5 % = 1
    result = intervals([1.0, 0.0, 1.0], ["a", "a", "b"], seed=0, method="percentile")
    assert (result.mean[0], result.lo[0], result.hi[0]) == (pytest.approx(2 / 3, abs=1e-15), 0.5, 1.0)
    assert result.too_few[0]


def test_left_out_queries_and_empty_clusters_change_nothing(rng):
    values, clusters = rng.random(40), np.repeat(np.arange(20), 2)
    gaps = values.copy()
    gaps[[0, 1, 7]] = np.nan  # all of cluster 0 and half of cluster 3
    kept = ~np.isnan(gaps)
    whole, without = intervals(gaps, clusters, seed=9), intervals(values[kept], clusters[kept], seed=9)
    assert (whole.lo[0], whole.hi[0], whole.mean[0]) == (without.lo[0], without.hi[0], without.mean[0])
    assert (whole.n[0], whole.n_clusters[0]) == (37, 19)


def test_same_bits_in_any_company_order_and_number_of_threads(rng):
    values = rng.random((300, 90))
    values[::3, 4] = np.nan
    clusters = rng.integers(0, 41, 90)
    full = intervals(values, clusters, seed=2, resamples=500)
    for rows in ([17], [299, 3], rng.permutation(300), np.arange(60, 190)):
        part = intervals(values[rows], clusters, seed=2, resamples=500)
        for column in ("mean", "lo", "hi"):
            assert getattr(part, column).tobytes() == getattr(full, column)[rows].tobytes()
    with threadpool_limits(1):
        single = intervals(values, clusters, seed=2, resamples=500)
    assert single.lo.tobytes() == full.lo.tobytes()
    assert single.hi.tobytes() == full.hi.tobytes()


def test_same_bits_when_queries_are_reordered(rng):
    values, clusters = rng.random((2, 80)), rng.integers(0, 30, 80)
    order = rng.permutation(80)
    first = intervals(values, clusters, seed=2, resamples=500)
    second = intervals(values[:, order], clusters[order], seed=2, resamples=500)
    assert (first.mean.tobytes(), first.lo.tobytes()) == (second.mean.tobytes(), second.lo.tobytes())


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_grid_costs_nothing_that_counts(rng, scale):
    values = (rng.random((4, 500)) - 0.5) * scale
    result = intervals(values, np.arange(500), seed=0, resamples=100)
    np.testing.assert_allclose(result.mean, values.mean(axis=1), rtol=0, atol=1e-12 * scale)


def test_without_values_all_ends_are_unknown():
    result = intervals([[np.nan] * 3, [1.0, 0.5, 0.0]], ["a", "b", "c"], seed=0)
    assert np.isnan([result.mean[0], result.lo[0], result.hi[0]]).all()
    assert (result.n[0], result.n_clusters[0], result.too_few[0]) == (0, 0, True)
    assert result.mean[1] == 0.5


def test_no_queries_at_all():
    result = intervals(np.zeros((2, 0)), [], seed=0)
    assert np.isnan(result.mean).all()
    assert list(result.n) == [0, 0]


def test_one_cluster_has_a_mean_but_no_interval():
    result = intervals([0.25, 0.75], ["a", "a"], seed=0)
    assert result.mean[0] == 0.5
    assert np.isnan([result.lo[0], result.hi[0]]).all()


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_equal_values_give_an_interval_of_no_width(method):
    result = intervals([0.3] * 30, np.repeat(np.arange(12), [1, 4] * 6), seed=0, method=method)
    assert result.lo[0] == result.hi[0] == result.mean[0] == pytest.approx(0.3, abs=1e-13)
    assert not result.too_few[0]


def test_nine_clusters_are_too_few():
    values = np.linspace(0, 1, 10)
    assert intervals(values[:9], np.arange(9), seed=0, resamples=10).too_few[0]
    assert not intervals(values, np.arange(10), seed=0, resamples=10).too_few[0]


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (7, 7), (3, 20), (81, 263), (1, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_equals_scipy(successes, n, confidence):
    expected = scipy_stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose(wilson(successes, n, confidence), [expected.low, expected.high], rtol=0, atol=1e-12)


def test_wilson_by_hand():
    # 1 of 4, z = 1.96: centre (.25 + 3.8416/8) / (1 + 3.8416/4) = .73020/1.96040 = .37248
    # half 1.96 * sqrt(.1875/4 + 3.8416/64) / 1.96040 = 1.96 * .326917 / 1.96040 = .32685
    low, high = wilson([1], [4])
    assert low[0] == pytest.approx(0.37248 - 0.32685, abs=1e-4)
    assert high[0] == pytest.approx(0.37248 + 0.32685, abs=1e-4)
    assert np.isnan(wilson([0], [0])).all()


def test_wilson_only_for_binary_series_with_one_query_a_cluster():
    values = np.asarray([[1, 0, 1, 1.0], [1, 0, 1, 1.0]])
    result = intervals(values, ["a", "b", "c", "d"], seed=0, binary=[True, False])
    assert result.method == ("wilson", "bca")
    np.testing.assert_allclose([result.lo[0], result.hi[0]], np.ravel(wilson(3, 4)))
    assert intervals(values[:1], ["a", "b", "c", "c"], seed=0, binary=[True]).method == ("bca",)
    left_out = intervals([[1, 0, 1, np.nan]], ["a", "b", "c", "c"], seed=0, binary=[True])
    np.testing.assert_allclose([left_out.lo[0], left_out.hi[0]], np.ravel(wilson(2, 3)))


def test_counts_are_whole_draws_of_all_clusters():
    blocks = list(resample_counts(4, 700, 1_000))
    counts = np.concatenate(blocks)
    assert len(blocks) > 1
    assert counts.shape == (1_000, 700)
    assert (counts.sum(axis=1) == 700).all()
    drawn = np.random.default_rng(4).integers(0, 700, (1_000, 700))
    assert (counts[631] == np.bincount(drawn[631], minlength=700)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [0.5, np.inf], "clusters": ["a", "b"]}, "series 0 holds an infinite value"),
        ({"values": [0.5, 1.0], "clusters": ["a"]}, "need 2 clusters"),
        ({"values": [0.5, 1.0], "clusters": ["a", "b"], "binary": [True]}, "said to be 0/1"),
        ({"values": [0.5, 1.0], "clusters": ["a", "b"], "confidence": 95}, "write .95"),
    ],
)
def test_impossible_requests_say_why(arguments, message):
    with pytest.raises(EvaluationError, match=message):
        intervals(seed=0, **arguments)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_95_percent_intervals_cover_about_right(rng, method):
    # 800 experiments: 40 documents, 1 to 4 questions each, skewed scores, documents differ in difficulty.
    # True mean: Beta(a, 2 - a) has mean a / 2, and a is uniform on (.2, 1.4), so .4
    queries = np.repeat(np.arange(40), rng.integers(1, 5, 40))
    shape = rng.uniform(0.2, 1.4, (800, 40))[:, queries]
    values = rng.beta(shape, 2 - shape)
    result = intervals(values, queries, seed=6, resamples=1_000, method=method)
    covered = ((result.lo <= 0.4) & (result.hi >= 0.4)).mean()
    assert 0.92 <= covered <= 0.97
    ignoring_clusters = intervals(values, np.arange(len(queries)), seed=6, resamples=1_000, method=method)
    assert ((ignoring_clusters.lo <= 0.4) & (ignoring_clusters.hi >= 0.4)).mean() < covered - 0.02

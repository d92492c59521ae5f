"""Randomisation: against SciPy, against every flip of small data by hand, against slow loops over permutations."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import permutation_test
from threadpoolctl import threadpool_limits

from evaluation import families
from evaluation.errors import EvaluationError
from evaluation.families import holm, step_down, tukey
from evaluation.randomise import check_flips, equivalence, flips_for, sign_flips, signs

FIRST = np.asarray([[0, 1]])


@pytest.fixture
def rng():
    return np.random.default_rng(20240501)


def mean_of(a, b, axis):
    return (a - b).mean(axis=axis)


def test_within_half_a_percent_of_scipy_on_50_data_sets(rng):
    apart = []
    for at in range(50):
        n = int(rng.integers(6, 13))  # 2**12 flips at most: SciPy then takes every one of them
        values = rng.beta(0.5, 0.7, (2, n)).round(int(rng.integers(1, 6))) + np.asarray(
            [[0.15 * rng.random()], [0.0]]
        )
        sided = ("two-sided", "greater")[at % 2]
        theirs = permutation_test(
            tuple(values), mean_of, permutation_type="samples", n_resamples=np.inf, alternative=sided, vectorized=True
        )
        ours = sign_flips(values, FIRST, np.arange(n), seed=at, flips=400_000, alternative=sided)[0]
        apart.append(abs(ours - theirs.pvalue))
    assert max(apart) < 0.005
    # one standard error at p = .5 is .0008
    assert np.mean(apart) < 0.001


def exact(differences, shift=0.0, sided=True):
    """Share of all flips at least as extreme; `differences` are whole numbers, so the loop is exact."""
    kept = [
        sum(sign * (d + shift) for sign, d in zip(flip, differences, strict=True)) for flip in all_flips(differences)
    ]
    seen = sum(differences) + shift * len(differences)
    return np.mean([abs(total) >= abs(seen) if sided else total >= seen for total in kept])


def all_flips(differences):
    return product([1, -1], repeat=len(differences))


def test_every_flip_of_eight_clusters():
    # Differences 1 2 3 4 5 6 7 -1 (in tenths) add up to 27, with 29 the most. |sum| is 29 for 2 flips of 256, and 27
    # for 4 (one of the two differences of size 1 turned), so 6 of 256 in all.
    differences = [1, 2, 3, 4, 5, 6, 7, -1]
    assert exact(differences) == 6 / 256
    values = np.asarray([differences, [0] * 8]) / 10
    found = sign_flips(values, FIRST, np.arange(8), seed=4, flips=200_000)[0]
    assert found == pytest.approx(6 / 256, abs=4 * np.sqrt(0.0234 * 0.9766 / 200_000))
    one_sided = sign_flips(values, FIRST, np.arange(8), seed=4, flips=200_000, alternative="greater")[0]
    assert one_sided == pytest.approx(3 / 256, abs=4 * np.sqrt(0.0117 * 0.9883 / 200_000))


def test_equal_to_a_loop_over_the_same_signs(rng):
    differences = rng.integers(-6, 8, (3, 11))
    values = np.vstack([differences, np.zeros((1, 11), dtype=int)])
    flips = np.concatenate(list(signs(9, 11, 5_000))).astype(int) * 2 - 1
    assert flips.shape == (5_000, 11)
    for sided, name in ((True, "two-sided"), (False, "greater")):
        found = sign_flips(values, [[0, 3], [1, 3], [2, 3]], np.arange(11), 9, 5_000, 1.0, name)
        for row in range(3):
            shifted = differences[row] + 1
            totals, seen = flips @ shifted, shifted.sum()
            hits = (np.abs(totals) >= abs(seen)).sum() if sided else (totals >= seen).sum()
            assert found[row] == (1 + hits) / 5_001


def test_signs_are_fair_and_independent_of_how_many_are_asked_for():
    drawn = np.concatenate(list(signs(3, 21, 40_000)))
    assert abs(drawn.mean() - 0.5) < 4 * 0.5 / np.sqrt(drawn.size)
    correlation = np.corrcoef(drawn[:, :8].T)
    assert np.abs(correlation - np.eye(8)).max() < 5 / np.sqrt(40_000)
    assert (np.concatenate(list(signs(3, 21, 9_000))) == drawn[:9_000]).all()
    assert (np.concatenate(list(signs(4, 21, 40_000))) != drawn).any()


def test_clusters_flip_whole():
    # Three documents with sums of differences 3, 2 and 1, whatever the questions inside: of 8 flips only +++ and ---
    # reach 6, so p = 1/4. Flipping the six questions one by one would say 2/64.
    values = np.asarray([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], np.zeros(6)])
    clusters = ["b", "a", "b", "c", "a", "b"]
    found = sign_flips(values, FIRST, clusters, seed=1, flips=100_000)[0]
    assert found == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 100_000))
    alone = sign_flips(values, FIRST, np.arange(6), seed=1, flips=100_000)[0]
    assert alone == pytest.approx(2 / 64, abs=4 * np.sqrt(0.031 * 0.969 / 100_000))


def test_ties_count_although_no_binary_fraction_says_so():
    # 1/3 + 2/3 - 1 and 0.1 + 0.2 - 0.3 are 0 on paper; so is the mean, and every flip is at least as extreme as 0.
    values = np.asarray([[1 / 3, 2 / 3, 0.0, 0.1, 0.2, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0, 0.3]])
    assert sign_flips(values, FIRST, np.arange(6), seed=1, flips=1_000)[0] == 1.0
    # a cluster that adds up to 0 doubles every flip: p stays that of the other seven, 2/128
    values = np.asarray([[1.0] * 7 + [0.1, 0.2, -0.3], [0.0] * 10])
    found = sign_flips(values, FIRST, [*"abcdefgxxx"], seed=1, flips=200_000)[0]
    assert found == pytest.approx(2 / 128, abs=4 * np.sqrt(0.0156 * 0.9844 / 200_000))


def test_never_0_and_1_without_a_difference():
    values = np.asarray([np.ones(60), np.zeros(60), np.zeros(60)])
    found = sign_flips(values, [[0, 1], [1, 0], [1, 2]], np.arange(60), seed=1, flips=999)
    np.testing.assert_array_equal(found, [1 / 1_000, 1 / 1_000, 1.0])
    one_sided = sign_flips(values, [[0, 1], [1, 0], [1, 2]], np.arange(60), 1, 999, alternative="greater")
    np.testing.assert_array_equal(one_sided, [1 / 1_000, 1.0, 1.0])
    assert sign_flips(values, [[0, 1]], ["one"] * 60, seed=1, flips=999)[0] == 1.0  # one cluster says nothing


def test_the_same_bits_in_any_order(rng):
    values = rng.beta(0.5, 0.6, (6, 80))
    values[2, :5] = np.nan
    values[4, 70:] = np.nan
    clusters = rng.integers(0, 25, 80).astype(str)
    pairs = np.asarray(list(combinations(range(6), 2)))
    expected = sign_flips(values, pairs, clusters, seed=7, flips=20_000, shift=0.01)
    queries, series, order = rng.permutation(80), rng.permutation(6), rng.permutation(len(pairs))
    where = np.argsort(series)
    for threads in (1, 2):
        with threadpool_limits(threads):
            found = sign_flips(
                values[series][:, queries], where[pairs[order]], clusters[queries], 7, 20_000, shift=0.01
            )
        np.testing.assert_array_equal(found, expected[order])
    alone = [sign_flips(values[pair], FIRST, clusters, 7, 20_000, shift=0.01)[0] for pair in pairs]
    np.testing.assert_array_equal(alone, expected)
    turned = sign_flips(values, pairs[:, ::-1], clusters, seed=7, flips=20_000, shift=-0.01)
    np.testing.assert_array_equal(turned, expected)


def test_the_seed_matters_and_repeats(rng):
    values = rng.random((2, 40))
    first, again, other = (sign_flips(values, FIRST, np.arange(40), seed, 5_000)[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_pair_is_tested_on_its_common_queries(rng):
    values = rng.random((3, 50))
    values[0, :10], values[1, 5:20] = np.nan, np.nan
    clusters = np.repeat(np.arange(25), 2).astype(str)
    found = sign_flips(values, [[0, 1], [0, 2]], clusters, seed=3, flips=4_000)
    np.testing.assert_array_equal(found[0], sign_flips(values[:2, 20:], FIRST, clusters[20:], 3, 4_000)[0])
    np.testing.assert_array_equal(found[1], sign_flips(values[[0, 2], 10:], FIRST, clusters[10:], 3, 4_000)[0])
    values[1] = np.nan
    assert np.isnan(sign_flips(values, [[0, 1]], clusters, seed=3, flips=4_000)[0])


def test_equivalence_is_the_worse_of_two_one_sided_tests():
    # Eight differences of 0 with a margin of 1: both sides see eight times 1, of 256 flips only one reaches 8.
    values = np.zeros((2, 8))
    found = equivalence(values, FIRST, np.arange(8), seed=1, flips=200_000, margin=1.0)[0]
    assert found == pytest.approx(1 / 256, abs=4 * np.sqrt(0.0039 / 200_000))
    # Differences of 0.5: the upper side sees eight times 0.5, the lower eight times 1.5; both p are 1/256 again.
    # Differences of 2, beyond the margin: the upper side sees eight times -1, and every flip is higher or equal.
    assert equivalence(values + np.asarray([[2.0], [0.0]]), FIRST, np.arange(8), 1, 2_000, 1.0)[0] == 1.0
    assert equivalence(values + np.asarray([[0.0], [2.0]]), FIRST, np.arange(8), 1, 2_000, 1.0)[0] == 1.0
    # Differences 0 and 1 in turn, margin 1: the upper side is 1 0 1 0 1 0 1 0, so 16 of 256 flips reach 4; the lower
    # side is 1 2 1 2 1 2 1 2, 1 of 256. The larger counts.
    values[0, 1::2] = 1.0
    found = equivalence(values, FIRST, np.arange(8), seed=1, flips=200_000, margin=1.0)[0]
    assert found == pytest.approx(16 / 256, abs=4 * np.sqrt(0.0625 / 200_000))


def test_equivalence_does_not_depend_on_which_comes_first(rng):
    values = rng.normal(0, 0.1, (2, 60))
    pairs = np.asarray([[0, 1], [1, 0]])
    found = equivalence(values, pairs, np.arange(60), seed=2, flips=5_000, margin=0.03)
    assert found[0] == found[1]


def slow_tukey(values, clusters, rng, rounds):
    """Shuffle the series of one cluster at a time, put the queries back together, take the means."""
    groups = [np.flatnonzero(clusters == name) for name in np.unique(clusters)]
    means, ranges = values.mean(axis=1), np.empty(rounds)
    for at in range(rounds):
        shuffled = np.empty_like(values)
        for group in groups:
            shuffled[:, group] = values[rng.permutation(len(values))][:, group]
        ranges[at] = np.ptp(shuffled.mean(axis=1))
    apart = np.abs(means[:, None] - means)
    return (1 + (ranges >= apart[..., None] - 1e-12).sum(axis=-1)) / (1 + rounds)


def test_tukey_against_a_slow_loop(rng):
    values = rng.beta(0.6, 0.6, (4, 45)) + np.asarray([[0.0], [0.02], [0.15], [0.2]])
    clusters = rng.integers(0, 15, 45).astype(str)
    expected = slow_tukey(values, clusters, rng, 4_000)
    found = tukey(values, clusters, seed=5, rounds=40_000)
    assert np.unique(expected[expected < 1].round(2)).size > 3
    np.testing.assert_allclose(found, expected, rtol=0, atol=4.5 * 0.5 / np.sqrt(4_000))
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1.0)


def test_tukey_of_every_permutation_by_hand():
    # Two clusters, three series: sums (0 1 2) and (0 2 1). The second may lie against the first in 6 ways:
    # 0 1 2 + 0 1 2 = 0 2 4, range 4; + 0 2 1 = 0 3 3: 3; + 1 0 2 = 1 1 4: 3; + 1 2 0 = 1 3 2: 2; + 2 0 1 = 2 1 3: 2;
    # + 2 1 0 = 2 2 2: 0. Seen: sums 0 3 3. |0 - 3| is reached by 3 of 6, |3 - 3| by all.
    found = tukey(np.asarray([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]), ["x", "y"], seed=1, rounds=100_000)
    tolerance = 4 * 0.5 / np.sqrt(100_000)
    np.testing.assert_allclose(found, [[1, 0.5, 0.5], [0.5, 1, 1], [0.5, 1, 1]], rtol=0, atol=tolerance)


def test_tukey_of_two_series_is_a_sign_flip(rng):
    values = rng.random((2, 30)) + np.asarray([[0.1], [0.0]])
    clusters = np.repeat(np.arange(15), 2)
    flipped = sign_flips(values, FIRST, clusters, seed=1, flips=100_000)[0]
    assert 0.01 < flipped < 0.9
    found = tukey(values, clusters, seed=1, rounds=100_000)[0, 1]
    assert found == pytest.approx(flipped, abs=4 * np.sqrt(2) * 0.5 / np.sqrt(100_000))


def test_tukey_has_the_same_bits_in_any_order(rng):
    values = rng.random((5, 60))
    values[3, 7] = np.nan
    clusters = rng.integers(0, 20, 60).astype(str)
    expected = tukey(values, clusters, seed=3, rounds=5_000)
    queries, series = rng.permutation(60), rng.permutation(5)
    found = tukey(values[series][:, queries], clusters[queries], seed=3, rounds=5_000)
    np.testing.assert_array_equal(found, expected[np.ix_(series, series)])
    np.testing.assert_array_equal(
        tukey(np.delete(values, 7, axis=1), np.delete(clusters, 7), seed=3, rounds=5_000), expected
    )


def test_tukey_without_a_difference_and_without_queries():
    np.testing.assert_array_equal(tukey(np.full((3, 20), 0.1), np.arange(20), seed=1, rounds=100), np.ones((3, 3)))
    np.testing.assert_array_equal(
        tukey([[np.nan, 1.0], [1.0, np.nan]], ["a", "b"], 1, 100), [[1, np.nan], [np.nan, 1]]
    )
    np.testing.assert_array_equal(tukey([[0.1, 1.0]], ["a", "b"], 1, 100), [[1.0]])


def test_permutations_are_uniform():
    # four series with sums 0 1 2 3 and one cluster: each series gets each sum equally often
    totals = np.zeros(4)
    for seed in range(3):
        draws = np.random.default_rng(seed).integers(0, 2**32, (20_000, 1, 3), dtype=np.uint32)
        ranges = np.empty(20_000)
        families._permute(np.asarray([[0.0, 1.0, 2.0, 3.0]]), draws, ranges)
        assert (ranges == 3).all()  # every permutation keeps all four
    # two clusters: the sums of two independent permutations of 0 0 0 1 meet in the same series in 1 of 4
    draws = np.random.default_rng(1).integers(0, 2**32, (100_000, 2, 3), dtype=np.uint32)
    ranges = np.empty(100_000)
    families._permute(np.asarray([[0.0, 0.0, 0.0, 1.0]] * 2), draws, ranges)
    totals = np.bincount(ranges.astype(int), minlength=3)
    assert totals[0] == 0
    assert totals[2] / 100_000 == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 100_000))


def test_holm_by_hand():
    # Sorted .01 .02 .03 .04 times 4 3 2 1: .04 .06 .06 .04, and no less than the one before: .04 .06 .06 .06.
    np.testing.assert_allclose(holm(np.asarray([0.03, 0.01, 0.04, 0.02])), [0.06, 0.04, 0.06, 0.06])
    # Three tests (NaN is none): .5 * 1, .2 * 3 = .6, .4 * 2 = .8; .5 is raised to .8.
    np.testing.assert_allclose(holm(np.asarray([0.5, np.nan, 0.2, 0.4])), [0.8, np.nan, 0.6, 0.8])
    np.testing.assert_allclose(holm(np.asarray([0.7, 0.9])), [1.0, 1.0])
    assert holm(np.asarray([])).size == 0


def slow_holm(p):
    """Rejection by rejection: the smallest level at which the step-down procedure still gets to a hypothesis."""
    order, adjusted, so_far = np.argsort(p), np.empty(len(p)), 0.0
    for step, at in enumerate(order):
        so_far = max(so_far, min(1.0, p[at] * (len(p) - step)))
        adjusted[at] = so_far
    return adjusted


def test_holm_against_a_slow_loop(rng):
    for size in (1, 2, 17, 153):
        p = rng.random(size) ** 4
        np.testing.assert_allclose(holm(p), slow_holm(p), rtol=1e-15)


def test_flips_that_cannot_resolve_the_family_are_refused():
    # 153 comparisons at .05: a level of 1/3060, and ten times that many flips
    assert flips_for(153) == 30_600
    assert flips_for(1) == 200
    check_flips(30_600, 153, 0.05)
    with pytest.raises(EvaluationError, match=r"raise eval\.flips to at least 30600"):
        check_flips(30_599, 153, 0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sign_flips(np.zeros((2, 3)), FIRST, ["a", "b"], 1), "one cluster a query; there are 2"),
        (lambda: sign_flips(np.zeros((2, 2)), [[0, 2]], ["a", "b"], 1), "a pair names series 0 to 2; there are 2"),
        (lambda: sign_flips([[0, np.inf]], [[0, 0]], ["a", "b"], 1), "series 0 holds an infinite value"),
        (lambda: tukey(np.zeros((2, 2)), ["a", "b"], 1, rounds=0), "0 random draws"),
        (lambda: equivalence(np.zeros((2, 2)), FIRST, ["a", "b"], 1, 10, 0.0), "set a margin above 0"),
    ],
)
def test_wrong_requests_are_refused(call, message):
    with pytest.raises(EvaluationError, match=message):
        call()


def plain_step_down(values, pairs, clusters, seed, flips):
    """The same procedure as a book has it: t of cluster sums, one pair after the other, flips as rows."""
    labels = np.unique(clusters, return_inverse=True)[1]
    sums = np.stack([np.bincount(labels, weights=row) for row in values])
    apart = np.asarray([sums[a] - sums[b] for a, b in pairs])
    turned = np.concatenate(list(signs(seed, sums.shape[1], flips))).astype(float) * 2 - 1

    def t(total, square):
        return np.abs(total) / np.sqrt((square - total**2 / sums.shape[1]) / (sums.shape[1] - 1))

    observed = t(apart.sum(axis=1), (apart**2).sum(axis=1))
    drawn = t(turned @ apart.T, (apart**2).sum(axis=1))
    adjusted, last = np.empty(len(pairs)), 0.0
    left = np.argsort(-observed)
    for place, pair in enumerate(left):
        strongest = drawn[:, left[place:]].max(axis=1)
        last = max(last, (1 + (strongest >= observed[pair] - 1e-9).sum()) / (1 + flips))
        adjusted[pair] = last
    return adjusted


def test_step_down_is_the_textbook_procedure():
    rng = np.random.default_rng(9)
    clusters = np.repeat([f"d{row:02}" for row in range(14)], 3)
    values = rng.uniform(size=(5, 42)) + 0.12 * np.arange(5)[:, None]
    pairs = np.asarray(list(combinations(range(5), 2)))
    found = step_down(values, pairs, clusters, 3, 4_000)
    assert found.p == pytest.approx(plain_step_down(values, pairs, clusters, 3, 4_000))
    assert (found.p >= sign_flips(values, pairs, clusters, 3, 4_000)).all()
    assert 0.05 / 10 <= found.level <= 0.05


def test_step_down_of_one_pair_is_its_sign_flip_test():
    rng = np.random.default_rng(4)
    values, clusters = rng.uniform(size=(2, 30)), [f"d{row // 2}" for row in range(30)]
    found = step_down(values, [(0, 1)], clusters, 8, 5_000)
    assert found.p == pytest.approx(sign_flips(values, np.asarray([(0, 1)]), clusters, 8, 5_000))
    assert found.level == pytest.approx(0.05, abs=0.004)  # t of 15 documents stands for their flips


def test_step_down_does_not_depend_on_the_order_of_anything():
    rng = np.random.default_rng(6)
    values, clusters = rng.uniform(size=(4, 36)), np.asarray([f"d{row % 12:02}" for row in range(36)])
    pairs = np.asarray(list(combinations(range(4), 2)))
    found = step_down(values, pairs, clusters, 1, 3_000)
    queries, series = rng.permutation(36), np.asarray([2, 0, 3, 1])
    place = np.argsort(series)
    again = step_down(values[series][:, queries], place[pairs][::-1], clusters[queries], 1, 3_000)
    assert again.p[::-1].tolist() == found.p.tolist()
    assert again.level == found.level


def test_equal_copies_of_a_system_cost_no_power():
    """Holm would multiply by the number of copies."""
    rng = np.random.default_rng(12)
    base = rng.uniform(size=30)
    better = base + 0.1 + rng.normal(0, 0.2, 30)
    values, clusters = np.stack([base, better, *[better] * 8]), [f"d{row}" for row in range(30)]
    pairs = np.asarray([(0, row) for row in range(1, 10)])
    assert step_down(values, pairs, clusters, 0, 20_000).p == pytest.approx(
        np.full(9, sign_flips(values, pairs[:1], clusters, 0, 20_000)[0])
    )


def test_step_down_of_nothing_and_of_equal_systems():
    clusters = [f"d{row}" for row in range(12)]
    assert step_down(np.full((2, 12), np.nan), [(0, 1)], clusters, 0, 1_000).p.tolist() == pytest.approx(
        [np.nan], nan_ok=True
    )
    assert len(step_down(np.zeros((2, 12)), np.zeros((0, 2), int), clusters, 0, 1_000).p) == 0
    assert step_down(np.zeros((2, 12)), [(0, 1)], clusters, 0, 1_000).p.tolist() == [1.0]

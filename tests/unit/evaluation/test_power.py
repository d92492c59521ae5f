"""Power: against hand arithmetic, against SciPy's t tests, and against how often simulated benchmarks find it."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from evaluation.power import detectable, effect_size, questions_needed, standard_error


@pytest.fixture
def rng():
    return np.random.default_rng(20240501)


def test_standard_error_by_hand():
    # Documents x (1, 2) and y (3, 4, 5): n 5, mean 3. Residuals 3 - 2 * 3 = -3 and 12 - 3 * 3 = 3.
    # sqrt(2 / 1 * (9 + 9)) / 5 = 6 / 5
    clusters = ["y", "x", "y", "x", "y"]
    np.testing.assert_allclose(standard_error(np.asarray([[3.0, 1.0, 4.0, 2.0, 5.0]]), clusters), [1.2], rtol=1e-14)


def test_standard_error_of_single_queries_is_that_of_a_mean(rng):
    differences = rng.normal(0.1, 0.3, (4, 60))
    expected = scipy_stats.sem(differences, axis=1)
    np.testing.assert_allclose(standard_error(differences, np.arange(60)), expected, rtol=1e-12)


def test_standard_error_leaves_out_what_has_no_value(rng):
    differences = rng.normal(0, 1, (2, 30))
    differences[0, :7], differences[1, 25:] = np.nan, np.nan
    clusters = np.repeat(np.arange(10), 3)
    expected = [
        standard_error(differences[0, 7:], clusters[7:])[0],
        standard_error(differences[1, :25], clusters[:25])[0],
    ]
    np.testing.assert_allclose(standard_error(differences, clusters), expected, rtol=1e-12)
    gone = np.asarray([[np.nan, np.nan, 1.0, 2.0], [np.nan] * 4])
    assert np.isnan(standard_error(gone, ["a", "b", "c", "c"])).all()  # one document, and none


def test_standard_error_has_the_same_bits_in_any_order(rng):
    differences, clusters, order = rng.normal(0, 1, (3, 90)), rng.integers(0, 12, 90), rng.permutation(90)
    found = standard_error(differences[:, order], clusters[order])
    np.testing.assert_array_equal(found, standard_error(differences, clusters))
    np.testing.assert_array_equal(effect_size(differences[:, order]), effect_size(differences))


def test_standard_error_is_the_spread_of_simulated_means(rng):
    # 25 documents with 1 to 8 questions each, drawn anew, questions of a document alike
    means, errors = np.empty(4_000), np.empty(4_000)
    for at in range(4_000):
        sizes = rng.integers(1, 9, 25)
        members = np.repeat(np.arange(25), sizes)
        values = (rng.normal(0, 1, 25)[members] + rng.normal(0, 1, len(members)))[None]
        means[at], errors[at] = values.mean(), standard_error(values, members)[0]
    assert np.sqrt((errors**2).mean()) == pytest.approx(means.std(), rel=0.05)


def test_effect_size_by_hand():
    # 1 2 3: mean 2, standard deviation 1. All .1: the spread is 0. Zeros: no effect. One question: nothing to say.
    rows = np.asarray([[1.0, 2.0, 3.0, np.nan], [0.1] * 4, [0.0] * 4, [np.nan, np.nan, np.nan, 1.0], [-2.0] * 4])
    np.testing.assert_allclose(effect_size(rows), [2.0, np.inf, 0.0, np.nan, -np.inf])


def critical(n_clusters, alpha):
    return scipy_stats.t.ppf(1 - alpha / 2, n_clusters - 1)


@pytest.mark.parametrize(("n_clusters", "alpha"), [(2, 0.05), (10, 0.05), (50, 0.05), (300, 0.05), (40, 0.05 / 153)])
def test_detectable_is_found_with_the_stated_power(n_clusters, alpha):
    for power in (0.5, 0.8, 0.95):
        at = detectable([0.01, 0.0], n_clusters, alpha, power)
        found = scipy_stats.nct.sf(critical(n_clusters, alpha), n_clusters - 1, at[0] / 0.01)
        assert found == pytest.approx(power, abs=2e-3)
        assert at[1] == 0


def test_detectable_needs_two_documents():
    np.testing.assert_array_equal(np.isnan(detectable([0.1, 0.1, np.nan], [1, 2, 20])), [True, False, True])
    # many documents: the normal value (1.960 + 0.842) standard errors
    assert detectable(1.0, 10**6) == pytest.approx(2.8016, abs=1e-3)


@pytest.mark.parametrize("n_clusters", [3, 5, 12, 60])
def test_noncentral_t_and_not_the_short_form_has_the_power_in_simulated_benchmarks(rng, n_clusters):
    # means and spreads of 400,000 normal samples, straight from their distributions
    error, free = 1.0 / np.sqrt(n_clusters), n_clusters - 1
    spread = np.sqrt(rng.chisquare(free, 400_000) / free)
    noise = rng.normal(0, error, 400_000)

    def found(difference):
        return (np.abs(noise + difference) / (spread * error) > critical(n_clusters, 0.05)).mean()

    tolerance = 4 * np.sqrt(0.16 / 400_000)
    assert found(detectable(error, n_clusters)) == pytest.approx(0.8, abs=tolerance)
    short = (critical(n_clusters, 0.05) + scipy_stats.t.ppf(0.8, free)) * error
    if n_clusters < 10:
        assert abs(found(short) - 0.8) > tolerance


def test_questions_until_the_observed_difference_is_found(rng):
    # Twice the standard error at 40 documents of 3 questions; so many documents that power is .8 with a normal sample
    needed, claim = questions_needed(0.04, 0.02, 120, 40, margin=0.02)
    assert claim == "different"
    assert needed % 3 == 0
    documents = int(needed / 3)

    def power(count):
        away = 0.04 / (0.02 * np.sqrt(40 / count))
        return scipy_stats.nct.sf(critical(count, 0.05), count - 1, away)

    assert power(documents - 1) < 0.8 <= power(documents)
    # (1.96 + .84)**2 / 2**2 * 40 = 78.5 documents by the normal formula, a little more by t
    assert 78.5 < documents < 82


def test_questions_until_equivalence_is_shown(rng):
    needed, claim = questions_needed(0.005, 0.02, 40, 40, margin=0.02)
    assert claim == "equivalent"
    count = int(needed)
    error, free = 0.02 * np.sqrt(40 / count), count - 1

    def shown(truth):
        spread = error * np.sqrt(rng.chisquare(free, 400_000) / free)
        mean = rng.normal(truth, error, 400_000)
        bound = scipy_stats.t.ppf(0.95, free) * spread
        return ((mean + 0.02 > bound) & (0.02 - mean > bound)).mean()

    assert shown(0.005) == pytest.approx(0.8, abs=0.006)
    # at 0 both sides may fail: (1.645 + 1.282)**2 / 1**2 * 40 = 342.6 by the normal formula
    assert questions_needed(0.0, 0.02, 40, 40, margin=0.02)[0] == pytest.approx(343, abs=3)


def test_questions_of_many_pairs_at_once():
    needed, claim = questions_needed(
        [0.03, -0.03, 0.02, 0.0, 0.5, np.nan, 0.02 - 1e-9], [0.02, 0.02, 0.02, 0.0, 1e-9, 0.02, 0.02], 100, 20, 0.02
    )
    assert list(claim) == [
        "different",
        "different",
        "different",
        "equivalent",
        "different",
        "equivalent",
        "equivalent",
    ]
    assert needed[0] == needed[1] < needed[2]
    assert needed[3] == needed[4] == 10  # two documents of five questions: the fewest that have a spread
    assert np.isnan(needed[5])
    assert np.isinf(needed[6])  # just inside the margin: no number of questions tells that
    assert np.isinf(questions_needed(0.0, 0.02, 100, 20, margin=0.0)[0])
    stricter = questions_needed(0.03, 0.02, 100, 20, 0.02, alpha=0.05 / 153)[0]
    assert stricter > 1.5 * needed[0]

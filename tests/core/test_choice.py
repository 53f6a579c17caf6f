"""Scores after a choice: where they lie in the population; and a choice without a score."""

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo._data.units import Units
from sklearn_dpbo._privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.scoring._population import luck_of, population_interval

NOISELESS = 1e-3  # a scale of noise that is always 0
ACCURACY = make_private_scorer("accuracy").prepare([0, 1])
BRIER = make_private_scorer("neg_brier_score").prepare([0, 1])


def after_choice(k, m, T, scale=NOISELESS):
    return population_interval(ACCURACY, Units.of(m), NoisyCounts((int(k),), scale), T)


@pytest.mark.parametrize("T", [1, 2, 64, 4096])
def test_lower_ends_miss_with_the_probability_divided_by_the_candidates(T):
    assert norm.cdf(-1.959964 * luck_of(T)) == pytest.approx(0.025 / T, rel=1e-4)


@pytest.mark.parametrize(("k", "m", "T"), [(0, 30, 1), (17, 30, 8), (30, 30, 64), (480, 500, 256)])
def test_without_noise_of_gains_of_0_and_1_it_is_the_interval_of_clopper_and_pearson(k, m, T):
    low = beta.ppf(0.025 / T, k, m - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, m - k) if k < m else 1.0
    assert after_choice(k, m, T) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("m", [20, 150])
@pytest.mark.parametrize("T", [1, 8, 64])
def test_the_luckiest_of_equal_candidates_is_covered_exactly(m, T):
    """All candidates have the probability p to be right, independently: the worst case."""
    k, ends = np.arange(m + 1), np.array([after_choice(k, m, T) for k in range(m + 1)])
    naive = np.array([after_choice(k, m, 1) for k in range(m + 1)])
    covered, naively = [], []
    for p in np.linspace(0.02, 0.98, 49):
        chosen = np.diff(binom.cdf(k, m, p) ** T, prepend=0.0)  # of the largest of T
        for found, (low, high) in ((covered, ends.T), (naively, naive.T)):
            found.append(chosen[(low <= p) & (p <= high)].sum())
    assert min(covered) >= 0.95
    assert T == 1 or min(naively) < 0.9


def test_noise_is_fresh_and_joins_in_quadrature():
    m, scale = 500, 20.0
    noise = NoisyCounts((0,), scale).interval(0.95)[0][1] / m
    (low, high), (a, b) = after_choice(400, m, 64, scale), after_choice(400, m, 64)
    assert (low, high) == pytest.approx(
        (0.8 - np.hypot(0.8 - a, noise), 0.8 + np.hypot(b - 0.8, noise))
    )


def of_gains(g, T=1, scale=NOISELESS, scorer=BRIER):
    """The interval for the mean of these gains in [0, 1]."""
    G, g = 2**20, np.asarray(g)
    counts = round(g.sum() * G), round((g * (1 - g)).sum() * G)
    found = population_interval(scorer, Units.of(len(g)), NoisyCounts(counts, scale * G), T)
    return np.array(found) + 1


def test_the_second_sum_says_how_precise_a_mean_is(rng):
    g = rng.beta(8, 2, 2_000)
    low, high = of_gains(g)
    assert high - low == pytest.approx(2 * 1.96 * g.std() / np.sqrt(len(g)), rel=0.05)
    worst = np.repeat([1.0, 0.0], [1_600, 400])  # of the same mean
    assert np.ptp(of_gains(worst)) > 2 * (high - low)


def test_noise_in_the_second_sum_never_shortens_the_interval_to_nothing(rng):
    for mean in (0.0, 0.5, 1.0):
        low, high = of_gains(np.full(300, mean), scale=50.0)
        assert 0 <= low <= mean <= high <= 1 and high - low > 0.1


def test_only_the_lower_end_depends_on_the_choice(rng):
    g = rng.beta(8, 2, 500)
    ends = np.array([of_gains(g, T) for T in (1, 8, 64, 256)])
    assert (np.diff(ends[:, 0]) < 0).all() and np.ptp(ends[:, 1]) == 0


def test_nothing_is_claimed_after_a_choice_among_an_unknown_number():
    assert after_choice(5, 10, None) is None

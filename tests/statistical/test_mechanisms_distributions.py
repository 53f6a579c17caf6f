"""Draws of the mechanisms have their exact distributions, and tests detect half of the noise.

Right noise fails a test once in a million runs. Half of the noise passes a test of 5,000 draws with
a probability below 1e-24 (from the non-central chi-squared distribution). 20,000 draws also detect
noise that is a fifth too small, and take seconds from OpenDP.
"""

import math

import numpy as np
import pytest
from distributions import chi_square_p, discrete_laplace_pmf, permute_and_flip_pmf

from sklearn_dpbo.privacy.accounting import Budget
from sklearn_dpbo.privacy.mechanisms import Mechanisms
from sklearn_dpbo.privacy.noise import Noise, SeededNoise
from sklearn_dpbo.privacy.sensitive import Sensitive

ALPHA = 1e-6


def seeded():
    return SeededNoise(0)


every_source = pytest.mark.parametrize(
    ("source", "n_draws"),
    [
        pytest.param(seeded, 2_000, id="seed"),
        pytest.param(Noise, 1_000, id="opendp"),
        pytest.param(seeded, 20_000, id="seed-many", marks=pytest.mark.slow),
        pytest.param(Noise, 20_000, id="opendp-many", marks=pytest.mark.slow),
    ],
)


def draw_selections(scores, epsilon, sensitivity, noise, n_draws):
    sensitive = Sensitive(np.array(scores)[:, None], sensitivity)
    picks = [
        Mechanisms(Budget(epsilon), noise).select(sensitive, epsilon, purpose="a test")
        for _ in range(n_draws)
    ]
    return np.bincount(picks, minlength=len(scores))


def draw_counts(count, epsilon, sensitivity, noise, n_draws):
    sensitive = Sensitive([[count]], sensitivity)
    released = []
    for _ in range(n_draws):
        mechanisms = Mechanisms(Budget(epsilon), noise)
        released += mechanisms.release_counts(sensitive, epsilon, purpose="a test").counts
    return np.array(released)


def laplace_p(released, count, scale):
    """P-value of discrete Laplace noise; differences beyond 40 are taken together."""
    z = np.arange(-40, 41)
    inside = np.clip(released - count, -40, 40)
    pmf = discrete_laplace_pmf(z, scale)
    tail = math.exp(-1 / scale)
    pmf[[0, -1]] = pmf[0] / (1 - tail)
    return chi_square_p(np.bincount(inside + 40, minlength=81), pmf)


@pytest.mark.first(1)
@every_source
@pytest.mark.parametrize(("scores", "sensitivity"), [([7, 10, 9, 4], 1), ([0, 3000, 4000], 1024)])
def test_selection_has_permute_and_flip_distribution(scores, sensitivity, source, n_draws):
    observed = draw_selections(scores, 0.8, sensitivity, source(), n_draws)
    assert chi_square_p(observed, permute_and_flip_pmf(scores, 0.8, sensitivity)) > ALPHA
    assert chi_square_p(observed, permute_and_flip_pmf(scores, 1.6, sensitivity)) < ALPHA


@pytest.mark.first(1)
@every_source
def test_counts_have_discrete_laplace_noise(source, n_draws):
    released = draw_counts(500, 0.4, 2, source(), n_draws)
    assert laplace_p(released, 500, scale=5.0) > ALPHA
    assert laplace_p(released, 500, scale=2.5) < ALPHA


@pytest.mark.slow
def test_selection_is_within_stated_distance_of_best():
    """With probability 1 - e^-t, within (2 D / epsilon) (ln n + t) of the largest."""
    scores, epsilon, t, n_draws = [100] + [80] * 15, 0.3, 0.5, 5_000
    bound = 2 / epsilon * (math.log(len(scores)) + t)
    observed = draw_selections(scores, epsilon, 1, SeededNoise(1), n_draws)
    far = observed[[100 - s > bound for s in scores]].sum() / n_draws
    assert bound > 100 - 80 or far <= math.exp(-t) + 0.01
    tight = [100] + [int(100 - bound) - 1] * 15
    far = draw_selections(tight, epsilon, 1, SeededNoise(1), n_draws)[1:].sum() / n_draws
    assert 0 < far <= math.exp(-t)

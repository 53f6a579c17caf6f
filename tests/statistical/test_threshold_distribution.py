"""Threshold and score have their distributions, and an audit detects half of the noise."""

import numpy as np
import pytest
from distributions import chi_square_p, discrete_laplace_pmf
from scipy.stats import chisquare
from thresholds import GRID, FirstColumn, data_of, fitted

from sklearn_dpbo.privacy import mechanisms
from sklearn_dpbo.privacy.mechanisms import Mechanisms

ALPHA = 1e-6


@pytest.mark.slow
def test_threshold_has_exponential_mechanism_distribution():
    """Of 800 draws, twice or half the epsilon would pass with a probability of 2e-8."""
    labels, x = [0, 1, 1, 0, 1], [0.25, 0.35, 0.5, 0.5, 1.0]
    drawn = [
        fitted(data_of(labels, x), FirstColumn(), scoring="accuracy", thresholds=GRID, epsilon=4.0,
               score_share=0.5, seed=i).best_threshold_ for i in range(800)
    ]  # fmt: skip
    observed = np.array([drawn.count(t) for t in GRID])
    right = np.array([sum((s >= t) == y for s, y in zip(x, labels, strict=True)) for t in GRID])

    def p(epsilon):
        weight = np.exp(epsilon * right / 2)
        return chisquare(observed, weight / weight.sum() * len(drawn)).pvalue

    assert p(2.0) > ALPHA and p(4.0) < ALPHA and p(1.0) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_counts_at_the_threshold_have_laplace_noise_of_their_joint_sensitivity(half, monkeypatch):
    """One record moves two cells of the confusion matrix by 1: the scale is 2 / epsilon."""
    if half:
        right = mechanisms._scale
        monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    released, release = [], Mechanisms.release_counts

    def spied(self, counts, *args, **kwargs):
        released.append(release(self, counts, *args, **kwargs))
        return released[-1]

    monkeypatch.setattr(Mechanisms, "release_counts", spied)
    data = data_of([0] * 60 + [1] * 40)  # from both thresholds on, all are predicted positive
    for seed in range(250):
        fitted(data, FirstColumn(), scoring="f1", thresholds=[0.0, 0.1], epsilon=1.0,
               score_share=0.5, seed=seed)  # fmt: skip
    noise = np.array([noisy.counts for noisy in released]) - [0, 60, 0, 40, 0, 0]

    def p(scale):
        z = np.arange(-30, 31)
        observed = np.bincount(np.clip(noise.ravel(), -30, 30) + 30, minlength=61)
        return chi_square_p(observed, discrete_laplace_pmf(z, scale))

    assert (p(4.0) > ALPHA) != half and (p(2.0) > ALPHA) == half

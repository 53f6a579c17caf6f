"""The draw of the threshold has its distribution, and an audit detects half of the noise."""

import numpy as np
import pytest
from scipy.stats import chisquare
from thresholds import GRID, FirstColumn, data_of, fitted

from sklearn_dpbo import PrivateThresholdClassifier
from sklearn_dpbo._privacy import mechanisms
from sklearn_dpbo.audit import audit_search

ALPHA = 1e-6


def test_threshold_has_exponential_mechanism_distribution():
    """Of 1,500 draws, twice or half the epsilon would pass with a probability of 2e-8."""
    labels, x = [0, 1, 1, 0, 1], [0.25, 0.35, 0.5, 0.5, 1.0]
    drawn = [
        fitted(data_of(labels, x), FirstColumn(), scoring="accuracy", thresholds=GRID, epsilon=4.0,
               score_share=0.5, noise_random_state=i).best_threshold_ for i in range(1500)
    ]  # fmt: skip
    observed = np.array([drawn.count(t) for t in GRID])
    right = np.array([sum((s >= t) == y for s, y in zip(x, labels, strict=True)) for t in GRID])

    def p(epsilon):
        weight = np.exp(epsilon * right / 2)
        return chisquare(observed, weight / weight.sum() * len(drawn)).pvalue

    assert p(2.0) > ALPHA and p(4.0) < ALPHA and p(1.0) < ALPHA


@pytest.mark.parametrize("half", [False, True])
def test_audit_refutes_epsilon_of_threshold_only_with_half_noise(half, monkeypatch):
    """All decision values are 0.5, so a threshold assigns one class to all; half are of each.

    With 1,000 runs the bound is about 1.0 with the right noise, and about 2.3 with half of it.
    """
    if half:
        right = mechanisms._scale
        monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    tuned = PrivateThresholdClassifier(
        FirstColumn(), scoring="accuracy", thresholds=[0.0, 1.0], epsilon=2.0, random_state=0
    )
    X, y, X_val, held_out = data_of([0] * 5 + [1] * 4)
    neighbour = data_of([0] * 4 + [1] * 5)[3]
    report = audit_search(
        tuned, (X, y), (X_val, held_out), (X_val, neighbour), 1000, random_state=0
    )
    assert report.refuted == half
    assert report.epsilon_lower_bound > 0.8

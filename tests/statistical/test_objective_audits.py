"""Audits of what calls of an objective release; and how often the interval of the best holds."""

from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_dpbo import PrivateObjective
from sklearn_dpbo._privacy.accounting import Budget
from sklearn_dpbo._privacy.mechanisms import COUNTS, Mechanisms, Price
from sklearn_dpbo._privacy.noise import Noise
from sklearn_dpbo._privacy.sensitive import Sensitive
from sklearn_dpbo.audit import audit_mechanism

pytestmark = pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning")
X, Y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
EPSILON = 2.0


class Says(ClassifierMixin, BaseEstimator):
    """Predicts one class, whatever the record."""

    def __init__(self, label=0, which=0):
        self.label, self.which = label, which

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


def answers(count, delta):
    """Release a count four times, with the noise that calls of an objective have.

    Return what tells 10 from 11 best: of Gaussian noise, the sum; else, how many are 11 or more.
    """
    calls = Mechanisms(Budget(EPSILON, delta), Noise()).answers(
        Price.shared(4, EPSILON, delta, COUNTS), purpose="audit"
    )
    found = [calls(Sensitive([[count]], 1)).counts[0] for _ in range(4)]
    return sum(found) if delta else sum(n >= 11 for n in found)


def with_half_the_noise(monkeypatch):
    scale = Price.scale
    monkeypatch.setattr(Price, "scale", lambda *args: scale(*args) / 2)


def bound(mechanism, pair, n, **params):
    report = audit_mechanism(mechanism, pair, n, epsilon=EPSILON, confidence=0.95, **params)
    return report.epsilon_lower_bound


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("delta", [0.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_answers_tell_neighbours_apart_no_better_than_epsilon_says(delta, half, monkeypatch):
    assert Price.shared(4, EPSILON, delta, COUNTS).concentrated == bool(delta)
    if half:
        with_half_the_noise(monkeypatch)
    found = bound(partial(answers, delta=delta), (10, 11), 4_000, delta=delta)
    assert (found > EPSILON) == half


@pytest.mark.slow
def test_the_interval_of_the_largest_holds_however_one_stops():
    """Stops as soon as the interval excludes the truth; n_calls intervals hold together."""
    missed, n_runs = 0, 150
    for seed in range(n_runs):
        objective = PrivateObjective(
            Says(), X, Y, np.zeros((50, 1)), np.arange(50) % 2, epsilon=1.0, n_calls=12,
            best_share=0, noise_random_state=seed, prediction="together",
        )  # fmt: skip
        for which in range(12):
            objective({"which": which})
            low, high = objective.best().interval
            if not low <= 0.5 <= high:
                missed += 1
                break
    assert missed <= stats.binom(n_runs, 0.05).ppf(0.999)

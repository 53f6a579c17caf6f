"""Neighbouring validation sets through the whole estimator: what an attacker can tell.

Two searches, on validation sets V and V' that differ in one record, are run many times. From the
outputs we bound from below the epsilon that any mechanism with such outputs must have
(Clopper-Pearson), on an event that was chosen on other runs. The bound must stay under the
epsilon asked for, and be at least half of it: an audit that cannot see is no audit.
"""

import math

import numpy as np
import pytest
from conftest import epsilon_lower_bound
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_dpbo import PrivateBayesSearchCV, mechanisms
from sklearn_dpbo.strategies import WorstCase, _guidance, _private

EPSILON = 2.0
M = 21


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts one class. Two of them disagree on every record: the worst case for a selection."""

    def __init__(self, label=0, x=0.0):
        self.label, self.x = label, x

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


def outputs(n_ones, n_runs, seed, epsilon, guidance=None, delta=0.0):
    """(chosen label, released count, draws of class 1) of n_runs searches on M records."""
    grid, strategy = {"label": [0, 1]}, "worst_case"
    if guidance is not None:
        grid = {"label": [0, 1], "x": uniform(0, 1)}
        # Both labels are among the validated, whatever the training set says of them.
        both = [{"label": label, "x": 0.5} for label in (0, 1)]
        strategy = WorstCase(guidance, initial_points=both)
    y_val = (np.arange(M) < n_ones).astype(int)
    data = dict(X=np.zeros((4, 1)), y=[0, 0, 1, 1], X_val=np.zeros((M, 1)), y_val=y_val)
    found = []
    for i in range(n_runs):
        search = PrivateBayesSearchCV(
            Constant(), grid, epsilon=epsilon, delta=delta, n_iter=8, refit=False, random_state=0,
            noise_random_state=None if seed is None else seed + i, strategy=strategy,
        ).fit(**data)  # fmt: skip
        path = search.cv_results_["param_label"][search.cv_results_["validated"]]
        ones = int(np.sum(path[-3:].astype(int)))
        found.append((search.best_params_["label"], round(search.best_score_ * M), ones))
    return np.array(found)


def in_event(found, label, threshold, above, ones):
    """Chosen label, released count on one side, and at least (at most) so many draws of 1."""
    side = found[:, 1] >= threshold if above else found[:, 1] <= threshold
    drawn = found[:, 2] >= ones if ones >= 0 else found[:, 2] <= -ones
    return (found[:, 0] == label) & side & drawn


EVENTS = [
    lambda found, event=(label, t, above, ones): in_event(found, *event)
    for label in (0, 1) for t in range(M + 1) for above in (0, 1) for ones in (0, -2, -1, 2, 3)
]  # fmt: skip


def audit(n_runs, seed, epsilon=EPSILON, **guidance):
    """V has one more record of class 0, V' one more of class 1: every score moves."""
    of_v = outputs((M - 1) // 2, n_runs, seed, epsilon, **guidance)
    other = None if seed is None else seed + 10**6
    of_neighbour = outputs((M + 1) // 2, n_runs, other, epsilon, **guidance)
    return max(
        epsilon_lower_bound(p, q, EVENTS) for p, q in ((of_v, of_neighbour), (of_neighbour, of_v))
    )


@pytest.mark.parametrize("seed", [None, 0], ids=["OpenDP", "seeded"])
def test_the_whole_estimator_keeps_its_promise_and_the_audit_can_see(seed):
    bound = audit(3000, seed)
    assert EPSILON / 2 <= bound <= EPSILON


def test_the_audit_catches_half_the_noise(monkeypatch):
    right = mechanisms._scale
    monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    assert audit(3000, 0) > EPSILON


def test_the_audit_catches_a_forgotten_split_of_the_budget(monkeypatch):
    def twice(numerator, epsilon):
        return numerator / EPSILON

    monkeypatch.setattr(mechanisms, "_scale", twice)
    assert audit(3000, 0) > EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_promises_of_other_sizes(epsilon):
    assert epsilon / 2 <= audit(12_000, None, epsilon) <= epsilon


@pytest.fixture
def guided(monkeypatch):
    """Make draws however little they tell, and of few points, so that runs are short."""
    monkeypatch.setattr(_private, "_TOLERANCE", math.inf)
    monkeypatch.setattr(_guidance, "_POOL", 16)
    monkeypatch.setattr("sklearn_dpbo.strategies._proposals._POINTS_PER_RADIUS", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guidance", "delta"),
    [("public", 0.0), ("private", 0.0), ("private", 1e-3), ("both", 0.0), ("both", 1e-3)],
)
def test_each_guidance_keeps_the_promise(guided, guidance, delta):
    """delta is far below what so few runs could see, so the bound must stay below epsilon.

    What is spent on draws shows only in part: they are many, small, and point the same way.
    """
    bound = audit(2000, 0, guidance=guidance, delta=delta)
    assert EPSILON / 3 <= bound <= EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("guidance", ["public", "private"])
def test_the_audit_catches_half_the_noise_of_guidance(guided, guidance, monkeypatch):
    right = mechanisms._scale
    monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    assert audit(2000, 0, guidance=guidance) > EPSILON

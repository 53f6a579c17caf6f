"""Intervals of evaluations cover the numbers of the records, and their noise is what it should be.

The numbers that must be covered are scikit-learn's, without bins.
"""

import numpy as np
import pytest
from evaluations import Known
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    mean_absolute_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)

from sklearn_dpbo.scoring import _intervals

N_RUNS = 100
# An interval that covers 95 % fails this once in 50,000 runs of the test.
FEWEST = int(binom.ppf(2e-5, N_RUNS, 0.95))


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """Simulate a quarter of the noise, to save time."""
    monkeypatch.setattr(_intervals, "_N_DRAWS", 1000, raising=False)


def two_classes(m, prevalence, rng):
    def draw(n):
        y = (rng.random(n) < prevalence).astype(int)
        return np.stack([rng.standard_normal(n) + 1.3 * y, rng.standard_normal(n)], axis=1), y

    return draw(1000), draw(m)


def binary_truth(model, X, y):
    p, label = model.predict_proba(X)[:, 1], model.predict(X)
    return {
        "accuracy": accuracy_score(y, label),
        "precision": precision_score(y, label, zero_division=0),
        "recall": recall_score(y, label),
        "f1": f1_score(y, label),
        "roc_auc": roc_auc_score(y, p),
        "average_precision": average_precision_score(y, p),
        "brier_score": brier_score_loss(y, p),
        "prevalence": y.mean(),
    }


@pytest.mark.parametrize(
    "m, epsilon, prevalence",
    [
        (1000, 0.5, 0.1),
        pytest.param(300, 2.0, 0.5, marks=pytest.mark.slow),
        pytest.param(1000, 0.5, 0.5, marks=pytest.mark.slow),
        pytest.param(4000, 0.5, 0.1, marks=pytest.mark.slow),
        pytest.param(4000, 2.0, 0.3, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_a_classifier_cover(m, epsilon, prevalence, rng):
    public, protected = two_classes(m, prevalence, rng)
    model = LogisticRegression().fit(*public)
    known = Known(model, public, protected, epsilon)
    covered = known.covered(binary_truth(model, *protected), N_RUNS)
    assert min(covered.values()) >= FEWEST, covered


@pytest.mark.slow
def test_intervals_of_groups_cover(rng):
    public, (X, y) = two_classes(2000, 0.3, rng)
    model, groups = LogisticRegression().fit(*public), rng.integers(1000, size=2000)
    weight = 1 / np.bincount(groups)[groups]
    p, label = model.predict_proba(X)[:, 1], model.predict(X)
    truth = {
        "accuracy": accuracy_score(y, label, sample_weight=weight),
        "roc_auc": roc_auc_score(y, p, sample_weight=weight),
        "f1": f1_score(y, label, sample_weight=weight),
    }
    covered = Known(model, public, (X, y), 0.5, groups).covered(truth, N_RUNS)
    assert min(covered.values()) >= FEWEST, covered


@pytest.mark.slow
def test_intervals_of_three_classes_cover(rng):
    y = rng.integers(3, size=5000)
    X = rng.standard_normal((5000, 3)) + 1.2 * np.eye(3)[y]
    public, protected = (X[:1000], y[:1000]), (X[1000:], y[1000:])
    model = LogisticRegression().fit(*public)
    p, label = model.predict_proba(protected[0]), model.predict(protected[0])
    truth = {
        "f1_macro": f1_score(protected[1], label, average="macro"),
        "balanced_accuracy": recall_score(protected[1], label, average="macro"),
        "roc_auc_ovr": roc_auc_score(protected[1], p, multi_class="ovr"),
    }
    covered = Known(model, public, protected, 1.0).covered(truth, N_RUNS)
    assert min(covered.values()) >= FEWEST, covered


def test_intervals_of_a_regressor_cover(rng):
    X = rng.standard_normal((5000, 2))
    y = X @ [3.0, 1.0] + rng.standard_normal(5000)
    public, (X_val, y_val) = (X[:1000], y[:1000]), (X[1000:], y[1000:])
    model = LinearRegression().fit(*public)
    predicted = model.predict(X_val)
    known = Known(model, public, (X_val, y_val), 1.0)
    truth = {
        "r2": r2_score(y_val, predicted),
        "mean_absolute_error": mean_absolute_error(y_val, predicted),
        "root_mean_squared_error": root_mean_squared_error(y_val, predicted),
        "mean_error": np.mean(y_val - predicted),
    }
    covered = known.covered(truth, N_RUNS)
    assert min(covered.values()) >= FEWEST, covered


def test_twice_the_noise_is_not_covered(rng):
    """The pair of the tests above: they notice intervals of half the length."""
    public, protected = two_classes(1000, 0.5, rng)
    model = LogisticRegression().fit(*public)
    known = Known(model, public, protected, 0.5)
    truth = binary_truth(model, *protected)
    covered = known.covered({name: truth[name] for name in ("accuracy", "recall")}, N_RUNS, 2.0)
    assert max(covered.values()) < FEWEST, covered


def test_what_bins_hide_of_the_brier_score_lies_in_its_interval(rng):
    """Without noise: public probabilities of a model that was fitted on them are not those."""
    public, (X, y) = two_classes(2000, 0.3, rng)
    model = RandomForestClassifier(30, max_depth=8, random_state=0).fit(*public)
    known = Known(model, public, (X, y), epsilon=1e6)
    value, low, high = known.fresh(rng).score("brier_score")
    exact = brier_score_loss(y, model.predict_proba(X)[:, 1])
    assert low <= exact <= high and low < value < high

"""Noise of whole searches and evaluations: released integers less the exact ones.

They have exactly the distribution, and the scale, that the documentation states ("How a score is
released"). Right noise fails a test once in a million runs; and each test fails if the noise is
half of what is stated: the same draws are compared with twice the scale.
"""

import math

import numpy as np
import pytest
from few import few
from scipy.stats import kstest, norm
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from sklearn_dpbo import PrivateBayesSearchCV, private_evaluation
from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.privacy import mechanisms
from sklearn_dpbo.privacy.gdp import gdp_within
from sklearn_dpbo.testing import seeded_noise

ALPHA = 1e-6
M, K, EPSILON, DELTA, GRID = 100, 8, 0.5, 0.01, 2**20
SCORE = 0.4 * EPSILON  # what the choice leaves
# Squares and what they are of do not change most at the same time; see the proofs.
SUMS = (1 + 0.75 + 0.08 + 0.06 + 0.08**2 / 3 + 0.06**2 / 4) * GRID
# Two thirds of epsilon pay for sums, which attain their sensitivity at e 0 to 1, t -3/8 to 1.
ERRORS = (1.75 + 1.27026) * GRID


def records(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    if n_classes is None:
        return X, X[:, 0] + rng.standard_normal(n)
    return X, np.arange(n) % n_classes


def searched(scoring, n_classes=K, candidates=2, **params):
    """Return a function that makes a search, given the seed of its noise."""
    model, name = (Ridge(), "alpha") if n_classes is None else (LogisticRegression(), "C")
    grid = {name: np.arange(1.0, 1 + candidates)}
    params = {"epsilon": EPSILON, "refit": False} | params
    groups = params.pop("groups", None)
    search = PrivateBayesSearchCV(model, grid, scoring=scoring, **params)
    train, (X_val, y_val) = records(64, n_classes, 0), records(M, n_classes, 1)

    def run(seed):
        with seeded_noise(seed):
            search.fit(*train, X_val=X_val, y_val=y_val, groups_val=groups)

    return run


def evaluated(model, n_classes):
    """Return a function that evaluates a model, given the seed of the noise."""
    X, y = records(64, n_classes, 0)
    X_val, y_val = records(M, n_classes, 1)
    model.fit(X, y)
    return lambda seed: seeded_noise(seed)(private_evaluation)(
        model, X_val, y_val, X=X, y=y, epsilon=EPSILON
    )


GAUSSIAN = math.hypot(2 * math.sqrt(8) / gdp_within(SCORE, DELTA), 2)
SHARED = {"scoring": ["f1_macro", "recall_macro", "accuracy"], "refit": "f1_macro"}
TWO = {"scoring": ["f1", "roc_auc"], "refit": "f1", "n_classes": 2}
GROUPS = np.arange(M) // 2
# What is run, how often, and the scale of each release in turn.
RELEASES = {
    "one confusion matrix for three scores": (searched(**SHARED), 8, [2 / SCORE]),
    "groups": (searched("f1_macro", groups=GROUPS), 8, [2 * 1024 / SCORE]),
    "a histogram": (searched("average_precision", 2), 10, [2 / SCORE]),
    "a histogram for each class": (searched("roc_auc_ovr"), 4, [2 * K / SCORE]),
    "pairs": (searched("roc_auc", 2, epsilon=50.0), 60, [4 * (M - 1) / 20]),
    "two releases": (searched(**TWO), 8, [2 / (SCORE / 2), 2 / (SCORE / 2)]),
    "sums": (searched("r2", None), 60, [SUMS / SCORE]),
    "an evaluation of a choice": (
        searched("accuracy", 2, release="evaluation"), 10, [1 / (SCORE / 2), 2 / (SCORE / 2)]
    ),
    "all candidates": (searched("f1_macro", release="all"), 5, [2 * 2 / SCORE] * 2),
    "all candidates, Gaussian": (
        searched("f1_macro", candidates=8, release="all", delta=DELTA), 2, [GAUSSIAN] * 8,
    ),
    "an evaluation": (evaluated(LogisticRegression(), 2), 10, [2 / EPSILON]),
    "an evaluation of three classes": (
        evaluated(LogisticRegression(), 3), 8, [2 / (EPSILON / 2), 6 / (EPSILON / 2)],
    ),
    "an evaluation of a regressor": (
        evaluated(LinearRegression(), None), 30, [ERRORS / (EPSILON * 2 / 3), 2 / (EPSILON / 3)],
    ),
}  # fmt: skip


@pytest.fixture
def released(monkeypatch):
    """Noise, as it is drawn; little time is spent on intervals."""
    monkeypatch.setattr(_intervals, "_N_DRAWS", 40)
    draw, noise = mechanisms._draw, []

    def recording(sample, sealed):
        found = draw(sample, sealed)
        if not isinstance(found, int):  # the choice
            noise.append(np.array(found.counts) - np.ravel(sealed._open()))
        return found

    monkeypatch.setattr(mechanisms, "_draw", recording)
    return noise


def laplace_below(z, scale, rng):
    """P(Z < z), and a random part of P(Z = z), of discrete Laplace noise: uniform."""
    a = math.exp(-1 / scale)
    at = (1 - a) / (1 + a) * a ** np.abs(z)
    less = np.where(
        z <= 0, a ** np.maximum(1 - z, 0) / (1 + a), 1 - a ** np.maximum(z, 0) / (1 + a)
    )
    return less + at * rng.random(len(z))


def gaussian_below(z, scale, rng):
    """The same of Gaussian noise; steps are small in relation to it."""
    return norm.cdf((z + rng.random(len(z)) - 0.5) / scale)


# By default one: `core/test_accountant.py` has the scales of all, and Laplace noise its own test.
@pytest.mark.parametrize("name", few(RELEASES, "all candidates, Gaussian"))
@pytest.mark.filterwarnings("ignore")
def test_noise_of_a_release_has_its_distribution(name, released):
    run, n, scales = RELEASES[name]
    for seed in range(n):
        run(seed)
    assert len(released) == n * len(scales)
    below, rng = gaussian_below if "Gaussian" in name else laplace_below, np.random.default_rng(0)

    def p_value(factor):
        """Of where each noise lies in its distribution, 0 if in the middle: uniform in [0, 1]."""
        u = [below(z, factor * b, rng) for z, b in zip(released, scales * n, strict=True)]
        return kstest(np.abs(2 * np.concatenate(u) - 1), "uniform").pvalue

    assert p_value(1.0) > ALPHA > p_value(2.0)

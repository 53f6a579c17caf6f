"""Noise of whole searches: intervals cover the score, and shares of epsilon set the noise."""

import numpy as np
import pytest
from leaks import Known, M, data
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo._data.units import Units
from sklearn_dpbo._privacy import mechanisms
from sklearn_dpbo.audit import ConstantClassifier, audit_search, opposed_models
from sklearn_dpbo.testing import seeded_noise


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "balanced_accuracy"])
def test_score_interval_covers_score_at_its_confidence(two_classes, scoring):
    X, y, X_val, y_val = two_classes
    model, intervals = LogisticRegression(), []
    for seed in range(200):
        search = PrivateBayesSearchCV(
            model, {"C": [1.0]}, epsilon=0.5, scoring=scoring, refit=False
        )
        with seeded_noise(seed):
            search.fit(X, y, X_val=X_val, y_val=y_val)
        intervals.append(search.best_score_interval_)
    exact = search.scorer_(model.fit(X, y), X_val, y_val)
    low, high = np.transpose(intervals)
    covered = ((low - 1e-6 <= exact) & (exact <= high + 1e-6)).sum()
    # Binomial(200, 0.95): fewer than 177 happen once in 10,000 runs. Intervals of half the length
    # cover in 78 % of the runs, and 177 of 200 of them once in 10,000.
    assert covered >= 177


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_several_scores_have_noise_of_their_share(half, monkeypatch):
    """Laplace noise of scale D / 0.2: one candidate leaves all of epsilon to the two scores.

    The mean of 300 absolute values deviates by 6 % of the scale.
    """
    if half:
        right = mechanisms._scale
        monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    train, val = data()
    search = PrivateBayesSearchCV(
        Known(0), {"which": [0]}, epsilon=0.4, scoring=["accuracy", "weighted_accuracy"],
        refit="accuracy", prediction="together",
    )  # fmt: skip
    released = [seeded_noise(i)(search.fit)(**train, **val).best_scores_ for i in range(300)]
    units = Units.of(M)
    for name, scorer in search.scorer_.items():
        exact = scorer(search.best_estimator_, val["X_val"], val["y_val"])
        scale = scorer.query.sensitivity(units) / 0.2 / scorer.query.largest(units)
        noise = np.array([scores[name] for scores in released]) - exact
        assert (0.8 < np.abs(noise).mean() / scale < 1.2) != half


@pytest.mark.soak  # the test above is quicker, and so is that of charges in test_several_scores.py
def test_audit_does_not_refute_epsilon_of_search_with_several_scores():
    s = PrivateBayesSearchCV(
        ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0, refit="accuracy",
        scoring=["accuracy", "weighted_accuracy"],
    )  # fmt: skip
    report = audit_search(
        s, *opposed_models(), 1500, random_state=0,
        output=lambda s: [s.best_params_["label"], *s.best_scores_.values()],
    )  # fmt: skip
    assert 0.8 < report.epsilon_lower_bound <= 2.0

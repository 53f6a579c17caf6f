"""Noise of whole searches: intervals cover the score, and shares of epsilon set the noise."""

import numpy as np
import pytest
from leaks import COUNTS, Known, data
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo._privacy import mechanisms
from sklearn_dpbo.audit import audit_search, cases


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy"])
def test_score_interval_covers_score_at_its_confidence(two_classes, scoring):
    X, y, X_val, y_val = two_classes
    model, intervals = LogisticRegression(), []
    for seed in range(200):
        search = PrivateBayesSearchCV(
            model, {"C": [1.0]}, epsilon=0.5, scoring=scoring, refit=False, noise_random_state=seed
        ).fit(X, y, X_val=X_val, y_val=y_val)
        intervals.append(search.best_score_interval_)
    exact = search.scorer_(model.fit(X, y), X_val, y_val)
    low, high = np.transpose(intervals)
    covered = ((low - 1e-6 <= exact) & (exact <= high + 1e-6)).sum()
    # Binomial(200, 0.95): fewer than 177 happen once in 10,000 runs. Intervals of half the length
    # cover in 78 % of the runs, and 177 of 200 of them once in 10,000.
    assert covered >= 177


def noise_of_several_scores(n=300):
    """Return counts' noise: there is one candidate, so two scores share all of epsilon."""
    train, val = data()
    return [
        PrivateBayesSearchCV(
            Known(0), {"which": [0]}, epsilon=0.4, scoring=["accuracy", "balanced_accuracy"],
            refit="accuracy", noise_random_state=i,
        ).fit(**train, **val).best_scores_["accuracy"] * 15_485 - COUNTS[0]
        for i in range(n)
    ]  # fmt: skip


@pytest.mark.parametrize("half", [False, True])
def test_several_scores_have_noise_of_their_share(half, monkeypatch):
    """Discrete Laplace noise of scale 5; the mean of 300 absolute values deviates by 0.29."""
    if half:
        right = mechanisms._scale
        monkeypatch.setattr(mechanisms, "_scale", lambda *args: right(*args) / 2)
    scale = np.abs(noise_of_several_scores()).mean()
    assert (4.0 < scale < 6.0) != half


def test_audit_does_not_refute_epsilon_of_search_with_several_scores():
    s = PrivateBayesSearchCV(
        cases.ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0, refit="accuracy",
        scoring=["accuracy", "balanced_accuracy"],
    )  # fmt: skip
    report = audit_search(
        s, *cases.opposed_models(), 1500, random_state=0,
        output=lambda s: [s.best_params_["label"], *s.best_scores_.values()],
    )  # fmt: skip
    assert 0.8 < report.epsilon_lower_bound <= 2.0

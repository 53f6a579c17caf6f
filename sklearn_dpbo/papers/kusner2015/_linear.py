"""Checks that an estimator meets the assumptions of Theorem 7 (zone: public)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from ...records.split import Training
from ...records.tables import dense
from ._unit_ball import UnitBall

# Largest norm of the gradient at a solver's solution, for losses that have a gradient.
TOLERANCE = 1e-6


def check_estimator(estimator: Any, training: Training) -> str:
    """Return the name of the parameter C, or raise if the theorem does not hold."""
    parts = _parts(estimator)
    n_classes = len(np.unique(dense(training.y)))
    for holds, reason, remedy in [
        *_conditions_on_classifier(parts.classifier),
        (
            type(parts.scaler) is UnitBall,
            "rows must have norm 1 at most, those of the validation set too",
            "Use make_pipeline(..., UnitBall(), LogisticRegression(fit_intercept=False)), with "
            "sklearn_dpbo.papers.kusner2015.UnitBall. (Normalizer does not bound sparse rows)",
        ),
        (not training.fit_params, "fit parameters are not covered", "Do not pass any"),
        (n_classes == 2, f"it is for two classes; y has {n_classes}", "Use WorstCase"),
    ]:
        if not holds:
            raise ValueError(f"LipschitzConvex does not hold for {estimator!r}: {reason}. {remedy}")
    return f"{parts.prefix}C"


def check_converged(estimator: Any, training: Training) -> None:
    """Raise ValueError if a fitted logistic regression is not near its minimiser.

    ``|w - w_lambda| <= |gradient at w| / lambda``. The hinge loss is not checked.
    """
    classifier = _parts(estimator).classifier
    if type(classifier) is not LogisticRegression:
        return
    X = estimator[:-1].transform(training.X)
    y = np.where(dense(training.y) == classifier.classes_[1], 1.0, -1.0)
    w = classifier.coef_[0]
    n = len(y)
    slope = -y * expit(-y * (X @ w))
    gradient = w / (n * classifier.C) + X.T @ slope / n
    if not np.linalg.norm(gradient) <= TOLERANCE:
        raise ValueError(
            f"{classifier!r} stopped where the gradient still has norm "
            f"{np.linalg.norm(gradient):.1e}; LipschitzConvex needs {TOLERANCE:.0e}. Set tol=1e-8, "
            "and max_iter to thousands"
        )


class _Parts(NamedTuple):
    """Classifier of a pipeline, prefix of its parameters' names, and the step before it."""

    prefix: str
    scaler: Any
    classifier: Any


def _parts(estimator: Any) -> _Parts:
    if type(estimator) is not Pipeline:  # other classes may resample, which changes n
        return _Parts("", None, estimator)
    steps = estimator.steps
    scaler = steps[-2][1] if len(steps) > 1 else None
    return _Parts(f"{steps[-1][0]}__", scaler, steps[-1][1])


def _conditions_on_classifier(classifier: Any) -> list[tuple[bool, str, str]]:
    """Check the conditions on the classifier: (holds, reason, remedy) for each."""
    logistic, svc = (type(classifier) is kind for kind in (LogisticRegression, LinearSVC))
    if not (logistic or svc):
        remedy = "Use LogisticRegression or LinearSVC(loss='hinge'), or strategy='worst_case'"
        reason = f"{type(classifier).__name__} is not known to minimise such a loss"
        return [(False, reason, remedy)]
    params = classifier.get_params()
    # scikit-learn's value "deprecated" means that the parameter was not given.
    l2 = params["penalty"] in ("l2", "deprecated") and not params.get("l1_ratio")
    hinge = logistic or params["loss"] == "hinge"
    binary = params.get("multi_class", "auto") in ("auto", "ovr", "deprecated", "warn")
    return [
        (l2, "the penalty must be |w|^2", "Set penalty='l2'"),
        (hinge, f"the loss {params.get('loss')!r} is not Lipschitz", "Set loss='hinge'"),
        (not params["fit_intercept"], "an intercept is not regularised", "Set fit_intercept=False"),
        (
            params["class_weight"] is None,
            "class weights change the loss",
            "Do not set class_weight",
        ),
        (binary, "it is for one weight vector", "Do not set multi_class"),
    ]

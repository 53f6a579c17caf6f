"""Whether an estimator minimises what Theorem 7 is about (zone: public)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from .._data.split import Problem
from .._data.tables import dense
from ._unit_ball import UnitBall

__all__ = ["TOLERANCE", "check_converged", "check_estimator"]

# Of the gradient's norm at what a solver returns, for losses that have one.
TOLERANCE = 1e-6


def check_estimator(estimator, problem: Problem) -> str:
    """Return the name of the parameter C, or say why the theorem does not hold.

    Raises
    ------
    ValueError
        If the models are not minimisers of ``lambda / 2 |w|^2 + 1/n sum_i loss_i(w)`` with a
        convex loss that is 1-Lipschitz for rows of norm at most 1; the message has the remedy.
    """
    prefix, scaler, classifier = _parts(estimator)
    n_classes = len(np.unique(dense(problem.y_train)))
    for holds, what, remedy in [
        *_of_classifier(classifier),
        (
            type(scaler) is UnitBall,
            "rows have to have norm 1 at most, those of the validation set too",
            "Use make_pipeline(..., UnitBall(), LogisticRegression(fit_intercept=False)), with "
            "sklearn_dpbo.kusner2015.UnitBall. (Normalizer does not bound sparse rows)",
        ),
        (not problem.fit_params, "fit parameters are not covered", "Leave them out"),
        (n_classes == 2, f"it is for two classes; y has {n_classes}", "Use WorstCase"),
    ]:
        if not holds:
            raise ValueError(f"LipschitzConvex does not hold for {estimator!r}: {what}. {remedy}")
    return f"{prefix}C"


def check_converged(estimator, problem: Problem) -> None:
    """Raise ValueError if a fitted logistic regression is not near its minimiser.

    By strong convexity, ``|w - w_lambda| <= |gradient at w| / lambda``. The hinge loss has no
    gradient, and is not checked.
    """
    _, _, classifier = _parts(estimator)
    if type(classifier) is not LogisticRegression:
        return
    X = estimator[:-1].transform(problem.X_train)
    y = np.where(dense(problem.y_train) == classifier.classes_[1], 1.0, -1.0)
    w, n = classifier.coef_[0], len(y)
    slope = -y * expit(-y * (X @ w))
    gradient = w / (n * classifier.C) + X.T @ slope / n
    if not np.linalg.norm(gradient) <= TOLERANCE:
        raise ValueError(
            f"{classifier!r} stopped where the gradient still has norm "
            f"{np.linalg.norm(gradient):.1e}; LipschitzConvex needs {TOLERANCE:.0e}. Set tol=1e-8, "
            "and max_iter to thousands"
        )


def _parts(estimator):
    """Return (prefix of the classifier's parameters, the step before it, the classifier)."""
    if type(estimator) is not Pipeline:  # others may resample, and n would not be what it seems
        return "", None, estimator
    steps = estimator.steps
    return f"{steps[-1][0]}__", steps[-2][1] if len(steps) > 1 else None, steps[-1][1]


def _of_classifier(classifier) -> list[tuple[bool, str, str]]:
    """Return (holds, what has to hold, remedy) for each condition on the classifier."""
    logistic, svc = (type(classifier) is kind for kind in (LogisticRegression, LinearSVC))
    if not (logistic or svc):
        remedy = "Use LogisticRegression or LinearSVC(loss='hinge'), or strategy='worst_case'"
        what = f"{type(classifier).__name__} is not known to minimise such a loss"
        return [(False, what, remedy)]
    params = classifier.get_params()
    # "deprecated" is scikit-learn's sign for a parameter that was not given.
    l2 = params["penalty"] in ("l2", "deprecated") and not params.get("l1_ratio")
    hinge = logistic or params["loss"] == "hinge"
    binary = params.get("multi_class", "auto") in ("auto", "ovr", "deprecated", "warn")
    return [
        (l2, "the penalty has to be |w|^2", "Set penalty='l2'"),
        (hinge, f"the loss {params.get('loss')!r} is not Lipschitz", "Set loss='hinge'"),
        (not params["fit_intercept"], "an intercept is not regularised", "Set fit_intercept=False"),
        (params["class_weight"] is None, "class weights change the loss", "Leave class_weight out"),
        (binary, "it is for one weight vector", "Leave multi_class out"),
    ]

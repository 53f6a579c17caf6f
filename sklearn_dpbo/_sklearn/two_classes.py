"""What a decision threshold needs of an estimator, of labels and of parameters (zone: released)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from .._data.tables import dense
from .._params import as_floats, check_params, fit_takes, is_number, one_of
from ..scoring._make import resolve_scorer
from ..scoring._scorers import PrivateScorer

__all__ = [
    "RESPONSE_METHODS",
    "check_fitted_classes",
    "check_parameters",
    "check_two_classes",
    "label_scorer",
]

RESPONSE_METHODS = {
    "auto": ("predict_proba", "decision_function"),
    "predict_proba": ("predict_proba",),
    "decision_function": ("decision_function",),
}


def _are_thresholds(thresholds: Any) -> bool:
    """Whether these are thresholds, or how many of them to place."""
    if np.ndim(thresholds) == 0:
        return is_number(lambda n: 4 <= n <= 2**24, Integral)(thresholds)
    given = as_floats(thresholds)
    return given is not None and given.ndim == 1 and len(given) >= 2


_CONSTRAINTS = {
    "estimator": (
        lambda e: hasattr(e, "fit") and not isinstance(e, type),
        "an object with a fit method, such as LogisticRegression()",
    ),
    "epsilon": (is_number(lambda e: e >= 1e-9), "a number from 1e-9 up"),
    "score_share": (is_number(lambda s: 0 < s <= 1 - 1e-6), "in (0, 1)"),
    "prediction": one_of("auto", "together", "separate"),
    "response_method": one_of(*RESPONSE_METHODS),
    "thresholds": (_are_thresholds, "a whole number, 4 to 2**24, or two finite numbers or more"),
    "cv": (
        lambda cv: not isinstance(cv, str) or cv != "prefit",
        "a splitter (a fitted classifier goes into a FrozenEstimator, and the protected records "
        "are X_val and y_val)",
    ),
}


def check_parameters(tuner: Any) -> None:
    """Raise ValueError for a parameter that makes no sense, or an estimator without responses."""
    check_params(tuner, _CONSTRAINTS)
    methods, name = RESPONSE_METHODS[tuner.response_method], type(tuner.estimator).__name__
    if fit_takes(tuner.estimator, ["X_val"]):
        raise ValueError(
            f"{name} spends a privacy budget of its own: fit it first, as in search.fit(X, y, "
            "X_val=X_val, y_val=y_val), then tune FrozenEstimator(search.best_estimator_). Each "
            "reports its own loss, and on the same records both add up"
        )
    if not any(hasattr(tuner.estimator, method) for method in methods):
        raise ValueError(
            f"a threshold is applied to what {' or '.join(methods)} returns; {name} has no such "
            "method"
        )


def label_scorer(scoring: Any, estimator: Any) -> PrivateScorer:
    """Return the scorer, which must be one of labels."""
    scorer: PrivateScorer = resolve_scorer(scoring, estimator)
    if scorer.task == "regression" or scorer.response_method != ("predict",):
        raise ValueError(
            f"scoring={scorer.name!r} is not a metric of labels, so it says nothing about a "
            'threshold. Use "f1", "balanced_accuracy", "accuracy", or '
            "make_private_scorer(gain, bounds=(a, b)) with gain(y_true, labels)"
        )
    return scorer


def check_two_classes(y_train: Any) -> None:
    """Raise ValueError unless the training labels, which are public, are of two classes."""
    if (kind := type_of_target(y_train, input_name="y")) != "binary":
        raise ValueError(f"Only binary classification is supported. Unknown label type: {kind}")
    if len(classes := np.unique(dense(y_train))) != 2:
        raise ValueError(f"a threshold separates two classes; y has {len(classes)} class")


def check_fitted_classes(estimator: Any, y_train: Any) -> None:
    """Raise ValueError unless a fitted estimator is a classifier of the training labels."""
    classes, expected = getattr(estimator, "classes_", None), np.unique(dense(y_train))
    if classes is None or not np.array_equal(classes, expected):
        raise ValueError(
            f"{type(estimator).__name__} is no classifier of the labels {expected.tolist()} of y: "
            f"its classes_ are {None if classes is None else list(classes)}"
        )

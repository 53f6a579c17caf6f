"""What a decision threshold needs of an estimator, of labels and of parameters (zone: public)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from .._data.tables import dense
from .._params import as_floats, check_number

__all__ = [
    "RESPONSE_METHODS",
    "check_fitted_classes",
    "check_takes_threshold",
    "check_thresholds",
    "check_two_classes",
]

RESPONSE_METHODS = {
    "auto": ("predict_proba", "decision_function"),
    "predict_proba": ("predict_proba",),
    "decision_function": ("decision_function",),
}


def check_takes_threshold(estimator: Any, response_method: Any) -> None:
    """Raise ValueError unless an estimator (not fitted) has what a threshold is applied to."""
    if not isinstance(response_method, str) or response_method not in RESPONSE_METHODS:
        raise ValueError(
            f"response_method is one of {sorted(RESPONSE_METHODS)}; found {response_method!r}"
        )
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise ValueError(
            f"estimator is an object with a fit method, such as LogisticRegression(); found "
            f"{estimator!r}"
        )
    methods = RESPONSE_METHODS[response_method]
    if not any(hasattr(estimator, method) for method in methods):
        raise ValueError(
            f"a threshold is applied to what {' or '.join(methods)} returns; "
            f"{type(estimator).__name__} has no such method"
        )


def check_thresholds(thresholds: Any) -> None:
    """Raise ValueError unless these are thresholds, or how many of them to place."""
    if np.ndim(thresholds) == 0:
        what = "a whole number, 4 to 2**24, or an array"
        check_number("thresholds", thresholds, what, lambda n: 4 <= n <= 2**24, Integral)
        return
    given = as_floats(thresholds)
    if given is None or given.ndim != 1 or len(given) < 2:
        raise ValueError("thresholds are two finite numbers or more; found others")


def check_two_classes(y_train: Any) -> None:
    """Raise ValueError unless the training labels, which are public, are of two classes."""
    if (kind := type_of_target(y_train, input_name="y")) != "binary":
        raise ValueError(f"Only binary classification is supported. Unknown label type: {kind}")
    if len(classes := np.unique(dense(y_train))) != 2:
        raise ValueError(f"a threshold parts two classes; y has {len(classes)} class")


def check_fitted_classes(estimator: Any, y_train: Any) -> None:
    """Raise ValueError unless a fitted estimator is a classifier of the training labels."""
    classes, expected = getattr(estimator, "classes_", None), np.unique(dense(y_train))
    if classes is None or not np.array_equal(classes, expected):
        raise ValueError(
            f"{type(estimator).__name__} is no classifier of the labels {expected.tolist()} of y: "
            f"its classes_ are {None if classes is None else list(classes)}"
        )

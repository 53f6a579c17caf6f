"""Arguments of an objective: what is wrong with them, and the problem they make (zone: public)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import joblib
import numpy as np

from .._data.cells import copied
from .._data.split import Problem, hold_out
from .._params import check_number

__all__ = ["check_parameters", "identity", "problem_of"]


def identity(params: dict[str, Any]) -> Any:
    """Return a key that is equal for equal candidates; a unique key if they cannot be compared."""
    try:
        return joblib.hash(params)
    except Exception:  # for example, lambdas cannot be pickled
        return object()


def check_parameters(
    estimator: Any,
    epsilon: Any,
    delta: Any,
    n_calls: Any,
    best_share: Any,
    error_score: Any,
    call_seconds: Any,
) -> None:
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise ValueError(
            "estimator must have fit and get_params, as subclasses of BaseEstimator do; found "
            f"{estimator!r}"
        )
    check_number("epsilon", epsilon, "a number from 1e-9 up", lambda e: e >= 1e-9)
    check_number("delta", delta, "in [0, 1)", lambda d: 0 <= d < 1)
    check_number("n_calls", n_calls, "a whole number from 1 up", lambda n: n >= 1, Integral)
    check_number(
        "best_share",
        best_share,
        "0, or from 0.001 to 0.999",
        lambda s: s == 0 or 0.001 <= s <= 0.999,
        optional=True,
    )
    check_number(
        "call_seconds",
        call_seconds,
        "seconds above 0, a day at most",
        lambda s: 0 < s <= 86_400,
        optional=True,
    )
    if error_score != "raise":
        check_number("error_score", error_score, '"raise" or a number', finite=False)


def problem_of(
    estimator: Any,
    X: Any,
    y: Any,
    X_val: Any,
    y_val: Any,
    groups_val: Any,
    fit_params: Mapping[str, Any] | None,
    rng: np.random.RandomState,
) -> Problem:
    """Return the training set, and a copy of the validation set."""
    if X_val is None:
        raise ValueError("X_val and y_val are the protected records; found None")
    problem = hold_out(
        estimator,
        X,
        y,
        dict(fit_params or {}),
        cv=None,
        rng=rng,
        X_val=X_val,
        y_val=y_val,
        groups_val=groups_val,
        split_params={},
    )
    # Later changes of the caller's arrays must have no effect.
    return replace(
        problem,
        X_val=copied(problem.X_val),
        y_val=None if problem.y_val is None else problem.y_val.copy(),
    )

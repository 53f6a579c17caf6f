"""Responses of estimators: calls, checks, and what scores read of them (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..privacy.float_errors import ignore_float_errors
from ..records.tables import dense, n_rows


def respond(estimator: Any, X: Any, response_method: tuple[str, ...]) -> NDArray[Any]:
    """Return the response of a fitted estimator to X; a single column becomes one-dimensional.

    Raises AttributeError if the estimator has none of the methods, and ValueError as
    `check_response` does.
    """
    raw = call_method(estimator, X, response_method)
    check_response(estimator, raw, n_rows(X), response_method)
    response: NDArray[Any] = dense(raw)
    return response


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for public records: labels `y`, the `response`, and the model's `classes_`."""

    y: Any
    response: NDArray[Any]
    classes: Any

    def take(self, rows: NDArray[Any]) -> Predictions:
        """Return the predictions for these rows."""
        return Predictions(self.y[rows], self.response[rows], self.classes)


@dataclass(frozen=True, eq=False)
class Responses:
    """Responses of a fitted model to public records, stored so that its code need not run again.

    `classes` are its `classes_` or None, `by_method` has the response of each method, and `cuts`
    are the thresholds among its attributes.
    """

    y: Any
    classes: Any
    by_method: dict[str, NDArray[Any]]
    cuts: tuple[float, ...] = ()

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, asked: Iterable[tuple[str, ...]]) -> Responses:
        """Call the estimator: for each tuple in `asked`, the first method that it has."""
        methods = sorted({method_of(estimator, names) for names in asked})
        return cls.given(estimator, y, {name: respond(estimator, X, (name,)) for name in methods})

    @classmethod
    def given(cls, estimator: Any, y: Any, by_method: dict[str, NDArray[Any]]) -> Responses:
        """Store responses of a fitted estimator that are known already."""
        thresholds = (getattr(estimator, name, None) for name in ("best_threshold_", "threshold"))
        cuts = tuple(float(cut) for cut in thresholds if isinstance(cut, Real))
        return cls(dense(y), getattr(estimator, "classes_", None), by_method, cuts)

    def method(self, response_method: tuple[str, ...]) -> str:
        """Return the first of these methods whose response is stored."""
        return next(name for name in response_method if name in self.by_method)

    def __call__(self, response_method: tuple[str, ...]) -> Predictions:
        """Return the predictions by the first of these methods whose response is stored."""
        response = self.by_method[self.method(response_method)].copy()
        return Predictions(self.y, response, self.classes)


@ignore_float_errors()
def are_probabilities(response: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the rows that are in [0, 1] and have the sum 1, up to rounding.

    A missing number may stand for any.
    """
    dtype = response.dtype if response.dtype.kind == "f" else float
    tolerance = math.sqrt(np.finfo(dtype).eps)
    rows = np.atleast_2d(response.T).T.astype(float)
    outside = (np.abs(rows - 0.5) > 0.5 + tolerance).any(axis=1)
    wrong_sum = np.abs(rows.sum(axis=1) - 1) > tolerance
    valid: NDArray[np.bool_] = ~(outside | wrong_sum)
    return valid


def few(scores: NDArray[Any], n: int) -> bool:
    """Return True if there are at most n distinct scores, and other records have hardly any others.

    The share of records with a score not seen here is about the share of records whose score is
    seen once (Good, 1953).
    """
    times = np.unique(scores, return_counts=True)[1]
    return len(times) <= n and int((times == 1).sum()) <= len(scores) / 1000


def class_scores(response: NDArray[Any], classes: Sequence[int] = (1,)) -> NDArray[np.float64]:
    """Return scores of the classes at these positions (one of two, or all), shape (n, n_scores)."""
    K = max(2, len(classes))
    scores = np.array(response, dtype=float)
    if scores.ndim == 1 and K == 2:
        scores = np.stack([-scores, scores], axis=1)
    if scores.shape[1:] != (K,):
        raise ValueError(
            f"scores of shape {scores.shape[1:]} per record; {K} classes need one for each"
        )
    of_classes: NDArray[np.float64] = scores[:, list(classes)]
    return of_classes


def check_response(estimator: Any, raw: Any, n: int, response_method: tuple[str, ...]) -> None:
    """Raise ValueError unless a response to n rows has n rows, of real numbers or labels."""
    is_list = isinstance(raw, Sequence) and not isinstance(raw, str | bytes)
    shape = tuple(getattr(raw, "shape", (len(raw),) if is_list else ()))
    if shape[:1] != (n,) or np.iscomplexobj(raw):
        raise ValueError(
            f"{type(estimator).__name__}.{method_of(estimator, response_method)} returned an "
            f"object of type {type(raw).__name__}, shape {shape}, dtype "
            f"{getattr(raw, 'dtype', None)} for {n} rows; the scoring needs an array of real "
            "numbers or labels with as many rows"
        )


def call_method(estimator: Any, X: Any, response_method: tuple[str, ...]) -> Any:
    """Call the first of these methods that the estimator has; return its response unchanged."""
    return getattr(estimator, method_of(estimator, response_method))(X)


def method_of(estimator: Any, response_method: tuple[str, ...]) -> str:
    """Return the first of these methods that the estimator has; raise AttributeError if none."""
    method = next((name for name in response_method if hasattr(estimator, name)), None)
    if method is None:
        message = (
            f"{type(estimator).__name__} has none of the methods {list(response_method)} that "
            "the scoring needs"
        )
        if response_method == ("predict_proba",):
            message += "; CalibratedClassifierCV gives it one"
        raise AttributeError(message)
    return method

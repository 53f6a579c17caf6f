"""How scores ask an estimator for its response (zone: public)."""

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

    Raises AttributeError if it has none of the methods, ValueError for `check_response`.
    """
    raw = call_method(estimator, X, response_method)
    check_response(estimator, raw, n_rows(X), response_method)
    response: NDArray[Any] = dense(raw)
    return response


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of public records: their labels, the response to them, and `classes_`."""

    y: Any
    response: NDArray[Any]
    classes: Any

    def take(self, rows: NDArray[Any]) -> Predictions:
        """Return those of these rows."""
        return Predictions(self.y[rows], self.response[rows], self.classes)


@dataclass(frozen=True, eq=False)
class Responses:
    """What a fitted model answers to public records; none of its code runs any more.

    `classes` are its `classes_` or None, `by_method` has the response of each method, and `cuts`
    are thresholds that the model says it has.
    """

    y: Any
    classes: Any
    by_method: dict[str, NDArray[Any]]
    cuts: tuple[float, ...] = ()

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, asked: Iterable[tuple[str, ...]]) -> Responses:
        """Call, of each of these, the first method that the estimator has."""
        methods = sorted({method_of(estimator, each) for each in asked})
        return cls.given(estimator, y, {name: respond(estimator, X, (name,)) for name in methods})

    @classmethod
    def given(cls, estimator: Any, y: Any, by_method: dict[str, NDArray[Any]]) -> Responses:
        """Return these responses of a fitted estimator."""
        own = (getattr(estimator, name, None) for name in ("best_threshold_", "threshold"))
        cuts = tuple(float(cut) for cut in own if isinstance(cut, Real))
        return cls(dense(y), getattr(estimator, "classes_", None), by_method, cuts)

    def method(self, response_method: tuple[str, ...]) -> str:
        """Return the first of these methods that there is a response of."""
        return next(name for name in response_method if name in self.by_method)

    def __call__(self, response_method: tuple[str, ...]) -> Predictions:
        """Return the predictions of the first of these methods."""
        response = self.by_method[self.method(response_method)].copy()
        return Predictions(self.y, response, self.classes)


@ignore_float_errors()
def are_probabilities(response: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row of a response could be probabilities of all classes, up to rounding.

    Their range is [0, 1] and their sum is 1; a missing number may be anything.
    """
    kind = response.dtype if response.dtype.kind == "f" else float
    off = math.sqrt(np.finfo(kind).eps)
    rows = np.atleast_2d(response.T).T.astype(float)
    outside = (np.abs(rows - 0.5) > 0.5 + off).any(axis=1)
    found: NDArray[np.bool_] = ~(outside | (np.abs(rows.sum(axis=1) - 1) > off))
    return found


def few(scores: NDArray[Any], n: int) -> bool:
    """Whether there are at most n different scores, and records have hardly any others.

    As many records have scores that these do not, about, as have one of these alone (Good, 1953).
    """
    times = np.unique(scores, return_counts=True)[1]
    return len(times) <= n and int((times == 1).sum()) <= len(scores) / 1000


def class_scores(response: NDArray[Any], classes: Sequence[int] = (1,)) -> NDArray[np.float64]:
    """Return how strongly each record is taken for each of these classes: one of two, or all."""
    K = max(2, len(classes))
    s = np.array(response, dtype=float)
    s = np.stack([-s, s], axis=1) if s.ndim == 1 and K == 2 else s
    if s.shape[1:] != (K,):
        raise ValueError(f"scores of shape {s.shape[1:]} per record; {K} classes need one for each")
    found: NDArray[np.float64] = s[:, list(classes)]
    return found


def check_response(estimator: Any, raw: Any, n: int, response_method: tuple[str, ...]) -> None:
    """Raise ValueError if a response to n rows does not have n rows, or has complex numbers."""
    is_list = isinstance(raw, Sequence) and not isinstance(raw, str | bytes)
    shape = tuple(getattr(raw, "shape", (len(raw),) if is_list else ()))
    if shape[:1] != (n,) or np.iscomplexobj(raw):
        raise ValueError(
            f"{type(estimator).__name__}.{method_of(estimator, response_method)} returned an "
            f"object of type {type(raw).__name__}, shape {shape}, dtype "
            f"{getattr(raw, 'dtype', None)} for {n} rows; the scoring needs one row of it for "
            "each, of real numbers or labels"
        )


def call_method(estimator: Any, X: Any, response_method: tuple[str, ...]) -> Any:
    """Return what the first of these methods that the estimator has returns, as it is."""
    return getattr(estimator, method_of(estimator, response_method))(X)


def method_of(estimator: Any, response_method: tuple[str, ...]) -> str:
    """Return the first of these methods that the estimator has; AttributeError if none."""
    method = next((name for name in response_method if hasattr(estimator, name)), None)
    if method is None:
        hint = "; CalibratedClassifierCV gives it one" * (response_method == ("predict_proba",))
        raise AttributeError(
            f"{type(estimator).__name__} has none of the methods {list(response_method)} that "
            f"the scoring needs{hint}"
        )
    return method

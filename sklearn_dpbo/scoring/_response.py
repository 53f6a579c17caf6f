"""How scores ask an estimator for its response (zone: public)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from .._data.tables import dense, n_rows

__all__ = [
    "call_method",
    "check_response",
    "method_of",
    "respond",
    "second_class_score",
    "stand_in",
    "with_answers",
]


def respond(estimator: Any, X: Any, response_method: tuple[str, ...]) -> NDArray[Any]:
    """Return the response of a fitted estimator to X.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    X : table of shape (n, n_features)
        Records to predict.
    response_method : tuple of str
        Names of methods; the first that the estimator has is called.

    Returns
    -------
    response : ndarray of shape (n,) or (n, k)
        A single column becomes one-dimensional.

    Raises
    ------
    AttributeError
        If the estimator has none of the methods.
    ValueError
        If the response does not have one row per row of X, or has complex numbers.
    """
    raw = call_method(estimator, X, response_method)
    check_response(estimator, raw, n_rows(X), response_method)
    response: NDArray[Any] = dense(raw)
    return response


def stand_in(estimator: Any, X: Any, asked: Iterable[tuple[str, ...]]) -> Any:
    """Return an object that responds to X like a fitted estimator, without running its code.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    X : table of shape (n, n_features)
        Records to predict; the stand-in takes it for any table.
    asked : iterable of tuple of str
        Of each, the first method that the estimator has is called.
    """
    methods = sorted({method_of(estimator, each) for each in asked})
    return with_answers(estimator, {name: respond(estimator, X, (name,)) for name in methods})


def with_answers(estimator: Any, responses: dict[str, NDArray[Any]]) -> Any:
    """Return an object that gives these responses to any X and otherwise looks like the estimator.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    responses : dict of str to ndarray
        By method.
    """
    tags = get_tags(estimator)
    found: dict[str, Any] = {"__sklearn_tags__": lambda _: tags}
    for name in ("best_threshold_", "classes_", "threshold"):
        if hasattr(estimator, name):
            found[name] = getattr(estimator, name)
    for method, response in responses.items():
        found[method] = partial(_known, response)
    return type(type(estimator).__name__, (), found)()


def _known(response: NDArray[Any], X: Any) -> NDArray[Any]:
    return response.copy()


def second_class_score(response: NDArray[Any]) -> NDArray[np.float64]:
    """Return one number per record, larger where the second of two classes is more likely."""
    response = response.astype(float)
    if response.ndim == 2 and response.shape[1] == 2:
        second: NDArray[np.float64] = response[:, 1]
        return second
    if response.ndim == 1:
        return response
    raise ValueError(f"expected the responses of two classes; found shape {response.shape}")


def check_response(estimator: Any, raw: Any, n: int, response_method: tuple[str, ...]) -> None:
    """Raise ValueError if a response does not have n rows, or has complex numbers.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    raw : object
        What it returned.
    n : int
        Number of rows that it was given.
    response_method : tuple of str
        Names of methods; the first that the estimator has was called.
    """
    call = f"{type(estimator).__name__}.{method_of(estimator, response_method)}"
    shape = _shape(raw)
    if shape is None:
        raise ValueError(
            f"{call} returned an object of type {type(raw).__name__}; the scoring needs an array, "
            f"with one row for each of {n}"
        )
    if shape[:1] != (n,):
        raise ValueError(
            f"{call} returned an array of shape {shape} for {n} rows; the scoring needs one row "
            "of it for each"
        )
    if _is_complex(raw):
        raise ValueError(
            f"{call} returned complex numbers, which have no order: return their real parts"
        )


def _shape(raw: Any) -> tuple[int, ...] | None:
    """Return the shape of a response, of a list its length; None for what is no array."""
    if hasattr(raw, "shape"):
        return tuple(raw.shape)
    is_list = hasattr(raw, "__len__") and not isinstance(raw, str | bytes | Mapping | Set)
    return (len(raw),) if is_list else None


def _is_complex(raw: Any) -> bool:
    try:
        return np.iscomplexobj(raw)
    except ValueError:  # of lists of several lengths
        return False


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

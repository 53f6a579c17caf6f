"""Rows of tables of any kind (zone: public)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

__all__ = ["copy_rows", "dense", "n_rows", "row_norms", "take_rows"]


def n_rows(X: Any) -> int:
    """Return the number of records in X."""
    n: int = X.shape[0] if hasattr(X, "shape") else len(X)
    return n


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a copy of these rows of a table of any kind."""
    # _safe_indexing takes as long as a prediction of few rows.
    return X[rows] if type(X) is np.ndarray else _safe_indexing(X, rows)


def copy_rows(X: Any) -> Any:
    """Return a copy of all rows, because an estimator may change its input in place."""
    return take_rows(X, np.arange(n_rows(X)))


def dense(y: Any) -> Any:
    """Return labels or responses as an array, or None; a single column becomes one-dimensional."""
    if y is None:
        return None
    y = y.toarray() if issparse(y) else np.asarray(y)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def row_norms(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean norm of each row; squares neither underflow nor overflow."""
    largest = np.abs(X).max(axis=1, initial=0.0)
    largest[largest == 0] = 1.0
    with np.errstate(over="ignore"):  # a warning would reveal a row whose norm is beyond any float
        norms: NDArray[np.float64] = largest * np.linalg.norm(X / largest[:, None], axis=1)
    return norms

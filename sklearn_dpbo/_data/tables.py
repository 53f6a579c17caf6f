"""Tables of any kind, row by row (zone: public)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

__all__ = ["copy_rows", "dense", "n_rows", "row_norms", "take_rows"]


def n_rows(X) -> int:
    """Return the number of records in X."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take_rows(X, rows: np.ndarray):
    """Return a copy of these rows of a table of any kind."""
    # The general way takes as long as a small prediction.
    return X[rows] if type(X) is np.ndarray else _safe_indexing(X, rows)


def copy_rows(X):
    """Return a copy of all rows: an estimator may transform what it is given in place."""
    return take_rows(X, np.arange(n_rows(X)))


def dense(y):
    """Return labels or responses as an array; a single column becomes one-dimensional."""
    if y is None:
        return None
    y = y.toarray() if issparse(y) else np.asarray(y)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def row_norms(X: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row; squares neither underflow nor overflow."""
    largest = np.abs(X).max(axis=1, initial=0.0)
    largest[largest == 0] = 1.0
    with np.errstate(over="ignore"):  # a norm beyond any float; and a warning would tell of a row
        return largest * np.linalg.norm(X / largest[:, None], axis=1)

"""Rows of tables: arrays, sparse matrices, frames and series of pandas (zone: public)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import issparse

__all__ = [
    "as_table", "copy_rows", "dense", "is_frame", "is_series", "n_rows", "objects", "row_norms",
    "stack", "take_rows",
]  # fmt: skip


def as_table(X: Any) -> Any:
    """Return an array, a sparse matrix, or a frame or series of pandas, of any table."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
        if is_series(X):
            return X.astype(object)
        # There, a missing cell decides whether a column has integers, or truth values.
        kinds = {name: dtype.kind for name, dtype in X.dtypes.items() if dtype.kind in "iufbO"}
        return X.astype({name: float if k in "iuf" else object for name, k in kinds.items()})
    if is_frame(X) or is_series(X) or issparse(X) or isinstance(X, np.ndarray):
        return X
    return np.asarray(X) if hasattr(X, "__array__") else objects(X)


def objects(records: Iterable[Any]) -> NDArray[Any]:
    """Return records, which may be sequences, as a one-dimensional array of objects."""
    records = list(records)
    array = np.empty(len(records), dtype=object)
    array[:] = records
    return array


def n_rows(X: Any) -> int:
    """Return the number of records in X."""
    n: int = X.shape[0] if hasattr(X, "shape") else len(X)
    return n


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a copy of these rows."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def copy_rows(X: Any) -> Any:
    """Return a copy of all rows, because an estimator may change its input in place."""
    return take_rows(X, np.arange(n_rows(X)))


def is_frame(X: Any) -> bool:
    """Whether X is a pandas.DataFrame. (It cannot be one if pandas is not loaded.)"""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def is_series(X: Any) -> bool:
    """Whether X is a pandas.Series, a table of one column (of texts, say)."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.Series)


def stack(parts: list[Any]) -> Any:
    """Return the rows of tables of one kind, one table below the other, as a new table."""
    if issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return sys.modules["pandas"].concat(parts)


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

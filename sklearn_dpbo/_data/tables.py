"""Rows of tables of any kind (zone: public)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

__all__ = [
    "copy_rows",
    "dense",
    "is_frame",
    "is_series",
    "n_rows",
    "row_norms",
    "stack",
    "take_rows",
]


def n_rows(X: Any) -> int:
    """Return the number of records in X."""
    n: int = X.shape[0] if hasattr(X, "shape") else len(X)
    return n


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a copy of these rows of a table of any kind."""
    if type(X) is np.ndarray:  # _safe_indexing takes as long as a prediction of few rows
        return X[rows]
    if type(X).__module__.startswith("pyarrow"):  # of which old versions of scikit-learn know none
        return X.take(rows)
    return _safe_indexing(X, rows)


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
    """Return the rows of tables of one kind, one table below the other, as a new table.

    Raises
    ------
    ValueError
        If they are of a kind that cannot be stacked.
    """
    first = parts[0]
    if isinstance(first, list):
        return [row for part in parts for row in part]
    if any(issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    if is_frame(first) or is_series(first):
        return sys.modules["pandas"].concat(parts)
    module = type(first).__module__.partition(".")[0]
    if module == "polars":
        return sys.modules["polars"].concat(parts)
    if module == "pyarrow":
        return sys.modules["pyarrow"].concat_tables(parts)
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    raise ValueError(
        f"X_val is a {type(first).__module__}.{type(first).__name__}, whose rows cannot be put "
        "beside those of X: pass arrays, sparse matrices, lists of records, or the frames of "
        "pandas, polars or pyarrow"
    )


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

"""Made-up records that stand in for public ones, where all records are protected (zone: public).

They have the schema of the table and nothing else of it: what a search otherwise takes from the
training set (rows that stand beside protected ones, a first try of every estimator) it takes from
these.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tables import is_frame

__all__ = ["plain_table", "stand_in_rows"]


def plain_table(X: Any) -> Any:
    """Return a table of which all is protected: an array of numbers, or a frame without an index.

    Raises
    ------
    ValueError
        If it is of another kind, of which the schema is not declared.
    """
    if is_frame(X):
        return X.reset_index(drop=True)
    plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    if not plain or X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            'protect="all" takes an array of numbers with two dimensions, or a pandas.DataFrame: '
            f"these declare what they hold, whatever the records are; found {type(X).__name__}"
        )
    return X


def stand_in_rows(X: Any, n: int, rng: np.random.Generator) -> Any:
    """Return n made-up rows with the columns and dtypes of a table.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        As `plain_table` returns it; only its schema is looked at.
    n : int
        How many.
    rng : numpy.random.Generator
        Makes them up.
    """
    if not is_frame(X):
        return _numbers(X.dtype, (n, X.shape[1]), rng)
    columns = [_column(X.iloc[:0, j], n, rng) for j in range(X.shape[1])]
    frame = sys.modules["pandas"].concat(columns, axis=1) if columns else X.iloc[:0]
    frame.columns = X.columns
    return frame


def _numbers(dtype: Any, shape: Any, rng: np.random.Generator) -> NDArray[Any]:
    numbers: NDArray[Any] = (
        rng.uniform(-1, 1, shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
    )
    return numbers.astype(dtype)


def _column(empty: Any, n: int, rng: np.random.Generator) -> Any:
    """Return a column of n cells of the dtype of this one, which has none."""
    dtype = empty.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return type(empty)(_numbers(dtype, n, rng), dtype=dtype)
    if (categories := getattr(dtype, "categories", None)) is not None:
        if not len(categories):
            return type(empty)([None] * n, dtype=dtype)
        return type(empty)(categories[rng.integers(len(categories), size=n)], dtype=dtype)
    if getattr(dtype, "kind", "O") in "biuf":  # of pandas' own dtypes
        return type(empty)(rng.integers(0, 2, n), dtype="int8").astype(dtype)
    if getattr(dtype, "kind", "O") in "mM":
        return type(empty)(rng.integers(0, 2, n)).astype(dtype)
    return type(empty)(["", "a"] * (n // 2 + 1), dtype=dtype).iloc[:n]

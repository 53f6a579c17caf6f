"""Cells of tables that declare no type, read and copied one by one (zone: public).

Object arrays can hold anything. numpy and pandas choose a type for a whole column, so one
odd cell can change how all others are read: to integers, say, or to text. Here the *training*
records decide which kinds of cells there are, and each protected cell is read by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pickles import fresh, packed
from .tables import copy_rows, is_frame, objects

__all__ = ["as_number", "copied", "is_missing", "is_number", "read_like", "with_own_cells"]

_OBJECT = np.dtype(object)
# Types of cells that nobody can write into, so that they need no copies.
_PLAIN = {str, bool, int, float, bytes, type(None)}


def read_like(own: Iterable[Any], cells: Iterable[Any], missing: Any = None) -> NDArray[Any]:
    """Return cells as objects, each read by itself; one of a kind not among `own` is missing.

    A missing cell is written as among `own` or, if none is missing there, as `missing`.
    """
    own, cells = list(own), list(cells)
    kinds = set(map(_kind, own)) - {"missing"}
    missing = next(filter(is_missing, own), missing)

    def read(cell: Any) -> Any:
        with suppress(Exception):  # of a cell that cannot be compared or pickled
            if (kind := _kind(cell)) in kinds:
                return str.__str__(cell) if kind == "text" else _copy(cell)
        return missing

    # At once where the types alone tell the kinds: a common case.
    at_once = set(map(type, cells)) <= (_PLAIN - {float, type(None)}) & set(map(type, own))
    return objects(cells if at_once else map(read, cells))


def is_number(cell: Any) -> bool:
    """Whether a cell is a number that a float can hold; NaN, a missing number, is one."""
    try:
        return isinstance(cell, Real | np.bool_) and isinstance(float(cell), float)
    except Exception:  # of integers beyond any float
        return False


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for a missing value."""
    try:
        return _kind(cell) == "missing"
    except Exception:  # of a cell that cannot be compared
        return False


def as_number(cell: Any) -> float:
    """Return a cell as a float; NaN if it is no number."""
    return float(cell) if is_number(cell) else float("nan")


def copied(X: Any) -> Any:
    """Return a copy of all rows, because an estimator may change its input in place."""
    return with_own_cells(copy_rows(X))


def with_own_cells(X: Any) -> Any:
    """Return a table in which each cell that may be written into is a copy, of no other cell."""
    if is_frame(X):
        X = X.copy(deep=False)
        for j in np.flatnonzero([dtype == _OBJECT for dtype in X.dtypes]):
            X.isetitem(j, with_own_cells(X.iloc[:, j]))
        return X
    if X.dtype != _OBJECT:
        return X
    array = np.asarray(X)
    cells = objects(map(_copy, array.flat)).reshape(array.shape)
    if isinstance(X, np.ndarray):
        return cells
    return type(X)(cells, index=X.index, name=X.name, dtype=X.dtype)


def _copy(cell: Any) -> Any:
    return cell if type(cell) in _PLAIN else fresh(packed(cell))


def _kind(cell: Any) -> str | type:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth value"
    if isinstance(cell, Real):
        return "number" if cell == cell else "missing"  # a NaN differs from itself
    if type(cell).__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    return type(cell)

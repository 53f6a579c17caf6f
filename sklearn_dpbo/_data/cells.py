"""Cells of tables that declare no type, read and copied one by one (zone: public).

Lists and object arrays can hold anything. numpy and pandas choose a type for a whole column, so one
odd cell can change how all others are read: to integers, say, or to text. Here the *training*
records decide which kinds of cells there are, and each protected cell is read by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pickles import fresh, packed
from .tables import copy_rows, is_frame

__all__ = ["Cells", "as_number", "copied", "is_missing", "is_number", "with_own_cells"]

_OBJECT = np.dtype(object)
# Missing values by the name of their type; NaN is the float that differs from itself.
_MISSING_TYPES = {"NoneType": "None", "NAType": "NA", "NaTType": "NaT"}
_MISSING = {"NaN", *_MISSING_TYPES.values()}
# Types of which every cell is of the same kind.
_PLAIN = {str: "text", bool: "truth value", int: "integer", bytes: "bytes", type(None): "None"}
# Kinds of cells that nobody can write into, so that they need no copies.
_IMMUTABLE = {*_PLAIN.values(), "number", *_MISSING}


@dataclass(frozen=True, eq=False)
class Cells:
    """The kinds of cells that training records have in a column; others become `missing`."""

    kinds: frozenset[str | type]
    missing: Any = None

    @classmethod
    def of(cls, cells: Iterable[Any], missing: Any = None) -> Cells:
        """Return the kinds of these cells, and how they write a missing one, if they do."""
        kinds: dict[str | type, Any] = {_kind(cell): cell for cell in cells}
        own = [kinds[kind] for kind in sorted(_MISSING & kinds.keys())]
        return cls(frozenset(kinds), own[0] if own else missing)

    def has(self, cell: Any) -> bool:
        """Whether a cell is of one of these kinds; whole numbers are numbers."""
        kind = _kind(cell)
        return kind in self.kinds or (kind == "integer" and "number" in self.kinds)

    def read(self, cell: Any) -> Any:
        """Return a copy of a cell, or what stands for a missing one if its kind is new."""
        with suppress(Exception):  # of a cell that cannot be compared or pickled
            kind = _kind(cell)
            if kind in self.kinds:
                return str.__str__(cell) if kind == "text" else _copy(cell)
            if kind == "integer" and "number" in self.kinds:
                return float(cell)
            if kind == "number" and "integer" in self.kinds:
                return int(cell) if float(cell).is_integer() else float(cell)
        return self.missing

    def column(self, cells: Iterable[Any]) -> NDArray[Any]:
        """Return cells as an object array of shape (n,), each read by itself."""
        cells = list(cells)
        # At once where the types alone tell the kinds: a common case.
        at_once = {_PLAIN.get(kind, "other") for kind in set(map(type, cells))} <= self.kinds
        return _objects(cells if at_once else map(self.read, cells), len(cells))


def is_number(cell: Any) -> bool:
    """Whether a cell is a number that a float can hold; NaN, a missing number, is one."""
    try:
        return isinstance(cell, Real | np.bool_) and isinstance(float(cell), float)
    except Exception:  # of integers beyond any float
        return False


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for a missing value."""
    try:
        return _kind(cell) in _MISSING
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
    if isinstance(X, list):
        return X if {*map(type, X)} <= _PLAIN.keys() else [_copy(record) for record in X]
    if is_frame(X):
        X = X.copy(deep=False)
        for j in np.flatnonzero([dtype == _OBJECT for dtype in X.dtypes]):
            X.isetitem(j, with_own_cells(X.iloc[:, j]))
        return X
    if X.dtype != _OBJECT:
        return X
    if isinstance(X, np.ndarray):
        return _objects(with_own_cells(list(X.flat)), X.size).reshape(X.shape)
    cells = with_own_cells(X.to_numpy())
    return type(X)(cells, index=X.index, name=X.name, dtype=X.dtype)


def _copy(cell: Any) -> Any:
    return cell if _kind(cell) in _IMMUTABLE else fresh(packed(cell))


def _objects(cells: Iterable[Any], n: int) -> NDArray[Any]:
    """Return n cells as an array of objects, also if they are sequences."""
    objects = np.empty(n, dtype=object)
    objects[:] = list(cells)
    return objects


def _kind(cell: Any) -> str | type:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth value"
    if isinstance(cell, Integral):
        return "integer"
    if isinstance(cell, Real):
        return "number" if cell == cell else "NaN"  # a NaN differs from itself
    if type(cell) is bytes:
        return "bytes"
    return _MISSING_TYPES.get(type(cell).__name__, type(cell))

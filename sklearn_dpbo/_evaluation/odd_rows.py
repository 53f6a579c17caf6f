"""Odd rows made of training rows, to test estimators that predict row by row (zone: public)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from .._data.tables import is_frame, is_series, n_rows, take_rows

__all__ = ["SPECIAL", "OddRows", "odd_rows"]

# How many rows of each sort there are.
_N_ROWS = 32
# Texts that no column has, of which one comes first and one last in any order.
_NEW_TEXTS = ("\t!new", "~new", "\U0001f600 new")
# Numbers that often stand for something else than a measurement.
SPECIAL = (0.0, -1.0, 999.0)
# A sparse table of more columns is left as it is.
_MOST_COLUMNS = 10_000


@dataclass(frozen=True, eq=False)
class OddRows:
    """Rows of one sort: `make` takes some of the columns that can be odd, and returns rows.

    Many estimators refuse those with `holes`, which are missing or infinite cells.
    """

    columns: tuple[int, ...]
    make: Callable[[tuple[int, ...]], Any]
    holes: bool = False


def odd_rows(X: Any) -> list[OddRows]:
    """Return the sorts of odd rows that there are for a table of training rows.

    With new texts; with missing cells; with infinite ones; with numbers of another scale, positive
    and negative; with special numbers; and last, just with cells of several records.
    """
    rng, n = np.random.default_rng(0), n_rows(X)
    columns, back = _columns(X)
    if columns is None:
        few = take_rows(X, rng.permutation(n)[:_N_ROWS])
        return [OddRows((0,), lambda _: few)]
    combined = [take_rows(column, rng.permutation(n)[:_N_ROWS]) for column in columns]
    sorts = [OddRows((0,), lambda _: back(combined))]
    for change in (_special, _negative, _larger, _infinite, _missing, _new):
        found = [(j, change(column)) for j, column in enumerate(combined)]
        odd = {j: _like(combined[j], cells) for j, cells in found if cells is not None}

        def make(some: tuple[int, ...], odd: dict[int, Any] = odd) -> Any:
            return back([odd[j] if j in some else own for j, own in enumerate(combined)])

        if odd:
            sorts.insert(0, OddRows(tuple(odd), make, change in (_infinite, _missing)))
    return sorts


def _columns(X: Any) -> tuple[Any, Callable[[list[Any]], Any]]:
    """Return (one-dimensional columns or None, what makes a table of such columns)."""
    if is_series(X):
        return [X], lambda columns: columns[0]
    if is_frame(X):
        return [X.iloc[:, j] for j in range(X.shape[1])], lambda columns: _frame(X, columns)
    if sparse.issparse(X) and X.shape[1] <= _MOST_COLUMNS:
        return list(X.toarray().T), lambda columns: sparse.csr_matrix(np.stack(columns, axis=1))
    if isinstance(X, np.ndarray):
        flat = X.reshape(len(X), -1)
        return list(flat.T), lambda cells: np.stack(cells, axis=1).reshape(-1, *X.shape[1:])
    if isinstance(X, list) and all(isinstance(record, str) for record in X):
        return [np.array(X, dtype=object)], lambda columns: columns[0].tolist()
    if isinstance(X, list) and all(isinstance(record, dict) for record in X):
        names = list(dict.fromkeys(name for record in X for name in record))
        cells = [[record.get(name, np.nan) for record in X] for name in names]
        return [np.array(column, dtype=object) for column in cells], lambda columns: [
            {name: cell for name, cell in zip(names, row, strict=True) if not _is_missing(cell)}
            for row in zip(*columns, strict=True)
        ]
    return None, lambda _: X


def _frame(X: Any, columns: list[Any]) -> Any:
    frame = take_rows(X, np.arange(len(columns[0])))
    for j, column in enumerate(columns):
        frame.isetitem(j, column.set_axis(frame.index))
    return frame


def _like(column: Any, cells: list[Any]) -> Any:
    """Return cells as a column of the same type."""
    if not isinstance(column, np.ndarray):
        return type(column)(cells, index=column.index, dtype=column.dtype)
    array = np.empty(len(column), column.dtype)
    array[:] = cells
    return array


# ---------------------------------------------------------------------- changes of columns
def _in_turn(column: Any, values: Any) -> list[Any]:
    return list(islice(cycle(values), len(column)))


def _new(column: Any) -> list[Any] | None:
    """Return texts that are new, or categories that no row has."""
    categories = getattr(column.dtype, "categories", None)
    cells = column.tolist()
    if categories is not None:
        new = [category for category in categories.tolist() if category not in set(cells)]
    else:
        texts = str(column.dtype).startswith("str") or any(isinstance(c, str) for c in cells)
        new = list(_NEW_TEXTS) if texts else []
    return _in_turn(column, new) if new else None


def _missing(column: Any) -> list[Any] | None:
    """Return cells of which every other one is missing, the last one included."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuSU":
        return None
    hole: Any = np.datetime64("NaT") if _kind(column) in "mM" else None
    if _kind(column) == "f" or column.dtype == np.dtype(object):
        hole = np.nan
    cells = list(column)
    return [hole if (len(cells) - i) % 2 else cell for i, cell in enumerate(cells)]


def _infinite(column: Any) -> list[Any] | None:
    return _in_turn(column, (math.inf, -math.inf)) if _kind(column) == "f" else None


def _larger(column: Any) -> list[Any] | None:
    if _kind(column) in "mM":
        cells = np.sort(np.asarray(column))
        return _in_turn(column, (cells[0], cells[-1]))
    return _scaled(column, (10.0, 0.1))


def _negative(column: Any) -> list[Any] | None:
    return _scaled(column, (-10.0,))


def _special(column: Any) -> list[Any] | None:
    """Return numbers that often stand for something else, and the most frequent one."""
    if _kind(column) not in "iuf":
        return None
    known = [cell for cell in column.tolist() if not _is_missing(cell)]
    frequent = Counter(known).most_common(1)[0][0] if known else 0.0
    cast = float if _kind(column) == "f" else int
    return _in_turn(column, [cast(_held(column, number)) for number in (*SPECIAL, frequent)])


def _scaled(column: Any, scales: tuple[float, ...]) -> list[Any] | None:
    """Return the numbers of a column, multiplied in turn; None if it has others than numbers."""
    cells = column.tolist()
    known = [cell for cell in cells if not _is_missing(cell)]
    if not known or not all(_is_number(cell) for cell in known):
        return None
    if min(known) >= 0 and min(scales) < 0 and _kind(column) == "u":
        return None
    return [
        cell if _is_missing(cell) else _held(column, type(cell)(cell * scale))
        for cell, scale in zip(cells, cycle(scales), strict=False)
    ]


def _held(column: Any, number: Any) -> Any:
    """Return a number as far as a column of this type can hold it."""
    dtype = getattr(column.dtype, "numpy_dtype", column.dtype)  # of pandas' nullable types
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return min(max(number, int(np.iinfo(dtype).min)), int(np.iinfo(dtype).max))
    return number


def _kind(column: Any) -> str:
    """Return the kind of a column's dtype; "O" if it declares none."""
    kind: str = getattr(column.dtype, "kind", "O")
    return kind


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool | np.bool_)


def _is_missing(cell: Any) -> bool:
    """Whether a cell is None, differs from itself, as NaN does, or does not say, as pandas' NA."""
    try:
        return cell is None or bool(cell != cell)
    except (TypeError, ValueError):
        return not hasattr(cell, "__len__")

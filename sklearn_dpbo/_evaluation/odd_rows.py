"""Odd rows made of training rows, to see whether an estimator predicts row by row (zone: public).

Tables of any kind are turned into columns of cells, changed, and turned back.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._data.tables import is_frame, is_series, n_rows, stack, take_rows

__all__ = ["SPECIAL", "OddRows", "most_frequent", "odd_rows"]

# Rows that are combined of others.
_N_COMBINED = 32
# Texts that no column has, of which one comes first and one last in any order.
_NEW_TEXTS = ("\t!new", "~new", "\U0001f600 new")
# Numbers that often stand for something else than a measurement.
SPECIAL = (0.0, -1.0, 999.0)
# A sparse table of more columns is left as it is.
_MOST_COLUMNS = 10_000


@dataclass(frozen=True, eq=False)
class OddRows:
    """Rows of one sort.

    Parameters
    ----------
    columns : tuple of int
        Numbers of the columns that can be odd.
    make : callable
        Takes some of them, and returns rows that are odd in these.
    holes : bool
        Whether odd cells are missing or infinite ones, which many estimators refuse.
    """

    columns: tuple[int, ...]
    make: Callable[[tuple[int, ...]], Any]
    holes: bool = False


def odd_rows(companions: Any, X: Any) -> list[OddRows]:
    """Return the sorts of odd rows that there are for a table.

    With new texts; with missing cells; with infinite ones; with numbers of another scale, positive
    and negative; with special numbers; and last, extreme ones and ones combined of two records.

    Parameters
    ----------
    companions, X : table
        Training rows, of which odd ones are made.
    """
    (first, back), (second, _) = _columns(companions), _columns(X)
    if first is None or second is None:
        every = np.arange(min(_N_COMBINED, n_rows(X)))
        return [OddRows((0,), lambda columns: take_rows(X, every))]
    combined = _combined(first, second)
    sorts = [
        (_with_new_texts, False),
        (_with_holes, True),
        (_infinite, True),
        (_larger, False),
        (_negative, False),
        (_special, False),
    ]
    found = [
        OddRows(columns, partial(_made, change, combined, back), holes)
        for change, holes in sorts
        if len(columns := _columns_that_change(change, combined))
    ]
    last = stack([_extremes(second), combined])
    return [*found, OddRows((0,), lambda columns: back(last))]


def _made(
    change: Callable[..., Any], rows: Any, back: Callable[[Any], Any], columns: tuple[int, ...]
) -> Any:
    return back(change(rows, columns))


def _columns_that_change(change: Callable[..., Any], rows: Any) -> tuple[int, ...]:
    """Return the numbers of the columns that a change can be made to."""
    return tuple(j for j in range(rows.shape[1]) if change(rows, (j,)) is not None)


def _columns(X: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return (a frame or an array of cells in columns, what turns such rows back); or None."""
    if is_frame(X):
        return X, _same
    if is_series(X):
        return X.to_frame(), lambda rows: rows.iloc[:, 0].rename(X.name)
    if isinstance(X, np.ndarray):
        shape = X.shape[1:]
        return X.reshape(len(X), -1), lambda rows: rows.reshape(-1, *shape)
    if sparse.issparse(X) and X.shape[1] <= _MOST_COLUMNS:
        return X.toarray(), sparse.csr_matrix
    module = type(X).__module__.partition(".")[0]
    if module in ("polars", "pyarrow") and len(X.shape) == 2:
        return _of_other_frame(X, sys.modules[module])
    if isinstance(X, list) and all(isinstance(record, str) for record in X):
        return _objects([[text] for text in X]), lambda rows: rows[:, 0].tolist()
    if isinstance(X, list) and all(isinstance(record, dict) for record in X):
        names = list(dict.fromkeys(name for record in X for name in record))
        cells = [[record.get(name, np.nan) for name in names] for record in X]
        return _objects(cells), lambda rows: [_record(names, row) for row in rows]
    return None, _same


def _same(rows: Any) -> Any:
    return rows


def _objects(cells: list[list[Any]]) -> NDArray[Any]:
    table = np.empty((len(cells), len(cells[0])), dtype=object)
    for i, row in enumerate(cells):
        table[i] = row
    return table


def _record(names: list[str], row: NDArray[Any]) -> dict[str, Any]:
    known = zip(names, row, strict=True)
    return {name: cell for name, cell in known if not _is_missing(cell)}


def _of_other_frame(X: Any, module: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the cells of a table of polars or pyarrow, and what makes such a table of them."""
    polars = module.__name__ == "polars"
    rows = X.rows() if polars else list(zip(*X.to_pydict().values(), strict=True))

    def back(cells: NDArray[Any]) -> Any:
        lists = [[None if _is_missing(c) else c for c in column] for column in cells.T]
        if polars:
            named = dict(zip(X.columns, lists, strict=True))
            return module.DataFrame(named, strict=False).cast(dict(X.schema), strict=False)
        columns = [module.array(c, from_pandas=True) for c in lists]
        table = module.table(columns, names=X.schema.names)
        return table.cast(X.schema, safe=False)

    return _objects([list(row) for row in rows]), back


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, Real) and cell != cell)


# ---------------------------------------------------------------------- sorts of rows
def _from_cells(X: Any, index: NDArray[np.intp]) -> Any:
    """Return rows whose cell (i, j) is that of row ``index[i, j]`` in column j."""
    if isinstance(X, np.ndarray):
        return X[index, np.arange(X.shape[1])]
    frame = take_rows(X, index[:, 0]).reset_index(drop=True)
    for j in range(X.shape[1]):
        frame.isetitem(j, X.iloc[index[:, j], j].reset_index(drop=True))
    return frame


def _combined(A: Any, B: Any) -> Any:
    """Return rows that have some cells of a record in A, and the others of one in B."""
    rng, d, X = np.random.default_rng(0), A.shape[1], stack([A, B])
    first = rng.permutation(n_rows(A))[:_N_COMBINED]
    second = n_rows(A) + rng.integers(n_rows(B), size=len(first))
    from_first = rng.random((len(first), d)) < 0.5
    return _from_cells(X, np.where(from_first, first[:, None], second[:, None]))


def _extremes(X: Any) -> Any:
    """Return a row of the largest numbers and rarest values, and one of the smallest."""
    ranks = [_ranks(_column(X, j)) for j in range(X.shape[1])]
    index = [[int(choose(each)) for each in ranks] for choose in (np.argmax, np.argmin)]
    return _from_cells(X, np.array(index))


def _column(X: Any, j: int) -> Any:
    return X[:, j] if isinstance(X, np.ndarray) else X.iloc[:, j]


def _ranks(column: Any) -> NDArray[Any]:
    """Return numbers by which cells of a column are ordered: their size, or how rare they are."""
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        values = np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(float))
    elif values.dtype.kind == "O" and all(_is_number(v) or _is_missing(v) for v in values):
        values = np.array([np.nan if _is_missing(v) else float(v) for v in values])
    if values.dtype.kind in "biuf":
        values = values.astype(float)
        known = values[np.isfinite(values)]
        return np.where(np.isfinite(values), values, known.mean() if known.size else 0.0)
    names = [str(value) for value in values]
    counts = Counter(names)
    return np.array([-counts[name] for name in names])


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool | np.bool_)


def _changed(
    rows: Any, columns: tuple[int, ...], change: Callable[[Any], Any | None]
) -> Any | None:
    """Return rows with the cells of some columns changed; None if one of them cannot be."""
    rows = rows.copy()
    for j in columns:
        column = _column(rows, j)
        cells = change(column)
        if cells is None:
            return None
        if isinstance(rows, np.ndarray):
            rows[:, j] = cells
        else:
            rows.isetitem(j, type(column)(cells, index=rows.index, dtype=column.dtype))
    return rows


def _larger(rows: Any, columns: tuple[int, ...]) -> Any | None:
    return _changed(rows, columns, lambda column: _scaled(column, (10.0, 0.1)))


def _negative(rows: Any, columns: tuple[int, ...]) -> Any | None:
    return _changed(rows, columns, lambda column: _scaled(column, (-10.0,)))


def _infinite(rows: Any, columns: tuple[int, ...]) -> Any | None:
    return _changed(
        rows,
        columns,
        lambda column: _in_turn(column, (math.inf, -math.inf)) if _kind(column) == "f" else None,
    )


def _special(rows: Any, columns: tuple[int, ...]) -> Any | None:
    """Return rows of numbers that often stand for something else, and of the most frequent one."""
    return _changed(
        rows,
        columns,
        lambda column: (
            _in_turn(column, (*SPECIAL, most_frequent(column)))
            if _kind(column) in ("i", "u", "f")
            else None
        ),
    )


def _kind(column: Any) -> str:
    return getattr(column.dtype, "kind", "")


def most_frequent(column: Any) -> float:
    """Return the most frequent number of a column; 0 if it has none."""
    known = [cell for cell in column.tolist() if _is_number(cell) and not _is_missing(cell)]
    return Counter(known).most_common(1)[0][0] if known else 0.0


def _in_turn(column: Any, numbers: tuple[float, ...]) -> list[Any]:
    """Return these numbers in turn, as far as a column of this type can hold them."""
    low, high = _range(column.dtype)
    cast = float if _kind(column) == "f" else int
    held = [cast(min(max(number, low), high)) for number in numbers]
    return [held[i % len(held)] for i in range(len(column))]


def _scaled(column: Any, scales: tuple[float, ...]) -> Any | None:
    """Return the cells of a column of numbers, multiplied in turn; None if it has no numbers."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f":  # at once: a common case
        numbers = np.asarray(column, dtype=float)
        factors = np.array(scales)[np.arange(len(numbers)) % len(scales)]
        with np.errstate(over="ignore"):
            return None if np.isnan(numbers).all() else numbers * factors
    cells = column.tolist()
    known = [cell for cell in cells if _is_number(cell) and not _is_missing(cell)]
    if not known or not all(_is_number(cell) or _is_missing(cell) for cell in cells):
        return None
    if min(known) >= 0 and min(scales) < 0 and getattr(column.dtype, "kind", "") == "u":
        return None
    low, high = _range(column.dtype)
    return [
        cell
        if _is_missing(cell)
        else min(max(type(cell)(cell * scales[i % len(scales)]), low), high)
        for i, cell in enumerate(cells)
    ]


def _range(dtype: Any) -> tuple[float, float]:
    """Return the smallest and the largest number that a column of this type can hold."""
    dtype = getattr(dtype, "numpy_dtype", dtype)  # of pandas' nullable types
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return -math.inf, math.inf


def _with_holes(rows: Any, columns: tuple[int, ...]) -> Any | None:
    """Return rows of which every other one lacks a cell in some columns, the last one included."""
    return _changed(rows, columns, _halved)


def _halved(column: Any) -> list[Any] | None:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuSU":
        return None
    hole: Any = np.datetime64("NaT") if column.dtype.kind in "mM" else None
    if column.dtype.kind == "f" or column.dtype == np.dtype(object):
        hole = np.nan
    cells = column.tolist()
    return [hole if (len(cells) - i) % 2 else cell for i, cell in enumerate(cells)]


def _with_new_texts(rows: Any, columns: tuple[int, ...]) -> Any | None:
    """Return rows with texts that are new, or with categories that no row has."""
    return _changed(rows, columns, _new_values)


def _new_values(column: Any) -> list[Any] | None:
    categories = getattr(column.dtype, "categories", None)
    if categories is not None:
        new = [c for c in categories.tolist() if c not in set(column.tolist())]
    else:
        texts = str(column.dtype).startswith(("str", "string"))
        if column.dtype == np.dtype(object):
            texts = any(isinstance(cell, str) for cell in column)
        new = list(_NEW_TEXTS) if texts else []
    return [new[i % len(new)] for i in range(len(column))] if new else None

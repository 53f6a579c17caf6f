"""Protected tables and labels in one form, read record by record (zone: public).

What a type declares (a dtype, say) is part of the schema, which is public. Where nothing is
declared, in lists and object columns, the training records say what to expect, and a protected
record that does not fit is missing: so no record changes how another is read. Nothing here is
computed from several records, and nothing raises because of one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .cells import Cells, as_number, is_number
from .tables import dense, is_frame, is_series

__all__ = ["Canonical", "align", "as_labels", "canonical"]

# Integers up to this size are exact as floats.
_EXACT = 2**53


@dataclass(frozen=True)
class Canonical:
    """How tables are read that shall be like a training table.

    Parameters
    ----------
    read : callable
        Takes a table, and returns it in the form of the training table, as new or as it is.
    copies : bool
        Whether its cells may be written into, so that a copy of the table needs copies of them.
    """

    read: Callable[[Any], Any]
    copies: bool = False


def canonical(X: Any) -> Canonical:
    """Return how to read tables like X, the training table.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Public.
    """
    if is_frame(X):
        return _like_frame(X)
    if is_series(X):
        form = _like_frame(X.to_frame())
        return Canonical(lambda series: _of_series(form, series), form.copies)
    if isinstance(X, list | tuple):
        return _like_list(X)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim <= 2:
        return _like_objects(X if X.ndim == 2 else X[:, None], flat=X.ndim == 1)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        return Canonical(lambda table: _numbers(table, X.shape[1]))
    return Canonical(lambda table: table)


def _like_list(X: Sequence[Any]) -> Canonical:
    """Lists of records of one length become arrays; of others (texts, dicts, tokens), lists."""
    width = _width(X)
    if width is None:
        items = Cells.of(X)
        return Canonical(lambda table: [items.read(item) for item in _items(table)], items.mutable)
    if all(isinstance(cell, int | float | np.number | np.bool_) for row in X for cell in row):
        return Canonical(lambda table: _numbers(table, width))
    rows = np.empty((len(X), width), dtype=object)
    for i, row in enumerate(X):
        rows[i] = list(row)
    return _like_objects(rows)


def _width(X: Sequence[Any]) -> int | None:
    """Return the length of all records, if they are sequences of the same length; else None."""
    lengths = {len(row) if isinstance(row, list | tuple | np.ndarray) else 0 for row in X}
    width = lengths.pop() if len(lengths) == 1 else 0
    return width or None


def _items(table: Any) -> list[Any]:
    return list(table) if isinstance(table, list | tuple) else list(np.asarray(table, dtype=object))


def _numbers(table: Any, width: int) -> Any:
    """Return a list of records, or an array of objects, as floats; what does not fit is NaN."""
    if not isinstance(table, list | tuple) and getattr(table, "dtype", None) != np.dtype(object):
        return table
    numbers = np.full((len(table), width), np.nan)
    for i, record in enumerate(table):
        cells = _cells(record)
        if len(cells) == width and all(is_number(cell) for cell in cells):
            numbers[i] = [as_number(cell) for cell in cells]
    return numbers


def _cells(record: Any) -> list[Any]:
    """Return the cells of a record; none if it has no cells."""
    try:
        return list(record)
    except Exception:
        return []


def _like_objects(X: NDArray[Any], flat: bool = False) -> Canonical:
    columns = [Cells.of(column, np.nan) for column in X.T]

    def read(table: Any) -> Any:
        if isinstance(table, np.ndarray) and table.dtype != object:
            return table
        if flat:
            return columns[0].column(_items(table))
        rows = np.empty((len(table), len(columns)), dtype=object)
        for i, record in enumerate(table):
            cells = _cells(record)
            fits = len(cells) == len(columns)
            rows[i] = [
                column.read(cells[j]) if fits else column.missing
                for j, column in enumerate(columns)
            ]
        return rows

    return Canonical(read, any(column.mutable for column in columns))


# ---------------------------------------------------------------------- frames
def _like_frame(X: Any) -> Canonical:
    columns = {
        j: Cells.of(X.iloc[:, j], np.nan)
        for j in range(X.shape[1])
        if X.dtypes.iloc[j] == np.dtype(object)
    }

    index = Cells.of(X.index)

    def read(table: Any) -> Any:
        if not is_frame(table):
            return table
        if table.index.dtype == np.dtype(object) and X.index.nlevels == table.index.nlevels == 1:
            table = table.set_axis(index.column(table.index), axis=0)
        read_columns = [
            _column(table.iloc[:, j], X.dtypes.iloc[j], columns.get(j))
            for j in range(table.shape[1])
        ]
        if all(new is old for new, old in read_columns):
            return table
        frame = sys.modules["pandas"].concat([new for new, _ in read_columns], axis=1)
        frame.columns, frame.index = table.columns, table.index
        return frame

    return Canonical(read, any(cells.mutable for cells in columns.values()))


def _of_series(form: Canonical, series: Any) -> Any:
    """Return a series in canonical form: as the only column of a frame."""
    if not is_series(series):
        return series
    (column,) = form.read(series.to_frame()).items()
    return column[1].rename(series.name)


def _column(column: Any, dtype: Any, cells: Cells | None) -> tuple[Any, Any]:
    """Return (the column of a frame in canonical form, the column as it was)."""
    Series = sys.modules["pandas"].Series
    if column.dtype == object:
        if cells is None and _is_number(dtype):
            new = np.array([as_number(cell) for cell in column])
        else:
            new = (cells or Cells(frozenset({"text"}), np.nan)).column(column)
        return Series(new, index=column.index, dtype=new.dtype), column
    common = _common_dtype(dtype, column.dtype)
    return (column if common == column.dtype else column.astype(common)), column


def _common_dtype(a: Any, b: Any) -> Any:
    """Return a dtype that columns of both dtypes can be turned into, whatever their values."""
    if a == b:
        return a
    if _is_number(a) and _is_number(b):
        numpy_only = isinstance(a, np.dtype) and isinstance(b, np.dtype)
        return np.result_type(a, b) if numpy_only else np.dtype(float)
    return b if _family(a) == _family(b) else np.dtype(object)


def _is_number(dtype: Any) -> bool:
    """Whether a dtype, of numpy or pandas, declares numbers or truth values."""
    return getattr(dtype, "kind", "") in "biuf" and str(dtype) != "category"


def _family(dtype: Any) -> str:
    return str(dtype).partition("[")[0]


def align(rows: Any, like: Any) -> Any:
    """Return public rows with the dtypes of a canonical table, beside which they will stand.

    Parameters
    ----------
    rows : table
        Training rows, in their canonical form.
    like : table
        Only its declared schema is used.
    """
    if is_series(rows) and is_series(like):
        return rows.astype(like.dtype)
    if is_frame(rows) and is_frame(like):
        own = {j: like.dtypes.iloc[j] for j in range(rows.shape[1])}
        changed = [j for j in own if rows.dtypes.iloc[j] != own[j]]
        for j in changed:
            column = rows.iloc[:, j]
            column = column.astype(own[j])
            rows = _replaced(rows, j, column)
        return rows.set_axis(like.columns, axis=1) if changed else rows
    if issparse(rows) != issparse(like):
        return rows.toarray() if issparse(rows) else rows
    if type(rows).__module__.startswith("polars"):
        return rows.cast(dict(like.schema), strict=False)
    if type(rows).__module__.startswith("pyarrow"):
        return rows.cast(like.schema, safe=False)
    return rows


def _replaced(frame: Any, j: int, column: Any) -> Any:
    columns = [frame.iloc[:, k] if k != j else column for k in range(frame.shape[1])]
    return sys.modules["pandas"].concat(columns, axis=1)


# ---------------------------------------------------------------------- labels
def as_labels(y: Any, like: NDArray[Any]) -> Any:
    """Return protected labels as an array; those that declare no type are read one by one.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, n_outputs), or None
        Validation targets.
    like : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Training targets, which are public: their kinds are taken.
    """
    if y is None or _declared(y):
        return dense(y)
    labels, outputs = _label_list(y), like.shape[1:]
    if not outputs:
        labels = [_alone(label) for label in labels]
    if like.dtype.kind in "biuf" and not _beyond_floats(like):
        numbers = np.full((len(labels), *outputs), np.nan)
        for i, label in enumerate(labels):
            cells = _cells(label) if outputs else [label]
            if len(cells) == max(1, *outputs, 0) and all(is_number(cell) for cell in cells):
                numbers[i] = [as_number(cell) for cell in cells] if outputs else as_number(label)
        return numbers
    if not outputs:
        return Cells.of(like.tolist()).column(labels)
    return _like_objects(like.astype(object)).read(labels)


def _alone(label: Any) -> Any:
    """Return what a list of one label has: as `dense` reads a table of one column."""
    return label[0] if isinstance(label, list | tuple) and len(label) == 1 else label


def _declared(y: Any) -> bool:
    """Whether labels declare one numpy dtype that is the same whatever their values are."""
    if issparse(y):
        return True
    if is_frame(y):
        dtypes = y.dtypes.tolist()
        return all(isinstance(d, np.dtype) and d.kind != "O" for d in dtypes)
    dtype = getattr(y, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind != "O"


def _label_list(y: Any) -> list[Any]:
    if is_frame(y):
        rows = list(y.itertuples(index=False, name=None))
        return [row[0] for row in rows] if y.shape[1] == 1 else rows
    if hasattr(y, "columns"):
        y = np.asarray(y)
    values = y.tolist() if hasattr(y, "tolist") else list(y)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        return [row[0] for row in values]
    return list(values)


def _beyond_floats(labels: NDArray[Any]) -> bool:
    """Whether training labels are integers that no float holds exactly."""
    whole = labels.dtype.kind in "iu" and labels.size > 0
    return whole and max(abs(int(labels.min())), abs(int(labels.max()))) > _EXACT

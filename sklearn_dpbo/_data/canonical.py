"""Protected tables and labels in the form of training data, read one by one (zone: public).

What a type declares (a dtype, say) is part of the schema, which is public. Where nothing is
declared, in lists and object columns, the training records say what to expect, and a protected cell
that does not fit is missing: so no record changes how another is read. Nothing here is computed
from several records, and nothing raises because of one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .cells import Cells, as_number
from .tables import as_table, dense, is_frame, is_series, n_rows

__all__ = [
    "as_array", "as_labels", "check_same_kind", "check_targets", "in_one_form", "may_change",
    "refuse_complex", "training_table",
]  # fmt: skip

# Integers up to this size are exact as floats.
_EXACT = 2**53
_OBJECT = np.dtype(object)
_KINDS = {
    "numbers": ("int", "uint", "float", "bool", "decimal"),
    "times": ("datetime", "timedelta", "duration", "date"),
    "complex numbers": ("complex",),
    "text": ("str", "<u", "|s", "utf8"),
}


def in_one_form(X: Any, X_val: Any, pairwise: bool = False) -> tuple[Any, Any]:
    """Return a training table and a protected one with the same types.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Public, as `training_table` returns it: it says how undeclared cells of X_val are read.
    X_val : table of shape (n_val, n_features)
        Protected.
    pairwise : bool, default=False
        Whether the columns of X_val are for the rows of X, as in a kernel matrix.

    Raises
    ------
    ValueError
        If their declared schemas differ in more than the precision of numbers.
    """
    _check_same_columns(X, X_val, pairwise)
    if is_frame(X):
        return _frames(X, X_val)
    if is_series(X):
        X, X_val = _frames(X.to_frame(), X_val.to_frame())
        return X.iloc[:, 0], X_val.iloc[:, 0]
    if isinstance(X, list):
        return X, list(Cells.of(X).column(X_val))
    if issparse(X_val) and not issparse(X):
        X_val = X_val.toarray()
    declared = getattr(X_val, "dtype", _OBJECT) != _OBJECT
    if not declared and not _is_number(X.dtype):
        X = X.astype(object)
    if not declared or X.dtype == _OBJECT:
        X_val = as_array(X_val, X, np.nan)
    if issparse(X):
        X_val = type(X)(X_val)
    if _is_number(X.dtype) and _is_number(X_val.dtype):
        common = np.result_type(X.dtype, X_val.dtype)
        X, X_val = X.astype(common, copy=False), X_val.astype(common, copy=False)
    return X, X_val


def as_array(records: Iterable[Any], like: Any, missing: Any = None) -> NDArray[Any]:
    """Return records that declare no type as an array: of floats, or of objects as in `like`."""
    numbers = _is_number(like.dtype)
    if like.ndim == 1:
        if numbers:
            return np.array([as_number(cell) for cell in records])
        return Cells.of(like.tolist(), missing).column(records)
    rows = [_cells(record, like.shape[1]) for record in records]
    if numbers:
        return np.array([[as_number(cell) for cell in row] for row in rows])
    columns = zip(like.T.tolist(), zip(*rows, strict=True), strict=True)
    return np.stack([Cells.of(own, missing).column(cells) for own, cells in columns], axis=1)


def _cells(record: Any, width: int) -> list[Any]:
    """Return the cells of a record; missing ones if it has another number of them, or none."""
    with suppress(Exception):
        cells = list(record)
        if len(cells) == width:
            return cells
    return [None] * width


def training_table(X: Any) -> Any:
    """Return a training table; a list of records of one length as an array."""
    X = as_table(X)
    if not isinstance(X, list):
        return X
    lengths = {len(row) if isinstance(row, list | tuple | np.ndarray) else 0 for row in X}
    if len(lengths) > 1 or 0 in lengths:
        return X
    array = np.empty((len(X), *lengths), dtype=object)
    for i, row in enumerate(X):
        array[i] = list(row)
    numbers = all(isinstance(cell, int | float | np.number | np.bool_) for cell in array.flat)
    return array.astype(float) if numbers else array


def may_change(X: Any) -> bool:
    """Whether cells of a table may be written into, so that a copy of it needs copies of them."""
    if is_frame(X):
        X = X.iloc[:, np.flatnonzero([dtype == _OBJECT for dtype in X.dtypes])].to_numpy(object)
    if isinstance(X, list):
        return Cells.of(X).mutable
    return bool(X.dtype == _OBJECT) and Cells.of(np.asarray(X).ravel()).mutable


# ---------------------------------------------------------------------- frames
def _frames(X: Any, X_val: Any) -> tuple[Any, Any]:
    if X_val.index.dtype == _OBJECT and X.index.nlevels == X_val.index.nlevels == 1:
        X_val = X_val.set_axis(Cells.of(X.index).column(X_val.index), axis=0)
    dtypes = X_val.dtypes.tolist()
    if X.dtypes.tolist() == dtypes and _OBJECT not in dtypes:
        return X, X_val
    pairs = [_columns(X.iloc[:, j], X_val.iloc[:, j]) for j in range(X.shape[1])]
    concat = sys.modules["pandas"].concat
    frames = [concat(columns, axis=1) for columns in zip(*pairs, strict=True)]
    return frames[0].set_axis(X.columns, axis=1), frames[1].set_axis(X.columns, axis=1)


def _columns(column: Any, column_val: Any) -> tuple[Any, Any]:
    """Return a column of both frames, with one dtype."""
    if column_val.dtype == _OBJECT:
        if _is_number(column.dtype):
            read = np.array([as_number(cell) for cell in column_val])
        else:
            read = Cells.of(column, np.nan).column(column_val)
        column_val = type(column_val)(read, index=column_val.index, dtype=read.dtype)
    common = _common_dtype(column.dtype, column_val.dtype)
    return column.astype(common), column_val.astype(common)


def _common_dtype(a: Any, b: Any) -> Any:
    """Return a dtype that columns of both dtypes can be turned into, whatever those of b hold."""
    if _is_number(a) and _is_number(b) and a != b:
        numpy_only = isinstance(a, np.dtype) and isinstance(b, np.dtype)
        return np.result_type(a, b) if numpy_only else np.dtype(float)
    same_family = str(a).partition("[")[0] == str(b).partition("[")[0]
    return b if same_family else _OBJECT


def _is_number(dtype: Any) -> bool:
    """Whether a dtype, of numpy or pandas, declares numbers or truth values."""
    return getattr(dtype, "kind", "") in "biuf" and str(dtype) != "category"


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
    declared = all(isinstance(t, np.dtype) and t != _OBJECT for t in _dtypes(y))
    if y is None or declared:
        return dense(y)
    if is_frame(y):
        y = y.itertuples(index=False, name=None)
    labels = y.tolist() if hasattr(y, "tolist") else list(y)
    if like.ndim == 1:
        one = [isinstance(label, list | tuple) and len(label) == 1 for label in labels]
        labels = [label[0] if single else label for single, label in zip(one, labels, strict=True)]
    whole = like.dtype.kind in "iu" and like.size > 0
    beyond_floats = whole and max(abs(int(like.min())), abs(int(like.max()))) > _EXACT
    return as_array(labels, like.astype(object) if beyond_floats else like)


def refuse_complex(*several: Any) -> None:
    """Raise ValueError if labels declare that they are complex numbers; the message quotes none."""
    for y in several:
        dtype = getattr(y, "dtype", None)
        if getattr(dtype, "kind", "") == "c":
            raise ValueError(f"Complex data not supported: y is an array of {dtype}")


# ---------------------------------------------------------------------- declared schemas
def check_targets(y: Any, y_val: Any, n: int) -> NDArray[Any] | None:
    """Return y_val as an array of n labels, or None if neither y nor y_val is given.

    Raises
    ------
    ValueError
        If only one of them is given, or their shapes or types disagree.
    """
    if y is None and y_val is None:
        return None
    if y is None or y_val is None:
        missing, present = ("y", "y_val") if y is None else ("y_val", "y")
        raise ValueError(f"{missing} is missing: {present} was given, and both are needed")
    refuse_complex(y, y_val)
    kind, kind_val = (_declared_kind(getattr(labels, "dtype", None)) for labels in (y, y_val))
    y = dense(y)
    if kind is None and all(isinstance(label, str) for label in y.flat):
        kind = "text"
    checked: NDArray[Any] = as_labels(y_val, y)
    if len(checked) != n:
        raise ValueError(f"X_val has {n} rows and y_val has {len(checked)}: give one label each")
    if checked.shape[1:] != y.shape[1:]:
        raise ValueError(f"y has shape {y.shape} and y_val {checked.shape}: outputs must agree")
    if None not in (kind, kind_val) and kind != kind_val:
        raise ValueError(f"y holds {kind} and y_val {kind_val}: no label of it can be right")
    return checked


def check_same_kind(X: Any, X_val: Any) -> None:
    """Raise ValueError if tables, as the user gave them, cannot be put together."""
    kind, kind_val = _kind_of_table(X), _kind_of_table(X_val)
    if kind != kind_val and not {kind, kind_val} <= {"an array", "a list"}:
        raise ValueError(f"X is {kind} and X_val {kind_val}: pass both as the same kind of table")


def _kind_of_table(X: Any) -> str:
    if isinstance(X, np.ndarray) or issparse(X):
        return "an array"
    if isinstance(X, list | tuple):
        return "a list"
    if is_frame(X) or is_series(X):
        return "a pandas.DataFrame" if is_frame(X) else "a pandas.Series"
    return f"a {type(X).__module__.partition('.')[0]}.{type(X).__name__}"


def _check_same_columns(X: Any, X_val: Any, pairwise: bool) -> None:
    """Raise ValueError if names, number, kinds or categories of columns differ."""
    names, names_val = ([str(c) for c in getattr(table, "columns", ())] for table in (X, X_val))
    if names != names_val:
        lacking = [name for name in names if name not in names_val][:5] or "none"
        extra = [name for name in names_val if name not in names][:5] or "none"
        raise ValueError(
            f"X_val needs the columns of X, in the same order: lacking are {lacking}, and {extra} "
            "are not in X. Pass X_val[X.columns]"
        )
    width, width_val = n_rows(X) if pairwise else _n_columns(X), _n_columns(X_val)
    if None not in (width, width_val) and width != width_val:
        raise ValueError(f"X has {width} columns and X_val {width_val}: they must agree")
    for j, (dtype, dtype_val) in enumerate(zip(_dtypes(X), _dtypes(X_val), strict=True)):
        where = f"in column {names[j]!r} " if names else ""
        kind, kind_val = _declared_kind(dtype), _declared_kind(dtype_val)
        if None not in (kind, kind_val) and kind != kind_val:
            raise ValueError(f"{where}X holds {kind} and X_val {kind_val}: they must agree")
        own, other = (getattr(each, "categories", None) for each in (dtype, dtype_val))
        if own is not None and other is not None and not own.equals(other):
            raise ValueError(
                f"{where}X and X_val declare different categories: give both the same "
                "pandas.CategoricalDtype"
            )


def _n_columns(X: Any) -> int | None:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return shape[1] if len(shape) == 2 else None


def _dtypes(X: Any) -> list[Any]:
    return X.dtypes.tolist() if is_frame(X) else [getattr(X, "dtype", None)]


def _declared_kind(dtype: Any) -> str | None:
    """Return what a dtype holds, "numbers" or "text" say; None for dtypes not known."""
    name = str(dtype).lower()
    return next((kind for kind, starts in _KINDS.items() if name.startswith(starts)), None)

"""Convert protected tables and labels to the types of the training data (zone: public).

What a type declares (a dtype, say) is part of the schema, which is public. Numbers of two types are
cast to a common one, and models are fitted on the result; any other difference is an error. Lists
and object columns declare nothing: there the training records say which kinds of cells to expect,
and a protected cell of another kind counts as missing. Each cell is read by itself, so no record
changes how another is read. Nothing here is computed from several records, and no record raises an
error.

Names of columns are compared here, and nowhere else: `key_of_name`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..privacy.suppress_output import suppress_output
from .tables import (
    EXACT,
    as_number,
    as_table,
    check_readable,
    dense,
    is_frame,
    is_number,
    is_series,
    kind_of_cell,
    like_column,
    n_rows,
    of_own_rows,
    plain_array,
    read_like,
    with_columns,
    without_length,
)  # fmt: skip

_OBJECT = np.dtype(object)
_KINDS = {
    **dict.fromkeys("biuf", "numbers"),
    **dict.fromkeys("mM", "times"),
    **dict.fromkeys("UT", "text"),
    "c": "complex numbers",
    "S": "bytes",
    "V": "fields",
}


@suppress_output()  # of casts, and of what objects say when they are copied
def in_one_form(X: Any, X_val: Any, pairwise: bool = False) -> tuple[Any, Any]:
    """Convert a training and a protected table (both from `as_table`) to the same types.

    Numbers are cast to a common type. If `pairwise`, the tables are kernel matrices, and X_val has
    one column for each row of X. Raises ValueError if the declared types differ otherwise.
    """
    if is_frame(X) != is_frame(X_val) or is_series(X) != is_series(X_val):
        raise ValueError(
            f"X has the type {type(X).__name__} and X_val {type(X_val).__name__}: pass both as the "
            "same kind of table"
        )
    if is_frame(X):
        return _frames(X, X_val)
    if is_series(X):
        return _columns(X, X_val)
    if X.ndim == 1 and isinstance(next(iter(X), None), list | tuple | np.ndarray):
        X = _rows_of_numbers(X)
    if X.ndim == 2 and X_val.ndim == 1:
        X_val = as_array(X_val, X)  # a list, too
    row_shape = (n_rows(X),) if pairwise else X.shape[1:]
    row_shape_val = X_val.shape[1:]
    if row_shape != row_shape_val:
        raise ValueError(
            f"X_val needs the columns of X: rows have shapes {row_shape_val} and {row_shape}"
        )
    X, X_val = _columns(X, X_val)
    if issparse(X):
        return X, type(X)(X_val)
    return X, X_val.toarray() if issparse(X_val) else X_val


def _rows_of_numbers(records: NDArray[Any]) -> NDArray[np.float64]:
    """Convert a list of records of numbers, all of one length, to a matrix."""
    with suppress(ValueError):  # of arrays of different shapes
        X = np.array(records.tolist(), dtype=object)
        if X.ndim == 2 and all(map(is_number, X.flat)):
            return X.astype(float)
    raise ValueError(
        "X is a list of records that are not all rows of numbers of one length. Pass an array or a "
        "pandas.DataFrame, which declare their types (or a pandas.Series of lists of tokens)"
    )


def _frames(X: Any, X_val: Any) -> tuple[Any, Any]:
    """Convert both frames to columns of the same types."""
    _check_names(X, X_val, "X")
    names = list(X.columns)
    before = [(X.iloc[:, j], X_val.iloc[:, j]) for j in range(len(names))]
    after = [_columns(*pair, f"[{name!r}]") for name, pair in zip(names, before, strict=True)]

    def changed(side: int) -> dict[int, Any]:
        return {
            j: columns[side]
            for j, columns in enumerate(after)
            if columns[side] is not before[j][side]
        }

    # The same names may have other types, such as 1 and 1.0.
    return with_columns(X, changed(0)), with_columns(X_val, changed(1)).set_axis(X.columns, axis=1)


def _columns(X: Any, X_val: Any, name: str = "") -> tuple[Any, Any]:
    """Convert two columns, or arrays, to one type; cells of objects are read one by one."""
    dtypes = (X.dtype, X_val.dtype)
    if X.dtype == X_val.dtype:
        if X.dtype == _OBJECT:
            X_val = like_column(X_val, as_array(X_val, X, np.nan))
        return X, X_val
    are_numbers = [isinstance(dtype, np.dtype) and _is_number(dtype) for dtype in dtypes]
    if all(are_numbers):
        common = np.result_type(*dtypes)
        return X.astype(common), X_val.astype(common)
    both_categories = all(hasattr(dtype, "categories") for dtype in dtypes)
    difference = " with other categories" if both_categories else ""
    target = "float" if are_numbers[0] else f"X{name}.dtype"
    raise ValueError(
        f"X{name} is {X.dtype} and X_val{name} is {X_val.dtype}{difference}: give both one type, "
        f"for example by X_val{name} = X_val{name}.astype({target})"
    )


def as_array(records: Iterable[Any], like: Any, missing: Any = None) -> NDArray[Any]:
    """Convert records without a declared type to an array: floats, or objects as in `like`."""
    are_numbers = _is_number(like.dtype)
    if like.ndim == 1:
        if are_numbers:
            return np.array([as_number(cell) for cell in records])
        return read_like(like.tolist(), records, missing)
    rows = [_cells(record, like.shape[1]) for record in records]
    if are_numbers:
        return np.array([[as_number(cell) for cell in row] for row in rows])
    columns = zip(like.T.tolist(), zip(*rows, strict=True), strict=True)
    return np.stack([read_like(public, cells, missing) for public, cells in columns], axis=1)


def single_cells(records: Iterable[Any]) -> list[Any]:
    """Replace each record that is a list or array of one cell by that cell."""

    def single(record: Any) -> bool:
        kind = type(record)
        return (kind in (list, tuple) and len(record) == 1) or (
            kind is np.ndarray and record.shape == (1,)
        )

    return [record[0] if single(record) else record for record in records]


def _cells(record: Any, width: int) -> list[Any]:
    """List the `width` cells of a record; all are missing if it has another number of them."""
    with suppress(Exception):
        cells = list(record)
        if len(cells) == width:
            return cells
    return [None] * width


# ---------------------------------------------------------------------- names of columns
def key_of_name(name: Any) -> Hashable:
    """Return a key that equal names of columns share: "1" and True are not the name 1."""
    if isinstance(name, tuple):
        return tuple(map(key_of_name, name))
    kind = kind_of_cell(name)
    return kind, None if kind == "missing" else name


def _check_names(public: Any, protected: Any, table: str) -> None:
    """Raise ValueError, with the first difference, unless frames have the same columns in order.

    `table` is the name of the public frame, "X" or "y".
    """
    names = list(public.columns)
    names_val = list(protected.columns)
    keys = [key_of_name(name) for name in names]
    keys_val = [key_of_name(name) for name in names_val]
    if keys == keys_val:
        return
    pairs = enumerate(zip_longest(keys, keys_val))
    j = next(j for j, (key, key_val) in pairs if key != key_val)
    first, first_val = (
        f"{columns[j]!r} ({type(columns[j]).__name__})" if j < len(columns) else "missing"
        for columns in (names, names_val)
    )
    name_of_key = dict(zip(keys + keys_val, names + names_val, strict=True))
    only = sorted((name_of_key[key] for key in {*keys} - {*keys_val}), key=repr)[:9]
    only_val = sorted((name_of_key[key] for key in {*keys_val} - {*keys}), key=repr)[:9]
    if list(map(str, names)) == list(map(str, names_val)):
        hint = f". If these are the same columns, set {table}_val.columns = {table}.columns"
    elif only or only_val:
        hint = f". Only in {table} are {only}, only in {table}_val {only_val}"
    else:
        hint = f". Pass {table}_val[{table}.columns]"
    raise ValueError(
        f"{table}_val needs the columns of {table}, in the same order: column {j} of {table} is "
        f"{first}, of {table}_val {first_val}{hint}"
    )


# ---------------------------------------------------------------------- what types declare
def _kind_of(public: Any) -> str | None:
    """Name the kind that training records declare; of objects that are all texts, "text"."""
    if public.dtype != _OBJECT:
        return kind_of(public.dtype)
    cells = np.asarray(public).flat
    return "text" if len(cells) and all(isinstance(cell, str) for cell in cells) else None


def kind_of(dtype: Any) -> str | None:
    """Name the kind that a dtype, or that of its categories, declares; None if it may be any."""
    categories = getattr(dtype, "categories", None)
    if hasattr(categories, "dtype"):
        return _kind_of(categories)
    return "text" if str(dtype).startswith("str") else _KINDS.get(getattr(dtype, "kind", "O"))


def _is_number(dtype: Any) -> bool:
    """Return True if a dtype of numpy or pandas declares numbers or truth values."""
    return getattr(dtype, "kind", "O") in "biuf"


def _dtypes(X: Any) -> list[Any]:
    return X.dtypes.tolist() if is_frame(X) else [getattr(X, "dtype", None)]


# ---------------------------------------------------------------------- labels
def labels_in_one_form(y: Any, y_val: Any, n: int) -> tuple[Any, NDArray[Any]]:
    """Convert training labels, and protected labels of n records, as `in_one_form` does tables.

    Protected texts become objects. Raises ValueError if frames have different columns, or if
    `check_labels` does.
    """
    if hasattr(y, "columns") and hasattr(y_val, "columns"):
        _check_names(as_table(y), as_table(y_val), "y")
    y = of_own_rows(y)
    return y, check_labels(y_val, dense(y), n, ("y_val", "X_val"))


def as_labels(y: Any, like: NDArray[Any]) -> NDArray[Any]:
    """Convert protected labels to an array: texts to objects, undeclared ones one by one."""
    of_other_library = hasattr(y, "to_pandas") or not hasattr(y, "dtype")
    y = as_table(y) if of_other_library else plain_array(y)
    if type(getattr(y, "dtype", None)).__name__ == "ArrowDtype" and y.dtype.kind in "mM":
        raise ValueError(
            f"labels have the type {y.dtype}, whose cells may raise errors when they are read: "
            "cast them to datetime64"
        )
    if all(isinstance(t, np.dtype) and t != _OBJECT for t in _dtypes(y)):
        return without_length(dense(y))
    if hasattr(y, "tolist"):  # which makes numbers of what a tensor holds
        labels = y.tolist()
    else:
        labels = list(y.itertuples(index=False, name=None) if is_frame(y) else y)
    if like.ndim == 1:
        labels = single_cells(labels)
    are_integers = like.dtype.kind in "iu" and like.size > 0
    beyond_floats = are_integers and max(abs(int(like.min())), abs(int(like.max()))) > EXACT
    return as_array(labels, like.astype(object) if beyond_floats else like)


@suppress_output()  # as above
def check_labels(
    y: Any, like: NDArray[Any], n: int, names: tuple[str, str] = ("y", "X")
) -> NDArray[Any]:
    """Convert protected labels of n records to an array of the kind and shape of public ones.

    `names` are those of the labels and of their table, for errors.
    """
    name, table = names
    check_readable(name, y, real=True)
    kind = _kind_of(like)
    for kind_val in map(kind_of, _dtypes(y)):
        if None not in (kind, kind_val) and kind != kind_val:
            raise ValueError(f"{name} holds {kind_val} instead of {kind}: code it as for training")
    checked = as_labels(y, like)
    if len(checked) != n:
        raise ValueError(
            f"{table} has {n} rows and {name} has {len(checked)}, inconsistent numbers of samples: "
            "give one label each"
        )
    if (shape := checked.shape[1:]) != like.shape[1:]:
        raise ValueError(f"a label has shape {shape} in {name} instead of {like.shape[1:]}")
    return checked

"""Rows and cells of tables: arrays, sparse matrices, frames and series of pandas (zone: public).

Object arrays can hold anything. numpy and pandas choose a type for a whole column, so one odd cell
can change how all others are read: to integers, say, or to text. Here the *training* records decide
which kinds of cells there are, and each protected cell is read by itself. An array of texts
declares the length of the longest one: protected texts are objects, and public ones are as wide as
their own longest.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import issparse

from .pickles import fresh, packed

_OBJECT = np.dtype(object)
# Floats hold all integers up to this.
EXACT = 2**53
# Types of pandas whose arrays have one type, whatever is missing.
_OF_ONE_TYPE = ("StringDtype", "DatetimeTZDtype", "SparseDtype")
# Types of cells that nobody can write into, so that they need no copies.
_PLAIN = {str, bool, int, float, bytes, type(None)}


def as_table(X: Any) -> Any:
    """Return an array, a sparse matrix, or a frame or series of pandas, of any table.

    No cell decides there, by being missing, what type others have in an array. Numbers and truth
    values of nullable types become floats, and so do categories; texts and bytes become objects.
    Other types of pandas or pyarrow are refused: their cells might raise. Sparse matrices are
    canonical: no row decides whether an estimator sorts the entries of all.
    """
    if hasattr(X, "to_pandas"):
        _refuse_dates(X)
        given, X = X, _without_attrs(_in_pandas(X))
        if is_series(X):
            return _column_of_objects(given, X)
        # There, a missing cell decides whether a column has integers, or truth values.
        kinds = {name: dtype.kind for name, dtype in X.dtypes.items() if dtype.kind in "iufbO"}
        return X.astype({name: float if k in "iuf" else object for name, k in kinds.items()})
    X = _of_rows_alone(X)
    if is_frame(X):
        declared = [j for j, dtype in enumerate(X.dtypes) if not isinstance(dtype, np.dtype)]
        return with_columns(X, {j: _of_one_type(X.iloc[:, j]) for j in declared})
    if is_series(X):
        return _of_one_type(X)
    if issparse(X):
        return X
    return without_length(np.asanyarray(X) if hasattr(X, "__array__") else objects(X))


def _in_pandas(X: Any) -> Any:
    """Return a table or column of another library as one of pandas."""
    try:
        return X.to_pandas()
    except ModuleNotFoundError as error:
        library = type(X).__module__.split(".")[0]
        raise ImportError(
            f"tables of {library} are read by way of pandas and pyarrow, and {error.name} is not "
            "installed: pip install pandas pyarrow"
        ) from None


def of_own_rows(values: Any) -> Any:
    """Return public labels, or an argument of `fit`, of which no other row decided anything.

    They may be cut from a table together with protected ones, of which the longest text made an
    array wide, and which may have been read as categories. Rows of other libraries may keep the
    texts of all rows in memory, and become arrays.
    """
    values = np.asarray(values) if hasattr(values, "to_pandas") else _of_rows_alone(values)
    if is_frame(values):
        columns = range(values.shape[1])
        return with_columns(values, {j: of_own_rows(values.iloc[:, j]) for j in columns})
    dtype = getattr(values, "dtype", None)
    if hasattr(dtype, "categories"):
        return getattr(values, "cat", values).remove_unused_categories()
    if str(dtype).startswith("dictionary"):  # categories of pyarrow
        return values.astype(object)
    return narrowed(values)


def narrowed(values: Any) -> Any:
    """Return an array of texts, or bytes, as wide as its own longest one; others as they are."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "SU":
        narrow = np.array(values.tolist(), dtype=values.dtype.kind)
        return narrow.reshape(values.shape)  # which a list of empty rows forgets
    return values


def without_length(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array whose type tells no length of a text, of strings or of bytes."""
    return values.astype(object) if values.dtype.kind in "SUT" else values


def check_readable(name: str, table: Any, *, real: bool = False) -> None:
    """Raise ValueError, which quotes no cell, for an array that no model reads as it is meant.

    That is a masked array, one with fields of text or, if all has to be `real`, complex numbers.
    """
    dtype = getattr(table, "dtype", None)
    if real and getattr(dtype, "kind", "") == "c":
        raise ValueError(f"Complex data not supported: {name} is an array of {dtype}")
    if isinstance(table, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, and models would read what is below the mask: fill it, for "
            f"example by {name}.filled(np.nan), or pass a pandas.DataFrame"
        )
    if _has_fields_of_text(dtype):
        raise ValueError(
            f"{name} is a structured array with fields of text, of the length of the longest one: "
            "pass a pandas.DataFrame"
        )


def _has_fields_of_text(dtype: Any) -> bool:
    """Whether a dtype of numpy has fields, at any depth, that are texts or bytes."""
    of_fields = [field[0] for field in (getattr(dtype, "fields", None) or {}).values()]
    return any(field.base.kind in "SUT" or _has_fields_of_text(field.base) for field in of_fields)


def _of_rows_alone(X: Any) -> Any:
    """Return a table without what is kept beside its rows; sparse, in canonical form."""
    X = plain_array(X)
    if is_frame(X) or is_series(X):
        return _without_attrs(X)
    if issparse(X):
        return _canonical(X)
    return X


def _without_attrs(X: Any) -> Any:
    """Return a frame or series without `attrs`: a number of rows, say, would tell of all rows."""
    table = X.copy(deep=False)
    table.attrs = {}
    return table


def _canonical(X: Any) -> Any:
    """Return a sparse matrix whose rows have each entry once, in order; duplicates are summed.

    In each row they are summed in the order in which they stand there.
    """
    entries = X.tocoo(copy=True)
    entries.sum_duplicates()  # which sorts stably, unlike that of rows
    return entries.asformat(X.format if X.format in ("csr", "csc", "coo") else "csr")


def with_columns(X: Any, columns: Mapping[int, Any]) -> Any:
    """Return a frame with these columns in place of those with these numbers."""
    table = X.copy(deep=False)
    for j, column in columns.items():
        table.isetitem(j, column)
    return table


def _of_one_type(column: Any) -> Any:
    """Return a column whose array has one type, whatever is missing."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) or type(dtype).__name__ in _OF_ONE_TYPE:
        return column
    if hasattr(dtype, "categories"):
        return _of_categories(column, dtype.categories)
    if getattr(dtype, "type", None) is str:
        return column.astype(object)
    if dtype.kind not in "iufb":
        raise ValueError(
            f"{column.name!r} has the dtype {dtype}, whose cells are not read one by one: cast it "
            "to numbers, text, categories or datetime64"
        )
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return type(column)(values, index=column.index, name=column.name)


def _refuse_dates(X: Any) -> None:
    """Raise ValueError if a table of pyarrow or polars declares dates or times in objects.

    pandas makes objects of dates without times, of times, and of what lists, structures and
    categories hold; it raises for those that Python cannot hold.
    """
    # Asked of the class: an attribute of a frame may be a column, with its cells.
    names = (name for name in ("schema", "dtype", "type") if hasattr(type(X), name))
    schema: Any = next((getattr(X, name) for name in names), {})
    own = "datetime|timestamp|duration"  # types of pandas
    if hasattr(schema, "types"):  # of pyarrow
        schema = dict(zip(schema.names, schema.types, strict=True))
    elif not hasattr(schema, "items"):  # of one column, which becomes one of objects
        schema, own = {"": schema}, "$"
    for name, declared in schema.items():
        # Without names of polars' fields, and its categories.
        text = re.sub(r"'[^']*'|\"[^\"]*\"", "", str(declared)).lower()
        if re.search("date|time|duration", text) and not re.match(own, text):
            raise ValueError(f"{name!r} has the type {declared}: cast it to datetimes or numbers")


def _column_of_objects(X: Any, series: Any) -> Any:
    """Return a column of another library as objects; pandas' own has floats if one is missing."""
    cells = getattr(X, "to_pylist", None) or getattr(X, "to_list", series.tolist)
    return type(series)(objects(cells()), dtype=_OBJECT, name=series.name)


def _of_categories(column: Any, categories: Any) -> Any:
    dtype = categories.dtype
    numbers = dtype.kind in "iufb"
    if not numbers and (isinstance(dtype, np.dtype) or type(dtype).__name__ in _OF_ONE_TYPE):
        return column  # texts, objects and times: a missing one has the same type
    exact = numbers and (np.abs(categories.astype(float)) < EXACT).all()
    return column.cat.rename_categories(categories.astype(float if exact else object))


def plain_array(X: Any) -> Any:
    """Return an np.matrix, or an array of another library, as an array; anything else as it is.

    Rows of a matrix have two dimensions, and some other libraries take only their own indices.
    """
    of_array_api = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    return np.asarray(X) if of_array_api or isinstance(X, np.matrix) else X


def objects(records: Iterable[Any]) -> NDArray[Any]:
    """Return records, which may be sequences, as a one-dimensional array of objects."""
    records = list(records)
    # Other ways ask each record whether it is an array.
    return np.fromiter(records, dtype=object, count=len(records))


def n_rows(X: Any) -> int:
    """Return the number of records in X."""
    n: int = X.shape[0] if hasattr(X, "shape") else len(X)
    return n


def numbered(X: Any) -> Any:
    """Return a table whose rows, if they have labels, are labelled by their positions.

    An odd label would change the type of all labels, and so what a step does that reads them.
    """
    return X.reset_index(drop=True) if is_frame(X) or is_series(X) else X


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a copy of these rows, numbered from 0."""
    if hasattr(X, "iloc"):
        return numbered(X.iloc[rows])
    if hasattr(X, "to_pylist"):  # of pyarrow
        return X.take(rows)
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
    return sys.modules["pandas"].concat(parts, ignore_index=True)


def dense(y: Any) -> Any:
    """Return labels or responses as an array, or None; a single column becomes one-dimensional."""
    if y is None:
        return None
    y = y.toarray() if issparse(y) else np.asarray(y)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


# ---------------------------------------------------------------------- cells
def read_like(own: Iterable[Any], cells: Iterable[Any], missing: Any = None) -> NDArray[Any]:
    """Return cells as objects, each read by itself; one of a kind not among `own` is missing.

    A missing cell is written as among `own` or, if none is missing there, as `missing`.
    """
    own, cells = list(own), list(cells)
    kinds = set(map(kind_of_cell, own)) - {"missing"}
    missing = next(filter(is_missing, own), missing)

    def read(cell: Any) -> Any:
        with suppress(Exception):  # of a cell that cannot be compared or pickled
            if (kind := kind_of_cell(cell)) in kinds:
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
        return kind_of_cell(cell) == "missing"
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
        own = [j for j, dtype in enumerate(X.dtypes) if dtype == _OBJECT]
        return with_columns(X, {j: with_own_cells(X.iloc[:, j]) for j in own})
    if isinstance(X, list):
        return list(map(_copy, X))
    if X.dtype != _OBJECT:
        return X
    return like_column(X, objects(map(_copy, np.asarray(X).flat)).reshape(X.shape))


def like_column(X: Any, cells: NDArray[Any]) -> Any:
    """Return cells as an array or, with the labels of its rows, a series, as X is."""
    named = is_series(X)
    return type(X)(cells, index=X.index, name=X.name, dtype=cells.dtype) if named else cells


def _copy(cell: Any) -> Any:
    return cell if type(cell) in _PLAIN else fresh(packed(cell))


def kind_of_cell(cell: Any) -> str | type:
    """Return the kind of a cell, or of a name of a column: texts and numbers are of any type."""
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth value"
    if isinstance(cell, Real):
        return "number" if cell == cell else "missing"  # a NaN differs from itself
    if type(cell).__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    return type(cell)

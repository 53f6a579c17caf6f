"""Rows and cells of tables: arrays, sparse matrices, frames and series of pandas (zone: public).

numpy and pandas choose one type for a whole column, so one odd cell of an object array can change
how all others are read. Here the *training* records decide which kinds of cells there are, and each
protected cell is read by itself. The dtype of an array of texts has the length of the longest one:
protected texts become objects, and public arrays get the length of their own longest text.
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
# pandas' dtypes whose arrays have one type, also if cells are missing.
_OF_ONE_TYPE = ("StringDtype", "DatetimeTZDtype", "SparseDtype")
# Immutable types of cells, which need no copies.
_PLAIN = {str, bool, int, float, bytes, type(None)}


def as_table(X: Any) -> Any:
    """Convert any table to an array, a sparse matrix, or a frame or series of pandas.

    A missing cell does not change the type of others: numbers and truth values of nullable types,
    and categories that are numbers, become floats; texts and bytes become objects. Other types of
    pandas or pyarrow are refused, as their cells might raise. Sparse matrices become canonical, as
    estimators would otherwise sort all entries because of one row.
    """
    if hasattr(X, "to_pandas"):
        _refuse_dates(X)
        original = X
        X = _without_attrs(_in_pandas(X))
        if is_series(X):
            return _column_of_objects(original, X)
        # `to_pandas` makes floats or objects of integers and truth values if one is missing.
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
    """Convert a table or column of another library to pandas."""
    try:
        return X.to_pandas()
    except ModuleNotFoundError as error:
        library = type(X).__module__.split(".")[0]
        raise ImportError(
            f"reading tables of {library} needs pandas and pyarrow, and {error.name} is not "
            "installed: pip install pandas pyarrow"
        ) from None


def of_own_rows(values: Any) -> Any:
    """Remove everything that other rows decided from public labels, or an argument of `fit`.

    They may be part of a table with protected rows, of which one may have the longest text of an
    array, or a category of its own. Frames of other libraries, which may keep the texts of all rows
    in memory, become arrays.
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
    """Shorten the dtype of an array of texts, or bytes, to the longest one it holds."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "SU":
        narrow = np.array(values.tolist(), dtype=values.dtype.kind)
        return narrow.reshape(values.shape)  # which a list of empty rows forgets
    return values


def without_length(values: NDArray[Any]) -> NDArray[Any]:
    """Convert an array of texts, or bytes, to objects: its dtype would tell the longest length."""
    return values.astype(object) if values.dtype.kind in "SUT" else values


def check_readable(name: str, table: Any, *, real: bool = False) -> None:
    """Raise ValueError, which quotes no cell, for arrays that models would misread.

    These are masked arrays, those with fields of text and, if `real`, complex numbers.
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
    """Return True if a numpy dtype has fields, at any depth, that are texts or bytes."""
    of_fields = [field[0] for field in (getattr(dtype, "fields", None) or {}).values()]
    return any(field.base.kind in "SUT" or _has_fields_of_text(field.base) for field in of_fields)


def _of_rows_alone(X: Any) -> Any:
    """Remove `attrs` of pandas tables; bring sparse matrices into canonical form."""
    X = plain_array(X)
    if is_frame(X) or is_series(X):
        return _without_attrs(X)
    if issparse(X):
        return _canonical(X)
    return X


def _without_attrs(X: Any) -> Any:
    """Copy a frame or series without `attrs`, which might describe all rows of a larger table."""
    table = X.copy(deep=False)
    table.attrs = {}
    return table


def _canonical(X: Any) -> Any:
    """Sort the entries of a sparse matrix, and sum duplicates in the order of each row."""
    entries = X.tocoo(copy=True)
    entries.sum_duplicates()  # which sorts stably, unlike that of rows
    return entries.asformat(X.format if X.format in ("csr", "csc", "coo") else "csr")


def with_columns(X: Any, columns: Mapping[int, Any]) -> Any:
    """Replace columns of a frame, by position, in a copy."""
    table = X.copy(deep=False)
    for j, column in columns.items():
        table.isetitem(j, column)
    return table


def _of_one_type(column: Any) -> Any:
    """Convert a column so that its array has one type, also if cells are missing."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) or type(dtype).__name__ in _OF_ONE_TYPE:
        return column
    if hasattr(dtype, "categories"):
        return _of_categories(column, dtype.categories)
    if getattr(dtype, "type", None) is str:
        return column.astype(object)
    if dtype.kind not in "iufb":
        raise ValueError(
            f"{column.name!r} has the dtype {dtype}, whose cells may raise errors when they are "
            "read: cast it to numbers, text, categories or datetime64"
        )
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return type(column)(values, index=column.index, name=column.name)


def _refuse_dates(X: Any) -> None:
    """Raise ValueError if a table of pyarrow or polars has dates that pandas holds as objects.

    These are dates without times, times, and those in lists, structures and categories. For values
    that Python cannot hold, `to_pandas` raises.
    """
    # Asked of the class: an attribute of a frame may be a column, with its cells.
    names = (name for name in ("schema", "dtype", "type") if hasattr(type(X), name))
    schema: Any = next((getattr(X, name) for name in names), {})
    types_of_pandas = "datetime|timestamp|duration"
    if hasattr(schema, "types"):  # of pyarrow
        schema = dict(zip(schema.names, schema.types, strict=True))
    elif not hasattr(schema, "items"):  # of one column, which becomes one of objects
        schema = {"": schema}
        types_of_pandas = "$"
    for name, declared in schema.items():
        # Without names of polars' fields, and its categories.
        text = re.sub(r"'[^']*'|\"[^\"]*\"", "", str(declared)).lower()
        if re.search("date|time|duration", text) and not re.match(types_of_pandas, text):
            raise ValueError(f"{name!r} has the type {declared}: cast it to datetimes or numbers")


def _column_of_objects(X: Any, series: Any) -> Any:
    """Convert a column of another library to objects: pandas makes floats if a cell is missing."""
    cells = getattr(X, "to_pylist", None) or getattr(X, "to_list", series.tolist)
    return type(series)(objects(cells()), dtype=_OBJECT, name=series.name)


def _of_categories(column: Any, categories: Any) -> Any:
    """Convert categories to floats if these hold them exactly, otherwise to objects."""
    dtype = categories.dtype
    are_numbers = dtype.kind in "iufb"
    if not are_numbers and (isinstance(dtype, np.dtype) or type(dtype).__name__ in _OF_ONE_TYPE):
        return column  # texts, objects and times: a missing one has the same type
    exact = are_numbers and (np.abs(categories.astype(float)) < EXACT).all()
    return column.cat.rename_categories(categories.astype(float if exact else object))


def plain_array(X: Any) -> Any:
    """Convert an np.matrix, or an array of another library, to an array; leave others alone.

    Rows of a matrix have two dimensions, and some other libraries take only their own indices.
    """
    of_array_api = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    return np.asarray(X) if of_array_api or isinstance(X, np.matrix) else X


def objects(records: Iterable[Any]) -> NDArray[Any]:
    """Put records, which may be sequences, into a one-dimensional array of objects."""
    records = list(records)
    # np.array would look into each record for a second dimension.
    return np.fromiter(records, dtype=object, count=len(records))


def n_rows(X: Any) -> int:
    """Count the records in X."""
    n: int = X.shape[0] if hasattr(X, "shape") else len(X)
    return n


def numbered(X: Any) -> Any:
    """Number the rows of a frame or series from 0.

    One odd label would change the type of the whole index, which a step may read.
    """
    return X.reset_index(drop=True) if is_frame(X) or is_series(X) else X


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Copy rows of a table, numbered from 0."""
    if hasattr(X, "iloc"):
        return numbered(X.iloc[rows])
    if hasattr(X, "to_pylist"):  # of pyarrow
        return X.take(rows)
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def copy_rows(X: Any) -> Any:
    """Copy all rows, as an estimator may change its input in place; objects are shared."""
    return take_rows(X, np.arange(n_rows(X)))


def is_frame(X: Any) -> bool:
    """Return True if X is a pandas.DataFrame; pandas is not imported for that."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def is_series(X: Any) -> bool:
    """Return True if X is a pandas.Series, a table of one column (of texts, say)."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.Series)


def stack(parts: list[Any]) -> Any:
    """Stack tables of one kind, one below the other."""
    if issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return sys.modules["pandas"].concat(parts, ignore_index=True)


def dense(y: Any) -> Any:
    """Convert labels or responses to an array; a single column becomes one-dimensional."""
    if y is None:
        return None
    y = y.toarray() if issparse(y) else np.asarray(y)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


# ---------------------------------------------------------------------- cells
def read_like(public: Iterable[Any], cells: Iterable[Any], missing: Any = None) -> NDArray[Any]:
    """Read protected cells one by one, as objects; those of a kind that `public` lacks are missing.

    A missing cell becomes the missing value among `public` or, if none is missing there, `missing`.
    """
    public = list(public)
    cells = list(cells)
    kinds = set(map(kind_of_cell, public)) - {"missing"}
    missing = next(filter(is_missing, public), missing)

    def read(cell: Any) -> Any:
        with suppress(Exception):  # of a cell that cannot be compared or pickled
            if (kind := kind_of_cell(cell)) in kinds:
                return str.__str__(cell) if kind == "text" else _copy(cell)
        return missing

    # Fast for immutable cells of the public types; a float may be NaN, so its kind must be asked.
    all_plain = set(map(type, cells)) <= (_PLAIN - {float, type(None)}) & set(map(type, public))
    return objects(cells if all_plain else map(read, cells))


def is_number(cell: Any) -> bool:
    """Return True if a cell is a number that a float can hold, or NaN."""
    try:
        return isinstance(cell, Real | np.bool_) and isinstance(float(cell), float)
    except Exception:  # of integers beyond any float
        return False


def is_missing(cell: Any) -> bool:
    """Return True if a cell stands for a missing value."""
    try:
        return kind_of_cell(cell) == "missing"
    except Exception:  # of a cell that cannot be compared
        return False


def as_number(cell: Any) -> float:
    """Convert a cell to a float; NaN if it is no number."""
    return float(cell) if is_number(cell) else float("nan")


def copied(X: Any) -> Any:
    """Copy all rows and the objects in them, as an estimator may change its input in place."""
    return with_own_cells(copy_rows(X))


def with_own_cells(X: Any) -> Any:
    """Copy each mutable object in a table, so that no two cells share one."""
    if is_frame(X):
        of_objects = [j for j, dtype in enumerate(X.dtypes) if dtype == _OBJECT]
        return with_columns(X, {j: with_own_cells(X.iloc[:, j]) for j in of_objects})
    if isinstance(X, list):
        return list(map(_copy, X))
    if X.dtype != _OBJECT:
        return X
    return like_column(X, objects(map(_copy, np.asarray(X).flat)).reshape(X.shape))


def like_column(X: Any, cells: NDArray[Any]) -> Any:
    """Return cells as a series with the index and name of X; as an array if X is no series."""
    if not is_series(X):
        return cells
    return type(X)(cells, index=X.index, name=X.name, dtype=cells.dtype)


def _copy(cell: Any) -> Any:
    return cell if type(cell) in _PLAIN else fresh(packed(cell))


def kind_of_cell(cell: Any) -> str | type:
    """Return the kind of a cell, or of a column's name: "text", "number", ..., or its type."""
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth value"
    if isinstance(cell, Real):
        return "number" if cell == cell else "missing"  # a NaN differs from itself
    if type(cell).__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    return type(cell)

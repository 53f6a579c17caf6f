"""Does the validation set look like the training set? (zone: public)

Later a mismatch could only show as a silent, low score. All of this looks at declared shapes, names
and dtypes alone, never at values: that schema is public. Lists declare nothing; they are given the
types of the training set, record by record, so that no record decides how another is read.
"""

from __future__ import annotations

import contextlib
from numbers import Real

import numpy as np

from .tables import dense, n_rows

__all__ = ["as_labels", "as_table", "check_same_columns", "check_targets"]


def check_targets(y, y_val, n: int):
    """Return y_val as an array of n labels, or None if neither y nor y_val is given."""
    if y is None and y_val is None:
        return None
    if y is None or y_val is None:
        missing, present = ("y", "y_val") if y is None else ("y_val", "y")
        raise ValueError(f"{missing} is missing: {present} was given, and both are needed")
    kind, kind_val = _kind(y) or _kind_of_values(dense(y)), _kind(y_val)
    y = dense(y)
    y_val = as_labels(y_val, y)
    if len(y_val) != n:
        raise ValueError(f"X_val has {n} rows and y_val has {len(y_val)}: give one label each")
    if y_val.shape[1:] != y.shape[1:]:
        raise ValueError(f"y has shape {y.shape} and y_val {y_val.shape}: outputs must agree")
    if None not in (kind, kind_val) and kind != kind_val:
        raise ValueError(f"y holds {kind} and y_val {kind_val}: no label of it can be right")
    return y_val


def as_labels(y_val, like: np.ndarray) -> np.ndarray:
    """Return labels as an array; those in a list, one by one, as the training labels `like` are."""
    if not isinstance(y_val, list | tuple):
        return dense(y_val)
    missing = np.nan if like.dtype.kind in "biuf" else None
    kind = float if missing is not None else object
    return _fill(y_val, like.shape[1:], kind, missing)


def as_table(X, like):
    """Return a list of rows of numbers as an array if `like` is one, row by row; else X itself."""
    if not isinstance(X, list | tuple):
        return X
    first = like[0] if isinstance(like, list | tuple) and len(like) else None
    if isinstance(first, list | tuple | np.ndarray) and all(isinstance(v, Real) for v in first):
        return _fill(X, (len(first),), float, np.nan)
    if isinstance(like, np.ndarray) and like.ndim == 2 and like.dtype.kind in "biuf":
        return _fill(X, like.shape[1:], float, np.nan)
    return X


def _fill(records, shape: tuple, kind, missing) -> np.ndarray:
    """Return an array of the records, each by itself; all missing where one is not of that kind."""
    filled = np.full((len(records), *shape), missing, dtype=kind)
    for i, record in enumerate(records):
        values = list(record) if shape else [record]
        if shape and len(values) != shape[0]:
            raise ValueError(
                f"a list of records must be a table of {shape[0]} columns, as the training set is; "
                "found records of another length"
            )
        if kind is object or all(isinstance(value, Real | np.bool_) for value in values):
            with contextlib.suppress(OverflowError):  # of a whole number beyond any float
                filled[i] = values if shape else record
    return filled


def check_same_columns(X, X_val, pairwise: bool) -> None:
    """Compare number, names and kinds of columns."""
    names, names_val = _names(X), _names(X_val)
    if names != names_val:
        raise ValueError(_names_differ(names, names_val))
    width, width_val = n_rows(X) if pairwise else _width(X), _width(X_val)
    if None not in (width, width_val) and width != width_val:
        raise ValueError(f"X has {width} columns and X_val {width_val}: they must agree")
    for where, column, column_val in _columns(X, X_val, names):
        kind, kind_val = _kind(column), _kind(column_val)
        if None not in (kind, kind_val) and kind != kind_val:
            raise ValueError(f"{where}X holds {kind} and X_val {kind_val}: they must agree")
        categories, categories_val = _categories(column), _categories(column_val)
        if categories and categories_val and categories != categories_val:
            raise ValueError(
                f"{where}X and X_val declare different categories: give both the same "
                "pandas.CategoricalDtype"
            )


def _columns(X, X_val, names):
    if names is None:
        yield "", X, X_val
        return
    for position, name in enumerate(names):
        columns = (A.iloc[:, position] if hasattr(A, "iloc") else A[name] for A in (X, X_val))
        yield f"in column {name!r} ", *columns


def _names_differ(names, names_val) -> str:
    if names is None or names_val is None:
        have = "X has column names and X_val has none"
        if names is None:
            have = "X_val has column names and X has none"
        return (
            f"{have}: pass both as the same kind of table. (In a pipeline, steps before a search "
            "turn X into another, and X_val only if transform_input names it)"
        )
    if sorted(names) == sorted(names_val):
        return "X_val has the columns of X in another order: pass X_val[X.columns]"
    missing = sorted(set(names) - set(names_val))[:5]
    extra = sorted(set(names_val) - set(names))[:5]
    return f"X_val lacks columns {missing} of X, and has {extra} that X has not"


def _names(X) -> list[str] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def _width(X) -> int | None:
    shape: tuple = getattr(X, "shape", ())
    return shape[1] if len(shape) == 2 else None


def _categories(column) -> list | None:
    categories = getattr(getattr(column, "dtype", None), "categories", None)
    return None if categories is None or not hasattr(categories, "tolist") else categories.tolist()


def _kind_of_values(labels: np.ndarray) -> str | None:
    """Look at the labels themselves: of the training set, which are public."""
    return "text" if all(isinstance(label, str) for label in labels.flat) else None


def _kind(values) -> str | None:
    """Return "numbers" or "text" as the declared dtype says; None if it says neither."""
    dtype = str(getattr(values, "dtype", "")).lower()
    if dtype.startswith(("int", "uint", "float", "bool", "decimal")):
        return "numbers"
    return "text" if dtype.startswith(("str", "<u", "|s", "utf8")) else None

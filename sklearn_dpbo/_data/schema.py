"""Checks that the validation set has the schema of the training set (zone: public).

An undetected mismatch would only lower the score. The checks use declared shapes, names and dtypes
alone, never values: this schema is public. Lists declare nothing; see `canonical`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from .canonical import as_labels
from .tables import dense, n_rows

__all__ = ["check_same_columns", "check_targets", "refuse_complex"]


def check_targets(y: Any, y_val: Any, n: int) -> NDArray[Any] | None:
    """Return y_val as an array of n labels, or None if neither y nor y_val is given.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Training targets.
    y_val : array-like of shape (n,) or (n, n_outputs), or None
        Validation targets.
    n : int
        Number of validation records.

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
    kind, kind_val = _declared_kind(y) or _kind_of_values(dense(y)), _declared_kind(y_val)
    refuse_complex(y, y_val)
    y = dense(y)
    y_val = as_labels(y_val, y)
    if len(y_val) != n:
        raise ValueError(f"X_val has {n} rows and y_val has {len(y_val)}: give one label each")
    if y_val.shape[1:] != y.shape[1:]:
        raise ValueError(f"y has shape {y.shape} and y_val {y_val.shape}: outputs must agree")
    if None not in (kind, kind_val) and kind != kind_val:
        raise ValueError(f"y holds {kind} and y_val {kind_val}: no label of it can be right")
    checked: NDArray[Any] = y_val
    return checked


def refuse_complex(*several: Any) -> None:
    """Raise ValueError if labels declare that they are complex numbers; the message quotes none."""
    for y in several:
        dtype = getattr(y, "dtype", None)
        if getattr(dtype, "kind", "") == "c":
            raise ValueError(f"Complex data not supported: y is an array of {dtype}")


def check_same_columns(X: Any, X_val: Any, pairwise: bool) -> None:
    """Raise ValueError if number, names, kinds or categories of columns differ.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
        Training table.
    X_val : table of shape (n_val, n_features)
        Validation table.
    pairwise : bool
        Whether the columns of X_val are for the rows of X, as in a kernel matrix.
    """
    library, library_val = (type(table).__module__.partition(".")[0] for table in (X, X_val))
    if library in ("polars", "pyarrow") and library_val != library:
        raise ValueError(
            f"X is a table of {library} and X_val one of {library_val}: pass both as the same kind"
        )
    names, names_val = _column_names(X), _column_names(X_val)
    if names != names_val:
        raise ValueError(_message_on_names(names, names_val))
    width, width_val = n_rows(X) if pairwise else _n_columns(X), _n_columns(X_val)
    if None not in (width, width_val) and width != width_val:
        raise ValueError(f"X has {width} columns and X_val {width_val}: they must agree")
    for where, column, column_val in _columns(X, X_val, names):
        kind, kind_val = _declared_kind(column), _declared_kind(column_val)
        if None not in (kind, kind_val) and kind != kind_val:
            raise ValueError(f"{where}X holds {kind} and X_val {kind_val}: they must agree")
        categories, categories_val = _categories(column), _categories(column_val)
        if categories and categories_val and categories != categories_val:
            raise ValueError(
                f"{where}X and X_val declare different categories: give both the same "
                "pandas.CategoricalDtype"
            )


def _columns(X: Any, X_val: Any, names: list[str] | None) -> Iterator[tuple[str, Any, Any]]:
    """Yield words that name a column, and the column of both tables; a whole array at once."""
    if names is None:
        yield "", X, X_val
        return
    for position, name in enumerate(names):
        column, column_val = (
            table.iloc[:, position] if hasattr(table, "iloc") else table[name]
            for table in (X, X_val)
        )
        yield f"in column {name!r} ", column, column_val


def _message_on_names(names: list[str] | None, names_val: list[str] | None) -> str:
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
    lacks = f"X_val lacks columns {missing} of X" if missing else ""
    has = f"X_val has columns {extra} that X does not have" if extra else ""
    which = "X_val[X.columns] selects those of X" * (not missing)
    return "; ".join(filter(None, (lacks, has, which)))


def _column_names(X: Any) -> list[str] | None:
    # pyarrow's `columns` are the data.
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def _n_columns(X: Any) -> int | None:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return shape[1] if len(shape) == 2 else None


def _categories(column: Any) -> list[Any] | None:
    categories = getattr(getattr(column, "dtype", None), "categories", None)
    return None if categories is None or not hasattr(categories, "tolist") else categories.tolist()


def _kind_of_values(labels: NDArray[Any]) -> str | None:
    """Return "text" if all labels of the training set, which are public, are; else None."""
    return "text" if all(isinstance(label, str) for label in labels.flat) else None


def _declared_kind(values: Any) -> str | None:
    """Return what a declared dtype holds, "numbers" or "text" say; None for dtypes not known."""
    dtype = str(getattr(values, "dtype", "")).lower()
    if dtype.startswith(("int", "uint", "float", "bool", "decimal")):
        return "numbers"
    if dtype.startswith(("datetime", "timedelta", "duration")) or dtype == "date":
        return "times"
    if dtype.startswith("complex"):
        return "complex numbers"
    return "text" if dtype.startswith(("str", "<u", "|s", "utf8")) else None

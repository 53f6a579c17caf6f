"""What is trained on and what is protected (zone: public).

Everything in this module depends on the shape of the validation set alone: row counts, column
names, kinds of dtype. That schema is public.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable

from .exceptions import PrivacyWarning
from .gains import dense
from .units import Units, n_rows

__all__ = ["Problem", "hold_out"]

_TEST_SIZE = 0.25


@dataclass(frozen=True)
class Problem:
    """One training set, one validation set.

    Parameters
    ----------
    X_train, y_train, fit_params
        Public; as the estimator's `fit` takes them.
    X_val, y_val
        Protected. y_val is an array, or None where y_train is.
    units : Units
        What the guarantee protects one of.
    protected : str
        Where the validation set came from, in words.
    pairwise : bool
        Whether X_train is a kernel matrix, one column per training record.
    """

    X_train: object
    y_train: object
    fit_params: dict
    X_val: object
    y_val: np.ndarray | None
    units: Units
    protected: str
    pairwise: bool = False


def hold_out(
    estimator, X, y, fit_params, *, cv, rng, X_val, y_val, groups_val, split_params
) -> Problem:
    """Return the problem that these arguments of `PrivateBayesSearchCV` describe.

    The validation set is X_val if given; else the test part of cv's single split; else a
    quarter of the rows (of the groups, if groups_val is given) drawn by number.

    Raises
    ------
    ValueError
        If X_val and X differ in columns, y_val is missing, cv has several splits, training and
        validation rows overlap or either is empty.
    """
    X, y, groups = indexable(X, y, None if X_val is not None else groups_val)
    if X_val is not None:
        if cv is not None:
            raise ValueError(
                f"both X_val and cv={cv!r} say what to hold out: leave cv out to use X_val"
            )
        X_val, groups_val = indexable(X_val, groups_val)
        _check_same_columns(X, X_val, get_tags(estimator).input_tags.pairwise)
        y_val = _check_targets(y, y_val, n_rows(X_val))
        _refuse_empty(n_rows(X_val))
        units = Units.of(n_rows(X_val), groups_val)
        return Problem(
            X,
            y,
            fit_params,
            X_val,
            y_val,
            units,
            "X_val as given",
            get_tags(estimator).input_tags.pairwise,
        )
    if y_val is not None:
        raise ValueError("y_val was given without X_val: give both, or neither")
    return _split(estimator, X, y, fit_params, cv, rng, groups, split_params)


def _split(estimator, X, y, fit_params, cv, rng, groups, split_params) -> Problem:
    n = n_rows(X)
    if cv is None:
        kind = ShuffleSplit if groups is None else GroupShuffleSplit
        cv, by_default = kind(1, test_size=_TEST_SIZE, random_state=rng.randint(2**31 - 1)), True
    else:
        cv, by_default = _one_split(cv, y, estimator), False
    if groups is not None:
        split_params = {"groups": groups, **split_params}
    train, test = next(iter(cv.split(X, y, **split_params)))
    train, test = _as_positions(train, n), _as_positions(test, n)
    _refuse_empty(len(test))
    if len(shared := np.intersect1d(train, test)):
        raise ValueError(
            f"{len(shared)} rows are in both the training and the validation part of cv; training "
            "records are not protected, so the parts must not overlap"
        )
    units = Units.of(len(test), None if groups is None else _safe_indexing(groups, test))
    if by_default:
        what = units.name + "s"
        warnings.warn(
            f"No X_val and no cv: {units.m} {what} ({len(test)} of {n} rows, drawn by row number) "
            f"are held out as the validation set. Only those {units.m} {what} are protected; the "
            "rest is the training set, and is not. Pass the sensitive records as X_val and y_val.",
            PrivacyWarning,
            stacklevel=4,
        )
    source = "hold-out drawn by row number" if by_default else f"test part of {type(cv).__name__}"
    pairwise = get_tags(estimator).input_tags.pairwise
    columns = train if pairwise else None
    return Problem(
        _take(X, train, columns),
        None if y is None else _safe_indexing(y, train),
        {k: _safe_indexing(v, train) if _per_row(v, n) else v for k, v in fit_params.items()},
        _take(X, test, columns),
        None if y is None else dense(_safe_indexing(y, test)),
        units,
        source,
        pairwise,
    )


def _one_split(cv, y, estimator):
    """Return the splitter, if it makes one split."""
    n_splits = None
    try:
        checked = check_cv(cv, y, classifier=is_classifier(estimator))
        n_splits = checked.get_n_splits()
    except (TypeError, ValueError) as error:
        reason = str(error)
    if n_splits != 1:
        found = reason if n_splits is None else f"it makes {n_splits} splits"
        raise ValueError(
            f"cv={cv!r} cannot be used: {found}. Every split would spend the privacy of its own "
            "validation records and every record would be trained on in another, so one hold-out "
            "set is protected instead. Pass X_val and y_val, or a splitter that makes one split, "
            "such as ShuffleSplit(n_splits=1) or PredefinedSplit"
        )
    if "Stratified" in type(checked).__name__:
        warnings.warn(
            f"{type(checked).__name__} chooses the validation records by their labels, which are "
            "what is to be protected: the guarantee holds given the split, not for the split "
            "itself. ShuffleSplit(n_splits=1) does not look at labels.",
            PrivacyWarning,
            stacklevel=5,
        )
    return checked


def _take(X, rows, columns=None):
    """Return these rows of X (and, of a kernel matrix, these columns)."""
    return _safe_indexing(X, rows) if columns is None else X[np.ix_(rows, columns)]


def _as_positions(rows, n: int) -> np.ndarray:
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool and len(rows) == n else rows


def _per_row(value, n: int) -> bool:
    return (
        not isinstance(value, str | bytes | dict)
        and hasattr(value, "__len__")
        and (getattr(value, "shape", None) != () and n_rows(value) == n)
    )


def _refuse_empty(n: int) -> None:
    if n == 0:
        raise ValueError("the validation set is empty (m = 0 records): there is nothing to score")


def _check_targets(y, y_val, n: int):
    if y is None and y_val is None:
        return None
    if y is None or y_val is None:
        missing, present = ("y", "y_val") if y is None else ("y_val", "y")
        raise ValueError(f"{missing} is missing: {present} was given, and both are needed")
    y_val, y = dense(y_val), dense(y)
    if len(y_val) != n:
        raise ValueError(f"X_val has {n} rows and y_val has {len(y_val)}: give one label each")
    if y_val.shape[1:] != y.shape[1:]:
        raise ValueError(f"y has shape {y.shape} and y_val {y_val.shape}: outputs must agree")
    kinds = [_kind(y), _kind(y_val)]
    if None not in kinds and kinds[0] != kinds[1]:
        raise ValueError(f"y holds {kinds[0]} and y_val {kinds[1]}: no label of it can be right")
    return y_val


def _kind(y: np.ndarray) -> str | None:
    if y.dtype.kind in "biuf":
        return "numbers"
    text = y.dtype.kind in "UST" or all(isinstance(label, str) for label in y.flat)
    return "text" if text else None


def _check_same_columns(X, X_val, pairwise: bool) -> None:
    """Compare columns before anything is fitted: each candidate would fail silently later on."""
    names, names_val = _column_names(X), _column_names(X_val)
    if names != names_val:
        if names is None or names_val is None:
            which = (
                "X has column names and X_val has none"
                if names
                else "X_val has column names and X has none"
            )
            raise ValueError(f"{which}: pass both as the same kind of table")
        if sorted(names) == sorted(names_val):
            raise ValueError("X_val has the columns of X in another order: pass X_val[X.columns]")
        missing = sorted(set(names) - set(names_val))[:5]
        extra = sorted(set(names_val) - set(names))[:5]
        raise ValueError(f"X_val lacks columns {missing} of X, and has {extra} that X has not")
    width, width_val = (getattr(A, "shape", (0, None))[1:2] for A in (X, X_val))
    if pairwise:
        width = (n_rows(X),)
    if None not in (*width, *width_val) and width != width_val:
        raise ValueError(f"X has {width} columns and X_val {width_val}: they must agree")


def _column_names(X) -> list[str] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(c) for c in columns]

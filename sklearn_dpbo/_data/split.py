"""What is trained on and what is protected (zone: public).

Everything in this module depends on the shape of the validation set alone: row counts, column
names, kinds of dtype. That schema is public.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import get_tags, indexable

from ..exceptions import PrivacyWarning
from .schema import as_labels, as_table, check_same_columns, check_targets
from .tables import dense, n_rows, take_rows
from .units import Units

__all__ = ["Problem", "PublicSplit", "hold_out", "split_training"]

_TEST_SIZE = 0.25
_PUBLIC_TEST_SIZE = 0.2

_WHY_ONE_SPLIT = {
    "cv": (
        "Every split would spend the privacy of its own validation records and every record would "
        "be trained on in another, so one hold-out set is protected instead. Pass X_val and y_val, "
        "or a splitter that makes one split, such as ShuffleSplit(n_splits=1) or PredefinedSplit"
    ),
    "public_cv": (
        "Each setting is explored by one fit: pass a splitter that makes one split, such as "
        "ShuffleSplit(n_splits=1) or PredefinedSplit, or an iterable of one (train, test) pair"
    ),
}


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
    """

    X_train: object
    y_train: object
    fit_params: dict
    X_val: object
    y_val: np.ndarray | None
    units: Units
    protected: str


def hold_out(
    estimator, X, y, fit_params, *, cv, rng, X_val, y_val, groups_val, split_params
) -> Problem:
    """Return the problem that these arguments of `PrivateBayesSearchCV` describe.

    The validation set is X_val if given; else the test part of cv's single split; else a
    quarter of the rows (of the groups, if groups_val is given) drawn by number.

    Raises
    ------
    ValueError
        If X_val and X differ in columns, y_val is missing, cv has several splits, a row or group
        is in both parts or twice in the validation part, or either part is empty.
    """
    if X_val is None:
        if y_val is not None:
            raise ValueError("y_val was given without X_val: give both, or neither")
        X, y, groups = indexable(as_table(X, X), y, groups_val)
        return _split(estimator, X, y, fit_params, cv, rng, groups, split_params)
    if cv is not None:
        raise ValueError(f"both X_val and cv={cv!r} say what to hold out: leave cv out")
    if split_params:
        raise ValueError(
            f"fit was given {sorted(split_params)}, which are for a splitter, and X_val, so that "
            "nothing is split. To protect all records of a person together, pass groups_val: one "
            "entry for each row of X_val"
        )
    X_val = as_table(X_val, X)
    X, y = indexable(as_table(X, X), y)
    X_val, groups_val = indexable(X_val, groups_val)
    _refuse_empty(n_rows(X_val))
    check_same_columns(X, X_val, get_tags(estimator).input_tags.pairwise)
    y_val = check_targets(y, y_val, n_rows(X_val))
    units = Units.of(n_rows(X_val), groups_val)
    return Problem(X, y, fit_params, X_val, y_val, units, "X_val as given")


def _split(estimator, X, y, fit_params, cv, rng, groups, split_params) -> Problem:
    n, by_default = n_rows(X), cv is None
    if by_default:
        kind = ShuffleSplit if groups is None else GroupShuffleSplit
        cv = kind(1, test_size=_TEST_SIZE, random_state=rng.randint(2**31 - 1))
    else:
        cv = _one_split(cv, y, estimator)
    if groups is not None:
        split_params = {"groups": groups, **split_params}
    train, test = (_positions(part, n) for part in next(iter(cv.split(X, y, **split_params))))
    _refuse_empty(len(test))
    _refuse_overlap(train, test, groups)
    units = Units.of(len(test), None if groups is None else take_rows(groups, test))
    if by_default:
        _warn_of_default(units, len(test), n)
    train_X, train_y, train_params, X_val, y_val = _cut(estimator, X, y, fit_params, train, test)
    return Problem(
        train_X,
        train_y,
        train_params,
        X_val,
        None if y is None else as_labels(y_val, dense(train_y)),
        units,
        "hold-out drawn by row number" if by_default else f"test part of {type(cv).__name__}",
    )


@dataclass(frozen=True)
class PublicSplit:
    """The training set, cut in two: all of it is public.

    Parameters
    ----------
    X_train, y_train, fit_params
        To fit on.
    X_test, y_test
        To score on.
    """

    X_train: object
    y_train: object
    fit_params: dict
    X_test: object
    y_test: object


def split_training(problem: Problem, estimator, cv, rng: np.random.Generator) -> PublicSplit:
    """Cut a problem's training set in two, for scores that cost no privacy.

    Parameters
    ----------
    problem : Problem
    estimator : estimator
    cv : splitter, iterable of one (train, test) pair, or None
        None holds out a fifth of the rows, with the shares of the classes kept if possible: the
        training set is public, and may be looked at.
    rng : numpy.random.Generator

    Raises
    ------
    ValueError
        If cv does not make exactly one split into two parts that do not overlap.
    """
    X, y = problem.X_train, problem.y_train
    if cv is None:
        train, test = _fifth(X, y, is_classifier(estimator), int(rng.integers(2**31)))
    else:
        checked = _single(cv, y, estimator, "public_cv")
        try:
            parts = next(iter(checked.split(X, y)))
        except ValueError as error:
            raise ValueError(
                f"public_cv={cv!r} cannot be used: {error}. It is given X and y; where it needs "
                "more, such as groups, make the split beforehand: public_cv=[(train, test)]"
            ) from None
        train, test = (_positions(part, n_rows(X)) for part in parts)
    if len(test) == 0:
        raise ValueError("the test part of public_cv is empty: there is nothing to score")
    _refuse_overlap(train, test, None)
    return PublicSplit(*_cut(estimator, X, y, problem.fit_params, train, test))


def _fifth(X, y, classifier: bool, seed: int):
    if classifier and y is not None:
        try:
            splitter = StratifiedShuffleSplit(1, test_size=_PUBLIC_TEST_SIZE, random_state=seed)
            return next(splitter.split(np.zeros(n_rows(X)), dense(y)))
        except ValueError:  # a class of one record, several outputs, ...
            pass
    splitter = ShuffleSplit(1, test_size=_PUBLIC_TEST_SIZE, random_state=seed)
    return next(splitter.split(np.zeros(n_rows(X))))


def _cut(estimator, X, y, fit_params, train, test):
    """Return (X, y, fit_params) of the training rows and (X, y) of the test rows."""
    n = n_rows(X)
    columns = train if get_tags(estimator).input_tags.pairwise else None
    return (
        _take(X, train, columns),
        None if y is None else take_rows(y, train),
        {k: take_rows(v, train) if _per_row(v, n) else v for k, v in fit_params.items()},
        _take(X, test, columns),
        None if y is None else take_rows(y, test),
    )


def _one_split(cv, y, estimator):
    """Return the splitter of protected from training records, if it makes one split."""
    checked = _single(cv, y, estimator, "cv")
    if "Stratified" in type(checked).__name__:
        warnings.warn(
            f"{type(checked).__name__} chooses the validation records by their labels, which are "
            "what is to be protected: the guarantee holds given the split, not for the split "
            "itself. ShuffleSplit(n_splits=1) does not look at labels.",
            PrivacyWarning,
            stacklevel=5,
        )
    return checked


def _single(cv, y, estimator, name: str):
    """Return the splitter, if it makes one split."""
    n_splits = None
    try:
        checked = check_cv(cv, y, classifier=is_classifier(estimator))
        n_splits = checked.get_n_splits()
    except (AttributeError, TypeError, ValueError) as error:
        reason = str(error)
    if n_splits != 1:
        found = reason if n_splits is None else f"it makes {n_splits} splits"
        raise ValueError(f"{name}={cv!r} cannot be used: {found}. {_WHY_ONE_SPLIT[name]}")
    return checked


def _positions(rows, n: int) -> np.ndarray:
    """Return row numbers from 0 on, also for masks and negative numbers."""
    rows = np.asarray(rows)
    try:
        return np.arange(n)[rows if rows.size else rows.astype(int)]
    except IndexError as error:
        raise ValueError(f"cv does not give row numbers of X (0 to {n - 1}): {error}") from None


def _refuse_overlap(train, test, groups) -> None:
    if len(train) == 0:
        raise ValueError("the training part of cv is empty: there is nothing to fit on")
    if len(np.unique(test)) < len(test):
        raise ValueError(
            "a row is more than once in the validation part of cv; it would be protected less "
            "than it seems"
        )
    if len(shared := np.intersect1d(train, test)):
        raise ValueError(
            f"{len(shared)} rows are in both the training and the validation part of cv; training "
            "records are not protected, so the parts must not overlap"
        )
    if groups is not None:
        inside = set(np.asarray(take_rows(groups, test)).tolist())
        split = inside.intersection(np.asarray(take_rows(groups, train)).tolist())
        if split:
            raise ValueError(
                f"{len(split)} groups of groups_val have rows in both the training and the "
                "validation part of cv; training records are not protected, so hold out whole "
                "groups, e.g. with cv=GroupShuffleSplit(n_splits=1)"
            )


def _warn_of_default(units: Units, n_held_out: int, n: int) -> None:
    what = units.name + "s"
    warnings.warn(
        f"No X_val and no cv: {units.m} {what} ({n_held_out} of {n} rows, drawn by row number) are "
        f"held out as the validation set. Only those {units.m} {what} are protected; the rest is "
        "the training set, and is not. Pass the sensitive records as X_val and y_val.",
        PrivacyWarning,
        stacklevel=5,
    )


def _take(X, rows, columns):
    """Return these rows of X and, of a kernel matrix, these columns."""
    if columns is None:
        return take_rows(X, rows)
    return X[rows][:, columns] if issparse(X) else np.asarray(X)[np.ix_(rows, columns)]


def _per_row(value, n: int) -> bool:
    """Whether a fit parameter has an entry for each row."""
    if isinstance(value, str | bytes | dict) or np.ndim(value) == 0:
        return False
    return n_rows(value) == n


def _refuse_empty(n: int) -> None:
    if n == 0:
        raise ValueError("the validation set is empty (m = 0 records): there is nothing to score")

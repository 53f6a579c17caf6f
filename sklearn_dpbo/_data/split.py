"""Training data and protected validation data (zone: public).

This module carries the validation set, and looks only at its schema, which is public: row counts,
column names and kinds of dtype.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
)
from sklearn.utils import get_tags, indexable

from ..exceptions import PrivacyWarning
from .canonical import Canonical, as_labels, canonical
from .fit_parameters import check_fit_params, per_row
from .one_split import check_disjoint, check_one_split, named, one_split
from .schema import check_same_columns, check_targets, refuse_complex
from .tables import dense, n_rows, take_rows
from .units import Units

__all__ = ["Problem", "PublicSplit", "Training", "hold_out", "split_training"]

_TEST_SIZE = 0.25
_PUBLIC_TEST_SIZE = 0.2


@dataclass(frozen=True, eq=False)
class Training:
    """Data that models are fitted on; all of it is public.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Any kind of table that the estimator's `fit` takes.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Targets.
    fit_params : dict
        Other arguments of the estimator's `fit`.
    """

    X: Any
    y: Any
    fit_params: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def form(self) -> Canonical:
        """The canonical form of tables of this kind."""
        return canonical(self.X)


@dataclass(frozen=True, eq=False)
class Problem:
    """One training set, one validation set.

    Parameters
    ----------
    training : Training
        Public; the only data that models are fitted on.
    X_val : table of shape (n_val, n_features)
        Validation records, in canonical form: protected.
    y_val : ndarray of shape (n_val,) or (n_val, n_outputs), or None
        Their targets, in canonical form: protected. None if the training set has no targets.
    units : Units
        Protected units of the validation records.
    protected : str
        Origin of the validation set, for the privacy report.
    """

    training: Training
    X_val: Any
    y_val: NDArray[Any] | None
    units: Units
    protected: str


def hold_out(
    estimator: Any,
    X: Any,
    y: Any,
    fit_params: dict[str, Any],
    *,
    cv: Any,
    rng: np.random.RandomState,
    X_val: Any,
    y_val: Any,
    groups_val: Any,
    split_params: Mapping[str, Any],
) -> Problem:
    """Return the training and validation set for these arguments of `PrivateBayesSearchCV`.

    The validation set is X_val if given; otherwise the test part of cv's single split; otherwise a
    quarter of the rows (of the groups, if groups_val is given), chosen by number at random.

    Parameters
    ----------
    estimator : estimator
        Not fitted; whether X is a kernel matrix, and how cv splits, depends on its type.
    X : table of shape (n_samples, n_features)
        The training set, public; without X_val, the rows to split.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Targets of X.
    fit_params : dict
        Other arguments of the estimator's `fit`.
    cv : splitter, iterable of one (train, test) pair, or None
        How to split X; None if X_val is given, or for the default split.
    rng : numpy.random.RandomState
        Chooses the rows of the default split.
    X_val : table of shape (n_val, n_features), or None
        Validation records: protected.
    y_val : array-like of shape (n_val,) or (n_val, n_outputs), or None
        Their targets: protected.
    groups_val : array-like of shape (n_val,), or (n_samples,) without X_val, or None
        The group that each record belongs to; a group is then one protected unit.
    split_params : dict
        Arguments of cv's `split`, beside X and y.

    Raises
    ------
    ValueError
        If a fit parameter may hold records, X_val and X differ in columns or are the same object,
        y_val is missing, cv has several splits, a row or group is in both parts or twice in the
        validation part, or either part is empty.
    """
    if X_val is None:
        if y_val is not None:
            raise ValueError("y_val was given without X_val: give both, or neither")
        refuse_complex(y)
        X, y, groups = indexable(X, y, groups_val)
        _check_some_to_fit_on(n_rows(X))
        check_fit_params(fit_params, n_rows(X))
        return _split(estimator, X, y, fit_params, cv, rng, groups, split_params)
    if cv is not None:
        raise ValueError(f"both X_val and cv={cv!r} say what to hold out: leave cv out")
    if split_params:
        raise ValueError(
            f"fit was given {sorted(split_params)}, which are for a splitter, and X_val, so that "
            "nothing is split. To protect all records of a person together, pass groups_val: one "
            "entry for each row of X_val"
        )
    if X_val is X:
        raise ValueError(
            "X and X_val are the same table: models would be trained on the records that are to be "
            "protected. Pass other records as X, or X and cv= without X_val"
        )
    X, y = indexable(X, y)
    _check_some_to_fit_on(n_rows(X))
    check_fit_params(fit_params, n_rows(X))
    (X_val,) = indexable(X_val)
    _check_not_empty(n_rows(X_val))
    X = _as_arrays(X)
    check_same_columns(X, X_val, get_tags(estimator).input_tags.pairwise)
    y_val = check_targets(y, y_val, n_rows(X_val))
    units = Units.of(n_rows(X_val), groups_val)
    training = Training(X, y, fit_params)
    return Problem(training, training.form.read(X_val), y_val, units, "X_val as given")


def _split(
    estimator: Any,
    X: Any,
    y: Any,
    fit_params: dict[str, Any],
    cv: Any,
    rng: np.random.RandomState,
    groups: Any,
    split_params: Mapping[str, Any],
) -> Problem:
    n, by_default, given = n_rows(X), cv is None, cv
    if by_default:
        kind = ShuffleSplit if groups is None else GroupShuffleSplit
        cv = kind(1, test_size=_TEST_SIZE, random_state=rng.randint(2**31 - 1))
    else:
        cv = _protecting_splitter(cv, y, estimator)
    if groups is not None:
        split_params = {"groups": groups, **split_params}
    train, test = one_split(cv, given, "cv", X, y, split_params)
    _check_not_empty(len(test))
    check_disjoint(train, test, groups, "cv")
    units = Units.of(len(test), None if groups is None else take_rows(groups, test))
    if by_default:
        _warn_of_default(units, n)
    if "groups" in split_params and groups is None:
        _warn_of_ungrouped(named(given))
    training, X_val, y_val = _divide(estimator, Training(X, y, fit_params), train, test)
    # The training part alone says how records are read.
    training = replace(training, X=_as_arrays(training.X))
    return Problem(
        training,
        training.form.read(X_val),
        None if y is None else as_labels(y_val, dense(training.y)),
        units,
        "hold-out chosen at random" if by_default else f"test part of {named(given)}",
    )


def _as_arrays(X: Any) -> Any:
    """Return a training table; of a list of records of one length, an array."""
    return canonical(X).read(X) if isinstance(X, list | tuple) else X


@dataclass(frozen=True, eq=False)
class PublicSplit:
    """The training set, divided into two parts; all of it is public.

    Parameters
    ----------
    training : Training
        The part that models are fitted on.
    X_test : table of shape (n_test, n_features)
        The part that models are scored on.
    y_test : array-like of shape (n_test,) or (n_test, n_outputs), or None
        Targets of X_test.
    """

    training: Training
    X_test: Any
    y_test: Any


def split_training(
    training: Training, estimator: Any, cv: Any, rng: np.random.Generator
) -> PublicSplit:
    """Divide a training set into two parts, for scores that cost no privacy.

    Parameters
    ----------
    training : Training
        Public.
    estimator : estimator
        For a classifier, the default split is stratified, if possible.
    cv : splitter, iterable of one (train, test) pair, or None
        None holds out a fifth of the rows.
    rng : numpy.random.Generator
        Chooses the rows of the default split.

    Raises
    ------
    ValueError
        If cv does not make exactly one split into two parts that do not overlap.
    """
    X, y = training.X, training.y
    if cv is None:
        train, test = _default_public_split(
            X, y, is_classifier(estimator), int(rng.integers(2**31))
        )
    else:
        checked = check_one_split(cv, y, estimator, "public_cv")
        train, test = one_split(checked, cv, "public_cv", X, y, {})
    if len(test) == 0:
        raise ValueError("the test part of public_cv is empty: there is nothing to score")
    check_disjoint(train, test, None, "public_cv")
    return PublicSplit(*_divide(estimator, training, train, test))


def _default_public_split(
    X: Any, y: Any, stratified: bool, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Hold out a fifth of the rows, if possible of each class."""
    rows = np.zeros(n_rows(X))
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    if stratified and y is not None:
        try:
            splitter = StratifiedShuffleSplit(1, test_size=_PUBLIC_TEST_SIZE, random_state=seed)
            train, test = next(splitter.split(rows, dense(y)))
            return train, test
        except ValueError:  # a class of one record, several outputs, ...
            pass
    splitter = ShuffleSplit(1, test_size=_PUBLIC_TEST_SIZE, random_state=seed)
    train, test = next(splitter.split(rows))
    return train, test


def _divide(
    estimator: Any, whole: Training, train: NDArray[np.intp], test: NDArray[np.intp]
) -> tuple[Training, Any, Any]:
    """Return the training rows, and X and y of the test rows."""
    n = n_rows(whole.X)
    columns = train if get_tags(estimator).input_tags.pairwise else None
    y, y_test = (None if whole.y is None else take_rows(whole.y, rows) for rows in (train, test))
    fit_params = {
        name: take_rows(value, train) if per_row(value, n) else value
        for name, value in whole.fit_params.items()
    }
    training = Training(_take_part(whole.X, train, columns), y, fit_params)
    return training, _take_part(whole.X, test, columns), y_test


def _protecting_splitter(cv: Any, y: Any, estimator: Any) -> Any:
    """Return the splitter for cv, if it makes one split; warn if that depends on labels."""
    checked = check_one_split(cv, y, estimator, "cv")
    if "Stratified" in type(checked).__name__:
        warnings.warn(
            f"{type(checked).__name__} chooses the validation records by their labels, which are "
            "to be protected: the guarantee holds given the split, not for the split itself. "
            "ShuffleSplit(n_splits=1) does not use labels.",
            PrivacyWarning,
            stacklevel=5,
        )
    return checked


def _warn_of_default(units: Units, n: int) -> None:
    """Warn of what is protected. How many rows a group has is not public."""
    what = units.name + "s"
    of = f" of {n}, chosen by row number," if units.ends is None else ", chosen at random,"
    warnings.warn(
        f"No X_val and no cv: {units.m} {what}{of} are "
        f"held out as the validation set. Only those {units.m} {what} are protected; the rest is "
        "the training set, and is not. Pass the sensitive records as X_val and y_val. If all of "
        'them are sensitive, use PrivateBayesSearchCV with protect="all" and an estimator that '
        "trains privately.",
        PrivacyWarning,
        stacklevel=5,
    )


def _warn_of_ungrouped(splitter: str) -> None:
    warnings.warn(
        f"groups= tells {splitter} how to split; what is protected is still each *record* "
        "by itself. If several records belong to one person, protect them together: pass "
        "groups_val= (an entry for each row of X) in place of groups=.",
        PrivacyWarning,
        stacklevel=5,
    )


def _take_part(X: Any, rows: NDArray[np.intp], columns: NDArray[np.intp] | None) -> Any:
    """Return these rows of X; of a kernel matrix, only these columns, too."""
    if columns is None:
        return take_rows(X, rows)
    return X[rows][:, columns] if issparse(X) else np.asarray(X)[np.ix_(rows, columns)]


def _check_some_to_fit_on(n: int) -> None:
    if n == 0:
        raise ValueError("the training set is empty (X has 0 rows): there is nothing to fit on")


def _check_not_empty(n: int) -> None:
    if n == 0:
        raise ValueError("the validation set is empty (m = 0 records): there is nothing to score")

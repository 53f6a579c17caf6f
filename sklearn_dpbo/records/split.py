"""Training data and protected validation data (zone: public).

This module passes the validation set on and reads only its schema, which is public: row counts,
column names, kinds of dtype, and whether pandas tables have the same index.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, check_cv, train_test_split
from sklearn.utils import get_tags, indexable

from ..exceptions import PrivacyWarning
from ..privacy.suppress_output import suppress_output
from ..privacy.warn import warn
from .canonical import in_one_form, labels_in_one_form
from .fit_parameters import check_fit_params, per_row, refuse_protected, share_memory
from .public_rows import PublicSample
from .subgroups import Subgroups
from .tables import (
    as_table,
    check_readable,
    copied,
    dense,
    n_rows,
    numbered,
    of_own_rows,
    plain_array,
    take_rows,
)
from .units import Units, one_column

_TEST_SIZE = 0.25
_PUBLIC_TEST_SIZE = 0.2

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Training:
    """The public table, targets, and other arguments of `fit` that models are fitted on."""

    X: Any
    y: Any
    fit_params: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, y: Any, fit_params: dict[str, Any]) -> Training:
        """Number the rows of a user's arguments from 0."""
        rows = {k: numbered(v) for k, v in fit_params.items() if per_row(v, n_rows(X))}
        return cls(numbered(as_table(X)), numbered(plain_array(y)), fit_params | rows)


@dataclass(frozen=True, eq=False)
class Problem:
    """A training set, and public facts about a validation set with columns of the same types.

    `units` has the number of protected units, without their rows; `protected` says in words where
    they come from. `sample` has training rows as the user passed them; None if `training` does.
    """

    training: Training
    units: Units
    protected: str
    subgroups: Subgroups | None = None
    sample: PublicSample | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedRows:
    """The protected validation set, with the units and subgroups of its rows."""

    X: Any
    y: NDArray[Any] | None
    units: Units

    def copied(self) -> ProtectedRows:
        """Copy the records, so that later changes of the caller's arrays do not matter."""
        y = None if self.y is None else self.y.copy()
        return ProtectedRows(copied(self.X), y, self.units)


def _refuse_overlap(X: Any, y: Any, X_val: Any, y_val: Any, fit_params: dict[str, Any]) -> None:
    """Raise ValueError if public arguments share memory with protected ones."""
    has_X_val = X_val is not None
    if y_val is not None and not has_X_val:
        raise ValueError("y_val was given without X_val: give both, or neither")
    if has_X_val and share_memory(X, X_val):
        raise ValueError(
            "X and X_val are the same table, or views of it that overlap, but X is public and "
            "X_val protected. Pass other records as X (or, to a search, X and cv= without X_val)"
        )
    refuse_protected(fit_params, *((X_val, y_val) if has_X_val else (X, y)))


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
    subgroups_val: Any = None,
    subgroups: Subgroups | None = None,
) -> tuple[Problem, ProtectedRows]:
    """Make the training and validation set of the arguments of a search's `fit`.

    The validation set is X_val if given; otherwise the test part of the single split of `cv`;
    otherwise a quarter of the rows (of the groups, if groups_val is given), drawn by number with
    `rng`. Groups are protected units; subgroups are counted separately; `split_params` are
    arguments of the `split` of `cv`.
    """
    has_X_val = X_val is not None
    _refuse_overlap(X, y, X_val, y_val, fit_params)
    splits = sorted(split_params) if cv is None else ["cv", *sorted(split_params)]
    if has_X_val and splits:
        raise ValueError(
            f"X_val is the validation set, so leave {' and '.join(splits)} out. To protect groups, "
            "pass groups_val: one entry for each row of X_val"
        )
    check_readable("y", y, real=True)
    tables = {"X": X, "X_val": X_val, "y_val": y_val, "subgroups_val": subgroups_val}
    for name, table in (tables | fit_params).items():
        check_readable(name, table)
    groups_val = None if groups_val is None else one_column(groups_val, "groups_val")
    X, y, groups = indexable(X, y, None if has_X_val else groups_val)
    if n_rows(X) == 0:
        raise ValueError("the training set is empty (X has 0 rows): there is nothing to fit on")
    check_fit_params(fit_params, n_rows(X))
    rows_of_X = {"groups_val": groups, "subgroups_val": None if has_X_val else subgroups_val}
    check_same_index("X", X, y=y, **rows_of_X, **fit_params)
    training = Training.of(X, y, fit_params)
    X_passed = X
    y_passed = y
    train = None
    pairwise = get_tags(estimator).input_tags.pairwise
    if has_X_val:
        rows_of_X_val = {"groups_val": groups_val, "subgroups_val": subgroups_val}
        check_same_index("X_val", X_val, y_val=y_val, **rows_of_X_val)
        (X_val,) = indexable(X_val)
        if n_rows(X_val) == 0:
            raise ValueError("the validation set is empty (m = 0 records): nothing can be scored")
        units = Units.of(n_rows(X_val), groups_val, "groups_val")
        origin = "X_val as given"
    else:
        unit_of_row = Units.of(n_rows(X), groups, "groups_val").labels
        split = _held_out_split(estimator, training, cv, rng, groups, split_params, unit_of_row)
        train, test, origin = split
        units = Units.of(len(test), None if unit_of_row is None else unit_of_row[test])
        training, validation = _divide(estimator, training, train, test)
        X_val = validation.X
        y_val = validation.y
    if subgroups is not None:
        numbers = subgroups.numbers(subgroups_val, n_rows(X_val if has_X_val else X))
        units = replace(units, subgroups=numbers if has_X_val else numbers[test])
    declared = (X_val, y_val)
    # The training part alone says how records are read.
    X, X_val = in_one_form(training.X, as_table(X_val), has_X_val and pairwise)
    fit_params = {name: of_own_rows(value) for name, value in training.fit_params.items()}
    training = replace(training, X=X, fit_params=fit_params)
    if (training.y is None) != (y_val is None):
        missing = "y" if training.y is None else "y_val"
        raise ValueError(f"{missing} is missing: y and y_val are needed together")
    if y_val is not None:
        y, y_val = labels_in_one_form(training.y, y_val, n_rows(X_val))
        training = replace(training, y=y)
    # `training` has fewer columns of a kernel matrix than X.
    public = (training.X, training.y, None) if pairwise else (X_passed, y_passed, train)
    sample = PublicSample.of(training, *public, *declared)
    problem = Problem(training, units.schema, origin, subgroups, sample)
    return problem, ProtectedRows(numbered(X_val), y_val, units)


def check_same_index(name: str, X: Any, **tables: Any) -> None:
    """Raise ValueError, which quotes no index, if pandas tables have another index than X.

    `name` is that of X.
    """
    for argument, table in tables.items():
        if hasattr(X, "iloc") and hasattr(table, "iloc"):
            with suppress(Exception):  # of labels that cannot be compared
                if X.index.equals(table.index):
                    continue
            raise ValueError(
                f"{name} and {argument} have different indices (of {len(X)} and {len(table)} "
                "rows): their rows may not belong together. "
                "Bring them into one order; if they are, use reset_index(drop=True) on both"
            )


class _Split(NamedTuple):
    """Row numbers to fit on and to hold out, and what drew them, in words."""

    train: Rows
    test: Rows
    origin: str


def _held_out_split(
    estimator: Any,
    whole: Training,
    cv: Any,
    rng: np.random.RandomState,
    groups: Any,
    split_params: Mapping[str, Any],
    unit_of_row: Rows | None,
) -> _Split:
    """Split the rows by `cv` or, without it, at random.

    `unit_of_row` has the number of each row's group, if there are `groups`.
    """
    by_default = cv is None
    name = type(cv).__name__ if hasattr(cv, "split") else "cv"
    if by_default and split_params.get("groups") is not None and groups is None:
        raise ValueError(
            "groups= tells the splitter cv how to split, and cv is None: pass groups_val= to "
            "protect all records of a group together"
        )
    if groups is not None:
        split_params = {"groups": groups, **split_params}
    if by_default:
        kind = ShuffleSplit if groups is None else GroupShuffleSplit
        cv = kind(1, test_size=_TEST_SIZE, random_state=rng.randint(2**31 - 1))
    train, test = _one_split("cv", cv, whole, split_params)
    if unit_of_row is not None and np.isin(unit_of_row[train], unit_of_row[test]).any():
        raise ValueError(
            "groups of groups_val have rows in both parts of cv, and training records are not "
            "protected: hold out whole groups, as cv=GroupShuffleSplit(n_splits=1) does"
        )
    if by_default:
        held_out = f"{len(test)} records"
        if unit_of_row is not None:
            held_out = f"{len(np.unique(unit_of_row[test]))} groups"
        warn(
            f"No X_val and no cv: {held_out}, chosen by number at random, are held out as the "
            f"validation set. Only those {held_out} are protected. Pass the sensitive records as "
            "X_val and y_val; if all are, use PrivateTableSearchCV with an estimator that trains "
            "privately.",
            PrivacyWarning,
        )
    if "Stratified" in name:
        warn(
            f"{name} chooses the validation records by their labels, which are protected: the "
            "guarantee does not cover the split. ShuffleSplit(n_splits=1) does not use labels.",
            PrivacyWarning,
        )
    if split_params.get("groups") is not None and groups is None:
        warn(
            f"groups= tells {name} how to split; what is protected is each *record* by itself. To "
            "protect all records of a group together, pass groups_val= in place of groups=.",
            PrivacyWarning,
        )
    origin = "hold-out chosen at random" if by_default else f"test part of {name}"
    return _Split(train, test, origin)


def split_training(
    training: Training, estimator: Any, cv: Any, rng: np.random.Generator
) -> tuple[Training, Training]:
    """Divide a training set for public scores: by `cv`, or hold out a fifth of the rows."""
    if cv is None:
        share = {"test_size": _PUBLIC_TEST_SIZE, "random_state": int(rng.integers(2**31))}
        rows = np.arange(n_rows(training.X))
        cv = [train_test_split(rows, **share)]
        if is_classifier(estimator) and training.y is not None:
            with suppress(ValueError):  # a class of one record, several outputs, ...
                cv = [train_test_split(rows, **share, stratify=dense(training.y))]
    return _divide(estimator, training, *_one_split("public_cv", cv, training, {}))


def _one_split(
    name: str, cv: Any, whole: Training, split_params: Mapping[str, Any]
) -> tuple[Rows, Rows]:
    """Return the training and test rows of the only split of `cv`; ValueError if they overlap.

    `name` is the parameter's: "cv", of protected rows, or "public_cv".
    """
    n = n_rows(whole.X)
    try:
        (train, test), *more_splits = _first_two(check_cv(cv), whole, split_params, name == "cv")
        if more_splits:
            raise ValueError("it makes several splits")
        train, test = (np.arange(n)[part].reshape(-1) for part in (train, test))
        if not (len(train) and len(test)):
            raise ValueError(f"n = {len(train)} rows to fit on, m = {len(test)} to hold out")
        if len(np.union1d(train, test)) < len(np.unique(train)) + len(test):
            raise ValueError("a row is in both parts, or held out more than once")
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        instead = ", or the sensitive records as X_val and y_val" if name == "cv" else ""
        raise ValueError(
            f"{name}={reprlib.repr(cv)} cannot be used: {error}. Pass a splitter that makes one "
            "split, such as ShuffleSplit(n_splits=1, test_size=0.2), or "
            f"{name}=[(train, test)], with row numbers of X (0 to {n - 1}){instead}"
        ) from None
    return train, test


def _first_two(splitter: Any, whole: Training, split_params: Any, protected: bool) -> list[Any]:
    """Return the first two splits, or the only one.

    If rows are `protected`, texts that the splitter prints, warns of or raises are suppressed. A
    splitter whose `get_n_splits` says that it makes several does not get the rows: whether it
    raises could depend on labels.
    """
    with suppress(Exception):  # of one that has to see the table, or has no such method
        if splitter.get_n_splits() > 1:
            return [((), ())] * 2
    try:
        with suppress_output() if protected else nullcontext():
            return list(islice(splitter.split(whole.X, whole.y, **split_params), 2))
    except Exception as error:
        if not protected:
            raise
        reason = f"its split raises {type(error).__name__} (n_samples={n_rows(whole.X)})"
        raise ValueError(reason) from None


def _divide(estimator: Any, whole: Training, train: Rows, test: Rows) -> tuple[Training, Training]:
    """Return the training rows and the test rows, the latter without arguments of `fit`."""
    X = whole.X
    n = n_rows(X)
    y, y_test = (None if whole.y is None else take_rows(whole.y, rows) for rows in (train, test))
    fit_params = {
        name: take_rows(value, train) if per_row(value, n) else value
        for name, value in whole.fit_params.items()
    }
    if get_tags(estimator).input_tags.pairwise:  # a kernel matrix: columns are rows, too
        X = (X if issparse(X) else np.asarray(X))[:, train]
    return Training(take_rows(X, train), y, fit_params), Training(take_rows(X, test), y_test)

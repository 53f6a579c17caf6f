"""One split of a table into two parts, by a splitter or a pair of row numbers (zone: public).

``cv`` holds out protected records, ``public_cv`` training records that models are scored on.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from .tables import n_rows, take_rows

__all__ = ["check_disjoint", "check_one_split", "named", "one_split"]

_WHY_ONE_SPLIT = {
    "cv": (
        "Every split would spend the privacy of its own validation records, and models of other "
        "splits would be trained on them, so one hold-out set is protected instead. Pass X_val "
        "and y_val, or a splitter that makes one split, such as ShuffleSplit(n_splits=1{share}) or "
        "PredefinedSplit"
    ),
    "public_cv": (
        "Each candidate is explored by one fit: pass a splitter that makes one split, such as "
        "ShuffleSplit(n_splits=1{share}) or PredefinedSplit, or an iterable of one (train, test) "
        "pair"
    ),
}
_HOW_TO_SPLIT = {
    "cv": "Pass X_val and y_val, or cv=[(train, test)], with arrays of row numbers",
    "public_cv": (
        "It is given X and y; where it needs more, such as groups, make the split beforehand: "
        "public_cv=[(train, test)], with arrays of row numbers"
    ),
}


def check_one_split(cv: Any, y: Any, estimator: Any, name: str) -> Any:
    """Return the splitter for cv, if it makes one split."""
    n_splits, share = None, _share(cv)
    if share and share == cv:
        other = ", or the sensitive records as X_val and y_val" * (name == "cv")
        raise ValueError(
            f"{name}={cv!r} cannot be used: it is no splitter. To hold out that share, pass "
            f"{name}=ShuffleSplit(n_splits=1, test_size={share:g}){other}"
        )
    try:
        if isinstance(cv, float | str):
            raise TypeError("it is no splitter")
        checked = check_cv(cv, y, classifier=is_classifier(estimator))
        n_splits = checked.get_n_splits()
    except (AttributeError, TypeError, ValueError) as error:
        reason = str(error)
    if n_splits != 1:
        found = reason.rstrip(".") if n_splits is None else f"it makes {n_splits} splits"
        why = _WHY_ONE_SPLIT[name].format(share=f", test_size={share:g}" if share else "")
        raise ValueError(f"{name}={reprlib.repr(cv)} cannot be used: {found}. {why}")
    return checked


def _share(cv: Any) -> float | None:
    """Return the share of the records that this is to hold out: of 0.2 and of 5 folds, a fifth."""
    if not isinstance(cv, Real) or isinstance(cv, bool):
        return None
    number = float(cv)
    if 0 < number < 1:
        return number
    return 1 / number if 2 <= number <= 100 else None


def named(given: Any) -> str:
    """Return what to call a splitter; an iterable of pairs has no name that says anything."""
    return type(given).__name__ if hasattr(given, "split") else "cv"


def one_split(
    splitter: Any, given: Any, name: str, X: Any, y: Any, split_params: Mapping[str, Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row numbers of both parts of the only split.

    Raises
    ------
    ValueError
        If the splitter cannot be used, or does not give a pair of row numbers.
    """
    try:
        pair: Any = next(iter(splitter.split(X, y, **split_params)), ())
        train, test = pair
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={reprlib.repr(given)} cannot be used: {error}. {_HOW_TO_SPLIT[name]}"
        ) from None
    return _row_numbers(train, n_rows(X), name), _row_numbers(test, n_rows(X), name)


def _row_numbers(rows: Any, n: int, name: str) -> NDArray[np.intp]:
    """Return row numbers from 0 on, also for masks and negative numbers."""
    try:
        rows = np.asarray(rows)
        if rows.ndim != 1:
            raise IndexError(f"an array of shape {rows.shape} is no list of them")
        numbers: NDArray[np.intp] = np.arange(n)[rows if rows.size else rows.astype(int)]
        return numbers
    except (IndexError, ValueError) as error:
        raise ValueError(f"{name} does not give row numbers of X (0 to {n - 1}): {error}") from None


def check_disjoint(train: NDArray[np.intp], test: NDArray[np.intp], groups: Any, name: str) -> None:
    """Raise ValueError if a row or group is in both parts or twice in test, or train is empty."""
    if len(train) == 0:
        raise ValueError(f"the training part of {name} is empty: there is nothing to fit on")
    if len(np.unique(test)) < len(test):
        why = "it would be protected less than the privacy report says"
        why = why if name == "cv" else "it would count more than others"
        raise ValueError(f"a row is more than once in the test part of {name}; {why}")
    if len(shared := np.intersect1d(train, test)):
        why = "training records are not protected"
        why = why if name == "cv" else "models do well on rows that they were fitted on"
        raise ValueError(
            f"{len(shared)} rows are in both the training and the test part of {name}; {why}, so "
            "the parts must not overlap"
        )
    if groups is not None:
        test_groups = set(np.asarray(take_rows(groups, test)).tolist())
        in_both = test_groups.intersection(np.asarray(take_rows(groups, train)).tolist())
        if in_both:
            raise ValueError(
                f"{len(in_both)} groups of groups_val have rows in both the training and the "
                "validation part of cv; training records are not protected, so hold out whole "
                "groups, e.g. with cv=GroupShuffleSplit(n_splits=1)"
            )

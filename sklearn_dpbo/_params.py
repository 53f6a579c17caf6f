"""Checks of the parameters that users give (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_floats", "check_named", "check_number", "is_finite"]


def check_number(
    name: str,
    value: Any,
    expected: str,
    holds: Callable[[Any], bool] = lambda _: True,
    kind: type = Real,
    *,
    optional: bool = False,
    finite: bool = True,
) -> None:
    """Raise ValueError unless a value is a number of this kind of which this holds.

    Parameters
    ----------
    name : str
        Of the parameter, for the message.
    value : object
        What was found; True and False are no numbers.
    expected : str
        What is allowed, in words: the message says that the parameter *is* that.
    holds : callable
        Called with a number of this kind; returns whether it is allowed.
    kind : type, default=Real
        ``numbers.Real`` or ``numbers.Integral``.
    optional : bool, default=False
        Whether None is allowed, too.
    finite : bool, default=True
        Whether infinities, NaN and integers beyond any float are refused.
    """
    if optional and value is None:
        return
    number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if not number or (finite and not is_finite(value)) or not holds(value):
        raise ValueError(
            f"{name} is {'None or ' * optional}{expected}; found {value!r} ({type(value).__name__})"
        )


def check_named(estimator: object, unnamed: tuple[Any, ...]) -> None:
    """Raise TypeError if more than X and y was given to `fit` by position."""
    if unnamed:
        raise TypeError(
            f"{type(estimator).__name__}.fit takes X and y by position; {len(unnamed)} more were "
            "given. Name the protected records, as in fit(X_train, y_train, X_val=X_val, "
            "y_val=y_val), so that they cannot be taken for others"
        )


def is_finite(value: Any) -> bool:
    """Whether a number is one that a float can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:  # of an integer beyond any float
        return False


def as_floats(values: Any) -> NDArray[np.float64] | None:
    """Return an array of finite floats; None if a value is no number, not finite or too large.

    Parameters
    ----------
    values : array-like of numbers
        Of any shape. Text such as "0.5" counts as a number, as `float` reads it.
    """
    try:
        floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return floats if np.isfinite(floats).all() else None

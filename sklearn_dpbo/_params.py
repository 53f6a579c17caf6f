"""Checks of parameters that are numbers (zone: public)."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

__all__ = ["check_named", "check_number", "is_finite"]


def check_number(name, value, expected, holds, kind=Real, finite=True, bool_too=False) -> None:
    """Raise ValueError unless a value is a number of this kind of which this holds."""
    if (
        (isinstance(value, bool | np.bool_) and not bool_too)
        or not isinstance(value, kind)
        or (finite and not is_finite(value))
        or not holds(value)
    ):
        raise ValueError(f"{name} is {expected}; found {value!r} ({type(value).__name__})")


def check_named(estimator, unnamed: tuple) -> None:
    """Raise TypeError if more than X and y was given to `fit` by position."""
    if unnamed:
        raise TypeError(
            f"{type(estimator).__name__}.fit takes X and y by position; {len(unnamed)} more were "
            "given. Name the protected records, as in fit(X_train, y_train, X_val=X_val, "
            "y_val=y_val), so that they cannot be taken for others"
        )


def is_finite(value) -> bool:
    """Whether a number is one that a float can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:  # of a whole number beyond any float
        return False

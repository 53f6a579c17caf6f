"""Checks of parameters that are numbers (zone: public)."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

__all__ = ["check_number", "is_finite"]


def check_number(name, value, expected, holds, kind=Real, finite=True, bool_too=False) -> None:
    """Raise ValueError unless a value is a number of this kind of which this holds."""
    if (
        (isinstance(value, bool | np.bool_) and not bool_too)
        or not isinstance(value, kind)
        or (finite and not is_finite(value))
        or not holds(value)
    ):
        raise ValueError(f"{name} is {expected}; found {value!r} ({type(value).__name__})")


def is_finite(value) -> bool:
    """Whether a number is one that a float can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:  # of a whole number beyond any float
        return False

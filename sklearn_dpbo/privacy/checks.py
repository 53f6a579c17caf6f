"""Checks of users' parameters (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_number(
    holds: Callable[[Any], bool] = lambda _: True,
    kind: type = Real,
    *,
    optional: bool = False,
    finite: bool = True,
) -> Callable[[Any], bool]:
    """Return a function that checks a value; see `check_number` for the parameters."""

    def check(value: Any) -> bool:
        if value is None:
            return optional
        number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
        return number and (not finite or is_finite(value)) and bool(holds(value))

    return check


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
    """Raise ValueError unless a value is a number of this kind, and ``holds(value)`` is true.

    True and False are not numbers. Numbers beyond the range of floats are not `finite`.
    """
    if not is_number(holds, kind, optional=optional, finite=finite)(value):
        none = "None or " if optional else ""
        raise ValueError(
            f"{name} must be {none}{expected}; found {value!r} ({type(value).__name__})"
        )


def is_finite(value: Any) -> bool:
    """Return True if a number is finite and in the range of floats."""
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


def as_floats(values: Any) -> NDArray[np.float64] | None:
    """Convert to an array of floats; return None if a value is not a number, or not finite.

    Text such as "0.5" counts as a number, as `float` reads it.
    """
    try:
        floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return floats if np.isfinite(floats).all() else None

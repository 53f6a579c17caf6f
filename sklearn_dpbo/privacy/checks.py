"""Checks of the parameters that users give (zone: public)."""

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
    """Return a check for numbers of this kind of which this holds; see `check_number`."""

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
    """Raise ValueError unless a value is a number of this kind of which this holds.

    True and False are not numbers. Numbers that no float can hold are not `finite`.
    """
    if not is_number(holds, kind, optional=optional, finite=finite)(value):
        none = "None or " if optional else ""
        raise ValueError(
            f"{name} must be {none}{expected}; found {value!r} ({type(value).__name__})"
        )


def is_finite(value: Any) -> bool:
    """Whether a number is one that a float can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:  # of an integer beyond any float
        return False


def as_floats(values: Any) -> NDArray[np.float64] | None:
    """Return an array of finite floats; None if a value is no number, not finite or too large.

    Text such as "0.5" counts as a number, as `float` reads it.
    """
    try:
        floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return floats if np.isfinite(floats).all() else None

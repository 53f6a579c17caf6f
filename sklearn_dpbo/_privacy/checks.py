"""Checks of the parameters that users give (zone: public)."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_floats", "check_named", "check_number", "fit_takes", "is_finite"]
__all__ += ["is_number", "one_of"]

# What others call a validation set: records given by these names would not be protected.
_NAMES_OF_VALIDATION = re.compile(
    "[xy]_?(val|valid|validation|test|holdout|hold_out|dev|eval)", re.IGNORECASE
)


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


def one_of(*texts: str) -> tuple[Callable[[Any], bool], str]:
    """Return the constraint that a parameter is one of these texts."""
    words = ", ".join(f'"{text}"' for text in texts[:-1]) + f' or "{texts[-1]}"'
    return lambda value: isinstance(value, str) and value in texts, words


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
        found = f"found {value!r} ({type(value).__name__})"
        raise ValueError(f"{name} must be {'None or ' * optional}{expected}; {found}")


def check_named(estimator: Any, fit_params: Iterable[str]) -> None:
    """Raise TypeError if protected records were given to `fit` by another name.

    Names that the `fit` of ``estimator.estimator`` takes are passed on to it.
    """
    other = [name for name in fit_params if _NAMES_OF_VALIDATION.fullmatch(name)]
    if other and not fit_takes(estimator.estimator, other):
        raise TypeError(
            f"{type(estimator).__name__}.fit was given {other}: the protected records are called "
            "X_val, y_val and groups_val here"
        )


def fit_takes(estimator: Any, names: Iterable[str]) -> bool:
    """Whether the `fit` of an estimator has parameters of all these names."""
    try:
        return set(names) <= set(inspect.signature(estimator.fit).parameters)
    except (AttributeError, TypeError, ValueError):
        return False


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

"""Numbers as they are written in decimals (zone: public)."""

from __future__ import annotations

import contextlib
import math
import re
from fractions import Fraction

import numpy as np

__all__ = ["at_most", "exact"]


def exact(name: str, number) -> Fraction:
    """Return a number as it is written in decimals: 0.1 is 1/10. From 1e-300 to 1e300, or 0."""
    is_bool = isinstance(number, bool | np.bool_)
    text = repr(float(number)) if isinstance(number, np.floating) else str(number)
    value = None
    if not is_bool and len(text) <= 200:
        with contextlib.suppress(ValueError, ZeroDivisionError, OverflowError):
            # The float first: a power that no float can hold would take long to write out.
            rough = float(text) if "/" not in text else float(Fraction(text))
            if 1e-300 <= rough <= 1e300 or not re.search("[1-9]", text):
                value = Fraction(text)
    if value is None or value < 0:
        raise ValueError(f"{name} is a number from 1e-300 to 1e300, or 0; found {number!r}")
    return value


def at_most(x: Fraction) -> float:
    """Return the float nearest to x that, as it is written, is not more."""
    nearest = float(x)
    return nearest if Fraction(repr(nearest)) <= x else math.nextafter(nearest, 0.0)

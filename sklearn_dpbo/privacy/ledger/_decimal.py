"""Decimal numbers, which add up exactly (zone: public).

Ten charges of 0.1 must fit a budget of 1, but the float 0.1 is slightly larger than 1/10. A ledger
therefore computes with the decimal number that a float is printed as.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from numbers import Real

import numpy as np

from ..rounding import round_down

# Sums and differences of numbers from 1e-300 to 1e300 have fewer digits.
EXACT = Context(prec=2000, traps=[Inexact])


def parse_decimal(name: str, number: object) -> Decimal:
    """Convert a number to the decimal number that it is printed as: 1/10 for the float 0.1."""
    is_number = isinstance(number, Real) and not isinstance(number, bool)
    number = number.item() if isinstance(number, np.generic) else number  # float32 has no 1e300
    if not (is_number and (number == 0 or 1e-300 <= number <= 1e300)):  # type: ignore[operator]
        zero = "" if name == "epsilon" else ", or 0"
        raise ValueError(f"{name} must be a number from 1e-300 to 1e300{zero}; found {number!r}")
    return Decimal(repr(float(number)))  # type: ignore[arg-type]


def round_down_decimal(x: Decimal) -> float:
    """Return the largest float whose decimal notation is at most x (x >= 0)."""
    nearest = float(x)
    return nearest if Decimal(repr(nearest)) <= x else math.nextafter(nearest, 0.0)


def as_granted(charged: Decimal) -> float:
    """Round a charge down to a float that may be spent: 1/10 is less than the float 0.1."""
    return round_down(Fraction(charged))

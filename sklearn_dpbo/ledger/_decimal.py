"""Decimal numbers as exact fractions (zone: public).

Ten charges of 0.1 must fit a budget of 1, but the float 0.1 is slightly larger than 1/10. A ledger
therefore computes with the decimal number that a float is printed as.
"""

from __future__ import annotations

import contextlib
import math
import re
from fractions import Fraction

import numpy as np

__all__ = ["DecimalLike", "decimal_text", "parse_decimal", "round_down_decimal"]

# What `parse_decimal` accepts from users.
DecimalLike = float | str | Fraction


def parse_decimal(name: str, number: object) -> Fraction:
    """Return a number as the fraction that equals its decimal notation: 1/10 for 0.1."""
    is_bool = isinstance(number, bool | np.bool_)
    text = repr(float(number)) if isinstance(number, np.floating) else str(number)
    value = None
    if not is_bool and len(text) <= 200 and text.isascii():  # there are other digits, too
        with contextlib.suppress(ValueError, ZeroDivisionError, OverflowError):
            # Check the size as a float first: Fraction("1e-20000000") would take very long.
            rough = float(text) if "/" not in text else float(Fraction(text))
            if 1e-300 <= rough <= 1e300 or not re.search("[1-9]", text):
                value = Fraction(text)
    if value is None or value < 0:
        zero = ", or 0" * (name != "epsilon")
        raise ValueError(f"{name} is a number from 1e-300 to 1e300{zero}; found {number!r}")
    return value


def decimal_text(x: Fraction) -> str:
    """Return x >= 0 as a text that `Fraction` reads exactly: "0.1", "3e-40" or "1/3"."""
    n_digits = _n_digits(x.denominator)
    if n_digits is None:
        return f"{x.numerator}/{x.denominator}"
    digits = str(x.numerator * 10**n_digits // x.denominator)
    if n_digits == 0:
        return digits
    if n_digits > 20:
        return f"{digits}e-{n_digits}"
    digits = digits.zfill(n_digits + 1)
    return f"{digits[:-n_digits]}.{digits[-n_digits:]}"


def _n_digits(denominator: int) -> int | None:
    """Return how many decimals a fraction needs; None if no number of them is enough."""
    twos = (denominator & -denominator).bit_length() - 1
    fives, rest = 0, denominator >> twos
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    return max(twos, fives) if rest == 1 else None


def round_down_decimal(x: Fraction) -> float:
    """Return the largest float whose decimal notation is at most x (x >= 0)."""
    nearest = float(x)
    return nearest if Fraction(repr(nearest)) <= x else math.nextafter(nearest, 0.0)

"""Fractions as floats, rounded up or down, and a bisection for floats (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction


def round_up(x: Fraction) -> float:
    """Return the smallest float that is at least x."""
    return 0.0 - round_down(-x)


def round_down(x: Fraction) -> float:
    """Return the largest float that is at most x."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)


def divide(whole: float, share: float | Fraction) -> tuple[float, float]:
    """Divide into a share of the whole and the rest, both rounded down."""
    part = Fraction(whole) * Fraction(share)
    return round_down(part), round_down(Fraction(whole) - part)


def largest(holds: Callable[[float], bool], start: float) -> float:
    """Find the largest x >= 0 with ``holds(x)``, which must be true for all smaller numbers."""
    high = start
    while holds(high):
        high *= 2
    while high / 2 > 0 and not holds(high / 2):
        high /= 2
    low = high / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

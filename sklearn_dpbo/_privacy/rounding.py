"""Fractions to floats, rounded up or down (zone: public)."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["round_down", "round_up"]


def round_up(x: Fraction) -> float:
    """Return the smallest float that is at least x."""
    return 0.0 - round_down(-x)


def round_down(x: Fraction) -> float:
    """Return the largest float that is at most x."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)

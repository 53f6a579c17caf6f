"""Gaussian differential privacy, and what it says of epsilon and delta (zone: public).

Dong, Roth and Su, JRSS B 2022, Corollary 1.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from .rounding import largest

__all__ = ["delta_of_gdp", "epsilon_of_gdp", "gdp_within"]

# So that rounding in floats cannot make what is returned too large.
_DOWN = 1 - 1e-9


@cache
def gdp_within(epsilon: float, delta: float) -> float:
    """Return the largest mu (rounded down) for which mu-GDP implies (epsilon, delta)-DP."""
    return largest(lambda mu: delta_of_gdp(mu, epsilon) <= delta, 1.0) * _DOWN


def delta_of_gdp(mu: float, epsilon: Any) -> Any:
    """Return the least delta for which mu-GDP implies (epsilon, delta)-DP, for each epsilon."""
    low = np.exp(np.minimum(epsilon + log_ndtr(-mu / 2 - epsilon / mu), 0.0))
    return np.maximum(ndtr(mu / 2 - epsilon / mu) - low, 0.0)


@cache
def epsilon_of_gdp(mu: float, delta: float) -> float:
    """Return the largest epsilon for which ``gdp_within(epsilon, delta)`` is at most mu."""
    return largest(lambda e: delta_of_gdp(mu, e) >= delta, 1.0) * _DOWN

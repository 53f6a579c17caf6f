"""Zero-concentrated differential privacy, and what it says of epsilon and delta (zone: public)."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from .rounding import largest

__all__ = ["delta_of_zcdp", "log_delta_of_renyi", "zcdp_within"]


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return a delta for which rho-zCDP implies (epsilon, delta)-DP: the least over all orders.

    rho-zCDP bounds the Renyi divergence of each order by ``order rho``; any order is valid.
    """

    def log_delta(log_order: float) -> Any:
        a = math.exp(min(max(log_order, -700.0), 700.0))  # the order - 1
        return log_delta_of_renyi(a, (a + 1) * rho, epsilon)

    start = math.log(min(max(epsilon / (2 * rho), 1e-6), 1e300))
    with np.errstate(all="ignore"):  # of numbers that overflow: they are not the smallest
        found = minimize_scalar(log_delta, bracket=(start - 1, start + 1))
    return min(1.0, math.exp(min(found.fun, 0.0)))


def log_delta_of_renyi(a: Any, divergence: Any, epsilon: Any) -> Any:
    """Return the logarithm of a delta, given the Renyi divergence of order a + 1.

    ``delta = exp(a (divergence - epsilon)) / a (1 - 1 / (a + 1))^(a + 1)``: Canonne, Kamath and
    Steinke, NeurIPS 2020, Proposition 12.
    """
    return a * (divergence - epsilon) - np.log(a) - (a + 1) * np.log1p(1 / a)


@cache
def zcdp_within(epsilon: float, delta: float) -> float:
    """Return the largest rho (rounded down) for which rho-zCDP implies (epsilon, delta)-DP."""
    # (epsilon, 0)-DP has rho at most epsilon^2 / 2; delta allows more.
    return largest(lambda rho: delta_of_zcdp(rho, epsilon) <= delta, epsilon) * (1 - 1e-9)

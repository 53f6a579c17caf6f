"""Conversions between zero-concentrated DP and (epsilon, delta) (zone: public)."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from .float_errors import ignore_float_errors
from .rounding import largest

# Factor of results, so that rounding in floats cannot make them too large.
_DOWN = 1 - 1e-9
# Bound on the rounding error of a computed logarithm of delta.
_ROUNDING = 2.0**-40


@cache
def zcdp_within(epsilon: float, delta: float) -> float:
    """Return the largest rho (rounded down) for which rho-zCDP implies (epsilon, delta)-DP."""
    # (epsilon, 0)-DP has rho at most epsilon^2 / 2; delta allows more.
    most = math.log(delta) - _ROUNDING
    return largest(lambda rho: _log_delta(rho, epsilon) <= most, epsilon) * _DOWN


@cache
def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return the largest epsilon for which ``zcdp_within(epsilon, delta)`` is at most rho.

    It is rounded down, so it is also valid for an exact ``zcdp_within``.
    """
    least = math.log(delta) + _ROUNDING
    return largest(lambda e: _log_delta(rho, e) >= least, 1.0) * _DOWN


def _log_delta(rho: float, epsilon: float) -> float:
    """Minimise the logarithm of delta over all orders.

    rho-zCDP bounds the Renyi divergence of each order by ``order rho``. Each order gives a valid
    delta.
    """

    def log_delta(log_order: float) -> Any:
        a = math.exp(min(max(log_order, -700.0), 700.0))  # the order - 1
        return log_delta_of_renyi(a, (a + 1) * rho, epsilon)

    start = math.log(min(max(epsilon / (2 * rho), 1e-6), 1e300))
    with ignore_float_errors():  # where numbers overflow, delta is not the smallest
        return float(minimize_scalar(log_delta, bracket=(start - 1, start + 1)).fun)


def log_delta_of_renyi(a: Any, divergence: Any, epsilon: Any) -> Any:
    """Bound the logarithm of delta by the Renyi divergence of order a + 1.

    ``delta = exp(a (divergence - epsilon)) / a (1 - 1 / (a + 1))^(a + 1)``: Canonne, Kamath and
    Steinke, NeurIPS 2020, Proposition 12.
    """
    return a * (divergence - epsilon) - np.log(a) - (a + 1) * np.log1p(1 / a)

"""Conversions between Gaussian differential privacy and (epsilon, delta) (zone: public).

Dong, Roth and Su, JRSS B 2022, Corollary 1.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy.special import erfcx

from .float_errors import ignore_float_errors
from .rounding import largest

# Factor of results, so that rounding in floats cannot make them too large.
_DOWN = 1 - 1e-9
# Bound on the relative rounding error of Mills' ratio and of the density.
_ROUNDING = 2.0**-40


@cache
def gdp_within(epsilon: float, delta: float) -> float:
    """Return the largest mu (rounded down) for which mu-GDP implies (epsilon, delta)-DP."""
    start = min(epsilon, 1.0)
    most = math.log(delta)
    return largest(lambda mu: _log_delta(mu, epsilon, _ROUNDING) <= most, start) * _DOWN


def delta_of_gdp(mu: float, epsilon: Any) -> Any:
    """Return the least delta for which mu-GDP implies (epsilon, delta)-DP, for each epsilon."""
    return np.exp(np.minimum(_log_delta(mu, epsilon, _ROUNDING), 0.0))


@cache
def epsilon_of_gdp(mu: float, delta: float) -> float:
    """Return the largest epsilon for which ``gdp_within(epsilon, delta)`` is at most mu.

    It is rounded down, so it is also valid for an exact ``gdp_within``.
    """
    least = math.log(delta)
    return largest(lambda e: _log_delta(mu, e, -_ROUNDING) >= least, min(mu, 1.0)) * _DOWN


@ignore_float_errors()  # the limits are right where numbers underflow or overflow
def _log_delta(mu: float, epsilon: Any, rounding: float) -> Any:
    """Compute ln(phi(t) ((1 + rounding) R(t) - R(t + mu))), where t = epsilon / mu - mu / 2.

    R = (1 - Phi) / phi is Mills' ratio. As phi(t) = e^epsilon phi(t + mu), this is ``ln(Phi(-t) -
    e^epsilon Phi(-t - mu))``, written so that no large numbers cancel. A share `rounding` of R(t),
    which may be negative, bounds rounding errors: they matter if both terms are nearly equal.
    """
    t = np.asarray(epsilon) / mu - mu / 2
    less = (1 + rounding) * _mills(t) - _mills(t + mu)
    return np.log(less) - t * t / 2 - math.log(2 * math.pi) / 2


def _mills(t: Any) -> Any:
    """Compute Mills' ratio."""
    return math.sqrt(math.pi / 2) * erfcx(t / math.sqrt(2))

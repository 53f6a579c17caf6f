"""The Gaussian noise that (epsilon, delta)-differential privacy needs (zone: public)."""

from __future__ import annotations

import math

from scipy.special import log_ndtr

from ...privacy.checks import check_number
from ...privacy.rounding import largest

# Bound on the relative rounding error of a computed logarithm.
_ROUNDING = 2.0**-48


def delta_of_gaussian(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """Return the smallest delta for which Gaussian noise is (epsilon, delta)-private, rounded up.

    ``delta = Phi(D / (2 sigma) - epsilon sigma / D) - e^epsilon Phi(-D / (2 sigma) - epsilon sigma
    / D)`` with D the sensitivity in Euclidean norm (Balle and Wang, ICML 2018, Theorem 8).

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise; positive.
    epsilon : float
        Privacy loss; positive.
    sensitivity : float, default=1.0
        Largest Euclidean distance between the values of neighbours; positive.

    Returns
    -------
    delta : float
        Rounded up; where it is nearly 1, it can be slightly above 1.
    """
    check_number("sigma", sigma, "positive", lambda v: v > 0)
    check_number("epsilon", epsilon, "positive", lambda v: v > 0)
    check_number("sensitivity", sensitivity, "positive", lambda v: v > 0)
    a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    log_first = float(log_ndtr(a - b))
    log_second = epsilon + float(log_ndtr(-a - b))
    rounding = _ROUNDING * (1 + abs(log_first) + abs(log_second) + epsilon)
    return math.exp(log_first + rounding) * -math.expm1(min(log_second - log_first - rounding, 0.0))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation that makes Gaussian noise (epsilon, delta)-private.

    It is the inverse of `delta_of_gaussian`, rounded up.

    Parameters
    ----------
    epsilon, delta : float
        Privacy loss, positive, and the probability of a larger one, in [1e-300, 1).
    sensitivity : float, default=1.0
        Largest Euclidean distance between the values of neighbours; positive.

    Returns
    -------
    sigma : float
        In the units of `sensitivity`.
    """
    check_number("epsilon", epsilon, "positive", lambda v: v > 0)
    check_number("delta", delta, "in [1e-300, 1)", lambda v: 1e-300 <= v < 1)
    check_number("sensitivity", sensitivity, "positive", lambda v: v > 0)

    # delta decreases with sigma: if a sigma is too small, all smaller ones are.
    sigma = largest(lambda s: delta_of_gaussian(s, epsilon) > delta, 1.0) * (1 + 1e-9)
    while delta_of_gaussian(sigma, epsilon) > delta:
        sigma *= 1 + 1e-9
    return sigma * sensitivity

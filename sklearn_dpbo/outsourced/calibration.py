"""How much Gaussian noise (epsilon, delta) asks for (zone: public)."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr

__all__ = ["delta_of_gaussian", "gaussian_sigma"]


def delta_of_gaussian(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """Return the smallest delta for which Gaussian noise is (epsilon, delta)-private.

    ``delta = Phi(D / (2 sigma) - epsilon sigma / D) - e^epsilon Phi(-D / (2 sigma) - epsilon sigma
    / D)`` with D the sensitivity in Euclidean norm.

    References
    ----------
    Balle and Wang, "Improving the Gaussian mechanism for differential privacy: analytical
    calibration and optimal denoising", ICML 2018, Theorem 8.
    """
    a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    first, second = log_ndtr(a - b), epsilon + log_ndtr(-a - b)
    return math.exp(first) * -math.expm1(min(second - first, 0.0))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation that makes Gaussian noise (epsilon, delta)-private.

    The exact one (`delta_of_gaussian`), rounded up by one part in 10^7 to cover rounding errors.

    Parameters
    ----------
    epsilon : float
        Positive.
    delta : float
        In (0, 1).
    sensitivity : float, default=1.0
        How far, in Euclidean norm, neighbours can lie apart.

    Returns
    -------
    sigma : float
    """

    def too_much(log_sigma: float) -> float:
        excess = delta_of_gaussian(math.exp(log_sigma), epsilon)
        return math.log(max(excess, 1e-320)) - math.log(delta)

    low, high = math.log(1e-3 / math.sqrt(epsilon + 1)), math.log(10.0)
    while too_much(high) > 0:
        high += 1.0
    while too_much(low) < 0:
        low -= 1.0
    sigma = math.exp(brentq(too_much, low, high, xtol=1e-13, rtol=1e-14)) * (1 + 1e-7)
    return sigma * sensitivity

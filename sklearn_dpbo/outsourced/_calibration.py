"""How much Gaussian noise (epsilon, delta) asks for (zone: public)."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr

__all__ = ["delta_of_gaussian", "gaussian_sigma"]

# Rounding errors of a logarithm, in units of its size: what is computed is taken to be this wrong.
_ROUNDING = 2.0**-48


def delta_of_gaussian(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """Return the smallest delta for which Gaussian noise is (epsilon, delta)-private, rounded up.

    ``delta = Phi(D / (2 sigma) - epsilon sigma / D) - e^epsilon Phi(-D / (2 sigma) - epsilon sigma
    / D)`` with D the sensitivity in Euclidean norm. Where the difference loses digits (for epsilon
    below 1e-7 or so) they count as lost on the safe side.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise; positive.
    epsilon : float
        Positive.
    sensitivity : float, default=1.0
        How far, in Euclidean norm, neighbours can lie apart; positive.

    Returns
    -------
    delta : float
        Rounded up (far from any use, where it is all but 1, to a little more than that).

    Raises
    ------
    ValueError
        Unless all three are positive and finite.

    References
    ----------
    Balle and Wang, "Improving the Gaussian mechanism for differential privacy: analytical
    calibration and optimal denoising", ICML 2018, Theorem 8.
    """
    _check_positive(sigma=sigma, epsilon=epsilon, sensitivity=sensitivity)
    a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    first, second = float(log_ndtr(a - b)), epsilon + float(log_ndtr(-a - b))
    lost = _ROUNDING * (1 + abs(first) + abs(second) + epsilon)
    return math.exp(first + lost) * -math.expm1(min(second - first - lost, 0.0))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation that makes Gaussian noise (epsilon, delta)-private.

    By `delta_of_gaussian`, rounded up.

    Parameters
    ----------
    epsilon : float
        Positive.
    delta : float
        In [1e-300, 1).
    sensitivity : float, default=1.0
        How far, in Euclidean norm, neighbours can lie apart; positive.

    Returns
    -------
    sigma : float

    Raises
    ------
    ValueError
        If one of them is out of its range.
    """
    _check_positive(epsilon=epsilon, sensitivity=sensitivity)
    if not 1e-300 <= delta < 1:
        raise ValueError(f"delta lies in [1e-300, 1); found {delta!r}")

    def too_much(log_sigma: float) -> float:
        excess = delta_of_gaussian(math.exp(log_sigma), epsilon)
        return math.log(max(excess, 1e-320)) - math.log(delta)

    low, high = math.log(1e-3 / math.sqrt(epsilon + 1)), math.log(10.0)
    while too_much(high) > 0:
        high += 1.0
    while too_much(low) < 0:
        low -= 1.0
    sigma = math.exp(brentq(too_much, low, high, xtol=1e-13, rtol=1e-14)) * (1 + 1e-9)
    while delta_of_gaussian(sigma, epsilon) > delta:
        sigma *= 1 + 1e-9
    return sigma * sensitivity


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is positive and finite; found {value!r}")

"""Zero-concentrated differential privacy, and sequences of draws accounted by it (zone: public)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

from .rounding import round_down

__all__ = ["Draws", "Releases", "delta_of_renyi", "delta_of_zcdp", "zcdp_within"]


@dataclass(frozen=True)
class Draws:
    """How a sequence of n selections of epsilon_each is accounted for.

    Either by pure composition, ``n epsilon_each`` in all; or, if `concentrated`, each selection is
    an exponential mechanism, which is ``epsilon_each^2 / 8``-zCDP, and their sum is converted to
    (epsilon, delta).

    Parameters
    ----------
    n : int
        How many selections.
    epsilon_each : float
        Of one selection.
    epsilon, delta : float
        What the whole sequence costs.
    concentrated : bool
        Whether it is accounted by zCDP.

    References
    ----------
    Rogers and Steinke, "A better privacy analysis of the exponential mechanism", 2021;
    Cesar and Rogers, "Bounding, concentrating, and truncating", ALT 2021, Lemma 3.2: eps^2 / 8.
    """

    n: int
    epsilon_each: float
    epsilon: float
    delta: float
    concentrated: bool

    @classmethod
    def within(cls, n: int, epsilon: float, delta: float) -> Draws:
        """Return the way to share (epsilon, delta) among n draws that makes each the largest.

        Everything is rounded towards more noise.
        """
        pure = round_down(Fraction(epsilon) / n)
        plain = cls(n, pure, round_down(Fraction(pure) * n), 0.0, False)
        if delta == 0:
            return plain
        each = math.sqrt(8 * zcdp_within(epsilon, delta) / n) * (1 - 1e-12)
        return cls(n, each, epsilon, delta, True) if each > pure else plain

    @property
    def rho(self) -> float:
        """The zCDP parameter of the whole sequence, if concentrated."""
        return self.n * self.epsilon_each**2 / 8


@dataclass(frozen=True)
class Releases:
    """How n releases of counts, each of which may depend on the earlier ones, are accounted for.

    With D the sensitivity of the counts, either discrete Laplace noise of scale ``n D / epsilon``
    by pure composition; or, where that is less noise, discrete Gaussian noise of standard deviation
    ``D sqrt(n / (2 rho))``, which is rho-zCDP together, for the largest rho that implies
    (epsilon, delta).

    Parameters
    ----------
    n : int
        How many releases.
    epsilon, delta : float
        What all of them cost together.
    spread : float
        Standard deviation of Gaussian noise at D = 1; 0 for Laplace noise.

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020:
    Theorem 14 and Proposition 12. Bun and Steinke, TCC 2016, Lemma 2.3, for sequences.
    """

    n: int
    epsilon: float
    delta: float
    spread: float

    @classmethod
    def within(cls, n: int, epsilon: float, delta: float) -> Releases:
        """Return the way to share (epsilon, delta) among n releases that takes less noise."""
        n = int(n)  # small integers of NumPy overflow
        if delta > 0:
            spread = math.sqrt(n / (2 * zcdp_within(epsilon, delta))) * (1 + 1e-12)
            if spread < math.sqrt(2) * n / epsilon:
                return cls(n, epsilon, delta, spread)
        return cls(n, epsilon, 0.0, 0.0)

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian."""
        return self.spread > 0

    @property
    def noise(self) -> str:
        """The noise, in words."""
        return f"discrete {'Gaussian' if self.gaussian else 'Laplace'} noise"


def delta_of_zcdp(rho: float, epsilon: float) -> float:
    """Return a delta for which rho-zCDP implies (epsilon, delta)-DP.

    ``delta = inf over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1)
    (1 - 1 / alpha)^alpha``; any alpha gives a valid one.

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
    Proposition 12.
    """

    def log_delta(log_order: float) -> float:
        a = math.exp(min(max(log_order, -700.0), 700.0))  # alpha - 1
        return _log_delta(a, (a + 1) * rho, epsilon)

    start = math.log(min(max(epsilon / (2 * rho), 1e-6), 1e300))
    with np.errstate(all="ignore"):  # of numbers that overflow: they are not the smallest
        found = minimize_scalar(log_delta, bracket=(start - 1, start + 1))
    return min(1.0, math.exp(min(found.fun, 0.0)))


def delta_of_renyi(order: float, divergence: float, epsilon: float) -> float:
    """Return a delta for which a Renyi divergence implies (epsilon, delta)-DP.

    ``exp((order - 1)(divergence - epsilon)) / (order - 1) (1 - 1 / order)^order``.

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
    Proposition 12.
    """
    return min(1.0, math.exp(min(_log_delta(order - 1, divergence, epsilon), 0.0)))


def _log_delta(a: float, divergence: float, epsilon: float) -> float:
    """Return the logarithm of delta, for the order a + 1."""
    return a * (divergence - epsilon) - math.log(a) - (a + 1) * math.log1p(1 / a)


@cache
def zcdp_within(epsilon: float, delta: float) -> float:
    """Return the largest rho (rounded down) for which rho-zCDP implies (epsilon, delta)-DP."""
    low, high = 0.0, epsilon  # (epsilon, 0)-DP has rho at most epsilon^2 / 2, delta allows more
    while delta_of_zcdp(high, epsilon) < delta:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if delta_of_zcdp(middle, epsilon) <= delta else (low, middle)
    return low * (1 - 1e-9)

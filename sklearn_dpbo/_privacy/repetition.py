"""A random number of private runs, of which only the best is released (zone: public).

One run trains a model on protected records and gets a noisy score. If the number K of runs is drawn
from a truncated negative binomial distribution, and only the best of them is released, that costs
little more than one run, however many there were: K, and all that the others gave, stays secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from .zcdp import delta_of_renyi

__all__ = ["Repetition"]

# Orders at which Renyi divergences are bounded; any of them gives a valid bound.
_ORDERS = 1 + np.geomspace(1e-3, 1e5, 400)
# Numbers of runs that are less probable than this are not drawn.
_LEAST = 2.0**-60


@dataclass(frozen=True)
class Repetition:
    """How many runs there are: P(K = k) is proportional to (1 - gamma)^k (k + eta - 1 choose k).

    Parameters
    ----------
    eta : float
        Above -1. 0 is the logarithmic distribution, 1 the geometric one. Smaller numbers give less
        privacy loss, and a distribution in which most searches have few runs and some very many.
    gamma : float
        In (0, 1).

    References
    ----------
    Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", ICLR 2022:
    Theorem 2 for Renyi divergences, Corollary 3 for pure ones.
    """

    eta: float
    gamma: float

    @classmethod
    def of_mean(cls, mean: float, eta: float = 0.0) -> Repetition:
        """Return the distribution with so many runs on average, more than 1."""
        if not (mean > 1 and math.isfinite(mean)):
            raise ValueError(f"the mean number of runs must be above 1; found {mean!r}")

        def excess(log_gamma: float) -> float:
            return cls(eta, math.exp(log_gamma)).mean - mean

        low = -1.0
        while excess(low) < 0:
            low *= 2
        return cls(eta, math.exp(brentq(excess, low, -1e-12, xtol=1e-14)))

    @property
    def mean(self) -> float:
        """E[K]."""
        eta, gamma = self.eta, self.gamma
        if eta == 0:
            return (1 / gamma - 1) / -math.log(gamma)
        return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def renyi(self, order: float, base: Callable[[Any], Any]) -> float:
        """Return a bound of the Renyi divergence of the best run.

        ``base(order) + ln E[K] / (order - 1) + (1 + eta) min over l > 1 of
        ((1 - 1 / l) base(l) + ln(1 / gamma) / l)``.

        Parameters
        ----------
        order : float
            Above 1.
        base : callable
            The divergence of one run, for an array of orders.
        """
        others = (1 - 1 / _ORDERS) * base(_ORDERS) - math.log(self.gamma) / _ORDERS
        more = max(math.log(self.mean), 0.0) / (order - 1)
        return float(base(order) + more + (1 + self.eta) * others.min())

    def pure(self, epsilon: float) -> float:
        """Return the epsilon of the best of runs that have this one: (2 + eta) epsilon."""
        return (2 + self.eta) * epsilon

    def delta_of(self, epsilon: float, base: Callable[[Any], Any]) -> float:
        """Return a delta so that the best of runs of this divergence is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon : float
            Positive.
        base : callable
            As in `renyi`.
        """
        orders = _ORDERS.tolist()
        return min(delta_of_renyi(order, self.renyi(order, base), epsilon) for order in orders)

    def delta(self, epsilon: float, rho: float) -> float:
        """Return a delta so that the best of rho-zCDP runs is (epsilon, delta)-private."""
        return self.delta_of(epsilon, lambda orders: rho * orders)

    def rho_within(self, epsilon: float, delta: float) -> float:
        """Return the largest rho (rounded down) of runs whose best is (epsilon, delta)-private."""
        return _rho_within(self, epsilon, delta)

    def draw(self, uniform: Callable[[int], int]) -> int:
        """Draw K, from 1 up.

        By inversion: P(K = k + 1) / P(K = k) = (1 - gamma) (k + eta) / (k + 1). In floats, so that
        the distribution is right up to about 2^-50 of the whole.

        Parameters
        ----------
        uniform : callable
            Returns one of 0, ..., n - 1, given n; nobody must be able to predict it.
        """
        eta, gamma = self.eta, self.gamma
        first = 1 / -math.log(gamma) if eta == 0 else eta / math.expm1(-eta * math.log(gamma))
        p, k, u = first * (1 - gamma), 1, uniform(2**53) / 2**53
        # u may exceed the sum of all p, as floats have it: beyond the mean, that is nearly reached.
        while u > p and (p > _LEAST or k < self.mean):
            u -= p
            p *= (1 - gamma) * (k + eta) / (k + 1)
            k += 1
        return k


@cache
def _rho_within(repetition: Repetition, epsilon: float, delta: float) -> float:
    low, high = 0.0, epsilon
    while repetition.delta(epsilon, high) < delta:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if repetition.delta(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low * (1 - 1e-9)

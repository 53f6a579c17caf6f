"""What each of several private fits on the same records may cost (zone: public).

Two ways to account for them. *Composed*: all of n models could be released. *Repeated*: a random
number of models, of which only the best is released: that costs little more than one of them,
however many there were; their number, and all that the others gave, stays secret. Both say with
which epsilon and delta each model is fitted so that all of it is (epsilon, delta)-private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtr

from .rounding import largest
from .zcdp import delta_of_zcdp, log_delta_of_renyi, zcdp_within

__all__ = ["COMPOSITIONS", "Composed", "Fit", "Repeated", "Runs", "gdp_within"]

COMPOSITIONS = ("pure", "zCDP", "GDP", "approximate")
# What epsilons and deltas are multiplied by, so that rounding in floats cannot make them too large.
_DOWN = 1 - 1e-9
# Orders at which Renyi divergences are bounded; any of them gives a valid bound.
_ORDERS = 1 + np.geomspace(1e-3, 1e5, 400)
# Numbers of runs that are less probable than this are not drawn.
_LEAST = 2.0**-60


@dataclass(frozen=True)
class Fit:
    """The kind of guarantee that one fit has, with parameters epsilon and delta.

    By `composition`, epsilon-private; rho-zCDP with ``zcdp_within(epsilon, delta)``; mu-GDP with
    ``gdp_within(epsilon, delta)``; or (epsilon, delta)-private alone. `factor` is 2 if that holds
    for adding or removing one unit: a replacement is two of these steps.
    """

    composition: str
    factor: int = 1

    def of_replacement(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta for neighbours in which one unit is replaced: see `Composed`."""
        if self.composition == "pure":
            return self.factor * epsilon, 0.0
        if self.factor == 1:
            return epsilon, delta
        if self.composition == "zCDP":
            return _epsilon_of_zcdp(4 * zcdp_within(epsilon, delta), delta), delta
        if self.composition == "GDP":
            return _epsilon_of_gdp(2 * gdp_within(epsilon, delta), delta), delta
        return 2 * epsilon, (1 + math.exp(epsilon)) * delta


@dataclass(frozen=True)
class Composed:
    """n fits whose losses are added up, as the guarantee says; all models could be released."""

    n: int

    @property
    def number(self) -> str:
        """How many fits there are, in words."""
        return f"{self.n:,} fit" + "s" * (self.n > 1)

    def each(self, fit: Fit, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta of each fit."""
        n, k = self.n, fit.factor
        if n == k == 1:
            return epsilon, 0.0 if fit.composition == "pure" else delta
        if fit.composition == "zCDP":
            return _epsilon_of_zcdp(zcdp_within(epsilon, delta) / (n * k**2), delta), delta
        if fit.composition == "GDP":
            return _epsilon_of_gdp(gdp_within(epsilon, delta) / (math.sqrt(n) * k), delta), delta
        each = epsilon / n
        if fit.composition == "pure":  # their sum, or by zCDP
            by_zcdp = math.sqrt(2 * zcdp_within(epsilon, delta) / n) if delta > 0 else 0.0
            return max(each, by_zcdp) / k * _DOWN, 0.0
        each *= _DOWN
        # Two steps of (e, d) are (2 e, (1 + exp(e)) d): Dwork and Roth, 2014, after Theorem 2.2.
        return each / k, delta / n * _DOWN / (1 + math.exp(each / k) if k == 2 else 1)


@dataclass(frozen=True)
class Repeated:
    """K fits, of which only the best is released.

    P(K = k) is proportional to (1 - gamma)^k (k + eta - 1 choose k). With a smaller eta, above -1,
    the loss is smaller; most searches then have few runs, and some very many. Papernot and Steinke,
    ICLR 2022: Theorem 2 for Renyi divergences, Corollary 3 for pure ones.
    """

    eta: float
    gamma: float

    @classmethod
    def of_mean(cls, mean: float, eta: float = 0.0) -> Repeated:
        """Return the distribution with so many runs on average, more than 1."""
        if not (mean > 1 and math.isfinite(mean)):
            raise ValueError(f"the mean number of runs must be above 1; found {mean!r}")
        return cls(eta, math.exp(-largest(lambda x: cls(eta, math.exp(-x)).mean <= mean, 1.0)))

    @property
    def number(self) -> str:
        """How many fits there are, in words."""
        return f"a secret number of fits ({self.mean:.3g} on average)"

    def each(self, fit: Fit, epsilon: float, delta: float) -> tuple[float, float] | None:
        """Return epsilon and delta of each fit; None if there is no bound for such fits."""
        k = fit.factor
        if fit.composition == "pure":
            return self.epsilon_within(epsilon, delta) / k, 0.0
        if fit.composition == "approximate" or delta == 0:
            return None
        rho = self.rho_within(epsilon, delta) / k**2
        if fit.composition == "zCDP":
            return _epsilon_of_zcdp(rho, delta), delta
        return _epsilon_of_gdp(math.sqrt(2 * rho), delta), delta  # mu-GDP is mu^2/2-zCDP

    @property
    def mean(self) -> float:
        """E[K]."""
        eta, gamma = self.eta, self.gamma
        if eta == 0:
            return (1 / gamma - 1) / -math.log(gamma)
        return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def renyi(self, order: Any, base: Callable[[Any], Any]) -> Any:
        """Return a bound of the best run's divergence of an order above 1; `base` is one run's.

        ``base(order) + ln E[K] / (order - 1) + (1 + eta) min over l > 1 of
        ((1 - 1 / l) base(l) + ln(1 / gamma) / l)``.
        """
        others = (1 - 1 / _ORDERS) * base(_ORDERS) - math.log(self.gamma) / _ORDERS
        more = max(math.log(self.mean), 0.0) / (order - 1)
        return base(order) + more + (1 + self.eta) * others.min()

    def pure(self, epsilon: float) -> float:
        """Return the epsilon of the best of runs that have this one: (2 + eta) epsilon."""
        return (2 + self.eta) * epsilon

    def delta(self, epsilon: float, base: Callable[[Any], Any]) -> float:
        """Return a delta so that the best of runs of this divergence is (epsilon, delta)-DP."""
        bounds = log_delta_of_renyi(_ORDERS - 1, self.renyi(_ORDERS, base), epsilon)
        return math.exp(min(bounds.min(), 0.0))

    def rho_within(self, epsilon: float, delta: float) -> float:
        """Return the largest rho (rounded down) of runs whose best is (epsilon, delta)-private."""
        return _DOWN * largest(
            lambda rho: self.delta(epsilon, lambda orders: rho * orders) <= delta, epsilon
        )

    def epsilon_within(self, epsilon: float, delta: float) -> float:
        """Return the largest epsilon of pure runs whose best is (epsilon, delta)-private."""
        found = epsilon / self.pure(1.0)
        if delta > 0:  # Bun and Steinke, TCC 2016, Proposition 3.3: a pure run's divergence
            by_orders = largest(
                lambda e: self.delta(epsilon, lambda a: np.minimum(a * e**2 / 2, e)) <= delta,
                epsilon,
            )
            found = max(found, by_orders)
        return _DOWN * found

    def draw(self, uniform: Callable[[int], int]) -> int:
        """Draw K, from 1 up; `uniform` returns one of 0, ..., n - 1 that nobody can predict.

        By inversion: P(K = k + 1) / P(K = k) = (1 - gamma) (k + eta) / (k + 1). In floats, so that
        the distribution is right up to about 2^-50 of the whole.
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


Runs: TypeAlias = Composed | Repeated


@cache
def gdp_within(epsilon: float, delta: float) -> float:
    """Return the largest mu (rounded down) for which mu-GDP implies (epsilon, delta)-DP.

    Dong, Roth and Su, JRSS B 2022, Corollary 1.
    """
    return largest(lambda mu: _delta_of_gdp(mu, epsilon) <= delta, 1.0) * _DOWN


def _delta_of_gdp(mu: float, epsilon: float) -> float:
    high = float(ndtr(mu / 2 - epsilon / mu))
    return high - math.exp(min(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)), 0.0))


@cache
def _epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return the largest epsilon for which ``zcdp_within(epsilon, delta)`` is at most rho."""
    return largest(lambda e: delta_of_zcdp(rho, e) >= delta, 1.0) * _DOWN


@cache
def _epsilon_of_gdp(mu: float, delta: float) -> float:
    return largest(lambda e: _delta_of_gdp(mu, e) >= delta, 1.0) * _DOWN

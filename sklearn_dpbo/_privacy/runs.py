"""What each of several private fits on the same records may cost (zone: public).

Two ways to account for them. *Composed*: all of n models could be released. *Repeated*: a random
number of models, of which only the best is released; see `Repetition`. Both say with which epsilon
and delta each model is fitted so that all of it is (epsilon, delta)-private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from scipy.special import log_ndtr, ndtr

from .repetition import Repetition
from .zcdp import delta_of_zcdp, zcdp_within

__all__ = ["COMPOSITIONS", "Composed", "Fit", "Repeated", "Runs", "gdp_within"]

COMPOSITIONS = ("pure", "zCDP", "GDP", "approximate")
# What epsilons and deltas are multiplied by, so that rounding in floats cannot make them too large.
_DOWN = 1 - 1e-9


@dataclass(frozen=True)
class Fit:
    """The kind of guarantee that one fit has.

    Parameters
    ----------
    composition : {"pure", "zCDP", "GDP", "approximate"}
        What an estimator with the parameters epsilon and delta is beside (epsilon, delta)-private:
        epsilon-private; rho-zCDP for a rho of at most ``zcdp_within(epsilon, delta)``; mu-GDP for
        a mu of at most ``gdp_within(epsilon, delta)``; or nothing more.
    factor : int
        1 if that holds for neighbours in which one unit is replaced; 2 if it does where one is
        added or removed: a replacement is two of these steps.
    """

    composition: str
    factor: int = 1

    def of_replacement(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta of a fit for neighbours in which one unit is replaced.

        Parameters
        ----------
        epsilon, delta : float
            Of the fit, for neighbours of its own kind.

        References
        ----------
        Two steps: see `Composed`.
        """
        if self.composition == "pure":
            return self.factor * epsilon, 0.0
        if self.factor == 1:
            return epsilon, delta
        if self.composition == "zCDP":
            return _epsilon_of_zcdp(4 * zcdp_within(epsilon, delta), delta), delta
        if self.composition == "GDP":
            return _epsilon_of_gdp(2 * gdp_within(epsilon, delta), delta), delta
        return 2 * epsilon, (1 + math.exp(epsilon)) * delta


class Runs(Protocol):
    """A way to account for several fits."""

    @property
    def number(self) -> str:
        """How many fits there are, in words."""

    def each(self, fit: Fit, epsilon: float, delta: float) -> tuple[float, float] | None:
        """Return epsilon and delta of each fit; None if there is no bound for such fits."""


@dataclass(frozen=True)
class Composed:
    """n fits whose losses are added up; all models could be released.

    Parameters
    ----------
    n : int
        How many.

    References
    ----------
    Basic composition of pure and approximate losses: Dwork and Roth, 2014, Theorem 3.16. zCDP: Bun
    and Steinke, TCC 2016, Lemma 2.3 (sums), Proposition 1.4 (epsilon-DP is epsilon^2/2-zCDP) and
    1.9 (groups). GDP: Dong, Roth and Su, JRSS B 2022, Corollary 2 (roots of sums of squares) and
    Theorem 3 (groups).
    """

    n: int

    @property
    def number(self) -> str:
        return f"{self.n:,} fit" + "s" * (self.n > 1)

    def each(self, fit: Fit, epsilon: float, delta: float) -> tuple[float, float] | None:
        n, k = self.n, fit.factor
        if n == k == 1:
            return epsilon, 0.0 if fit.composition == "pure" else delta
        if fit.composition == "pure":
            return _pure_each(n, k, epsilon, delta), 0.0
        if fit.composition == "zCDP":
            return _epsilon_of_zcdp(zcdp_within(epsilon, delta) / (n * k**2), delta), delta
        if fit.composition == "GDP":
            return _epsilon_of_gdp(gdp_within(epsilon, delta) / (math.sqrt(n) * k), delta), delta
        each = epsilon / n * _DOWN
        # Two steps of (e, d) are (2 e, (1 + exp(e)) d): Dwork and Roth, 2014, after Theorem 2.2.
        return each / k, delta / n * _DOWN / (1 + math.exp(each / k) if k == 2 else 1)


@dataclass(frozen=True)
class Repeated:
    """A random number of fits, of which the best is released, and nothing of the others.

    Parameters
    ----------
    repetition : Repetition
        How many there are.

    References
    ----------
    Papernot and Steinke, ICLR 2022, Theorem 2 and Corollary 3.
    """

    repetition: Repetition

    @property
    def number(self) -> str:
        return f"a secret number of fits ({self.repetition.mean:.3g} on average)"

    def each(self, fit: Fit, epsilon: float, delta: float) -> tuple[float, float] | None:
        k = fit.factor
        if fit.composition == "pure":
            each = epsilon / self.repetition.pure(1.0) / k
            if delta > 0:
                each = max(each, _largest(self._holds(epsilon, delta), epsilon) / k)
            return each * _DOWN, 0.0
        if fit.composition == "approximate" or delta == 0:
            return None
        rho = self.repetition.rho_within(epsilon, delta) / k**2
        if fit.composition == "zCDP":
            return _epsilon_of_zcdp(rho, delta), delta
        return _epsilon_of_gdp(math.sqrt(2 * rho), delta), delta  # mu-GDP is mu^2/2-zCDP

    def _holds(self, epsilon: float, delta: float) -> Callable[[float], bool]:
        """Return whether fits of a pure epsilon may be repeated."""

        def holds(each: float) -> bool:
            def base(orders: float) -> float:  # Bun and Steinke, TCC 2016, Proposition 3.3
                return np.minimum(orders * each**2 / 2, each)  # type: ignore[no-any-return]

            return self.repetition.delta_of(epsilon, base) <= delta

        return holds


def gdp_within(epsilon: float, delta: float) -> float:
    """Return the largest mu (rounded down) for which mu-GDP implies (epsilon, delta)-DP.

    References
    ----------
    Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Corollary 1.
    """
    return _gdp_within(epsilon, delta)


@cache
def _gdp_within(epsilon: float, delta: float) -> float:
    return _largest(lambda mu: _delta_of_gdp(mu, epsilon) <= delta, 1.0) * _DOWN


def _delta_of_gdp(mu: float, epsilon: float) -> float:
    if mu == 0:
        return 0.0
    high = float(ndtr(mu / 2 - epsilon / mu))
    return high - math.exp(min(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)), 0.0))


def _pure_each(n: int, k: int, epsilon: float, delta: float) -> float:
    """n losses of k e each: their sum, or by zCDP, whichever allows the larger e."""
    best = epsilon / n
    if delta > 0:
        best = max(best, math.sqrt(2 * zcdp_within(epsilon, delta) / n))
    return best / k * _DOWN


@cache
def _epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return the largest epsilon for which ``zcdp_within(epsilon, delta)`` is at most rho."""
    return _largest(lambda e: delta_of_zcdp(rho, e) >= delta, 1.0) * _DOWN


@cache
def _epsilon_of_gdp(mu: float, delta: float) -> float:
    return _largest(lambda e: _delta_of_gdp(mu, e) >= delta, 1.0) * _DOWN


def _largest(holds: Callable[[float], bool], start: float) -> float:
    """Return the largest number from 0 up of which this holds; it holds of all smaller ones."""
    low, high = 0.0, start
    while holds(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

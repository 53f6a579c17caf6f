"""The epsilon and delta of each of several private fits on the same records (zone: public).

Two ways to account for them. *Composed*: all of n models could be released. *Repeated*: a random
number of models, of which only the best is released: that costs little more than one of them,
however many there were; their number, and all that the others gave, stays secret. Both say with
which epsilon and delta each model is fitted so that all of it is (epsilon, delta)-private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any, TypeAlias

import numpy as np

from .float_errors import ignore_float_errors
from .gdp import delta_of_gdp, epsilon_of_gdp, gdp_within
from .profiles import Profile, delta_of_n
from .rounding import largest
from .zcdp import epsilon_of_zcdp, log_delta_of_renyi, zcdp_within

COMPOSITIONS = ("pure", "zCDP", "GDP", "approximate")
# What epsilons and deltas are multiplied by, so that rounding in floats cannot make them too large.
_DOWN = 1 - 1e-9
# Orders less 1 at which Renyi divergences are bounded, and shares of epsilon at which a run's
# profile is used: any of them gives a valid bound.
_ORDERS = np.geomspace(1e-3, 1e5, 400)
_SHARES = np.linspace(0, 1, 301)
# The number of runs is drawn from so many bits: its distribution is right up to 2^-100 if fewer
# than 2^27 numbers have a probability. Sums have more bits, and logarithms so many digits.
BITS = 128
_MORE_BITS, _DIGITS = 64, 80


@dataclass(frozen=True)
class FitGuarantee:
    """The kind of guarantee that one fit has, with parameters epsilon and delta.

    By `composition`, epsilon-private; rho-zCDP with ``zcdp_within(epsilon, delta)``; mu-GDP with
    ``gdp_within(epsilon, delta)``; or (epsilon, delta)-private alone. `factor` is 2 if that holds
    for adding or removing one unit: a replacement is two of these steps.
    """

    composition: str
    factor: int = 1

    def __post_init__(self) -> None:
        if self.composition not in COMPOSITIONS:
            raise ValueError(f"no epsilon and delta say what a fit of {self.composition!r} costs")

    def of_replacement(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta for neighbours in which one unit is replaced: see `Composed`."""
        if self.composition == "pure":
            return self.factor * epsilon, 0.0
        if self.factor == 1:
            return epsilon, delta
        if self.composition == "zCDP":
            return epsilon_of_zcdp(4 * zcdp_within(epsilon, delta), delta), delta
        if self.composition == "GDP":
            return epsilon_of_gdp(2 * gdp_within(epsilon, delta), delta), delta
        return 2 * epsilon, (1 + math.exp(epsilon)) * delta


@dataclass(frozen=True)
class Composed:
    """n fits whose losses are added up, as the guarantee says; all models could be released."""

    n: int
    secret = False

    @property
    def mean(self) -> float:
        """The number of fits."""
        return self.n

    @property
    def number(self) -> str:
        """How many fits there are, in words."""
        return f"{self.n:,} fit" + "s" * (self.n > 1)

    def draw(self, uniform: Callable[[int], int]) -> int:
        """Return n: it is no secret."""
        return self.n

    def each(self, fit: FitGuarantee, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta of each fit."""
        n, k = self.n, fit.factor
        if n == k == 1:
            return epsilon, 0.0 if fit.composition == "pure" else delta
        if fit.composition == "zCDP":
            return epsilon_of_zcdp(zcdp_within(epsilon, delta) / (n * k**2), delta), delta
        if fit.composition == "GDP":
            return epsilon_of_gdp(gdp_within(epsilon, delta) / (math.sqrt(n) * k), delta), delta
        each = epsilon / n
        if fit.composition == "pure":  # their sum, or by zCDP
            by_zcdp = math.sqrt(2 * zcdp_within(epsilon, delta) / n) if delta > 0 else 0.0
            return max(each, by_zcdp) / k * _DOWN, 0.0
        each *= _DOWN
        # Two steps of (e, d) are (2 e, (1 + exp(e)) d), as P <= e^e (e^e P'' + d) + d.
        return each / k, delta / n * _DOWN / (1 + math.exp(each / k) if k == 2 else 1)

    def delta(self, epsilon: float, profile: Profile) -> float:
        """Return a delta so that all fits with this profile are (epsilon, delta)-DP together."""
        return delta_of_n(profile, self.n, epsilon)


@dataclass(frozen=True)
class Repeated:
    """K fits, of which only the best is released.

    P(K = k) is proportional to (1 - gamma)^k (k + eta - 1 choose k): Papernot and Steinke, ICLR
    2022. With a smaller eta, above -1, the loss is smaller; most searches then have few runs, and
    some very many. Of runs with the privacy profile h, the best has, for each e, the profile
    ``E[K] h(epsilon - (1 + eta) ln(exp(e) + (1 / gamma - 1) h(e)))``: Koskela, Redberg and Wang,
    ICML 2024; proof in the documentation, "The guarantee for one table".
    """

    eta: float
    gamma: float
    secret = True  # so is how many fits there are

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

    def each(self, fit: FitGuarantee, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta of each fit."""
        k = fit.factor
        if fit.composition == "zCDP":
            return epsilon_of_zcdp(self.rho_within(epsilon, delta) / k**2, delta), delta
        if fit.composition == "GDP":
            return epsilon_of_gdp(self.mu_within(epsilon, delta) / k, delta), delta
        each = delta / self.mean if fit.composition == "approximate" else 0.0
        e = largest(lambda e: e + self._more(e, each) <= epsilon, epsilon) * _DOWN / k
        return e, each * _DOWN / (1 + math.exp(e) if k == 2 else 1)

    @property
    def mean(self) -> float:
        """E[K]."""
        eta, gamma = self.eta, self.gamma
        if eta == 0:
            return (1 / gamma - 1) / -math.log(gamma)
        return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def delta(self, epsilon: float, profile: Profile) -> float:
        """Return a delta so that the best of runs with this profile is (epsilon, delta)-DP."""
        at = epsilon * _SHARES
        rest = epsilon - self._more(at, profile(at)).min()
        return min(1.0, self.mean * float(profile(rest))) if rest > 0 else 1.0

    def _more(self, epsilon: Any, delta: Any) -> Any:
        """Bound what the best of (epsilon, delta)-private runs loses beyond one run's profile."""
        with ignore_float_errors():
            more = np.log(delta) + math.log(1 / self.gamma - 1)
        return (1 + self.eta) * np.logaddexp(epsilon, more)

    def rho_within(self, epsilon: float, delta: float) -> float:
        """Return the largest rho (rounded down) of runs whose best is (epsilon, delta)-private."""
        return _DOWN * largest(
            lambda rho: self.delta(epsilon, lambda e: _profile_of_zcdp(rho, e)) <= delta, epsilon
        )

    def mu_within(self, epsilon: float, delta: float) -> float:
        """Return the largest mu (rounded down) of runs whose best is (epsilon, delta)-private."""
        return _DOWN * largest(
            lambda mu: self.delta(epsilon, lambda e: delta_of_gdp(mu, e)) <= delta, 1.0
        )

    def draw(self, uniform: Callable[[int], int]) -> int:
        """Draw K, from 1 up, by inversion.

        `uniform` returns one of 0, ..., n - 1 that nobody can predict, each as probable.
        """
        u = uniform(2**BITS)
        return next(k for k, most in enumerate(self.cumulated(), 1) if u < most)

    def cumulated(self) -> Iterator[int]:
        """Yield P(K <= 1), P(K <= 2), ..., in steps of 2^-BITS, until it is 1.

        P(K = k + 1) / P(K = k) = (1 - gamma) (k + eta) / (k + 1), of integers: each probability is
        rounded down by less than 2^-BITS. Those of numbers above the mean that are smaller than
        that are left to the last one.
        """
        one = 2 ** (BITS + _MORE_BITS)
        (a, b), (c, d) = self.eta.as_integer_ratio(), self.gamma.as_integer_ratio()
        with localcontext(Context(prec=_DIGITS)):
            log = Decimal(self.gamma).ln()
            first = Decimal(1) / -log
            if self.eta != 0:
                first = Decimal(self.eta) / ((-Decimal(self.eta) * log).exp() - 1)
            p = int(first * one) * (d - c) // d
        k, sum_ = 1, p
        while p >> _MORE_BITS or k < self.mean:
            yield sum_ >> _MORE_BITS
            p = p * ((d - c) * (k * b + a)) // (d * b * (k + 1))
            sum_ += p
            k += 1
        yield 2**BITS


Runs: TypeAlias = Composed | Repeated
# With more fits, a random number of them is better; the shape of the distribution of that number.
MOST_COMPOSED, _ETA = 4, 1.0


def runs_of(n_fits: int, n_settings: int) -> Runs:
    """Return the way to account for so many fits of so many settings that has less noise."""
    n = min(n_fits, n_settings)
    return Composed(n) if n <= MOST_COMPOSED else Repeated.of_mean(n_fits, _ETA)


def _profile_of_zcdp(rho: float, epsilon: Any) -> Any:
    bounds = log_delta_of_renyi(_ORDERS, (_ORDERS + 1) * rho, np.expand_dims(epsilon, -1))
    return np.exp(np.minimum(bounds.min(axis=-1), 0.0))

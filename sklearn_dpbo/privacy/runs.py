"""Accounting for several private fits on the same records (zone: public).

There are two ways. `Composed`: all n models could be released. `Repeated`: a random number of
models is fitted, and only the best one is released. This costs little more than one fit, however
many there are; their number and the other models stay secret. Both return the epsilon and delta of
each fit, such that all fits together are (epsilon, delta)-private.
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
# Factor of epsilons and deltas, so that rounding in floats cannot make them too large.
_DOWN = 1 - 1e-9
# Orders minus 1 of Renyi divergences. Each gives a valid bound.
_ORDERS = np.geomspace(1e-3, 1e5, 400)
# Shares of epsilon at which a run's profile is used. Each gives a valid bound.
_SHARES = np.linspace(0, 1, 301)
# Random bits for the number of runs: its distribution is right up to 2^-100, if fewer than 2^27
# numbers have a probability.
BITS = 128
# Additional bits of sums, and digits of logarithms.
_MORE_BITS = 64
_DIGITS = 80


@dataclass(frozen=True)
class FitGuarantee:
    """Kind of guarantee of one fit that has the parameters epsilon and delta.

    `composition` says which: "pure" is epsilon-DP, "zCDP" is rho-zCDP with
    ``zcdp_within(epsilon, delta)``, "GDP" is mu-GDP with ``gdp_within(epsilon, delta)``, and
    "approximate" is only (epsilon, delta)-DP. `factor` is 2 if the guarantee is for adding or
    removing one unit: a replacement is two such steps.
    """

    composition: str
    factor: int = 1

    def __post_init__(self) -> None:
        if self.composition not in COMPOSITIONS:
            raise ValueError(
                f"composition must be one of {COMPOSITIONS}, to convert the guarantee of a fit; "
                f"found {self.composition!r}"
            )

    def of_replacement(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Convert epsilon and delta to neighbours with one unit replaced, see `Composed`."""
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
    """n fits whose losses are composed, by their kind of guarantee; all could be released."""

    n: int
    secret = False

    @property
    def mean(self) -> float:
        """The number of fits."""
        return self.n

    @property
    def number(self) -> str:
        """The number of fits, in words."""
        return f"{self.n:,} fits" if self.n > 1 else f"{self.n:,} fit"

    def draw(self, uniform: Callable[[int], int]) -> int:
        """Return n, which is not secret."""
        return self.n

    def each(self, fit: FitGuarantee, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta of each fit."""
        n = self.n
        k = fit.factor
        if n == k == 1:
            return epsilon, 0.0 if fit.composition == "pure" else delta
        if fit.composition == "zCDP":
            return epsilon_of_zcdp(zcdp_within(epsilon, delta) / (n * k**2), delta), delta
        if fit.composition == "GDP":
            return epsilon_of_gdp(gdp_within(epsilon, delta) / (math.sqrt(n) * k), delta), delta
        if fit.composition == "pure":  # by basic composition, or by zCDP
            by_zcdp = math.sqrt(2 * zcdp_within(epsilon, delta) / n) if delta > 0 else 0.0
            return max(epsilon / n, by_zcdp) / k * _DOWN, 0.0
        per_step = epsilon / n * _DOWN / k
        # Two steps of (e, d) are (2 e, (1 + exp(e)) d), as P <= e^e (e^e P'' + d) + d.
        return per_step, delta / n * _DOWN / (1 + math.exp(per_step) if k == 2 else 1)

    def delta(self, epsilon: float, profile: Profile) -> float:
        """Bound delta: all fits with this profile are (epsilon, delta)-DP together."""
        return delta_of_n(profile, self.n, epsilon)


@dataclass(frozen=True)
class Repeated:
    """K fits, for a random K, of which only the best is released.

    P(K = k) is proportional to (1 - gamma)^k (k + eta - 1 choose k): Papernot and Steinke, ICLR
    2022. A smaller eta, above -1, makes the loss smaller; most searches then have few runs, and
    some have very many. If each run has the privacy profile h, the best run has the profile
    ``E[K] h(epsilon - (1 + eta) ln(exp(e) + (1 / gamma - 1) h(e)))``, for any e: Koskela, Redberg
    and Wang, ICML 2024. The proof is in the documentation, "The guarantee for one table".
    """

    eta: float
    gamma: float
    secret = True  # the number of fits

    @classmethod
    def of_mean(cls, mean: float, eta: float = 0.0) -> Repeated:
        """Return the distribution with this mean number of runs, which is more than 1."""
        if not (mean > 1 and math.isfinite(mean)):
            raise ValueError(f"the mean number of runs must be above 1; found {mean!r}")
        return cls(eta, math.exp(-largest(lambda x: cls(eta, math.exp(-x)).mean <= mean, 1.0)))

    @property
    def number(self) -> str:
        """The number of fits, in words."""
        return f"a secret number of fits ({self.mean:.3g} on average)"

    def each(self, fit: FitGuarantee, epsilon: float, delta: float) -> tuple[float, float]:
        """Return epsilon and delta of each fit."""
        k = fit.factor
        if fit.composition == "zCDP":
            return epsilon_of_zcdp(self.rho_within(epsilon, delta) / k**2, delta), delta
        if fit.composition == "GDP":
            return epsilon_of_gdp(self.mu_within(epsilon, delta) / k, delta), delta
        delta_of_fit = delta / self.mean if fit.composition == "approximate" else 0.0
        most = largest(lambda e: e + self._more(e, delta_of_fit) <= epsilon, epsilon)
        per_step = most * _DOWN / k
        return per_step, delta_of_fit * _DOWN / (1 + math.exp(per_step) if k == 2 else 1)

    @property
    def mean(self) -> float:
        """The mean number of fits, E[K]."""
        eta = self.eta
        gamma = self.gamma
        if eta == 0:
            return (1 / gamma - 1) / -math.log(gamma)
        return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))

    def delta(self, epsilon: float, profile: Profile) -> float:
        """Bound delta: the best of runs with this profile is (epsilon, delta)-DP."""
        shares = epsilon * _SHARES
        epsilon_of_fit = epsilon - self._more(shares, profile(shares)).min()
        if epsilon_of_fit <= 0:
            return 1.0
        return min(1.0, self.mean * float(profile(epsilon_of_fit)))

    def _more(self, epsilon: Any, delta: Any) -> Any:
        """Bound the additional epsilon of the best of (epsilon, delta)-private runs."""
        with ignore_float_errors():
            more = np.log(delta) + math.log(1 / self.gamma - 1)
        return (1 + self.eta) * np.logaddexp(epsilon, more)

    def rho_within(self, epsilon: float, delta: float) -> float:
        """Find the largest rho (rounded down) of runs whose best is (epsilon, delta)-private."""
        return _DOWN * largest(
            lambda rho: self.delta(epsilon, lambda e: _profile_of_zcdp(rho, e)) <= delta, epsilon
        )

    def mu_within(self, epsilon: float, delta: float) -> float:
        """Find the largest mu (rounded down) of runs whose best is (epsilon, delta)-private."""
        return _DOWN * largest(
            lambda mu: self.delta(epsilon, lambda e: delta_of_gdp(mu, e)) <= delta, 1.0
        )

    def draw(self, uniform: Callable[[int], int]) -> int:
        """Draw K, from 1 up, by inversion.

        ``uniform(n)`` returns one of 0, ..., n - 1, unpredictable and with equal probability.
        """
        u = uniform(2**BITS)
        return next(k for k, most in enumerate(self.cumulated(), 1) if u < most)

    def cumulated(self) -> Iterator[int]:
        """Yield P(K <= 1), P(K <= 2), ..., in steps of 2^-BITS, until it is 1.

        P(K = k + 1) / P(K = k) = (1 - gamma) (k + eta) / (k + 1) is computed with integers, so each
        probability is rounded down by less than 2^-BITS. Above the mean, numbers with a smaller
        probability are left out: the last number gets all of theirs.
        """
        one = 2 ** (BITS + _MORE_BITS)
        a, b = self.eta.as_integer_ratio()
        c, d = self.gamma.as_integer_ratio()
        with localcontext(Context(prec=_DIGITS)):
            log = Decimal(self.gamma).ln()
            first = Decimal(1) / -log
            if self.eta != 0:
                first = Decimal(self.eta) / ((-Decimal(self.eta) * log).exp() - 1)
            p = int(first * one) * (d - c) // d
        k = 1
        sum_ = p
        while p >> _MORE_BITS or k < self.mean:
            yield sum_ >> _MORE_BITS
            p = p * ((d - c) * (k * b + a)) // (d * b * (k + 1))
            sum_ += p
            k += 1
        yield 2**BITS


Runs: TypeAlias = Composed | Repeated
# With more fits than this, a random number of them has less noise.
MOST_COMPOSED = 4
# Shape of the distribution of that number.
_ETA = 1.0


def runs_of(n_fits: int, n_settings: int) -> Runs:
    """Choose the way to account for fits of some settings that needs less noise."""
    n = min(n_fits, n_settings)
    return Composed(n) if n <= MOST_COMPOSED else Repeated.of_mean(n_fits, _ETA)


def _profile_of_zcdp(rho: float, epsilon: Any) -> Any:
    bounds = log_delta_of_renyi(_ORDERS, (_ORDERS + 1) * rho, np.expand_dims(epsilon, -1))
    return np.exp(np.minimum(bounds.min(axis=-1), 0.0))

"""Mechanisms, which charge the budget and then draw (zone: boundary).

Only this module opens protected values, in a single place: `Series`. A crash between a charge and
its draw can only waste budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import itemgetter
from threading import RLock
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import BudgetExceededError
from .accounting import Budget, PrivacyLoss
from .float_errors import ignore_float_errors
from .frames import ClearFrames
from .gdp import gdp_within
from .noise import Noise, NoisyMax
from .noisy_counts import NoisyCounts
from .rounding import round_up
from .sensitive import Secret, Sensitive

R = TypeVar("R")
# Draws from a protected value, which it gets sealed and opened.
Draw: TypeAlias = Callable[[Any, Any], R]
# Returns a sampler with noise of a given scale.
Sampler: TypeAlias = Callable[[float], NoisyMax]

# Values of `pure` of `Price.shared`: for noise on counts, and for Gaussian noise in any case.
COUNTS = math.sqrt(2)
GAUSSIAN_ONLY = math.inf
# Standard deviation added in quadrature, so that discrete Gaussian noise is as good as continuous.
_DISCRETE = 2.0


@dataclass(frozen=True)
class Price:
    """Cost of n draws together, and the noise of each draw, which may depend on the earlier ones.

    If `spread` is 0, each draw costs epsilon / n. Otherwise all draws have Gaussian noise and are
    mu-GDP together, with ``spread = sqrt(n) / mu`` for the largest mu that implies
    (epsilon, delta): Dong, Roth and Su, JRSS B 2022. The documentation, "The guarantee", shows that
    discrete noise is as good as continuous noise whose variance is less by `_DISCRETE` squared.
    """

    n: int
    epsilon: float
    delta: float = 0.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.n, int) and self.n >= 1):
            raise ValueError(f"the number of draws must be an integer from 1 up; found {self.n!r}")

    @classmethod
    def shared(cls, n: int, epsilon: float, delta: float, pure: float) -> Price:
        """Share (epsilon, delta) among n draws in the way with less noise.

        For a sensitivity of 1, draws of epsilon / n have noise of ``pure n / epsilon``.
        """
        n = int(n)  # NumPy's small integers overflow
        if delta > 0:
            spread = math.sqrt(n) / gdp_within(epsilon, delta)
            if math.hypot(spread, _DISCRETE) < pure * n / epsilon:
                return cls(n, epsilon, delta, spread)
        return cls(n, epsilon)

    @property
    def gaussian(self) -> bool:
        """True if the noise is Gaussian."""
        return self.spread > 0

    def scale(self, sensitivity: float) -> float:
        """Return the scale of the noise of a draw with this sensitivity."""
        if self.gaussian:
            return math.hypot(sensitivity * self.spread, _DISCRETE)
        return _scale(self.n * sensitivity, self.epsilon)


class Series(Generic[R]):
    """n draws, charged together before the first one; each may depend on the earlier ones."""

    def __init__(self, budget: Budget, n: int, loss: PrivacyLoss, draw: Draw[R]) -> None:
        self._budget, self._draw, self.loss = budget, draw, loss
        self.n = self.n_left = n
        self._charged = False
        self._lock = RLock()

    def charge(self) -> None:
        """Charge all draws, once; raise BudgetExceededError if too little is left.

        The first draw calls this. Call it earlier if noise is drawn elsewhere, as in private fits.
        """
        with self._lock:
            if not self._charged:
                self._budget.charge(self.loss)
                self._charged = True

    def __call__(self, sealed: Secret) -> R:
        """Charge before the first draw, then draw; if the budget is exceeded, draw nothing."""
        self._budget.require_own_process()
        with self._lock:
            self.charge()
            if self.n_left <= 0:
                raise BudgetExceededError(f"{self.loss.release}: all {self.n} draws have been made")
            self.n_left -= 1
            return _draw(partial(self._draw, sealed), sealed)

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("a copy of a series would draw what was charged once")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse


@ClearFrames()
@ignore_float_errors()
def _draw(draw: Callable[[Any], R], sealed: Secret) -> R:
    """Open the value and draw; errors and interrupts carry no frame that saw the value."""
    return draw(sealed._open())


def _scale(numerator: float, epsilon: float) -> float:
    """Return numerator / epsilon, rounded up, so that noise of this scale costs epsilon at most."""
    return round_up(Fraction(numerator) / Fraction(epsilon))


class Mechanisms:
    """All ways to release protected values, charged to one budget.

    Each method takes `record`, further fields of the `PrivacyLoss`: its `purpose`, and for some
    methods an `assumption` of the sensitivity, `delta`, the probability that the assumption does
    not hold, and a `detail`.
    """

    def __init__(self, budget: Budget, noise: Noise) -> None:
        self._budget, self._samplers = budget, noise

    def _series(self, price: Price, how: str, draw: Draw[R], **record: Any) -> Series[R]:
        # Delta of the noise, and the probability that an assumption does not hold.
        record["delta"] = max(price.delta, record.get("delta", 0.0))
        loss = PrivacyLoss(price.epsilon, mechanism=how, **record)
        return Series(self._budget, price.n, loss, draw)

    def select(self, scores: Sensitive, epsilon: float, *, detail: str = "", **record: Any) -> int:
        """Choose the candidate with the largest score by permute-and-flip, at a cost of epsilon.

        McKenna and Sheldon, NeurIPS 2020: in random order, stop at candidate i with probability
        ``exp(-(max_j N_j - N_i) epsilon / (2 D))``. With one candidate it costs nothing.
        """
        how = f"permute-and-flip among {scores.shape[0]:,} candidates{detail}"
        return self._choose(scores, epsilon, self._samplers.permute_and_flip, how, **record)

    def draw_exponentially(self, scores: Sensitive, epsilon: float, **record: Any) -> int:
        """Choose a candidate with probability in proportion to ``exp(epsilon N_i / (2 D))``."""
        how = f"the exponential mechanism over {scores.shape[0]:,} candidates"
        return self._choose(scores, epsilon, self._samplers.exponential_mechanism, how, **record)

    def _choose(
        self, scores: Sensitive, epsilon: float, sampler: Sampler, how: str, **record: Any
    ) -> int:
        if scores.shape == (1, 1):
            return 0
        price = Price(1, epsilon)
        return self._series(price, how, _choice(sampler, price), **record)(scores)

    def best_of(
        self,
        models: Series[Any],
        fitted: Secret,
        scores: Sensitive,
        epsilon: float,
        *,
        purpose: str,
        among: str,
    ) -> tuple[int, Any]:
        """Choose the model with the largest score by permute-and-flip, and open only this one.

        `models` is a series of `privately_fitted`, which opens models that were `fitted` on other
        records than those of the scores. If the number of models is secret, so is the returned
        position. So neither is recorded, and one model costs as much as several.
        """
        price = Price(1, epsilon)
        choice = _choice(self._samplers.permute_and_flip, price)
        how = f"permute-and-flip among {among}"
        index = self._series(price, how, choice, purpose=purpose)(scores)
        return index, models(fitted.then(itemgetter(index)))

    def open_only(self, models: Series[Any], fitted: Secret) -> Any:
        """Open the first of the `fitted` models; `models` is as in `best_of`."""
        return models(fitted.then(itemgetter(0)))

    def privately_fitted(self, price: Price, purpose: str, how: str) -> Series[Any]:
        """Return a series that opens one privately fitted model, for the price of all fits.

        The fits draw the noise, so call `Series.charge` before anything is fitted.
        """
        return self._series(price, how, _opened, purpose=purpose)

    def draw_number(self, n: int) -> int:
        """Draw one of 0, ..., n - 1 with equal probability, which depends on no record."""
        return self._samplers.uniform(n)

    def release_counts(self, counts: Sensitive, epsilon: float, **record: Any) -> NoisyCounts:
        """Release candidates' statistics, at a total cost of epsilon.

        Each number gets discrete Laplace noise of scale ``n D / epsilon``, for n candidates whose
        statistics have the sensitivity D.
        """
        price = Price(1, epsilon)
        n_counts = math.prod(counts.shape)
        how = "discrete Laplace noise" + (f" on {n_counts} counts" if n_counts > 1 else "")
        return self._series(price, how, self._noisy(price), **record)(counts)

    def answers(self, price: Price, **record: Any) -> Series[NoisyCounts]:
        """Return a series of draws, each of which releases a candidate's statistics.

        The noise is that of `release_counts`, or Gaussian with a standard deviation of
        ``D sqrt(n) / mu``, as the sensitivity D bounds the Euclidean norm, too.
        """
        how = f"discrete {'Gaussian' if price.gaussian else 'Laplace'} noise"
        how += f" for {price.n} candidates"
        return self._series(price, how, self._noisy(price), **record)

    def _noisy(self, price: Price) -> Draw[NoisyCounts]:
        def draw(counts: Sensitive, opened: NDArray[np.int64]) -> NoisyCounts:
            scale = price.scale(counts.shape[0] * counts.sensitivity)
            samplers = self._samplers
            sampler = samplers.discrete_gaussian if price.gaussian else samplers.discrete_laplace
            noisy = sampler(scale)(opened.ravel().tolist())
            return NoisyCounts(tuple(noisy), scale, price.gaussian)

        return draw

    def tables(
        self,
        price: Price,
        sensitivities: Sequence[float],
        *,
        purpose: str,
        threshold: float = math.inf,
        **record: Any,
    ) -> Series[Any]:
        """Return a series of draws that release tables of integers with discrete Gaussian noise.

        The caller vouches for the price, and that a unit moves each table by its sensitivity in the
        Euclidean norm, or table i by a_i times it, where ``sum_i a_i^2`` is at most the number of
        tables.

        For a dict of counts, release only the keys whose noisy count reaches the threshold, sorted.
        The caller vouches that keys of a single unit pass only with a small probability, and adds
        it to the price's delta in `delta`, which is charged.
        """
        scales = map(price.scale, sensitivities)

        def draw(_: Secret, table: Any) -> Any:
            add = self._samplers.discrete_gaussian(next(scales))
            if isinstance(table, dict):
                noisy = zip(table, add([*table.values()]), strict=True)
                return sorted(key for key, count in noisy if count >= threshold)
            return np.array(add(table.ravel().tolist())).reshape(table.shape)

        mu = math.sqrt(price.n) / price.spread
        how = f"discrete Gaussian noise on {price.n} tables, {mu:.3g}-GDP together"
        how = how if price.n > 1 else "discrete Gaussian noise"
        return self._series(price, how, draw, purpose=purpose, **record)


def _opened(sealed: Secret, model: Any) -> Any:
    """Return an opened model, which needs no noise; refuse counts, which do."""
    if isinstance(sealed, Sensitive):
        raise TypeError("counts must get noise; this series opens privately fitted models only")
    return model


def _choice(sampler: Sampler, price: Price) -> Draw[int]:
    """Return a function that draws the position of the largest noisy score."""

    def draw(scores: Sensitive, opened: NDArray[np.int64]) -> int:
        if scores.shape[1] != 1:
            raise ValueError(f"a selection compares one statistic; found {scores.shape[1]}")
        return sampler(price.scale(2 * scores.sensitivity))(opened[:, 0].tolist())

    return draw

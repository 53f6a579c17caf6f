"""The mechanisms: charge, then draw (zone: boundary).

The only module that opens what is protected, and it does so in one place: `Series`. A crash between
a charge and its draw can only waste budget.
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
# Of a protected value as it is sealed, and as it is opened.
Draw: TypeAlias = Callable[[Any, Any], R]
# Of noise of a given scale.
Sampler: TypeAlias = Callable[[float], NoisyMax]

# Noise of draws without delta, in units of n / epsilon: see `Price.shared`.
COUNTS, GAUSSIAN_ONLY = math.sqrt(2), math.inf
# Standard deviation of what makes continuous noise discrete.
_DISCRETE = 2.0


@dataclass(frozen=True)
class Price:
    """The cost of n draws together, and the noise of each; each may depend on the earlier ones.

    Draws of epsilon / n each; or, with ``spread = sqrt(n) / mu``, Gaussian ones, mu-GDP in all, for
    the largest mu that implies (epsilon, delta): Dong, Roth and Su, JRSS B 2022. That discrete
    noise is as good as continuous, of a variance that is less by `_DISCRETE` squared, is shown in
    the documentation, "The guarantee".
    """

    n: int
    epsilon: float
    delta: float = 0.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.n, int) and self.n >= 1):
            raise ValueError(f"n is a number of draws, from 1 up; found {self.n!r}")

    @classmethod
    def shared(cls, n: int, epsilon: float, delta: float, pure: float) -> Price:
        """Return the way to share (epsilon, delta) among n draws that has the smaller noise.

        Draws of epsilon / n have noise of ``pure n / epsilon`` for a sensitivity of 1.
        """
        n = int(n)  # small integers of NumPy overflow
        if delta > 0:
            spread = math.sqrt(n) / gdp_within(epsilon, delta)
            if math.hypot(spread, _DISCRETE) < pure * n / epsilon:
                return cls(n, epsilon, delta, spread)
        return cls(n, epsilon)

    @property
    def gaussian(self) -> bool:
        """Whether noise is Gaussian."""
        return self.spread > 0

    def scale(self, sensitivity: float) -> float:
        """Return the scale of noise that is added."""
        if self.gaussian:
            return math.hypot(sensitivity * self.spread, _DISCRETE)
        return _scale(self.n * sensitivity, self.epsilon)


class Series(Generic[R]):
    """n draws, which are charged together before the first; each may depend on the earlier ones."""

    def __init__(self, budget: Budget, n: int, loss: PrivacyLoss, draw: Draw[R]) -> None:
        self._budget, self._draw, self.loss = budget, draw, loss
        self.n = self.n_left = n
        self._charged, self._lock = False, RLock()

    def charge(self) -> None:
        """Charge all draws, unless that has been done; BudgetExceededError if too little is left.

        The first draw does so. Before it, only what adds noise by itself has to be charged.
        """
        with self._lock:
            if not self._charged:
                self._budget.charge(self.loss)
                self._charged = True

    def __call__(self, sealed: Secret) -> R:
        """Charge, if it is the first; then draw. Nothing is drawn if the budget is exceeded."""
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
    """Open the value. If drawing is interrupted, no frame that saw the value survives."""
    return draw(sealed._open())


def _scale(numerator: float, epsilon: float) -> float:
    """Return the noise scale numerator / epsilon, rounded up: its loss is epsilon at most."""
    return round_up(Fraction(numerator) / Fraction(epsilon))


class Mechanisms:
    """All ways to release protected values, charged to one budget.

    Each takes `record`, what else the loss says: its `purpose`, and for some an `assumption` that
    the sensitivity rests on, `delta`, the probability that it does not hold, and a `detail`.
    """

    def __init__(self, budget: Budget, noise: Noise) -> None:
        self._budget, self._samplers = budget, noise

    def _series(self, price: Price, how: str, draw: Draw[R], **record: Any) -> Series[R]:
        # That of the noise, and whatever else may fail.
        record["delta"] = max(price.delta, record.get("delta", 0.0))
        loss = PrivacyLoss(price.epsilon, mechanism=how, **record)
        return Series(self._budget, price.n, loss, draw)

    def select(self, scores: Sensitive, epsilon: float, *, detail: str = "", **record: Any) -> int:
        """Choose the candidate with the largest score by permute-and-flip, at a cost of epsilon.

        McKenna and Sheldon, NeurIPS 2020: in random order, stop at candidate i with probability
        ``exp(-(max_j N_j - N_i) epsilon / (2 D))``. One candidate alone costs nothing.
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
        """Choose the model with the largest score by permute-and-flip, and open this one alone.

        `models` opens what was `fitted` on other records than those of the scores, see
        `privately_fitted`. If the number of models is secret, so is the position that is returned:
        neither is recorded, and one model costs as much as several.
        """
        price = Price(1, epsilon)
        choice = _choice(self._samplers.permute_and_flip, price)
        how = f"permute-and-flip among {among}"
        index = self._series(price, how, choice, purpose=purpose)(scores)
        return index, models(fitted.then(itemgetter(index)))

    def open_only(self, models: Series[Any], fitted: Secret) -> Any:
        """Open the first model of a list, with no choice: `models` is as in `best_of`."""
        return models(fitted.then(itemgetter(0)))

    def privately_fitted(self, price: Price, purpose: str, how: str) -> Series[Any]:
        """Return what opens one model that was fitted privately, for what its fits cost together.

        The noise is theirs: charge it (`Series.charge`) before anything is fitted.
        """
        return self._series(price, how, _opened, purpose=purpose)

    def draw_number(self, n: int) -> int:
        """Draw one of 0, ..., n - 1, each with the same probability; it tells of no record."""
        return self._samplers.uniform(n)

    def release_counts(self, counts: Sensitive, epsilon: float, **record: Any) -> NoisyCounts:
        """Release candidates' statistics at a cost of epsilon in all.

        For n candidates, with statistics that a unit moves by D together, every number gets
        discrete Laplace noise of scale ``n D / epsilon``.
        """
        q, price = math.prod(counts.shape), Price(1, epsilon)
        how = "discrete Laplace noise" + f" on {q} counts" * (q > 1)
        return self._series(price, how, self._noisy(price), **record)(counts)

    def answers(self, price: Price, **record: Any) -> Series[NoisyCounts]:
        """Return a series of releases of candidates' statistics, as `release_counts` makes them.

        Gaussian noise has a deviation of ``D sqrt(n) / mu``: D bounds the Euclidean norm, too.
        """
        how = f"discrete {'Gaussian' if price.gaussian else 'Laplace'} noise"
        how += f" for {price.n} candidates"
        return self._series(price, how, self._noisy(price), **record)

    def _noisy(self, price: Price) -> Draw[NoisyCounts]:
        def draw(counts: Sensitive, opened: NDArray[np.int64]) -> NoisyCounts:
            scale, gaussian = price.scale(counts.shape[0] * counts.sensitivity), price.gaussian
            noise = (
                self._samplers.discrete_gaussian if gaussian else self._samplers.discrete_laplace
            )
            return NoisyCounts(tuple(noise(scale)(opened.ravel().tolist())), scale, gaussian)

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
        """Return a series of releases of tables of integers, with discrete Gaussian noise on each.

        The caller vouches for the price, and that a unit moves each table by its sensitivity in the
        Euclidean norm; or by ``a_i`` times it with ``sum_i a_i^2`` at most the number of tables.
        Of a dict, which counts what occurs, those keys alone are released, sorted, whose noisy
        count reaches the threshold; that nothing passes which one unit alone has, the caller
        vouches for up to a `delta` that is charged beside that of the price.
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
    if isinstance(sealed, Sensitive):
        raise TypeError("counts get noise: what was fitted privately is no table of them")
    return model


def _choice(sampler: Sampler, price: Price) -> Draw[int]:
    """Return a function that draws the position of the largest noisy score."""

    def draw(scores: Sensitive, opened: NDArray[np.int64]) -> int:
        if scores.shape[1] != 1:
            raise ValueError(f"a selection compares one statistic; found {scores.shape[1]}")
        return sampler(price.scale(2 * scores.sensitivity))(opened[:, 0].tolist())

    return draw

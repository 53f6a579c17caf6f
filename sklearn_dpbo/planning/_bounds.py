"""Bounds on the effect of noise on a choice and on a released mean (zone: released).

These are Theorems 1 to 3 in the documentation, "What noise costs". They depend on public numbers
only, so they cost no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar, cast

from ..privacy.checks import check_number
from ..privacy.noisy_counts import NoisyCounts
from ..search._utility import tail_of_choice

# Number of steps between the lowest and the highest gain, to which `sklearn_dpbo.metrics` rounds.
GRID_STEPS = 2**20


@lru_cache(maxsize=1024)
def quantile_of_choice(n: int, failure: float) -> float:
    """Find the least t with ``tail_of_choice(n, t) <= failure``, rounded up."""
    t = least(lambda t: tail_of_choice(n, t) <= failure, 1e-12, 1e3, 1e-15)
    return cast(float, t)  # Lemma 1: the tail is at most n e^-t


def least(
    holds: Callable[[float], bool], low: float, largest: float, tolerance: float = 0.0
) -> float | None:
    """Find the least number, up to a relative tolerance, from which a condition holds.

    It is searched from `low` to `largest`, among integers if `low` is an integer. None if the
    condition does not hold at `largest`.
    """
    is_integer = isinstance(low, int)
    high = low
    while not holds(high):
        if high >= largest:
            return None
        low, high = high, min(2 * high, largest)
    while high - low > max(is_integer, tolerance * low):
        middle = (low + high) // 2 if is_integer else (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class MeanErrors:
    """Bounds, by theorems, on the errors of a metric that is a mean of gains.

    `score_range` is the highest minus the lowest gain. With `counts`, each gain is either the
    lowest or the highest; otherwise gains are rounded to 2^20 steps, and the rounding error is
    added.
    """

    score_range: float = 1.0
    counts: bool = True
    # Ranges in which plans search for an answer, and the relative tolerance of an answer.
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"m": (1, 10**12), "epsilon": (1e-9, 1e9)}
    tolerance: ClassVar[float] = 1e-12
    guaranteed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("score_range", self.score_range, "a positive number", lambda r: r > 0)
        if not isinstance(self.counts, bool):
            raise ValueError(f"counts must be True or False; found {self.counts!r}")

    @property
    def most(self) -> float:
        """Largest error of a score."""
        return self.score_range

    def sensitivity(self, m: int) -> int:
        """Return the sensitivity of the sum that ranks candidates, in steps."""
        return 1 if self.counts else GRID_STEPS

    def regret(self, steps: float, m: int) -> float:
        """Convert a regret in steps of the sum over m units to one of the score."""
        return self._as_score(steps, m, n_rounded=2)

    def score_error(self, m: int, epsilon: float, confidence: float) -> float:
        """Bound the error of the released score (Theorem 3)."""
        noise = NoisyCounts((0,), self.sensitivity(m) / epsilon)
        return self._as_score(noise.interval(confidence)[0][1], m, n_rounded=1)

    def sampling_error(self, m: int, confidence: float) -> float:
        """Approximate the sampling error (normal), for a score halfway between the bounds."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return min(z * self.score_range / (2 * math.sqrt(m)), self.score_range)

    def _as_score(self, steps: float, m: int, n_rounded: int) -> float:
        rounding = 0.0 if self.counts else n_rounded / GRID_STEPS
        return self.score_range * min(steps / (self.sensitivity(m) * m) + rounding, 1.0)

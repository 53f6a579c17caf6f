"""Released counts, with intervals for the exact ones (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NoisyCounts:
    """Integers that were released together, with discrete noise of the same scale.

    The noise Z has ``P(Z = z)`` proportional to ``exp(-|z| / scale)`` or, if `gaussian`, to
    ``exp(-z^2 / (2 scale^2))``.
    """

    counts: tuple[int, ...]
    scale: float
    gaussian: bool = False

    def interval(self, confidence: float) -> list[tuple[int, int]]:
        """Return an interval per count; all exact counts are inside with probability `confidence`.

        That holds at least: each of q counts is inside with ``1 - (1 - confidence) / q`` (union
        bound). Laplace noise has ``P(|Z| > t) = 2 a^(t+1) / (1 + a)``.
        """
        outside = (1 - confidence) / len(self.counts)
        if self.gaussian:
            t = math.ceil(NormalDist().inv_cdf(1 - outside / 2) * self.scale)
        else:
            t = self._quantile(outside)
        return [(count - t, count + t) for count in self.counts]

    def _quantile(self, outside: float) -> int:
        """Return the smallest t with ``P(|Z| > t) <= outside``."""
        a = math.exp(-1 / self.scale)
        tail = self.scale * math.log(2 / ((1 + a) * outside))
        return max(0, math.ceil(tail) - 1)

    def noise(self, n: int, rng: np.random.Generator, terms: int = 1) -> NDArray[np.int64]:
        """Simulate sums of `terms` noise variables of the same distribution, shape (n, n_counts).

        For Laplace noise, a sum of geometric variables is negative binomial.
        """
        shape = (n, len(self.counts))
        if self.gaussian:
            scale = self.scale * math.sqrt(terms)
            return np.rint(scale * rng.standard_normal(shape)).astype(np.int64)
        p = -math.expm1(-1 / self.scale)
        draw: Any = rng.geometric if terms == 1 else partial(rng.negative_binomial, terms)
        noise: NDArray[np.int64] = draw(p, shape) - draw(p, shape)
        return noise


def noise_std(scale: float, gaussian: bool) -> float:
    """Return the standard deviation of discrete noise of this scale; an upper bound if Gaussian.

    The bound is Corollary 9 of Canonne, Kamath and Steinke, NeurIPS 2020. It is nearly reached for
    scales from 1 up.
    """
    if gaussian:
        return scale
    return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)

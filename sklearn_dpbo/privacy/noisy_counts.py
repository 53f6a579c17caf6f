"""Released counts, and what their noise says about the counts themselves (zone: released)."""

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
    """Integers that were released together, with discrete noise of one scale.

    ``P(Z = z)`` is proportional to ``exp(-|z| / scale)`` or, if `gaussian`, to ``exp(-z^2 / (2
    scale^2))``.
    """

    counts: tuple[int, ...]
    scale: float
    gaussian: bool = False

    def interval(self, confidence: float) -> list[tuple[int, int]]:
        """Return where the counts without noise lie, all of them with at least this probability.

        Each by itself with ``1 - (1 - confidence) / q``, for q counts (union bound). Laplace noise
        has ``P(|Z| > t) = 2 a^(t+1) / (1 + a)``.
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
        """Return n draws of noise of the same distribution, shape (n, n_counts), to simulate.

        Or of the sum of several such: a sum of geometric numbers is negative binomial.
        """
        p, shape = -math.expm1(-1 / self.scale), (n, len(self.counts))
        if self.gaussian:
            scale = self.scale * math.sqrt(terms)
            return np.rint(scale * rng.standard_normal(shape)).astype(np.int64)
        draw: Any = rng.geometric if terms == 1 else partial(rng.negative_binomial, terms)
        noise: NDArray[np.int64] = draw(p, shape) - draw(p, shape)
        return noise


def noise_std(scale: float, gaussian: bool) -> float:
    """Return the standard deviation of discrete noise of this scale; if Gaussian, an upper bound.

    (Canonne, Kamath and Steinke, NeurIPS 2020, Corollary 9: nearly reached from a scale of 1 on.)
    """
    if gaussian:
        return scale
    return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)

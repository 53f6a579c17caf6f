"""Released counts, and what their noise says about the counts themselves (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = ["NoisyCounts", "noise_std"]


@dataclass(frozen=True)
class NoisyCounts:
    """Counts that were released together: integers plus discrete noise of one scale.

    For each count, ``P(Z = z)`` is proportional to ``a^|z|`` with ``a = exp(-1 / scale)``
    (Laplace), or to ``exp(-z^2 / (2 scale^2))`` (Gaussian).

    Parameters
    ----------
    counts : tuple of int
        With the noise.
    scale : float
        Of the noise, in counts.
    gaussian : bool, default=False
        Whether the noise is Gaussian.
    """

    counts: tuple[int, ...]
    scale: float
    gaussian: bool = False

    def interval(self, confidence: float) -> list[tuple[int, int]]:
        """Return where the counts without noise lie, all of them with at least this probability.

        Each by itself with ``1 - (1 - confidence) / q``, for q counts (union bound). Laplace noise
        has ``P(|Z| > t) = 2 a^(t+1) / (1 + a)``.
        """
        if self.gaussian:
            quantile = NormalDist().inv_cdf(1 - (1 - confidence) / len(self.counts) / 2)
            t = math.ceil(quantile * self.scale)
            return [(count - t, count + t) for count in self.counts]
        a, outside = math.exp(-1 / self.scale), (1 - confidence) / len(self.counts)
        tail = self.scale * math.log(2 / ((1 + a) * outside))
        t = max(0, math.ceil(tail) - 1)
        return [(count - t, count + t) for count in self.counts]

    @property
    def std(self) -> float:
        """Standard deviation of the noise of each count."""
        return noise_std(self.scale, self.gaussian)

    def noise(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return n draws of noise of the same distribution, shape (n, n_counts), to simulate."""
        p, shape = -math.expm1(-1 / self.scale), (n, len(self.counts))
        if self.gaussian:
            return np.rint(self.scale * rng.standard_normal(shape)).astype(np.int64)
        found: NDArray[np.int64] = rng.geometric(p, shape) - rng.geometric(p, shape)
        return found


def noise_std(scale: float, gaussian: bool) -> float:
    """Return the standard deviation of discrete noise of this scale, in counts.

    Laplace: ``sqrt(2 a) / (1 - a)`` with ``a = exp(-1 / scale)``. Gaussian: `scale`, an upper
    bound that is nearly reached from a scale of 1 on (Canonne, Kamath and Steinke, NeurIPS 2020,
    Corollary 9).
    """
    if gaussian:
        return scale
    return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)

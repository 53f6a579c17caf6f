"""Released counts, and what their noise says about the counts themselves (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NoisyCounts"]


@dataclass(frozen=True)
class NoisyCounts:
    """Counts that were released together: integers plus discrete Laplace noise of one scale.

    ``P(Z = z)`` is proportional to ``a^|z|`` with ``a = exp(-1 / scale)``, for each count.

    Parameters
    ----------
    counts : tuple of int
        With the noise.
    scale : float
        Of the noise, in counts.
    """

    counts: tuple[int, ...]
    scale: float

    def interval(self, confidence: float) -> list[tuple[int, int]]:
        """Return where the counts without noise lie, all of them with at least this probability.

        Each by itself with ``1 - (1 - confidence) / q``, for q counts (union bound). The noise has
        ``P(|Z| > t) = 2 a^(t+1) / (1 + a)``.
        """
        a, outside = math.exp(-1 / self.scale), (1 - confidence) / len(self.counts)
        tail = self.scale * math.log(2 / ((1 + a) * outside))
        t = max(0, math.ceil(tail) - 1)
        return [(count - t, count + t) for count in self.counts]

    def noise(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return n draws of noise of the same distribution, shape (n, n_counts), to simulate."""
        p, shape = -math.expm1(-1 / self.scale), (n, len(self.counts))
        found: NDArray[np.int64] = rng.geometric(p, shape) - rng.geometric(p, shape)
        return found

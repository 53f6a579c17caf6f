"""Released counts, and what their noise says about the counts themselves (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln

from .rounding import largest

__all__ = ["NoisyCounts", "noise_std"]


@dataclass(frozen=True)
class NoisyCounts:
    """Integers that were released together, with discrete noise of one scale.

    ``P(Z = z)`` is proportional to ``exp(-|z| / scale)`` or, if `gaussian`, to ``exp(-z^2 / (2
    scale^2))``. A sum of Laplace counts has several independent `draws` of noise.
    """

    counts: tuple[int, ...]
    scale: float
    gaussian: bool = False
    draws: int = 1

    def interval(self, confidence: float) -> list[tuple[int, int]]:
        """Return where the counts without noise lie, all of them with at least this probability.

        Each by itself with ``1 - (1 - confidence) / q``, for q counts (union bound). Laplace noise
        has ``P(|Z| > t) = 2 a^(t+1) / (1 + a)``.
        """
        outside = (1 - confidence) / len(self.counts)
        if self.gaussian:
            t = math.ceil(NormalDist().inv_cdf(1 - outside / 2) * self.scale)
        else:
            t = self._quantile_of_sum(outside) if self.draws > 1 else self._quantile(outside)
        return [(count - t, count + t) for count in self.counts]

    def _quantile(self, outside: float) -> int:
        """Return the smallest t with ``P(|Z| > t) <= outside``."""
        a = math.exp(-1 / self.scale)
        tail = self.scale * math.log(2 / ((1 + a) * outside))
        return max(0, math.ceil(tail) - 1)

    def _quantile_of_sum(self, outside: float) -> int:
        """Return the smallest t at which this much of the noise of a sum is outside, at most."""
        a, i, weights = math.exp(-1 / self.scale), *self._mixture()
        # A millionth more than floating point can be off by, with a thousand terms.
        inside = outside / (1 + 1e-6)

        def is_short(following: float) -> bool:
            t = math.floor(following) - 1
            return t < 0 or 2 * float(weights @ betainc(t + 1, i, a)) > inside

        return math.floor(largest(is_short, 1.0))

    def _mixture(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return i and w_i with ``P(Z_1 + ... + Z_k > t) = sum_i w_i P(G_i > t)`` for t >= 0.

        G_i is negative binomial, the number of failures before i successes of probability 1 - a.
        The sum has the generating function ``(1 - a)^2k A^k (1 + B)^k`` with ``A = 1 / (1 - a z)``
        and ``B = (a / z) / (1 - a / z)``, and ``(1 - a^2) A B = a^2 A + B``. So it is a mixture of
        powers of A, which belong to the G_i, and of B, which are negative. The weight of A^i sums
        up, over j, the ways from ``A^k B^j`` to it. All terms are positive.
        """
        k = self.draws
        log_a, log_p = -1 / self.scale, math.log(-math.expm1(-1 / self.scale))
        i, j = np.arange(1, k + 1)[:, None], np.arange(1, k + 1)
        ways = _log_comb(k, j) + _log_comb(k - i + j - 1, j - 1)
        more = 2 * j * log_a + (k - j) * log_p - (k - i + j) * math.log1p(math.exp(log_a))
        weights = np.exp(ways + more).sum(axis=1)
        weights[-1] += math.exp(k * log_p)
        return i[:, 0], weights

    def noise(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return n draws of noise of the same distribution, shape (n, n_counts), to simulate."""
        p, shape = -math.expm1(-1 / self.scale), (n, len(self.counts))
        if self.gaussian:
            return np.rint(self.scale * rng.standard_normal(shape)).astype(np.int64)
        if (k := self.draws) == 1:
            return rng.geometric(p, shape) - rng.geometric(p, shape)
        found: NDArray[np.int64] = rng.negative_binomial(k, p, shape)
        return found - rng.negative_binomial(k, p, shape)


def _log_comb(n: NDArray[np.int64] | int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return found


def noise_std(scale: float, gaussian: bool) -> float:
    """Return the standard deviation of discrete noise of this scale; if Gaussian, an upper bound.

    (Canonne, Kamath and Steinke, NeurIPS 2020, Corollary 9: nearly reached from a scale of 1 on.)
    """
    if gaussian:
        return scale
    return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)

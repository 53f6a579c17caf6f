"""An estimate of a score from noisy counts, and an interval by simulation (zone: released).

The distribution of the noise Z is known, so ``noisy - Z'``, with new samples Z' of it, is what the
counts may have been. Quantiles of the score over these samples form an interval. For a ratio of
sums of counts it contains the set of Fieller (1954), and so the score with the required
probability. For other scores the probability is measured; see the documentation, "How metrics are
made private".

Samples are not cut off at 0, which would bias the quantiles. So a few samples may have denominators
that are not positive; each of these stands for a lowest and a highest value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._privacy.noisy_counts import NoisyCounts

__all__ = ["Ends", "draws", "nearest_counts", "simulated_interval", "with_total"]

Floats = NDArray[np.float64]
# The lowest and the highest score that each of several draws of the counts stands for.
Ends: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]

_N_DRAWS = 4_000


def simulated_interval(
    ends: Ends,
    noisy: NoisyCounts,
    confidence: float,
    bounds: tuple[float, float],
    total: int | None = None,
) -> tuple[float, float]:
    """Return an interval that contains the score without noise with about this probability.

    Parameters
    ----------
    ends : callable
        From counts of shape (n, n_counts), which may be negative, to the lowest and the highest
        score of each, of shape (n,).
    noisy : NoisyCounts
        What was released.
    confidence : float
        In (0, 1).
    bounds : tuple of float
        Lowest and highest possible score.
    total : int or None, default=None
        The sum of the counts, if that is public.
    """
    low, high = ends(draws(noisy, total))
    k = max(1, int((1 - confidence) / 2 * (len(low) + 1)))
    a = float(np.clip(np.partition(low, k - 1)[k - 1], *bounds))
    b = float(np.clip(np.partition(high, len(high) - k)[len(high) - k], *bounds))
    return min(a, b), max(a, b)


def draws(noisy: NoisyCounts, total: int | None = None) -> Floats:
    """Return what the counts may have been, shape (n_draws, n_counts): not all are possible."""
    noise = noisy.noise(_N_DRAWS, np.random.default_rng(0)).astype(float)
    counts = np.array(noisy.counts, dtype=float)
    if total is None:
        found: Floats = counts - noise
        return found
    return with_total(counts, total) - with_total(noise, 0)


def nearest_counts(noisy: Any, total: int) -> Floats:
    """Return the counts nearest to noisy ones that are not negative and have the public sum.

    Parameters
    ----------
    noisy : array-like of shape (..., n_counts)
        As released.
    total : int
        The sum along the last axis.
    """
    x = np.asarray(noisy, dtype=float)
    largest = -np.sort(-x, axis=-1)
    # With t_k taken off, the k largest add up to the total; with the right k they stay positive.
    t = (np.cumsum(largest, axis=-1) - total) / np.arange(1, x.shape[-1] + 1)
    k = (largest > t).sum(axis=-1, keepdims=True)
    nearest: Floats = np.maximum(x - np.take_along_axis(t, k - 1, axis=-1), 0.0)
    return nearest


def with_total(x: Floats, total: int) -> Floats:
    """Return the nearest numbers (in the sense of least squares) that have this sum."""
    found: Floats = x - (x.sum(axis=-1, keepdims=True) - total) / x.shape[-1]
    return found

"""Where a score lies, given noisy counts: by simulation of the noise (zone: released)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._privacy.noisy_counts import NoisyCounts

__all__ = ["simulated_interval"]

_N_DRAWS = 4_000


def simulated_interval(
    score: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    noisy: NoisyCounts,
    confidence: float,
) -> tuple[float, float]:
    """Return quantiles of the score of ``noisy counts - noise``, over draws of fresh noise.

    Parameters
    ----------
    score : callable
        From counts of shape (n, n_counts) to scores of shape (n,).
    noisy : NoisyCounts
        What was released.
    confidence : float
        In (0, 1).
    """
    noise = noisy.noise(_N_DRAWS, np.random.default_rng(0))
    scores = score(np.array(noisy.counts) - noise)
    low, high = np.quantile(scores, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)

"""An estimate of a score from noisy counts, and an interval by simulation (zone: released).

The distribution of the noise Z is known, so ``noisy - Z'``, with new samples Z' of it, is what the
counts may have been. Quantiles of the score over these samples form an interval. For a ratio of
sums of counts it contains the set of Fieller (1954), and so the score with the required
probability. For other scores the probability is measured; see the documentation, "How metrics are
made private".

An interval for the population that the records are a random sample of adds simulated sampling error
to these samples, independent of the noise: ``m p' - n``, for the possible counts n nearest to the
noisy ones and p' drawn from the Dirichlet distribution with parameters n (and a little more). Its
covariance is about that of multinomial counts. That it covers is measured; see "Noise and sampling"
there.

Samples are not cut off at 0, which would bias the quantiles. So a few samples may have denominators
that are not positive; each of these stands for a lowest and a highest value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ._queries import Query, total_weight, unit_weight

__all__ = ["Compute", "draws", "likely", "nearest_counts", "simulated_interval"]

Floats = NDArray[np.float64]
# From rows of counts, and what undefined ratios are (see `_metrics`), to a number for each.
Compute: TypeAlias = Callable[[Floats, float | None], Floats]

_N_DRAWS = 4_000
# Records that the cells of a table get in addition, together: the population may have some in an
# empty cell.
_PRIOR = 2.0


def simulated_interval(
    compute: Compute,
    query: Query,
    noisy: NoisyCounts,
    units: Units,
    confidence: float,
    bounds: tuple[float, float],
    sampling: float = 0.0,
) -> tuple[float, float]:
    """Return an interval that contains a number without noise with about this probability.

    `compute` turns rows of counts, which may be negative, into numbers within `bounds`; `sampling`
    is that of `draws`.
    """
    counts = draws(query, noisy, units, sampling)
    low, high = (compute(counts, end) for end in bounds)
    k = max(1, int((1 - confidence) / 2 * (len(low) + 1)))
    a = float(np.clip(np.partition(low, k - 1)[k - 1], *bounds))
    b = float(np.clip(np.partition(high, len(high) - k)[len(high) - k], *bounds))
    return min(a, b), max(a, b)


def draws(query: Query, noisy: NoisyCounts, units: Units, sampling: float = 0.0) -> Floats:
    """Return what the counts may have been, shape (n_draws, n_counts): not all are possible.

    The sampling error counts this many times: 0 for the counts of these records, 1 for what the
    population's would be in as many records. A larger number allows for a choice among candidates,
    or for sums over tables of the same records, whose errors are drawn independently here.
    """
    noise = _noise(replace(noisy, counts=(0,) * len(noisy.counts)), _N_DRAWS)
    centre = np.array(query.within_range(noisy.counts, units), dtype=float)
    counts = query.adjusted(centre - noise, units, _with_total)
    return counts + sampling * _sampling_error(query, centre, units) if sampling else counts


@lru_cache(maxsize=8)
def _noise(noisy: NoisyCounts, n: int) -> Floats:
    """Return simulated noise, which depends on public numbers alone."""
    return noisy.noise(n, np.random.default_rng(0)).astype(float)


def _sampling_error(query: Query, noisy: Floats, units: Units) -> Floats:
    """Return draws of the population's counts less those of the records.

    The records of a group are in several cells: their counts vary less than those of whole units.
    """
    rng, total, errors = np.random.default_rng(1), total_weight(units), []
    for table in query.by_table(noisy):
        counts = nearest_counts(table, total)
        shape = counts / unit_weight(units) + _PRIOR / counts.size
        gamma = rng.standard_gamma(shape, (_N_DRAWS, counts.size))
        errors.append(total * gamma / gamma.sum(axis=1, keepdims=True) - counts)
    return np.concatenate(errors, axis=1)


def likely(query: Query, counts: Any, units: Units) -> Floats:
    """Return possible counts near noisy ones, in one row: no number of records is negative."""
    possible = np.array([query.within_range(counts, units)], dtype=float)
    return query.adjusted(possible, units, nearest_counts)


def nearest_counts(noisy: Any, total: int) -> Floats:
    """Return the counts (along the last axis) nearest to these: none negative, with this sum."""
    x = np.asarray(noisy, dtype=float)
    largest = -np.sort(-x, axis=-1)
    # With t_k taken off, the k largest add up to the total; with the right k they stay positive.
    t = (np.cumsum(largest, axis=-1) - total) / np.arange(1, x.shape[-1] + 1)
    k = (largest > t).sum(axis=-1, keepdims=True)
    nearest: Floats = np.maximum(x - np.take_along_axis(t, k - 1, axis=-1), 0.0)
    return nearest


def _with_total(x: Floats, total: int) -> Floats:
    """Return the nearest numbers (in the sense of least squares) that have this sum."""
    found: Floats = x - (x.sum(axis=-1, keepdims=True) - total) / x.shape[-1]
    return found

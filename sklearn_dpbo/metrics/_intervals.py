"""Scores from noisy counts, and their intervals by simulation (zone: released).

The distribution of the noise Z is known. So the counts are simulated as ``noisy - Z'``, with new
samples Z' of the noise, and quantiles of the score over these samples form an interval. For a ratio
of sums of counts it contains the set of Fieller (1954), and so the score with the required
probability. For other scores that probability is measured; see the documentation, "How metrics are
made private".

If the records are a random sample of a population, an interval for the population's score also has
a simulated sampling error, independent of the noise: ``m p' - n``, for the possible counts n
nearest to the noisy ones, and p' drawn from the Dirichlet distribution with parameters n (and a
little more). Its covariance is about that of multinomial counts. The coverage is measured; see
"Noise and sampling" on the same page.

Simulated counts are not clipped at 0, as that would bias the quantiles. So some have a denominator
that is not positive. They count as the lowest value for the lower end, and as the highest value for
the upper end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri

from ..privacy.noisy_counts import NoisyCounts
from ..records.units import Units
from ._queries import Cells, Query, unit_weight

Floats = NDArray[np.float64]
# Computes a number from each row of counts; the second argument is `undefined`, see `_metrics`.
Compute: TypeAlias = Callable[[Floats, float | None], Floats]

_N_DRAWS = 4_000
_SEED_OF_NOISE = 0
_SEED_OF_SAMPLING = 1
# Records added to a table, over all its cells: the population may have some in an empty cell.
_PRIOR = 2.0
# Logarithm of the largest number of records that a bisection finds, and its steps.
_MOST = 20.0
_N_HALVINGS = 40
# Scale of Laplace noise that is always 0.
_NO_NOISE = 1e-3
_TINY = 1e-300  # instead of no record at all


def simulation() -> dict[str, Any]:
    """Return how intervals are simulated, for files: who computes them anew does the same."""
    return {
        "generator": "numpy.random.default_rng",
        "draws": _N_DRAWS,
        "seed_of_noise": _SEED_OF_NOISE,
        "seed_of_sampling": _SEED_OF_SAMPLING,
    }


def simulated_interval(
    compute: Compute,
    query: Query,
    noisy: NoisyCounts,
    units: Units,
    confidence: float,
    bounds: tuple[float, float],
    sampling: float = 0.0,
) -> tuple[float, float]:
    """Return an interval that contains the number without noise with probability `confidence`.

    The probability is approximate. `compute` turns rows of counts, which may be negative, into
    numbers within `bounds`; `sampling` multiplies the sampling error, see `draws`. If it is above 1
    and the bounds are finite, ends are moved as those of Clopper and Pearson would be, since the
    interval of a normal error is too short for a ratio.
    """
    if sampling > 1 and np.isfinite(bounds).all():
        value = float(np.clip(compute(likely(query, noisy.counts, units), None)[0], *bounds))
        interval = partial(simulated_interval, compute, query, noisy, units, confidence, bounds)
        return _stretched(value, interval(0.0), interval(1.0), bounds, confidence, sampling)
    counts = draws(query, noisy, units, sampling)
    lowest, highest = (compute(counts, bound) for bound in bounds)
    k = max(1, int((1 - confidence) / 2 * (len(lowest) + 1)))
    low = float(np.clip(np.partition(lowest, k - 1)[k - 1], *bounds))
    n = len(highest)
    high = float(np.clip(np.partition(highest, n - k)[n - k], *bounds))
    return min(low, high), max(low, high)


def _stretched(
    value: float,
    noise: tuple[float, float],
    once: tuple[float, float],
    bounds: tuple[float, float],
    confidence: float,
    sampling: float,
) -> tuple[float, float]:
    """Return an interval with `sampling` times the sampling error, more than once.

    `noise` is the interval without sampling error, and `once` that with the sampling error once.
    The ends are those of Clopper and Pearson for as many records as explain `once`, see `moved`.
    """
    tail = (1 - confidence) / 2
    tails = tail, float(ndtr(sampling * ndtri(tail)))
    ends = []
    # Each end in turn, with the scale turned around so that it is the lower one.
    for nearer, farther, *apart in zip(bounds, bounds[::-1], noise, once, strict=True):
        width = farther - nearer
        share, by_noise, by_both = ((x - nearer) / width for x in (value, *apart))
        alone = share - math.sqrt(max((share - by_both) ** 2 - (share - by_noise) ** 2, 0.0))
        below = np.hypot(share - moved(share, alone, share, *tails), share - by_noise)
        ends.append(nearer + width * max(share - float(below), 0.0))
    return min(ends[0], noise[0]), max(ends[1], noise[1])


def moved(share: Any, end: Any, start: Any, tail: float, new_tail: float) -> Floats:
    """Move the lower end of an interval to miss with probability `new_tail` instead of `tail`.

    `end` is the end for `share`, which is in [0, 1], and the result is one for `start`. Both are
    those of Clopper and Pearson (1934) for the same number of records. If no number of records has
    this end, a normal error is assumed.
    """
    share, end, start = np.broadcast_arrays(*(np.clip(x, 0.0, 1.0) for x in (share, end, start)))

    def lower_end(k: Floats, log_n: Floats, outside: float) -> Floats:
        n = np.exp(log_n)
        quantile = betaincinv(np.maximum(k * n, _TINY), (1 - k) * n + 1, outside)
        return np.where(k > 0, quantile, 0.0)

    few, many = np.zeros(share.shape), np.full(share.shape, _MOST)
    exists = (lower_end(share, few, tail) < end) & (end < lower_end(share, many, tail))
    for _ in range(_N_HALVINGS):
        middle = (few + many) / 2
        too_few = lower_end(share, middle, tail) < end
        few = np.where(too_few, middle, few)
        many = np.where(too_few, many, middle)
    normal = np.maximum(start - (share - end) * ndtri(new_tail) / ndtri(tail), 0.0)
    return np.where(exists, lower_end(start, few, new_tail), normal)


def without_noise(noisy: NoisyCounts) -> NoisyCounts:
    """Replace the noise of released counts by a scale that is always 0."""
    return replace(noisy, scale=_NO_NOISE, gaussian=False)


@lru_cache(maxsize=4)  # all numbers of an evaluation follow from the same draws
def draws(query: Query, noisy: NoisyCounts, units: Units, sampling: float = 0.0) -> Floats:
    """Simulate the counts without noise, shape (n_draws, n_counts); some may be impossible.

    `sampling` multiplies the sampling error: 0 for the counts of these records, 1 for those of as
    many other records of the population. More than 1 allows for sums over tables of the same
    records, whose errors are simulated independently.
    """
    centre = query.summed(np.array(query.within_range(noisy.counts, units), dtype=float))
    noise = _noise(replace(noisy, counts=(0,) * len(centre)), _N_DRAWS, len(query.subgroups))
    counts = query.adjusted(centre - noise, units, _with_total)
    if sampling:
        counts = counts + sampling * _sampling_error(query, centre, units)
    counts.setflags(write=False)
    return counts


@lru_cache(maxsize=8)
def _noise(noisy: NoisyCounts, n: int, terms: int) -> Floats:
    """Simulate the noise of the counts, which depends on public numbers alone."""
    return noisy.noise(n, np.random.default_rng(_SEED_OF_NOISE), terms).astype(float)


def _sampling_error(query: Query, noisy: Floats, units: Units) -> Floats:
    """Simulate the population's counts minus those of the records, shape (n_draws, n_counts).

    Groups count as if all records of a group were in one cell, which makes the error too large. The
    size of each subgroup is fixed.
    """
    rng = np.random.default_rng(_SEED_OF_SAMPLING)
    if (deviations := query.sampling_deviations(noisy, units)) is not None:
        return rng.standard_normal((_N_DRAWS, 1)) * deviations
    errors = []
    for counts in cast(Cells, query).by_table(query.adjusted(noisy, units, nearest_counts)):
        shape = counts / unit_weight(units) + _PRIOR / counts.size
        gamma = rng.standard_gamma(shape, (_N_DRAWS, counts.size))
        errors.append(counts.sum() * gamma / gamma.sum(axis=1, keepdims=True) - counts)
    return np.concatenate(errors, axis=1)


def likely(query: Query, counts: Any, units: Units) -> Floats:
    """Return possible counts near the noisy ones, shape (1, n_counts): none is negative."""
    possible = np.array([query.within_range(counts, units)], dtype=float)
    return query.adjusted(query.summed(possible), units, nearest_counts)


def nearest_counts(noisy: Any, total: int | Floats) -> Floats:
    """Return the nearest counts (along the last axis) that are not negative and sum to `total`."""
    x = np.asarray(noisy, dtype=float)
    total = np.maximum(total, 0)
    largest = -np.sort(-x, axis=-1)
    # The k largest, less t_k each, add up to the total. k is the most for which they stay positive.
    t = (np.cumsum(largest, axis=-1) - total) / np.arange(1, x.shape[-1] + 1)
    k = (largest >= t).sum(axis=-1, keepdims=True)
    nearest: Floats = np.maximum(x - np.take_along_axis(t, k - 1, axis=-1), 0.0)
    return nearest


def sampled_mean(
    mean: float, within: float, ends: tuple[float, float], n: float, confidence: float
) -> tuple[float, float]:
    """Return an interval for the population's mean of gains in [0, 1], of a sample of n units.

    `ends` is the interval for the noise. `within` is a lower bound of the sample's mean of
    ``g (1 - g)``, for gains g. So the variance of a gain is at most ``mean (1 - mean) - within``.
    For gains other than 0 and 1, ``1 / n`` is added to it, as a rare large loss may be missing from
    the sample.

    The sampling error is that of Clopper and Pearson (1934) for a number of gains of 0 and 1 whose
    mean has the same variance. It is added to the noise in quadrature.
    """
    most = mean * (1 - mean)
    variance = min(most, max(most - within, 0.0) + 1 / n)
    n *= most / variance if most > 0 else 1.0
    tail = (1 - confidence) / 2
    low = betaincinv(mean * n, (1 - mean) * n + 1, tail) if mean > 0 else 0.0
    high = 1 - betaincinv((1 - mean) * n, mean * n + 1, tail) if mean < 1 else 1.0
    below, above = np.hypot(np.array([low, high]) - mean, np.array(ends) - mean).tolist()
    return max(mean - below, 0.0), min(mean + above, 1.0)


def _with_total(x: Floats, total: int | Floats) -> Floats:
    """Return the nearest numbers, by least squares, whose sum along the last axis is `total`."""
    nearest: Floats = x - (x.sum(axis=-1, keepdims=True) - total) / x.shape[-1]
    return nearest

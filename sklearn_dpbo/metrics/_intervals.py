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

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri

from ..privacy.noisy_counts import NoisyCounts
from ..records.units import Units
from ._queries import Cells, Query, unit_weight

Floats = NDArray[np.float64]
# From rows of counts, and what undefined ratios are (see `_metrics`), to a number for each.
Compute: TypeAlias = Callable[[Floats, float | None], Floats]

_N_DRAWS = 4_000
_SEED_OF_NOISE, _SEED_OF_SAMPLING = 0, 1
# Records that the cells of a table get in addition, together: the population may have some in an
# empty cell.
_PRIOR = 2.0
# Logarithm of the largest number of records that is looked for, and halvings that find it.
_MOST, _N_HALVINGS = 20.0, 40
# A scale of Laplace noise that is always 0.
_NO_NOISE = 1e-3
_TINY = 1e-300  # in the place of no record at all


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
    """Return an interval that contains a number without noise with about this probability.

    `compute` turns rows of counts, which may be negative, into numbers within `bounds`; `sampling`
    is that of `draws`. Above 1, ends move as those of Clopper and Pearson do for as many records as
    give the same ends at 1, if there are bounds: a normal error is too narrow for a ratio.
    """
    if sampling > 1 and np.isfinite(bounds).all():
        settings = (compute, query, noisy, units, confidence, bounds)
        noise, once = (simulated_interval(*settings, each) for each in (0.0, 1.0))
        value = float(np.clip(compute(likely(query, noisy.counts, units), None)[0], *bounds))
        tail = (1 - confidence) / 2
        tails = tail, float(ndtr(sampling * ndtri(tail)))
        ends = []
        for at, to, *apart in zip(bounds, bounds[::-1], noise, once, strict=True):
            share, before, after = ((x - at) / (to - at) for x in (value, *apart))
            alone = share - math.sqrt(max((share - after) ** 2 - (share - before) ** 2, 0.0))
            below = np.hypot(share - moved(share, alone, share, *tails), share - before)
            ends.append(at + (to - at) * max(share - float(below), 0.0))
        return min(ends[0], noise[0]), max(ends[1], noise[1])
    counts = draws(query, noisy, units, sampling)
    low, high = (compute(counts, end) for end in bounds)
    k = max(1, int((1 - confidence) / 2 * (len(low) + 1)))
    a = float(np.clip(np.partition(low, k - 1)[k - 1], *bounds))
    b = float(np.clip(np.partition(high, len(high) - k)[len(high) - k], *bounds))
    return min(a, b), max(a, b)


def moved(share: Any, end: Any, start: Any, tail: float, new_tail: float) -> Floats:
    """Return the lower end below `start` that misses with another probability.

    `end` misses the share, in [0, 1], with the first probability. Both ends are those of Clopper
    and Pearson (1934), for as many records as put the first one there; where no number of records
    does, a normal error.
    """
    share, end, start = np.broadcast_arrays(*(np.clip(x, 0.0, 1.0) for x in (share, end, start)))

    def low(k: Floats, log_n: Floats, outside: float) -> Floats:
        n = np.exp(log_n)
        found = betaincinv(np.maximum(k * n, _TINY), (1 - k) * n + 1, outside)
        return np.where(k > 0, found, 0.0)

    few, many = np.zeros(share.shape), np.full(share.shape, _MOST)
    exists = (low(share, few, tail) < end) & (end < low(share, many, tail))
    for _ in range(_N_HALVINGS):
        middle = (few + many) / 2
        too_few = low(share, middle, tail) < end
        few, many = np.where(too_few, middle, few), np.where(too_few, many, middle)
    normal = np.maximum(start - (share - end) * ndtri(new_tail) / ndtri(tail), 0.0)
    return np.where(exists, low(start, few, new_tail), normal)


def without_noise(noisy: NoisyCounts) -> NoisyCounts:
    """Return the counts as if they had been released without noise."""
    return replace(noisy, scale=_NO_NOISE, gaussian=False)


@lru_cache(maxsize=4)  # all numbers of an evaluation follow from the same draws
def draws(query: Query, noisy: NoisyCounts, units: Units, sampling: float = 0.0) -> Floats:
    """Return what the counts may have been, shape (n_draws, n_counts): not all are possible.

    The sampling error counts this many times: 0 for the counts of these records, 1 for what the
    population's would be in as many records. A larger number allows for sums over tables of the
    same records, whose errors are drawn independently here.
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
    """Return simulated noise, which depends on public numbers alone."""
    return noisy.noise(n, np.random.default_rng(_SEED_OF_NOISE), terms).astype(float)


def _sampling_error(query: Query, noisy: Floats, units: Units) -> Floats:
    """Return draws of the population's counts less those of the records.

    The records of a group are in several cells: their counts vary less than those of whole units.
    The number of records of a subgroup is taken as given.
    """
    rng = np.random.default_rng(_SEED_OF_SAMPLING)
    errors = []
    if (deviations := query.sampling_deviations(noisy, units)) is not None:
        return rng.standard_normal((_N_DRAWS, 1)) * deviations
    for counts in cast(Cells, query).by_table(query.adjusted(noisy, units, nearest_counts)):
        shape = counts / unit_weight(units) + _PRIOR / counts.size
        gamma = rng.standard_gamma(shape, (_N_DRAWS, counts.size))
        errors.append(counts.sum() * gamma / gamma.sum(axis=1, keepdims=True) - counts)
    return np.concatenate(errors, axis=1)


def likely(query: Query, counts: Any, units: Units) -> Floats:
    """Return possible counts near noisy ones, in one row: no number of records is negative."""
    possible = np.array([query.within_range(counts, units)], dtype=float)
    return query.adjusted(query.summed(possible), units, nearest_counts)


def nearest_counts(noisy: Any, total: int | Floats) -> Floats:
    """Return the counts (along the last axis) nearest to these: none negative, with this sum."""
    x, total = np.asarray(noisy, dtype=float), np.maximum(total, 0)
    largest = -np.sort(-x, axis=-1)
    # With t_k taken off, the k largest add up to the total; with the right k they stay positive.
    t = (np.cumsum(largest, axis=-1) - total) / np.arange(1, x.shape[-1] + 1)
    k = (largest >= t).sum(axis=-1, keepdims=True)
    nearest: Floats = np.maximum(x - np.take_along_axis(t, k - 1, axis=-1), 0.0)
    return nearest


def sampled_mean(
    mean: float, within: float, ends: tuple[float, float], n: float, confidence: float
) -> tuple[float, float]:
    """Return where the population's mean of gains in [0, 1] lies: with noise alone, in `ends`.

    The variance of a gain g is ``mean (1 - mean) - E g (1 - g)``, with at least `within` for the
    mean E over n units. The interval of Clopper and Pearson (1934), for as many gains of 0 and 1 as
    would be as precise, joins the noise in quadrature. For gains of 0 and 1 these are n; else ``1 /
    n`` is added to the variance, as a large loss may not have shown yet.
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
    """Return the nearest numbers (in the sense of least squares) that have this sum."""
    found: Floats = x - (x.sum(axis=-1, keepdims=True) - total) / x.shape[-1]
    return found

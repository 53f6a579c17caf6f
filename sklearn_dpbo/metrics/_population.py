"""Intervals for the population's score of a candidate that was chosen (zone: released).

The best of T candidates was chosen on the records that score it, so it was partly lucky there. The
lower end misses the population's score only if one of two things happens: the noise of the release,
which is independent of the choice, exceeds a quantile (probability alpha / 4), or the sampling
error of any of the candidates exceeds one (alpha / (4 T) each). Together that has probability
alpha / 2 at most. For accuracy this is a theorem; see the documentation, "How metrics are made
private". Adding the two errors in quadrature would give too short an interval, because the best
candidate almost certainly has a large sampling error. The upper end needs no correction: luck
raises the score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..privacy.float_errors import ignore_float_errors
from ..privacy.noisy_counts import NoisyCounts
from ..records.units import Units
from ._intervals import moved
from ._scorers import CONFIDENCE, PrivateScorer, Score, score_and_interval
from ._unknown import settled

# Share of alpha for the noise.
_NOISE_SHARE = 0.5
# Stands for an unknown interval.
NOT_KNOWN = math.nan, math.nan


def after_choice(
    value: Any,
    noise: Callable[[float], Any],
    sampled: Callable[[float], Any],
    bounds: tuple[float, float],
    confidence: float,
    n_compared: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an interval for the population's score of the best of `n_compared` candidates.

    ``noise(confidence)`` returns an interval for the score of the records. ``sampled(k)`` returns
    an interval for the population at `confidence`, for counts without noise, no choice, and k times
    the sampling error. `value` and the ends may be arrays.
    """
    outside = (1 - confidence) / 2
    by_noise = _NOISE_SHARE * outside
    tail = (outside - by_noise) / n_compared
    ends = []
    intervals = noise(1 - 2 * by_noise), sampled(1.0), sampled(0.0)
    for nearer, farther, begin, once, centre in zip(bounds, bounds[::-1], *intervals, strict=True):
        # `once` is about `centre`, the score of noisy counts, which may be impossible ones.
        alone = value + (once - centre)
        if np.isfinite(bounds).all():
            width = farther - nearer
            share, alone, begin = ((x - nearer) / width for x in (value, alone, begin))
            end = nearer + width * moved(share, alone, begin, outside, tail)
        else:  # the error is taken as normal
            end = begin + (alone - value) * ndtri(tail) / ndtri(outside)
        ends.append(np.clip(np.where(np.isnan(end), nearer, end), *bounds))
    return ends[0], ends[1]


@ignore_float_errors()
def score_after_choice(
    scorer: PrivateScorer,
    units: Units,
    noisy: NoisyCounts,
    confidence: float,
    n_compared: float,
) -> Score:
    """Return the score of released counts, and an interval for the population's (`after_choice`).

    Both ends are corrected for the choice. If there was none, noise and sampling error are added in
    quadrature.
    """
    if n_compared <= 1:
        return score_and_interval(scorer, units, noisy, confidence, 1.0)
    counts, noisy = settled(scorer.counts, noisy)
    scorer = replace(scorer, counts=counts)
    value = scorer.value(noisy.counts, units)
    low, high = after_choice(
        value,
        lambda noise_confidence: scorer.interval(noisy, units, noise_confidence),
        lambda sampling: scorer.sampled(noisy, units, confidence, sampling),
        scorer.bounds,
        confidence,
        n_compared,
    )
    return value, (min(float(low), value), max(float(high), value))


def population_interval(
    scorer: PrivateScorer,
    units: Units,
    noisy: NoisyCounts,
    n_compared: float | None,
    selects: bool = True,
) -> tuple[float, float]:
    """Return an interval for the score of the population, whose random sample the records are.

    The candidate is the best of `n_compared`, which did not depend on the records they were
    compared on. If their number is None, return `NOT_KNOWN`. If this score `selects` the candidate,
    luck raised it; otherwise luck may have moved it either way, and both ends are corrected.
    """
    if n_compared is None:
        return NOT_KNOWN
    _, of_records = score_and_interval(scorer, units, noisy)
    _, unchosen = score_after_choice(scorer, units, noisy, CONFIDENCE, 1)
    _, chosen = score_after_choice(scorer, units, noisy, CONFIDENCE, n_compared)
    upper = unchosen[1] if selects else chosen[1]
    return min(of_records[0], chosen[0]), max(of_records[1], upper)

"""Where a score lies in the population, in spite of a choice (zone: released).

The best of T candidates was chosen on the same records, for being lucky on them, among others. So
its lower end is wrong only if the noise of the release, which is fresh, exceeds a quantile
(probability alpha / 4), or the sampling error of some candidate exceeds its own (alpha / (4 T)
each): with alpha / 2 at most. For accuracy this is a theorem; see the documentation, "How metrics
are made private". In quadrature the two would be too small: of the best candidate, the sampling
error is nearly certain. The upper end needs no correction: luck raises it.
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

# The part of alpha that the noise may use.
_NOISE_SHARE = 0.5
# In the place of an interval that nothing is claimed of.
NOT_KNOWN = math.nan, math.nan


def after_choice(
    value: Any,
    noise: Callable[[float], Any],
    sampled: Callable[[float], Any],
    bounds: tuple[float, float],
    confidence: float,
    n_compared: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends of an interval for the population, of the best of so many candidates.

    `noise` returns an interval for the records, of a given confidence. `sampled` returns one of
    this confidence if there were no noise, without a choice, with the sampling error so many times.
    Each may be of several numbers.
    """
    outside = (1 - confidence) / 2
    by_noise = _NOISE_SHARE * outside
    tail = (outside - by_noise) / n_compared
    ends = []
    parts = noise(1 - 2 * by_noise), sampled(1.0), sampled(0.0)
    for at, to, begin, once, centre in zip(bounds, bounds[::-1], *parts, strict=True):
        # Simulated counts lie about noisy ones, which may be impossible; the value is of others.
        alone = value + (once - centre)
        if np.isfinite(bounds).all():
            share, alone, begin = ((x - at) / (to - at) for x in (value, alone, begin))
            end = at + (to - at) * moved(share, alone, begin, outside, tail)
        else:  # as of a normal error
            end = begin + (alone - value) * ndtri(tail) / ndtri(outside)
        ends.append(np.clip(np.where(np.isnan(end), at, end), *bounds))
    return ends[0], ends[1]


@ignore_float_errors()
def score_after_choice(
    scorer: PrivateScorer,
    units: Units,
    noisy: NoisyCounts,
    confidence: float,
    n_compared: float,
) -> Score:
    """Return the score of released counts, and where that of the population lies (`after_choice`).

    Luck may have moved it either way. Without a choice, noise and sampling error join in
    quadrature.
    """
    if n_compared <= 1:
        return score_and_interval(scorer, units, noisy, confidence, 1.0)
    counts, noisy = settled(scorer.counts, noisy)
    scorer = replace(scorer, counts=counts)
    value = scorer.value(noisy.counts, units)
    low, high = after_choice(
        value,
        lambda within: scorer.interval(noisy, units, within),
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
    """Return where the score of the population lies, which the records are a random sample of.

    `n_compared` candidates, which did not depend on the records, were compared on them, and this
    is the best one. `NOT_KNOWN` if their number is not. If other scores than this one `selects`,
    luck may have moved it either way.
    """
    if n_compared is None:
        return NOT_KNOWN
    records, once, chosen = (
        score_and_interval(scorer, units, noisy)[1],
        *(score_after_choice(scorer, units, noisy, CONFIDENCE, n)[1] for n in (1, n_compared)),
    )
    return min(records[0], chosen[0]), max(records[1], (once if selects else chosen)[1])

"""Counts of records whose label is not one of the classes (zone: released).

Each table of labels has cells for such records, see `Cells`. If noise alone may explain their sum,
the cells are left out of scores. So if all labels are known, nine of ten scores have no more noise
than without these cells. All of this is computed from released counts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaincinv, ndtr, ndtri

from ..privacy.noisy_counts import NoisyCounts, noise_std
from ..records.units import Units
from ._queries import Query

Q = TypeVar("Q", bound=Query)
# Probability that noise alone makes scores count unknown labels, and makes a hint name them.
_COUNTED = 0.1
_SAID = 1e-3
# Largest number of classes that a hint names.
_MOST_NAMED = 9
# Quantiles of the gamma distribution that stand for it.
_N_PARTS = 20_000


def settled(query: Q, noisy: NoisyCounts) -> tuple[Q, NoisyCounts]:
    """Leave the counts of unknown labels out of query and counts, unless they exceed the noise."""
    if not len(query.unknown_counts(noisy.counts)) or _exceeds_noise(query, noisy, _COUNTED):
        return query, noisy
    without, counts = query.without_unknown(noisy.counts)
    return without, replace(noisy, counts=tuple(counts.tolist()))


def unknown_hint(query: Query, noisy: NoisyCounts, units: Units) -> str:
    """Return a sentence on the number of unknown labels; empty if noise alone may explain it."""
    counts = query.unknown_counts(noisy.counts)
    if not len(counts) or not _exceeds_noise(query, noisy, _SAID):
        return ""
    per_record = query.per_unknown(units)
    deviation = noise_std(noisy.scale, noisy.gaussian) * math.sqrt(len(counts)) / per_record
    digits = max(0, math.floor(math.log10(max(3 * deviation, 1.0))))
    n_unknown = min(round(float(counts.sum()) / per_record, -digits), units.m)
    who = "groups (by weight)" if units.grouped else "records"
    return (
        f"About {n_unknown:,.0f} of {units.m:,} {who} have labels that the training set does not "
        f"have, or none: its classes are {named(cast(Any, query).classes)}"
    )


def named(classes: NDArray[Any]) -> str:
    """List the (first) classes in words."""
    labels = classes.tolist()
    more = ", ..." if len(labels) > _MOST_NAMED else ""
    return ", ".join(map(repr, labels[:_MOST_NAMED])) + more


def _exceeds_noise(query: Query, noisy: NoisyCounts, probability: float) -> bool:
    """Return True if noise alone explains the sum of counts with at most this probability."""
    counts = query.unknown_counts(noisy.counts)
    return bool(counts.sum() > noisy.scale * _quantile(len(counts), probability, noisy.gaussian))


@lru_cache(maxsize=64)
def _quantile(n: int, probability: float, gaussian: bool) -> float:
    """Upper quantile of the sum of n noisy zeros, for noise of scale 1.

    The sum of n Laplace variables is normal with variance 2 G, where G has the gamma distribution
    with shape n.
    """
    if gaussian:
        return float(-ndtri(probability) * math.sqrt(n))
    deviations = np.sqrt(2 * gammaincinv(n, (np.arange(_N_PARTS) + 0.5) / _N_PARTS))
    most = 20.0 * math.sqrt(n)
    return float(brentq(lambda t: ndtr(-t / deviations).mean() - probability, 0.0, most))

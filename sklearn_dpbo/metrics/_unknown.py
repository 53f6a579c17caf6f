"""How many records have labels that are none of the classes, by released tables (zone: released).

Each table of labels has cells for them, see `Cells`. Where noise may make their sum as large, they
are left out, and all labels count as known: so where they are, nine of ten scores have no more
noise than without these cells. This and the number in words are computed from released counts
alone.
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
# Probability that noise alone makes scores count unknown labels, and that it is said that there are
# some; classes that are named at most.
_COUNTED, _SAID, _MOST_NAMED = 0.1, 1e-3, 9
_N_PARTS = 20_000


def settled(query: Q, noisy: NoisyCounts) -> tuple[Q, NoisyCounts]:
    """Return what scores are computed from: unknown labels only if they exceed the noise."""
    if not len(query.unknown_counts(noisy.counts)) or _exceeds_noise(query, noisy, _COUNTED):
        return query, noisy
    without, counts = query.without_unknown(noisy.counts)
    return without, replace(noisy, counts=tuple(counts.tolist()))


def unknown_hint(query: Query, noisy: NoisyCounts, units: Units) -> str:
    """Say how many records have unknown labels; an empty text if noise alone may show as many."""
    counts, step = query.unknown_counts(noisy.counts), query.per_unknown(units)
    if not len(counts) or not _exceeds_noise(query, noisy, _SAID):
        return ""
    deviation = noise_std(noisy.scale, noisy.gaussian) * math.sqrt(len(counts)) / step
    digits = max(0, math.floor(math.log10(max(3 * deviation, 1.0))))
    found = min(round(float(counts.sum()) / step, -digits), units.m)
    who = "groups (by weight)" if units.grouped else "records"
    return (
        f"About {found:,.0f} of {units.m:,} {who} have labels that the training set does not have, "
        f"or none: its classes are {named(cast(Any, query).classes)}"
    )


def named(classes: NDArray[Any]) -> str:
    """Return the (first) classes in words."""
    labels = classes.tolist()
    return ", ".join(map(repr, labels[:_MOST_NAMED])) + ", ..." * (len(labels) > _MOST_NAMED)


def _exceeds_noise(query: Query, noisy: NoisyCounts, probability: float) -> bool:
    """Whether noise alone makes the sum of counts as large with at most this probability."""
    counts = query.unknown_counts(noisy.counts)
    return bool(counts.sum() > noisy.scale * _quantile(len(counts), probability, noisy.gaussian))


@lru_cache(maxsize=64)
def _quantile(n: int, probability: float, gaussian: bool) -> float:
    """Return what the sum of n noisy zeros exceeds with this probability, at scale 1.

    The sum of n Laplace numbers is normal with variance 2 G, for G of the gamma distribution with
    shape n.
    """
    if gaussian:
        return float(-ndtri(probability) * math.sqrt(n))
    deviations = np.sqrt(2 * gammaincinv(n, (np.arange(_N_PARTS) + 0.5) / _N_PARTS))
    most = 20.0 * math.sqrt(n)
    return float(brentq(lambda t: ndtr(-t / deviations).mean() - probability, 0.0, most))

"""Centre and width of columns, from noisy counts of their values (zone: boundary).

Columns are counted in cells between powers of two, so that their units need not be known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["Scaling", "cell_counts", "sensitivity_of_counts", "shares_of_cells"]

Floats = NDArray[np.float64]

# Cells end at powers of two from 2^-10 to 2^30, of either sign. What is smaller is in the cell of
# 0, and what is larger in the last ones.
_POWERS = 2.0 ** np.arange(-10, 31)
_EDGES = np.concatenate([-_POWERS[::-1], _POWERS])
_LOW = np.concatenate([_EDGES[:1], _EDGES])
_HIGH = np.concatenate([_EDGES, _EDGES[-1:]])
_MIDDLE = (_LOW + _HIGH) / 2
_ZERO = len(_POWERS)
# What a unit counts for, in steps: its rows share them.
_STEPS = 2**20
# Probability with which noise alone makes a cell of a table count as one that has values.
_BY_CHANCE = 0.01
# Rows are shrunk to this many times the root mean square of their norms.
_MARGIN = 1.25


def cell_counts(X: Floats, unit: NDArray[np.intp] | None) -> NDArray[np.int64]:
    """Return the units of each column (a row) in each cell, in steps; none for what is missing."""
    share = np.full(len(X), _STEPS) if unit is None else _STEPS // np.bincount(unit)[unit]
    counts = np.zeros((X.shape[1], len(_MIDDLE)), dtype=np.int64)
    for row, x in zip(counts, X.T, strict=True):
        known = ~np.isnan(x)
        np.add.at(row, np.searchsorted(_EDGES, x[known], side="right"), share[known])
    return counts


def sensitivity_of_counts(d: int) -> float:
    """Return how far replacing a unit moves the counts of d columns, in the Euclidean norm.

    Of each column a unit has at most `_STEPS` in all, so a norm of at most that, before and after.
    """
    return _STEPS * math.sqrt(2 * d) * (1 + 1e-12)


@dataclass(frozen=True, eq=False)
class Scaling:
    """How rows become rows of norm at most 1: `PrivateLogisticRegression` has the attributes."""

    center: Floats
    scale: Floats
    max_norm: float = 1.0

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Self:
        """Return the scaling to [-1, 1]; what lies between 0 and 1 stays."""
        is_share = (low == 0) & (high == 1)
        return cls(
            np.where(is_share, 0.0, (low + high) / 2), np.where(is_share, 1.0, (high - low) / 2)
        )

    @classmethod
    def of_counts(cls, shares: Floats) -> Self:
        """Return the scaling from the median to the furthest cell that has values."""
        centers, scales = [], []
        for share in shares:
            total = np.cumsum(share)
            cell = int(np.searchsorted(total, total[-1] / 2))
            within = 1 - (total[cell] - total[-1] / 2) / share[cell]
            center = _LOW[cell] + within * (_HIGH[cell] - _LOW[cell]) if cell != _ZERO else 0.0
            furthest = np.abs(_MIDDLE[np.flatnonzero(share)] - center).max()
            centers.append(center)
            scales.append(furthest or 1.0)
        return cls(np.array(centers), np.array(scales))

    def with_norm(self, max_norm: float) -> Self:
        return type(self)(self.center, self.scale, max_norm)

    def usual_norm(self, shares: Floats) -> float:
        """Return the root mean square of the norms of scaled rows, from counts; and a margin."""
        scaled = np.clip((_MIDDLE - self.center[:, None]) / self.scale[:, None], -1, 1)
        return _MARGIN * math.sqrt((shares * scaled**2).sum()) or 1.0

    def rows(self, X: Floats) -> Floats:
        """Return scaled rows of norm at most 1; missing numbers count as the centre."""
        with np.errstate(all="ignore"):  # a warning would reveal a record
            scaled = np.clip(np.nan_to_num((X - self.center) / self.scale), -1, 1)
            norms = np.sqrt((scaled**2).sum(axis=1))
            rows: Floats = scaled / np.maximum(norms, self.max_norm)[:, None]
        return rows


def shares_of_cells(noisy: NDArray[np.int64], std: float) -> Floats:
    """Return which share of each column's values lies in each cell, from noisy counts.

    Cells with no more than noise are left out; if nothing is left, the fullest stays.
    """
    counts = np.where(noisy > std * -ndtri(_BY_CHANCE / noisy.size), noisy, 0.0)
    empty = ~counts.any(axis=1)
    counts[empty, noisy[empty].argmax(axis=1)] = 1.0
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return shares

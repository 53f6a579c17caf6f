"""Scores of regressors that are no means of gains (zone: sensitive).

R2 and explained variance divide by the variance of the labels, which is the same for all candidates:
the choice is by the clipped squared error. Sums of labels and errors are released, and divided.

The median absolute error of one candidate is below t if half of the errors are. The choice is by how
many errors are below a public t, the median that a good candidate has on public records; a histogram
of errors is released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense
from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from . import _gains as gains
from ._intervals import simulated_interval
from ._mean_gain import MeanGain
from ._statistics import Predictions, Statistics, unit_weight, weights

__all__ = ["ErrorHistogram", "MedianError", "RegressionSums", "RootMeanError", "VarianceExplained"]

# Steps in which squares of errors and labels are summed, each at most 1.
_GRID = 2**20
# Steps of the labels and errors themselves: their sums matter less, and get a smaller part.
_MEAN_GRID = _GRID // 4
# Bins of absolute errors, and how far they reach from the public median, as a factor.
_N_BINS, _REACH = 48, 8.0


@dataclass(frozen=True)
class RegressionSums(Statistics):
    """Sums of squared errors, of labels and their squares, and of errors; all of them clipped.

    With e = (y - prediction) / c and t = (y - centre) / c, clipped to [-1, 1], the sums over units
    of e^2 and t^2 in steps of 1 / 2^20, and of t and e in steps of 1 / 2^18.

    Parameters
    ----------
    centre, c : float
        Public.
    """

    centre: float
    c: float

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        y = np.asarray(y, dtype=float)
        with np.errstate(over="ignore", invalid="ignore"):
            e, t = (y - response) / self.c, (y - self.centre) / self.c
        e, t = np.where(np.isnan(e), 1.0, e), np.where(np.isnan(t), 0.0, t)
        return self._steps(np.clip(e, -1, 1), np.clip(t, -1, 1))

    @staticmethod
    def _steps(e: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.int64]:
        columns = [_GRID * e**2, _GRID * t**2, _MEAN_GRID * t, _MEAN_GRID * e]
        return np.rint(np.stack(columns, axis=1)).astype(np.int64)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        """A record that cannot be predicted has the largest error."""
        return self.record_values(y, np.full(n, np.nan), None)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return tuple(int(units.mean(column).sum()) for column in values.T)

    def sensitivity(self, units: Units) -> int:
        """Squares lie in [0, 1], the other two in [-1, 1]."""
        return 2 * _GRID + 4 * _MEAN_GRID

    def means(self, counts: NDArray[Any], units: Units) -> NDArray[np.float64]:
        """Return the means of e^2, t^2, t and e, shape (n, 4), of counts of shape (n, 4)."""
        steps = np.array([_GRID, _GRID, _MEAN_GRID, _MEAN_GRID])
        found: NDArray[np.float64] = counts / steps / units.m
        return found

"""What is counted of a regressor's errors (zone: sensitive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.units import Units
from ..scoring._statistics import CellCounts, Statistics, numbers

__all__ = ["ErrorSums", "ResidualHistogram"]

Floats = NDArray[np.float64]

# Steps of squares, of absolute errors, and of labels and errors themselves: what matters less for
# the numbers computed from them gets a smaller part of the noise's scale.
_GRID = 2**20
_STEPS = (_GRID, _GRID, _GRID // 2, _GRID // 4, _GRID // 4)
# The largest error that counts, as a multiple of the quantile of absolute errors of public records;
# and the largest deviation of a label, in standard deviations.
_QUANTILE, _REACH, _LABEL_REACH = 0.95, 2.0, 4.0


@dataclass(frozen=True)
class ErrorSums(Statistics):
    """Sums of squares and absolute values of errors, and of labels; all of them clipped.

    With e = (y - prediction) / c_e and t = (y - centre) / c_y, clipped to [-1, 1], the sums over
    units of e^2 and t^2 (in steps of 1 / 2^20), |e| (1 / 2^19), t and e (1 / 2^18).

    Parameters
    ----------
    centre, c_y, c_e : float
        Public.
    """

    centre: float
    c_y: float
    c_e: float
    response_method = ("predict",)
    what = "sums of errors and labels"

    @classmethod
    def at(cls, y: Floats, response: Floats, largest_error: float | None) -> ErrorSums:
        """Choose the constants by public records."""
        centre, errors = float(np.mean(y)), np.abs(y - response)
        c_y = min(_LABEL_REACH * float(np.std(y)), float(np.abs(y - centre).max()))
        c_e = _REACH * float(np.quantile(errors[np.isfinite(errors)], _QUANTILE))
        if largest_error is not None:
            c_e = float(largest_error)
        return cls(centre, c_y if c_y > 0 else 1.0, c_e if c_e > 0 else 1.0)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """A row (e^2, t^2, |e|, t, e) in steps; a number that is none has the largest error."""
        y = numbers(y)
        with np.errstate(over="ignore", invalid="ignore"):
            e, t = (y - response) / self.c_e, (y - self.centre) / self.c_y
        e = np.clip(np.where(np.isnan(e), 1.0, e), -1, 1)
        t = np.clip(np.where(np.isnan(t), 0.0, t), -1, 1)
        columns = np.stack([e**2, t**2, np.abs(e), t, e], axis=1)
        return np.rint(columns * _STEPS).astype(np.int64)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        """A record that cannot be predicted has the largest error."""
        return self.record_values(y, np.full(n, np.nan), None)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return tuple(int(units.mean(column).sum()) for column in values.T)

    def sensitivity(self, units: Units) -> int:
        """e^2, t^2 and |e| lie in [0, 1], t and e in [-1, 1], in steps: 3.5 of the fine grid."""
        return sum(_STEPS[:3]) + 2 * sum(_STEPS[3:])

    def means(self, counts: NDArray[Any], m: int) -> tuple[Floats, ...]:
        """Return the means of e^2, t^2, |e|, t and e, from counts of shape (n, 5)."""
        e2, t2, absolute, t, e = (np.asarray(counts) / _STEPS / m).T
        return e2, t2, absolute, t, e


@dataclass(frozen=True)
class ResidualHistogram(CellCounts):
    """How many records there are in each bin of label minus prediction.

    Parameters
    ----------
    edges : tuple of float
        Where bins part, ascending; a bin includes its lower edge. Public.
    """

    edges: tuple[float, ...]
    response_method = ("predict",)
    what = "histogram of residuals"

    @classmethod
    def at(cls, residuals: Floats, n: int, largest: float) -> ResidualHistogram:
        """Place about n bins: half of them by quantiles, half evenly within the largest error.

        Quantiles that lie close to the other edges are left out.
        """
        residuals = residuals[np.isfinite(residuals) & (np.abs(residuals) < largest)]
        evenly = np.linspace(-largest, largest, n - n // 2)
        if not len(residuals):
            return cls(tuple(evenly.tolist()))
        quantiles = np.quantile(residuals, np.arange(1, n // 2) / (n // 2))
        gap = np.abs(quantiles[:, None] - evenly).min(axis=1)
        far = quantiles[gap > (evenly[1] - evenly[0]) / 4]
        return cls(tuple(np.unique([*evenly, *far]).tolist()))

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """The bin; the last one for a number that is none."""
        with np.errstate(over="ignore", invalid="ignore"):
            residual = numbers(y) - response
        place: NDArray[np.intp] = np.searchsorted(self.edges, residual, side="right")
        return place  # NaN is placed last

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        """A record that cannot be predicted has the largest error."""
        return np.full(n, len(self.edges))

    @property
    def n_cells(self) -> int:
        return len(self.edges) + 1

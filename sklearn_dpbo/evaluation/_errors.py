"""Counts of a regressor's errors (zone: sensitive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scoring._error_sums import ErrorSums
from ..scoring._statistics import CellCounts, numbers

__all__ = ["ResidualHistogram", "error_sums"]

Floats = NDArray[np.float64]

# Steps of squares, of absolute errors, and of labels and errors themselves: what matters less for
# the numbers computed from them gets a smaller part of the noise's scale.
_GRID = 2**20
_STEPS = (_GRID, _GRID, _GRID // 2, _GRID // 4, _GRID // 4)
# The largest error that counts, as a multiple of the quantile of absolute errors of public records;
# and the largest deviation of a label, in standard deviations.
_QUANTILE, _REACH, _LABEL_REACH = 0.95, 2.0, 4.0


def error_sums(y: Floats, response: Floats, largest_error: float | None) -> ErrorSums:
    """Choose the constants of sums by public records."""
    centre, errors = float(np.mean(y)), np.abs(y - response)
    c_y = min(_LABEL_REACH * float(np.std(y)), float(np.abs(y - centre).max()))
    c_e = _REACH * float(np.quantile(errors[np.isfinite(errors)], _QUANTILE))
    if largest_error is not None:
        c_e = float(largest_error)
    return ErrorSums(centre, c_y if c_y > 0 else 1.0, c_e if c_e > 0 else 1.0, _STEPS)


@dataclass(frozen=True, eq=False)
class ResidualHistogram(CellCounts):
    """Numbers of records in each bin of label minus prediction.

    Parameters
    ----------
    edges : tuple of float
        Public edges of the bins, ascending; a bin includes its lower edge.
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
        """Return the bin; the last one for NaN."""
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

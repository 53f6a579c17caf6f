"""Sums of a regressor's errors and of labels, of known sensitivity (zone: sensitive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data.units import Units
from ._statistics import Statistics, numbers

__all__ = ["ErrorSums"]


@dataclass(frozen=True, eq=False)
class ErrorSums(Statistics):
    """Sums of squares and absolute values of errors, of labels and their squares; all clipped.

    With e = (y - prediction) / c_e and t = (y - centre) / c_y, clipped to [-1, 1]: the sums over
    units of e^2, t^2, |e|, t and e, each in steps of its own.

    Parameters
    ----------
    centre, c_y, c_e : float
        Public.
    steps : tuple of int
        Steps of each sum; 0 for one that is left out. All sums get the same noise, so that these
        say how epsilon is shared.
    """

    centre: float
    c_y: float
    c_e: float
    steps: tuple[int, int, int, int, int]
    response_method = ("predict",)
    what = "sums of errors and labels"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """A row (e^2, t^2, |e|, t, e) in steps; a number that is none has the largest error."""
        y = numbers(y)
        with np.errstate(all="ignore"):
            e, t = (y - response) / self.c_e, (y - self.centre) / self.c_y
        e = np.clip(np.where(np.isnan(e), 1.0, e), -1, 1)
        t = np.clip(np.where(np.isnan(t), 0.0, t), -1, 1)
        columns = self._counted(np.stack([e**2, t**2, np.abs(e), t, e], axis=1))
        found: NDArray[np.float64] = np.rint(columns * self._counted(self.steps))
        return found.astype(np.int64)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        """A record that cannot be predicted has the largest error."""
        return self.record_values(y, np.full(n, np.nan), None)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return tuple(int(units.mean(column).sum()) for column in values.T)

    def sensitivity(self, units: Units) -> int:
        """e^2, t^2 and |e| lie in [0, 1], t and e in [-1, 1], in steps."""
        return sum(self.steps[:3]) + 2 * sum(self.steps[3:])

    def means(self, counts: ArrayLike, m: int) -> NDArray[np.float64]:
        """Return the means of what is summed, shape (n_sums, ...), of counts (..., n_sums)."""
        means: NDArray[np.float64] = np.asarray(counts) / self._counted(self.steps) / m
        return np.moveaxis(means, -1, 0)

    def _counted(self, columns: ArrayLike) -> NDArray[Any]:
        """Leave out the sums that are."""
        found: NDArray[Any] = np.asarray(columns)[..., np.array(self.steps) > 0]
        return found

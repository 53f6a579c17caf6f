"""Queries of a regressor's errors: sums of clipped errors, and a histogram (zone: sensitive).

The proofs of their sensitivities are in the documentation, "The guarantee".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..records.units import Units
from ._queries import Cells, Query, numbers, require_finite

Floats = NDArray[np.float64]
# Number of intervals of [0, 1] whose ends the tangents of a concave function touch.
_TANGENTS = 2**8


@dataclass(frozen=True, eq=False)
class Moments(Query):
    """Sums of clipped errors, labels and their squares.

    Let e = (y - prediction) / c_e and t = (y - centre) / c_y, clipped to [-1, 1]. There is a sum
    over units for each number in `steps`, of the first of: e^2, t^2, t, e, |e|, e^2 (1 - e^2),
    t^2 (1 - t^2). Each is in steps of 1 / its number. As all sums get the same noise, `steps` also
    shares epsilon among them. The last two sums give the variances of e^2 and t^2; they must not
    have more steps than the sums of e^2 and t^2.
    """

    centre: float
    c_y: float
    c_e: float
    steps: tuple[int, ...]
    what = "sums of errors and labels"
    weight = 2

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """Return a row (e^2, t^2, t, e, |e|, ...) in steps; NaN counts as the largest error."""
        error, deviation = self.clipped(y, response)
        e = error / self.c_e
        t = deviation / self.c_y
        columns = [e**2, t**2, t, e, np.abs(e), e**2 * (1 - e**2), t**2 * (1 - t**2)]
        rows: Floats = np.rint(np.stack(columns[: len(self.steps)], axis=1) * self.steps)
        return rows.astype(np.int64)

    def clipped(self, y: Any, response: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return errors and labels less the centre, shape (n,), clipped at c_e and c_y."""
        y = numbers(y)
        error = y - response
        deviation = y - self.centre
        error = np.where(np.isnan(error), self.c_e, error)
        deviation = np.where(np.isnan(deviation), 0.0, deviation)
        return error.clip(-self.c_e, self.c_e), deviation.clip(-self.c_y, self.c_y)

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        within = np.abs(numbers(y) - response) <= self.c_e
        return float(np.mean(~within))

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        """Return the largest error for each record that cannot be predicted."""
        return self.record_values(y, np.full(n, np.nan), None)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return tuple(int(units.mean(column).sum()) for column in values.T)

    def sensitivity(self, units: Units) -> int:
        """Bound the change of all sums together, with rounding (see the proofs).

        Let s1, ..., s7 be the steps. In the worst case e changes from -a to 1 and t from -b to 1,
        which moves the sums by s1 (1 - a^2) + s6 (a^2 - a^4) + s4 (1 + a) + s5 (1 - a), and
        s2 (1 - b^2) + s7 (b^2 - b^4) + s3 (1 + b). Rounding changes each sum by at most 2.
        """
        require_finite(self.centre, self.c_y, self.c_e)
        s1, s2, s3, s4, s5, s6, s7 = (*self.steps, 0, 0, 0)[:7]
        opposite = _opposite(s4 - s5, s1, s6) + _opposite(s3, s2, s7)
        return s1 + s2 + s3 + s4 + s5 + opposite + 2 * len(self.steps)

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        most = np.array(self.steps) * units.m
        signed = np.isin(np.arange(len(most)), (2, 3))
        return np.clip(counts, -most * signed, most)

    def means(self, counts: ArrayLike, m: int) -> Floats:
        """Divide sums by steps and units: means of e^2, t^2, t, e, ..., shape (n_sums, ...)."""
        return np.moveaxis(np.asarray(counts) / np.array(self.steps) / m, -1, 0)

    def sampling_deviations(self, counts: Floats, units: Units) -> Floats:
        """Return the standard deviation of each sum between random samples of units, with a sign.

        The deviations of e^2 and t^2 follow from the sums of e^2 (1 - e^2) and t^2 (1 - t^2), or
        are bounds if these are not counted. For groups they are bounds, too. The correlations of
        the sums are unknown. The signs are those of the worst case: squared errors grow as the
        variance of the labels falls, so no correlation moves their ratio further.
        """
        ee, tt, t, e, a, h_e, h_t = (*self.means(counts, units.m), 0.0, 0.0, 0.0)[:7]
        variances = [ee * (1 - ee) - h_e, tt * (1 - tt) - h_t, tt - t**2, ee - e**2, ee - a**2]
        deviations = np.sqrt(np.maximum([*variances, 0.0, 0.0], 0.0) * units.m)
        signs = np.array([1.0, -1.0, np.sign(t), -np.sign(e), 1.0, 0.0, 0.0])
        in_steps: Floats = (signs * deviations)[: len(self.steps)] * self.steps
        return in_steps


@cache
def _opposite(signed: int, squares: int, fourth: int) -> int:
    """Bound ``signed a - (squares - fourth) a^2 - fourth a^4`` for a in [0, 1], in exact fractions.

    A change of sign adds this to a sensitivity. The function is concave, so it lies below each of
    its tangents.
    """
    highest = []
    for a in (Fraction(k, _TANGENTS) for k in range(_TANGENTS + 1)):
        value = signed * a - (squares - fourth) * a**2 - fourth * a**4
        slope = signed - 2 * (squares - fourth) * a - 4 * fourth * a**3
        highest.append(value + max(slope * (1 - a), -slope * a))
    return math.ceil(min(highest))


@dataclass(frozen=True, eq=False)
class ErrorHistogram(Cells):
    """Histogram of absolute errors; a bin includes its upper edge.

    `edges` ascend. The last cell has the errors above the last edge, and NaN.
    """

    edges: tuple[float, ...]
    what = "histogram of errors"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        return np.asarray(np.searchsorted(self.edges, np.abs(numbers(y) - response)))

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        """Return the largest error for each record that cannot be predicted."""
        return self.record_values(y, np.full(n, np.nan), None)

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return (len(self.edges) + 1,)

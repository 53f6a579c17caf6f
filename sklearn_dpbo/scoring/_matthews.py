"""The Matthews correlation of two classes, chosen by itself, not by its gradient (zone: sensitive).

Class weights change by factors how many records are predicted positive, and the tangent at one
public confusion matrix misjudges candidates that are far from it. So let t records of the second
class be predicted rightly, and u of the first. With the classes' shares P and 1 - P of the
*training* labels, these two counts give the correlation, and a table of it that is public gives the
statistic. In this table either count makes the value rise by between 0 and D, read off the table
itself; so a unit that is replaced moves it by D at most, whatever the table approximates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense
from .._data.units import Units
from ._confusion import ConfusionScorer
from ._labels import encode
from ._statistics import Predictions, total_weight, unit_weight, weights

__all__ = ["MatthewsScorer", "RisingTable", "correlation"]

# Steps of the table along each axis, and of its values for a record's share of the total.
_NODES = 64
_FINE = 2**10
# The table is the correlation above this share of that of a public candidate; and where classes are
# predicted at least so often, in shares of how often they occur, and of what this candidate does.
_OF_CORRELATION = 0.8
_OF_CLASS, _OF_RATE = 0.8, 0.5

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RisingTable:
    """A function of two counts that rises with each, by `steepest` at most for every count.

    Parameters
    ----------
    values : ndarray of int64 of shape (n_nodes, n_nodes_of_the_other)
        At the nodes; the lowest is 0, and they ascend along both axes.
    spacing : tuple of int
        How many counts nodes are apart, along each axis.
    lowest : int
        What was taken off the values.
    """

    values: NDArray[np.int64]
    spacing: tuple[int, int]
    lowest: int

    @classmethod
    def of(cls, function: Callable[[Floats, Floats], Floats], ends: tuple[int, int]) -> RisingTable:
        """Tabulate a function of counts from 0 to these ends, at least 1; where it falls, it stays.

        It takes arrays of shape (n, 1) and (1, k), and returns one of shape (n, k).
        """
        spacing = (-(-ends[0] // _NODES), -(-ends[1] // _NODES))
        t, u = (h * np.arange(-(-n // h) + 1.0) for n, h in zip(ends, spacing, strict=True))
        values = np.rint(function(t[:, None], u[None, :])).astype(np.int64)
        values = np.maximum.accumulate(np.maximum.accumulate(values, axis=0), axis=1)
        return cls(values - values[0, 0], spacing, int(values[0, 0]))

    @property
    def steepest(self) -> int:
        """How much more the function may be for one count more."""
        rises = (np.diff(self.values, axis=axis).max() for axis in (0, 1))
        return max(1, *(-(-int(rise) // h) for rise, h in zip(rises, self.spacing, strict=True)))

    @property
    def largest(self) -> int:
        """Bound of the function: what it is at the last nodes, and beyond."""
        return int(self.values[-1, -1]) + self.steepest // 2 * sum(self._beyond)

    def __call__(self, t: int, u: int) -> int:
        """Interpolate exactly, and round down; beyond the last nodes, rise half as steeply."""
        (i, x), (j, y) = self._place(t, 0), self._place(u, 1)
        (a, b), (c, d) = self.values[i : i + 2, j : j + 2].tolist()
        g, h = self.spacing
        total = (g - x) * ((h - y) * a + y * b) + x * ((h - y) * c + y * d)
        ends, most = self._ends, self._beyond
        beyond = sum(min(max(n - ends[k], 0), most[k]) for k, n in enumerate((t, u)))
        return int(total // (g * h) + self.steepest // 2 * beyond)

    def _place(self, count: int, axis: int) -> tuple[int, int]:
        """Return the node below a count, other than the last one, and by how much it is more."""
        h = self.spacing[axis]
        node = min(count // h, self.values.shape[axis] - 2)
        return node, min(count, self._ends[axis]) - node * h

    @property
    def _ends(self) -> tuple[int, int]:
        (n, k), (g, h) = self.values.shape, self.spacing
        return (n - 1) * g, (k - 1) * h

    @property
    def _beyond(self) -> tuple[int, int]:
        """How many counts beyond the last nodes make a difference."""
        n, k = self._ends
        return n // 8, k // 8


def correlation(t: Floats, u: Floats, positive: float, floor: float, least: float) -> Floats:
    """Return the Matthews correlation less a floor, and a lower number where that is negative.

    With P = `positive`, q = t + (1 - P) - u the share predicted positive, and r(q) =
    sqrt(q (1 - q)), the correlation is (t - P q) / (r(P) r(q)). Where q is nearer to 0 or 1 than
    `least`, the tangent of r is taken. Below the floor, the numerator of what is left is divided by
    one number for all q, which is so large that the function is nowhere steeper than above.

    Parameters
    ----------
    t, u : ndarray of float
        Shares of all records: those of the second class that are predicted rightly, and the first.
    positive : float
        Share of the second class.
    floor : float
        In [0, 1).
    least : float
        In (0, 1/2).
    """
    q = t + (1 - positive) - u
    at = np.clip(q, least, 1 - least)
    r = np.sqrt(at * (1 - at))
    above = (t - positive * q) / np.sqrt(positive * (1 - positive))
    above = above - floor * (r + (1 - 2 * at) / (2 * r) * (q - at))
    high, low = np.maximum(above, 0) / r, np.minimum(above, 0)
    found: Floats = high + low * (_steepest(high, t, u) / _steepest(low, t, u))
    return found


def _steepest(values: Floats, t: Floats, u: Floats) -> float:
    rise_t, rise_u = np.diff(values, axis=0) / np.diff(t, axis=0), np.diff(values) / np.diff(u)
    return float(max(rise_t.max(), rise_u.max(), np.finfo(float).eps))


@dataclass(frozen=True, eq=False, repr=False)
class MatthewsScorer(ConfusionScorer):
    """The Matthews correlation of two classes, prepared to select by `correlation`.

    Parameters
    ----------
    prevalence : float, default=0.5
        Share of the second class among the training labels.
    floor : float, default=0.0
        Above which candidates are told apart by their correlation.
    least : float, default=0.25
        Share of records up to which a class is predicted too rarely for that.
    curved : bool, default=False
        Whether it selects by `correlation`; else by its gradient, as other scores.
    """

    prevalence: float = 0.5
    floor: float = 0.0
    least: float = 0.25
    curved: bool = False

    def prepare(self, y_train: Any) -> MatthewsScorer:
        prepared = cast(MatthewsScorer, super().prepare(y_train))
        second = encode(dense(y_train), prepared.classes) == 1
        none = 1 / (2 * len(second))  # of a class: NaN is a label that no record is found to have
        return replace(prepared, prevalence=float(np.clip(np.mean(second), none, 1 - none)))

    def selecting_at(self, public: Predictions, linear: bool = False) -> MatthewsScorer:
        at = cast(MatthewsScorer, super().selecting_at(public, linear))
        if linear or len(at.classes) > 2:
            return replace(at, curved=False)
        rate = float(np.mean(encode(public.response, at.classes) == 1))
        least = max(
            _OF_CLASS * min(at.prevalence, 1 - at.prevalence), _OF_RATE * min(rate, 1 - rate)
        )
        found = max(at.exact(public.y, public.response, public.classes), 0.0)
        return replace(at, curved=True, floor=_OF_CORRELATION * found, least=least)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """1 for a record of the first class that is predicted rightly, 2 for one of the second."""
        if not self.curved:
            return super().record_values(y, response, classes)
        true, predicted = encode(y, self.classes), encode(response, self.classes)
        return np.where(true == predicted, true + 1, 0).astype(np.int64)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        if not self.curved:
            return super().statistics(values, y, units)
        w = weights(units)
        return (self._table(units)(int(w[values == 2].sum()), int(w[values == 1].sum())),)

    def sensitivity(self, units: Units) -> int:
        """A unit adds W to the two counts at most, and so does what replaces it."""
        if not self.curved:
            return super().sensitivity(units)
        return self._table(units).steepest * unit_weight(units)

    def largest(self, units: Units) -> int:
        return self._table(units).largest if self.curved else super().largest(units)

    def line(self, units: Units) -> tuple[float, float]:
        if not self.curved:
            return super().line(units)
        step = 1 / (_FINE * total_weight(units))
        return self.floor + self._table(units).lowest * step, step

    def _table(self, units: Units) -> RisingTable:
        total = total_weight(units)
        second = min(max(round(self.prevalence * total), 1), max(total - 1, 1))
        return RisingTable.of(partial(self._scaled, total=total), (second, max(total - second, 1)))

    def _scaled(self, t: Floats, u: Floats, total: int) -> Floats:
        found = correlation(t / total, u / total, self.prevalence, self.floor, self.least)
        return _FINE * total * found

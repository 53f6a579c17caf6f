"""Queries: integers computed from predictions, of known sensitivity (zone: sensitive).

All that a score releases is a `Query`: a public function of one record to numbers, and integers
that are computed from these. One unit changes the integers by at most a sensitivity. This bound is
exact, as sums of integers have no rounding error. The proofs are in the documentation, "The
guarantee".

================  =========================================================  =================
query             integers                                                   sensitivity
================  =========================================================  =================
`MeanOf`          the sum of gains in steps, G for the range of a unit       G
`Cells`           how many records lie in each cell (a confusion matrix,     2 W, for each
                  a histogram of scores)                                     cell of a record
`Moments`         sums of errors, labels and their squares                   steps of all sums,
                                                                             and a little more
`Pairs`           pairs in the right order, see `_pairs`                     2 (m - 1), or less
others            a function of the matrix (`_ranking`) or of the order      G + 2
                  (`_pairs`) of known width, in steps: `in_steps`
================  =========================================================  =================

A unit's gain is the mean of its records' gains; in counts, its records weigh W together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._data.tables import as_number
from .._data.units import Units
from ._gains import Custom, Named
from ._labels import encode

__all__ = [
    "GRID",
    "MOST_CLASSES",
    "Cells",
    "ClassSizes",
    "Confusion",
    "MeanOf",
    "Moments",
    "Query",
    "in_steps",
    "numbers",
    "same",
    "steps_of_unit",
    "total_weight",
    "unit_weight",
    "weights",
]

Floats = NDArray[np.float64]
# Steps between a unit's lowest and highest gain; gains are rounded to the nearest step.
GRID = 2**20
# A confusion matrix has as many numbers as the square of this, at most.
MOST_CLASSES = 50
# Largest total weight W of a group's records, if the sums fit into int64.
_GROUP_WEIGHT = 2**10


class Query:
    """Integers that measure how good predictions are.

    Attributes
    ----------
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    what : str
        What is counted, in words, for privacy reports.
    """

    response_method: tuple[str, ...] = ("predict",)
    what: str = ""

    def __eq__(self, other: object) -> bool:
        """Whether both count the same, so that they share one release."""
        return type(self) is type(other) and all(
            map(same, vars(self).values(), vars(other).values())
        )

    def check(self, response: NDArray[Any]) -> None:
        """Raise ValueError if public responses are of a kind that cannot be counted."""

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return one value (or row of values) per record, which depends on that record alone."""
        raise NotImplementedError

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return the values of n records that cannot be predicted: the worst possible ones."""
        raise NotImplementedError

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        """Return the integers, from what `record_values` returned for these units' records."""
        raise NotImplementedError

    def sensitivity(self, units: Units) -> int:
        """Return the most that one unit changes the integers: the sum of absolute differences.

        Only the number of units, and whether they are groups, is used.
        """
        raise NotImplementedError

    def largest(self, units: Units) -> int:
        """Return the largest possible integer, if there is one only; the smallest is 0."""
        raise NotImplementedError

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of these public records whose gains lie outside of chosen bounds."""
        return 0.0

    def by_table(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the counts of each table of cells, if these are `Cells`."""
        raise NotImplementedError

    def adjusted(self, counts: Floats, units: Units, adjust: Callable[..., Floats]) -> Floats:
        """Return counts with ``adjust(cells, total)`` applied to cells whose total is known."""
        return counts

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        """Return the nearest counts of which each is possible by itself, if this is easily said."""
        return np.asarray(counts)


@dataclass(frozen=True, eq=False, repr=False)
class MeanOf(Query):
    """Sum over units of the mean of a gain, clipped to [a, b] and rounded to a grid.

    Values of records are integers in {0, ..., steps}; one step is enough if every gain is a or b.
    ``gain(y, response, classes)`` returns a number per record; NaN counts as a. `name` is that of
    the score, for errors.
    """

    gain: Callable[..., Any]
    bounds: tuple[float, float]
    response_method: tuple[str, ...] = ("predict",)
    steps: int = GRID
    name: str = ""

    def check(self, response: NDArray[Any]) -> None:
        if isinstance(self.gain, Named):
            self.gain.check(response)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """round(steps (clip(gain, a, b) - a) / (b - a))."""
        a, b = self.bounds
        share = (self.clipped(y, response, classes) - a) / (b - a)
        return np.rint(share * self.steps).astype(np.int64)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)

    def unclipped(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of each record, outside of the bounds, too."""
        if not isinstance(self.gain, Custom):
            return self._gains(y, response, classes)
        # A user's gain gets each record alone, and so cannot depend on the others.
        rows = np.arange(len(response))[:, None]
        alone = [self._gains(None if y is None else y[i], response[i], classes) for i in rows]
        return np.concatenate([np.zeros(0), *alone])

    def _gains(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        gain = np.asarray(self.gain(y, response, classes))
        if gain.shape != (len(response),) or gain.dtype.kind not in "biufO":
            raise ValueError(
                f"the gain of {self.name} must return one number per record; found an array of "
                f"{gain.dtype} of shape {gain.shape} for {len(response)} records"
            )
        return gain.astype(float)

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        with np.errstate(over="ignore"):
            gain, (a, b) = self.unclipped(y, response, classes), self.bounds
        return float(np.mean((gain < a) | (gain > b)))

    def clipped(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of each record within the bounds, before rounding."""
        a, b = self.bounds
        with np.errstate(all="ignore"):  # numbers that overflow are clipped
            gain = self.unclipped(y, response, classes)
        found: Floats = np.clip(np.where(np.isnan(gain), a, gain), a, b)
        return found

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        means = units.mean(values * (self.sensitivity(units) // self.steps))
        return (int(means.sum()),)

    def sensitivity(self, units: Units) -> int:
        """G for groups even if records have one step: means over groups need the fine grid."""
        return GRID if units.grouped else self.steps

    def largest(self, units: Units) -> int:
        return self.sensitivity(units) * units.m

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        return np.clip(counts, 0, self.largest(units))


class Cells(Query):
    """Numbers of records in cells; the records of a unit weigh W together.

    Cells come in one or more tables. A record lies in one cell of each: its values are their
    numbers, counted from the first cell of the first table.
    """

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each table."""
        raise NotImplementedError

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        w, n = weights(units), sum(self.sizes)
        # Exact: floats hold all integers up to 2^53.
        columns = values.reshape(len(values), -1).T
        counts = sum(np.bincount(cells, weights=w, minlength=n) for cells in columns)
        return tuple(np.asarray(counts).astype(np.int64).tolist())

    def sensitivity(self, units: Units) -> int:
        """A unit adds W to the cells of each table; what replaces it, too."""
        return 2 * unit_weight(units) * len(self.sizes)

    def by_table(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        return np.split(np.asarray(counts), np.cumsum(self.sizes)[:-1], axis=-1)

    def adjusted(self, counts: Floats, units: Units, adjust: Callable[..., Floats]) -> Floats:
        total = total_weight(units)
        return np.concatenate([adjust(table, total) for table in self.by_table(counts)], axis=-1)


@dataclass(frozen=True, eq=False)
class Confusion(Cells):
    """Numbers of records by true class and predicted class; the first K are of the first class.

    A record that cannot be predicted counts as predicted to be the class after its own; one whose
    label is not among `classes`, as of the class after the predicted one. Both are errors. But
    scikit-learn has a class of its own for such labels, so that scores of classes and averages over
    them differ from its own: see "Labels that the training set does not have" in the documentation.
    """

    classes: NDArray[Any]
    what = "confusion matrix"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """K times the true class plus the predicted one."""
        return self._cells(encode(y, self.classes), encode(response, self.classes))

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        return self._cells(encode(y, self.classes), np.full(n, -1))

    def _cells(self, true: NDArray[np.intp], predicted: NDArray[np.intp]) -> NDArray[np.intp]:
        K = len(self.classes)
        true = np.where(true < 0, (predicted + 1) % K, true)
        return K * true + np.where(predicted < 0, (true + 1) % K, predicted)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (len(self.classes) ** 2,)

    def matrices(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return matrices of shape (..., K, K)."""
        K = len(self.classes)
        return counts.reshape(*counts.shape[:-1], K, K)


@dataclass(frozen=True, eq=False)
class ClassSizes(Cells):
    """Numbers of records by class; one whose label is not in the training set is of the first."""

    classes: NDArray[Any]
    response_method: tuple[str, ...]
    what = "number of records of each class"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        return np.maximum(encode(y, self.classes), 0)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        """A record that cannot be predicted has a class all the same."""
        return self.record_values(y, np.zeros(n), None)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (len(self.classes),)


@dataclass(frozen=True, eq=False)
class Moments(Query):
    """Sums of squares of errors and labels, of labels and of errors; all clipped.

    With e = (y - prediction) / c_e and t = (y - centre) / c_y, clipped to [-1, 1]: the sums over
    units of e^2, t^2, t, e and, if there are a fifth and a sixth number of steps, |e| and [|e| is
    1], each in steps of its own. All sums get the same noise, so that steps say how epsilon is
    shared.
    """

    centre: float
    c_y: float
    c_e: float
    steps: tuple[int, ...]
    what = "sums of errors and labels"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """A row (e^2, t^2, t, e, |e|, [|e| = 1]) in steps; NaN has the largest error."""
        error, deviation = self.clipped(y, response)
        e, t = error / self.c_e, deviation / self.c_y
        columns = [e**2, t**2, t, e, np.abs(e), np.abs(e) == 1][: len(self.steps)]
        found: Floats = np.rint(np.stack(columns, axis=1) * self.steps)
        return found.astype(np.int64)

    def clipped(self, y: Any, response: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return error and distance from the centre of each record, within c_e and c_y."""
        y = numbers(y)
        with np.errstate(all="ignore"):
            error, deviation = y - response, y - self.centre
        error = np.where(np.isnan(error), self.c_e, error)
        deviation = np.where(np.isnan(deviation), 0.0, deviation)
        return error.clip(-self.c_e, self.c_e), deviation.clip(-self.c_y, self.c_y)

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        with np.errstate(all="ignore"):
            within = np.abs(numbers(y) - response) <= self.c_e
        return float(np.mean(~within))

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        """A record that cannot be predicted has the largest error."""
        return self.record_values(y, np.full(n, np.nan), None)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return tuple(int(units.mean(column).sum()) for column in values.T)

    def sensitivity(self, units: Units) -> int:
        """The most that all columns of a record change together, and rounding (see the proofs).

        With s1, ..., s6 steps: e changes from -a to 1 and t from -b to 1, which moves the sums by
        s1 (1 - a^2) + s4 (1 + a) + s5 (1 - a) + s6, and s2 (1 - b^2) + s3 (1 + b). The maxima are
        at a = (s4 - s5) / (2 s1) or 0, and b = s3 / (2 s2). Each sum is rounded twice, at most.
        """
        s1, s2, s3, s4, s5, _ = (*self.steps, 0, 0)[:6]
        opposite = -(-(s3**2) // (4 * s2)) - (-(max(0, s4 - s5) ** 2) // (4 * s1))
        return sum(self.steps) + opposite + 2 * len(self.steps)

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        most = np.array(self.steps) * units.m
        signed = np.isin(np.arange(len(most)), (2, 3))
        return np.clip(counts, -most * signed, most)

    def means(self, counts: ArrayLike, m: int) -> Floats:
        """Return the means of e^2, t^2, t, e and what else is counted; shape (n_steps, ...)."""
        return np.moveaxis(np.asarray(counts) / np.array(self.steps) / m, -1, 0)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal; arrays and dicts, if all their entries are."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a is b or bool(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b)


def numbers(y: Any) -> Floats:
    """Return labels as floats, each read by itself; NaN for one that no float can hold."""
    y = np.asarray(y)
    if y.dtype == object:
        y = np.array([as_number(label) for label in y])
    found: Floats = y.astype(float)
    return found


def in_steps(value: float, width: float) -> int:
    """Return a number, of which a unit moves the exact value by `width`, in G-ths of that."""
    return int(np.floor(GRID * (value / width)))


def steps_of_unit(units: Units) -> int:
    """Return how many of the steps of `in_steps` a unit moves: G, and what rounding may add."""
    return GRID + 2 + units.m // 2**26


def unit_weight(units: Units) -> int:
    """Return W, the total weight of a unit's records: 1 if each record is a unit.

    Else so large that shares of it are fine, and so small that ``2 (W m)^2`` stays below 2^62.
    """
    return min(_GROUP_WEIGHT, max(1, 2**30 // units.m)) if units.grouped else 1


def total_weight(units: Units) -> int:
    """Return the weight of all records."""
    return unit_weight(units) * units.m


def weights(units: Units) -> NDArray[np.int64]:
    """Return an integer weight of each record: those of a unit add up to `unit_weight`."""
    return units.record_weights(unit_weight(units))

"""Queries: integers computed from predictions, of known sensitivity (zone: sensitive).

All that a score releases is a `Query`: a public function of one record to numbers, and integers
that are computed from these. One unit changes the integers by at most a sensitivity. This bound is
exact, as sums of integers have no rounding error. The proofs are in the documentation, "The
guarantee".

================  =========================================================  =================
query             integers                                                   sensitivity
================  =========================================================  =================
`MeanOf`          the sum of gains in steps, G for the range of a unit;      G
                  also of g (1 - g), with gains g in [0, 1]
`Cells`           how many records lie in each cell (a confusion matrix,     2 W, for each
                  a histogram of scores)                                     cell of a record
`Moments`         sums of errors, labels and their squares, see `_errors`    steps of all sums,
                                                                             and a little more
`Pairs`           pairs in the right order, see `_pairs`                     2 (m - 1), or less
others            a function of the matrix (`_ranking`) or of the order      G + 2
                  (`_pairs`) of known width, in steps: `in_steps`
================  =========================================================  =================

A unit's gain is the mean of its records' gains; in counts, its records weigh W together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..records.tables import as_number
from ..records.units import Units
from ._gains import Named
from ._labels import class_numbers, encode

Floats = NDArray[np.float64]
# Steps between a unit's lowest and highest gain; gains are rounded to the nearest step.
GRID = 2**20
# A confusion matrix has as many numbers as the square of this, at most.
MOST_CLASSES = 50
# Largest total weight W of a group's records, if the sums fit into int64.
_GROUP_WEIGHT = 2**10


@dataclass(frozen=True, eq=False)
class Stepwise:
    """Values of records at each level: `above` at the first `n_reached` levels, else `below`."""

    below: NDArray[Any]
    above: NDArray[Any]
    n_reached: NDArray[np.intp]
    n_levels: int

    def at(self, level: int) -> NDArray[Any]:
        """Return the values at a level."""
        return np.where(self.n_reached > level, self.above, self.below)

    def summed(self, sums: Callable[[Any, Any, int], NDArray[Any]]) -> NDArray[Any]:
        """Return sums over all records at each level, as rows.

        ``sums(values, places, n)`` returns sums over the records at each of n places.
        """
        low, high = (sums(v, self.n_reached, self.n_levels + 1) for v in (self.below, self.above))
        return np.asarray(np.cumsum(low, axis=0)[:-1] + np.cumsum(high[::-1], axis=0)[-2::-1])


class Query:
    """Integers that measure how good predictions are.

    Attributes
    ----------
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    what : str
        What is counted, in words, for privacy reports.
    weight : int
        Parts of epsilon that it gets in an evaluation which counts more than this.
    subgroups : tuple of int
        Numbers of the subgroups whose released counts are summed, see `Cells`.
    """

    response_method: tuple[str, ...] = ("predict",)
    what: str = ""
    weight: int = 1
    subgroups: tuple[int, ...] = (0,)

    def __eq__(self, other: object) -> bool:
        """Whether both count the same, so that they share one release."""
        return type(self) is type(other) and same(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))

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

    def statistics_by_level(self, values: Stepwise, y: Any, units: Units) -> NDArray[np.int64]:
        """Return `statistics` at each level, as rows."""
        return np.array([self.statistics(values.at(i), y, units) for i in range(values.n_levels)])

    def sensitivity(self, units: Units) -> int:
        """Return the most that one unit changes the integers: the sum of absolute differences.

        Only the number of units, and whether they are groups, is used.
        """
        raise NotImplementedError

    def largest(self, units: Units) -> int:
        """Return the largest possible integer, if there is one only; the smallest is 0."""
        raise NotImplementedError

    def counts_as(self, other: Query, units: Units) -> bool:
        """Whether the integers of another query are the same for these units."""
        return self is other

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of these public records whose gains lie outside of chosen bounds."""
        return 0.0

    def summed(self, counts: Floats) -> Floats:
        """Return the sums of released counts that scores are computed from."""
        return counts

    def unknown_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        """Return those integers that count records whose label is none of the classes, if any."""
        return np.empty(0, dtype=np.int64)

    def per_unknown(self, units: Units) -> int:
        """Return by how much a record of unknown label raises the sum of `unknown_counts`."""
        return unit_weight(units)

    def without_unknown(self, counts: Sequence[int]) -> tuple[Self, NDArray[np.int64]]:
        """Return the query and the integers without `unknown_counts`."""
        return self, np.asarray(counts)

    def sampling_deviations(self, counts: Floats, units: Units) -> Floats | None:
        """Return how much sums vary between samples of units; None of `Cells`."""
        return None

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
    ``gain(y, response, classes)`` returns a number per record; NaN counts as a. If `spread`, a
    second integer follows, the sum of `spread_of` over the means of units: it says how much these
    differ. Both integers together have the sensitivity of the first.
    """

    gain: Callable[..., Any]
    bounds: tuple[float, float]
    response_method: tuple[str, ...] = ("predict",)
    steps: int = GRID
    spread: bool = False

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
        return np.asarray(self.gain(y, response, classes), dtype=float)

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        gain, (a, b) = self.unclipped(y, response, classes), self.bounds
        return float(np.mean((gain < a) | (gain > b)))

    def clipped(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of each record within the bounds, before rounding."""
        a, b = self.bounds
        gain = self.unclipped(y, response, classes)
        return np.asarray(np.clip(np.where(np.isnan(gain), a, gain), a, b))

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return tuple(int(each.sum()) for each in self._of_units(values, units))

    def statistics_by_level(self, values: Stepwise, y: Any, units: Units) -> NDArray[np.int64]:
        if units.grouped:  # means over groups do not add up
            return super().statistics_by_level(values, y, units)

        def sums(values: NDArray[Any], places: NDArray[np.intp], n_places: int) -> NDArray[Any]:
            added = self._of_units(values, units)
            return np.transpose([np.bincount(places, each, n_places) for each in added])

        return values.summed(sums).astype(np.int64)

    def _of_units(self, values: NDArray[Any], units: Units) -> tuple[NDArray[np.int64], ...]:
        """Return what each unit adds to each integer."""
        G = self.sensitivity(units)
        k = units.mean(values * (G // self.steps))
        return (k, spread_of(k, G)) if self._is_spread(units) else (k,)

    def counts_as(self, other: Query, units: Units) -> bool:
        if not isinstance(other, MeanOf) or other._is_spread(units):
            return False
        return self == replace(other, spread=False)

    def _is_spread(self, units: Units) -> bool:
        """Whether there is a second integer: if every unit is at a bound, it would be 0."""
        return self.spread and self.sensitivity(units) > 1

    def sensitivity(self, units: Units) -> int:
        """G for groups even if records have one step: means over groups need the fine grid."""
        require_finite(*self.bounds)
        return GRID if units.grouped else self.steps

    def largest(self, units: Units) -> int:
        return self.sensitivity(units) * units.m

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        return np.clip(counts, 0, self.largest(units))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(Query):
    """Numbers of records in cells; the records of a unit weigh W together.

    Cells come in one or more tables. A record lies in one cell of each: its values are their
    numbers, counted from the first cell of the first table. All tables are repeated for each of
    `n_subgroups`, and a record lies in those of its own subgroup. What is computed from the counts
    is that of the records in `subgroups` together.

    In a table of labels, the last cells are those of records whose label is none of the classes. So
    they are released with the others, at no cost.
    """

    n_subgroups: int = 1
    subgroups: tuple[int, ...] = (0,)
    # Whether there are cells of unknown labels, see `_unknown`.
    unknown: bool = True

    @property
    def known_sizes(self) -> tuple[int, ...]:
        """Number of cells of each table, for one subgroup, without those of unknown labels."""
        raise NotImplementedError

    @property
    def n_unknown(self) -> int:
        """Number of cells of unknown labels that follow in each table, unless they are left out."""
        return 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each table, for one subgroup."""
        return tuple(n + self.unknown * self.n_unknown for n in self.known_sizes)

    @property
    def are_unknown(self) -> NDArray[np.bool_]:
        """Whether each cell of all tables, for one subgroup, is one of unknown labels."""
        pairs = zip(self.sizes, self.known_sizes, strict=True)
        return np.concatenate([np.arange(n) >= known for n, known in pairs])

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        together = np.zeros(len(values), dtype=np.intp)
        return self.of_counts(self._counts_at(values, together, 1, units)[0], units)

    def statistics_by_level(self, values: Stepwise, y: Any, units: Units) -> NDArray[np.int64]:
        counts = values.summed(partial(self._counts_at, units=units))
        return np.array([self.of_counts(row, units) for row in counts])

    def _counts_at(
        self, values: NDArray[Any], places: NDArray[np.intp], n_places: int, units: Units
    ) -> NDArray[np.int64]:
        """Return how much the records at each place weigh in each cell: one row a place."""
        w, n = weights(units), sum(self.sizes) * self.n_subgroups
        # The only subgroup is the first one, whatever others count apart.
        first = sum(self.sizes) * np.minimum(units.subgroups, self.n_subgroups - 1) + n * places
        # Exact: floats hold all integers up to 2^53.
        columns = values.reshape(len(values), -1).T + first
        counts = sum(np.bincount(cells, weights=w, minlength=n * n_places) for cells in columns)
        return np.asarray(counts).astype(np.int64).reshape(n_places, n)

    def of_counts(self, counts: NDArray[np.int64], units: Units) -> tuple[int, ...]:
        """Return the integers, from what the records in each cell weigh."""
        return tuple(counts.tolist())

    def sensitivity(self, units: Units) -> int:
        """A unit adds W to the cells of each table; what replaces it, too."""
        return 2 * unit_weight(units) * len(self.sizes)

    def unknown_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        return np.asarray(counts).reshape(self.n_subgroups, -1)[:, self.are_unknown].ravel()

    def per_unknown(self, units: Units) -> int:
        return unit_weight(units) * len(self.sizes)

    def without_unknown(self, counts: Sequence[int]) -> tuple[Self, NDArray[np.int64]]:
        kept = np.asarray(counts).reshape(self.n_subgroups, -1)[:, ~self.are_unknown]
        return replace(self, unknown=False), kept.ravel()

    def by_table(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the counts of each table."""
        return np.split(np.asarray(counts), np.cumsum(self.sizes)[:-1], axis=-1)

    def adjusted(self, counts: Floats, units: Units, adjust: Callable[..., Floats]) -> Floats:
        """Return counts with the total of all records; that of some subgroups is not known."""
        known, total = len(self.subgroups) == self.n_subgroups, total_weight(units)
        tables = [
            adjust(table, total if known else table.sum(axis=-1, keepdims=True))
            for table in self.by_table(counts)
        ]
        return np.concatenate(tables, axis=-1)

    def summed(self, counts: Floats) -> Floats:
        joint = counts.reshape(*counts.shape[:-1], self.n_subgroups, -1)
        return np.asarray(joint[..., list(self.subgroups), :].sum(axis=-2))


@dataclass(frozen=True, eq=False)
class Confusion(Cells):
    """Numbers of records by true class and predicted class; the first K are of the first class.

    The last K are of records whose label is not among `classes`: these are one more class, which is
    never predicted. A record that cannot be predicted counts as predicted to be the class after its
    own.
    """

    classes: NDArray[Any]
    what = "confusion matrix"
    # The predictions are those of the model, unlike some that follow from a histogram.
    follows = True

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """K times the true class plus the predicted one."""
        return self._cells(y, encode(response, self.classes))

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        return self._cells(y, np.full(n, -1))

    def _cells(self, y: Any, predicted: NDArray[np.intp]) -> NDArray[np.intp]:
        true, K = class_numbers(y, self.classes), len(self.classes)
        return K * true + np.where(predicted < 0, (true + 1) % K, predicted)

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return (len(self.classes) ** 2,)

    @property
    def n_unknown(self) -> int:
        return len(self.classes)

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The classes that columns stand for."""
        return np.arange(len(self.classes))

    def matrices(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return matrices of shape (..., K, K); with unknown labels, they have another row."""
        return counts.reshape(*counts.shape[:-1], -1, len(self.classes))


@dataclass(frozen=True, eq=False)
class ClassSizes(Cells):
    """Numbers of records by class; the last one is of those whose label is not among them."""

    classes: NDArray[Any]
    response_method: tuple[str, ...]
    what = "number of records of each class"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        return class_numbers(y, self.classes)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        """A record that cannot be predicted has a class all the same."""
        return self.record_values(y, np.zeros(n), None)

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return (len(self.classes),)

    @property
    def n_unknown(self) -> int:
        return 1


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal; arrays and dicts, if all their entries are."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a is b or bool(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b)


def require_finite(*bounds: float) -> None:
    """Raise ValueError unless values within these bounds can be rounded to steps of them."""
    if not np.isfinite(bounds).all():
        raise ValueError(f"what is counted needs finite bounds; found {bounds}")


def numbers(y: Any) -> Floats:
    """Return labels as floats, each read by itself; NaN for one that no float can hold."""
    y = np.asarray(y)
    if y.dtype == object:
        y = np.array([as_number(label) for label in y])
    return np.asarray(y, dtype=float)


def spread_of(k: NDArray[np.int64], G: int) -> NDArray[np.int64]:
    """Return h(k) = round(k (G - k) / G) for gains of k steps out of G, from 0 to G.

    Where k rises by one, h changes by at most one. So k + h and k - h never fall, and rise from 0
    to G; and for any two gains ``|k - k'| + |h - h'| <= G``, the larger one of their changes.
    """
    return (2 * k * (G - k) + G) // (2 * G)


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

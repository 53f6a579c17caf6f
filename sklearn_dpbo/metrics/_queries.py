"""Queries: integers computed from predictions, of known sensitivity (zone: sensitive).

All that a score releases is a `Query`. It has a public function that maps a record to numbers, and
computes integers from the numbers of all records. One unit changes the integers by at most the
sensitivity. This bound is exact, as sums of integers have no rounding error. The proofs are in the
documentation, "The guarantee".

================  =========================================================  =================
query             integers                                                   sensitivity
================  =========================================================  =================
`MeanOf`          the sum of gains, in steps (G for the range of a gain);    G
                  also of g (1 - g), with gains g in [0, 1]
`Cells`           the number of records in each cell (a confusion matrix,    2 W, for each
                  a histogram of scores)                                     cell of a record
`Moments`         sums of errors, labels and their squares, see `_errors`    steps of all sums,
                                                                             and a little more
`Pairs`           correctly ordered pairs, see `_pairs`                      2 (m - 1), or less
others            a function of the matrix (`_ranking`) or of the order      G + 2
                  (`_pairs`) of known width, in steps: `in_steps`
================  =========================================================  =================

The gain of a unit is the mean of its records' gains. In counts, the records of a unit have the
total weight W.
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
# G, the number of steps between the lowest and the highest gain of a unit. Gains are rounded to the
# nearest step.
GRID = 2**20
# Largest number of classes of a confusion matrix.
MOST_CLASSES = 50
# Largest total weight W of a group's records, if the sums fit into int64.
_GROUP_WEIGHT = 2**10


@dataclass(frozen=True, eq=False)
class Stepwise:
    """Values of records at each level (such as a threshold), which change once.

    A record has the value `above` at its first `n_reached` levels, and `below` at the others.
    """

    below: NDArray[Any]
    above: NDArray[Any]
    n_reached: NDArray[np.intp]
    n_levels: int

    def at(self, level: int) -> NDArray[Any]:
        """Return the values at a level."""
        return np.where(self.n_reached > level, self.above, self.below)

    def summed(self, sums: Callable[[Any, Any, int], NDArray[Any]]) -> NDArray[Any]:
        """Return sums over all records at each level, shape (n_levels, n_sums).

        ``sums(values, places, n)`` returns sums over the records at each of n places, as rows.
        """
        n_places = self.n_levels + 1
        low, high = (sums(v, self.n_reached, n_places) for v in (self.below, self.above))
        return np.asarray(np.cumsum(low, axis=0)[:-1] + np.cumsum(high[::-1], axis=0)[-2::-1])


class Query:
    """Integers of known sensitivity, which measure how good predictions are.

    Attributes
    ----------
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    what : str
        What is counted, in words, for privacy reports.
    weight : int
        Weight of this query when an evaluation shares epsilon among several.
    subgroups : tuple of int
        Numbers of the subgroups whose released counts are summed, see `Cells`.
    """

    response_method: tuple[str, ...] = ("predict",)
    what: str = ""
    weight: int = 1
    subgroups: tuple[int, ...] = (0,)

    def __eq__(self, other: object) -> bool:
        """Return True if both count the same, so that they share one release."""
        return type(self) is type(other) and same(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))

    def check(self, response: NDArray[Any]) -> None:
        """Raise ValueError if public responses cannot be counted."""

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return one value (or row of values) per record, which depends on that record alone."""
        raise NotImplementedError

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return the worst possible values, for n records that cannot be predicted."""
        raise NotImplementedError

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        """Return the integers, from the `record_values` of all records of these units."""
        raise NotImplementedError

    def statistics_by_level(self, values: Stepwise, y: Any, units: Units) -> NDArray[np.int64]:
        """Return the `statistics` at each level, shape (n_levels, n_statistics)."""
        return np.array([self.statistics(values.at(i), y, units) for i in range(values.n_levels)])

    def sensitivity(self, units: Units) -> int:
        """Bound the sum of the absolute differences that one unit makes to the integers.

        Only the number of units, and whether they are groups, is used.
        """
        raise NotImplementedError

    def largest(self, units: Units) -> int:
        """Return the largest possible integer, if there is only one; the smallest is 0."""
        raise NotImplementedError

    def counts_as(self, other: Query, units: Units) -> bool:
        """Return True if another query has the same integers for these units."""
        return self is other

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of these public records whose values are clipped."""
        return 0.0

    def summed(self, counts: Floats) -> Floats:
        """Return the sums of released counts that scores are computed from."""
        return counts

    def unknown_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        """Return the integers that count records of unknown labels, if there are such integers."""
        return np.empty(0, dtype=np.int64)

    def per_unknown(self, units: Units) -> int:
        """Increase of the sum of `unknown_counts` by one unit of unknown label."""
        return unit_weight(units)

    def without_unknown(self, counts: Sequence[int]) -> tuple[Self, NDArray[np.int64]]:
        """Return the query and the integers without `unknown_counts`."""
        return self, np.asarray(counts)

    def sampling_deviations(self, counts: Floats, units: Units) -> Floats | None:
        """Return standard deviations of the sums between samples of units; None for `Cells`."""
        return None

    def adjusted(self, counts: Floats, units: Units, adjust: Callable[..., Floats]) -> Floats:
        """Apply ``adjust(cells, total)`` to counts of cells whose total is known."""
        return counts

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        """Clip counts to their ranges, if these are known."""
        return np.asarray(counts)


@dataclass(frozen=True, eq=False, repr=False)
class MeanOf(Query):
    """Sum over units of the mean of a gain, clipped to [a, b] and rounded to a grid.

    Values of records are integers in {0, ..., steps}; one step is enough if every gain is a or b.
    ``gain(y, response, classes)`` returns a number per record; NaN counts as a. If `spread`, there
    is a second integer: the sum of `spread_of` over the means of units, from which their variance
    follows. Both integers together have the sensitivity of the first.
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
        """Return ``round(steps (clip(gain, a, b) - a) / (b - a))``."""
        a, b = self.bounds
        share = (self.clipped(y, response, classes) - a) / (b - a)
        return np.rint(share * self.steps).astype(np.int64)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)

    def unclipped(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of each record, which may be outside of the bounds, shape (n,)."""
        return np.asarray(self.gain(y, response, classes), dtype=float)

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        a, b = self.bounds
        gain = self.unclipped(y, response, classes)
        return float(np.mean((gain < a) | (gain > b)))

    def clipped(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return the gain of each record, clipped to the bounds and not rounded, shape (n,)."""
        a, b = self.bounds
        gain = self.unclipped(y, response, classes)
        return np.asarray(np.clip(np.where(np.isnan(gain), a, gain), a, b))

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return tuple(int(addends.sum()) for addends in self._of_units(values, units))

    def statistics_by_level(self, values: Stepwise, y: Any, units: Units) -> NDArray[np.int64]:
        if units.grouped:  # means over groups do not add up
            return super().statistics_by_level(values, y, units)

        def sums(values: NDArray[Any], places: NDArray[np.intp], n_places: int) -> NDArray[Any]:
            by_integer = self._of_units(values, units)
            return np.transpose([np.bincount(places, addends, n_places) for addends in by_integer])

        return values.summed(sums).astype(np.int64)

    def _of_units(self, values: NDArray[Any], units: Units) -> tuple[NDArray[np.int64], ...]:
        """Return the addends of each integer, one per unit, shape (m,)."""
        G = self.sensitivity(units)
        k = units.mean(values * (G // self.steps))
        return (k, spread_of(k, G)) if self._is_spread(units) else (k,)

    def counts_as(self, other: Query, units: Units) -> bool:
        if not isinstance(other, MeanOf) or other._is_spread(units):
            return False
        return self == replace(other, spread=False)

    def _is_spread(self, units: Units) -> bool:
        """Return True if there is a second integer. It is left out if all units are at bounds."""
        return self.spread and self.sensitivity(units) > 1

    def sensitivity(self, units: Units) -> int:
        """Return the number of steps; G for groups, as means over groups need the fine grid."""
        require_finite(*self.bounds)
        return GRID if units.grouped else self.steps

    def largest(self, units: Units) -> int:
        return self.sensitivity(units) * units.m

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        return np.clip(counts, 0, self.largest(units))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(Query):
    """Numbers of records in cells; the records of a unit have the total weight W.

    There are one or more tables of cells. A record lies in one cell of each table, and its values
    are the numbers of these cells, counted from the first cell of the first table. All tables are
    repeated for each of `n_subgroups`, and a record is counted in those of its subgroup. Scores are
    computed from the sum of the counts of `subgroups`.

    If `unknown`, the last cells of a table of labels count the records of unknown labels, see
    `_unknown`. They are released with the others, at no cost.
    """

    n_subgroups: int = 1
    subgroups: tuple[int, ...] = (0,)
    unknown: bool = True

    @property
    def known_sizes(self) -> tuple[int, ...]:
        """Number of cells of each table, for one subgroup, without those of unknown labels."""
        raise NotImplementedError

    @property
    def n_unknown(self) -> int:
        """Number of cells of unknown labels at the end of each table, if `unknown`."""
        return 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each table, for one subgroup."""
        return tuple(n + self.unknown * self.n_unknown for n in self.known_sizes)

    @property
    def are_unknown(self) -> NDArray[np.bool_]:
        """Mask of the cells of unknown labels, over all tables of one subgroup."""
        sizes = zip(self.sizes, self.known_sizes, strict=True)
        return np.concatenate([np.arange(n) >= n_known for n, n_known in sizes])

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        same_place = np.zeros(len(values), dtype=np.intp)
        return self.of_counts(self._counts_at(values, same_place, 1, units)[0], units)

    def statistics_by_level(self, values: Stepwise, y: Any, units: Units) -> NDArray[np.int64]:
        counts = values.summed(partial(self._counts_at, units=units))
        return np.array([self.of_counts(row, units) for row in counts])

    def _counts_at(
        self, values: NDArray[Any], places: NDArray[np.intp], n_places: int, units: Units
    ) -> NDArray[np.int64]:
        """Sum the weights of the records at each place in each cell, shape (n_places, n_cells)."""
        w = weights(units)
        n = sum(self.sizes) * self.n_subgroups
        # A query with one subgroup counts all records there, though units may have more subgroups.
        subgroups = np.minimum(units.subgroups, self.n_subgroups - 1)
        first = sum(self.sizes) * subgroups + n * places
        # Sums of weights are exact: floats hold all integers up to 2^53.
        columns = values.reshape(len(values), -1).T + first
        counts = sum(np.bincount(cells, weights=w, minlength=n * n_places) for cells in columns)
        return np.asarray(counts).astype(np.int64).reshape(n_places, n)

    def of_counts(self, counts: NDArray[np.int64], units: Units) -> tuple[int, ...]:
        """Return the integers, from the total weight of the records in each cell."""
        return tuple(counts.tolist())

    def sensitivity(self, units: Units) -> int:
        """Return 2 W per table: a unit has weight W in it, and so has one that replaces it."""
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
        """Apply ``adjust(table, total)`` to each table; the total of some subgroups is unknown."""
        total_known = len(self.subgroups) == self.n_subgroups
        total = total_weight(units)
        tables = [
            adjust(table, total if total_known else table.sum(axis=-1, keepdims=True))
            for table in self.by_table(counts)
        ]
        return np.concatenate(tables, axis=-1)

    def summed(self, counts: Floats) -> Floats:
        joint = counts.reshape(*counts.shape[:-1], self.n_subgroups, -1)
        return np.asarray(joint[..., list(self.subgroups), :].sum(axis=-2))


@dataclass(frozen=True, eq=False)
class Confusion(Cells):
    """Numbers of records by true and predicted class: K cells for each true class.

    The last K cells are those of records whose label is not among `classes`, as if it were one more
    class that is never predicted. A record that cannot be predicted counts as a prediction of the
    class after its own.
    """

    classes: NDArray[Any]
    what = "confusion matrix"
    # The predictions are those of the model: a histogram may compute others.
    follows = True

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """Return K times the true class plus the predicted one."""
        return self._cells(y, encode(response, self.classes))

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        return self._cells(y, np.full(n, -1))

    def _cells(self, y: Any, predicted: NDArray[np.intp]) -> NDArray[np.intp]:
        true = class_numbers(y, self.classes)
        K = len(self.classes)
        return K * true + np.where(predicted < 0, (true + 1) % K, predicted)

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return (len(self.classes) ** 2,)

    @property
    def n_unknown(self) -> int:
        return len(self.classes)

    @property
    def predicted(self) -> NDArray[np.intp]:
        """Positions of the classes of the columns."""
        return np.arange(len(self.classes))

    def matrices(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return confusion matrices, shape (..., K, K); unknown labels have another row."""
        return counts.reshape(*counts.shape[:-1], -1, len(self.classes))


@dataclass(frozen=True, eq=False)
class ClassSizes(Cells):
    """Numbers of records by class; the last cell is that of unknown labels."""

    classes: NDArray[Any]
    response_method: tuple[str, ...]
    what = "number of records of each class"

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        return class_numbers(y, self.classes)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.intp]:
        """Return the class of each record, which needs no prediction."""
        return self.record_values(y, np.zeros(n), None)

    @property
    def known_sizes(self) -> tuple[int, ...]:
        return (len(self.classes),)

    @property
    def n_unknown(self) -> int:
        return 1


def same(a: Any, b: Any) -> bool:
    """Return True if two values are equal; arrays and dicts, if all their entries are."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a is b or bool(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b)


def require_finite(*bounds: float) -> None:
    """Raise ValueError unless values within these bounds can be rounded to steps of them."""
    if not np.isfinite(bounds).all():
        raise ValueError(f"counts need finite bounds; found {bounds}")


def numbers(y: Any) -> Floats:
    """Convert labels to floats, one by one; NaN for a label that is not a float."""
    y = np.asarray(y)
    if y.dtype == object:
        y = np.array([as_number(label) for label in y])
    return np.asarray(y, dtype=float)


def spread_of(k: NDArray[np.int64], G: int) -> NDArray[np.int64]:
    """Compute h(k) = round(k (G - k) / G), for gains of k steps out of G, k in {0, ..., G}.

    If k rises by one, h changes by at most one. So k + h and k - h never fall, and both rise from 0
    to G. For any two gains, ``|k - k'| + |h - h'|`` is the change of one of them, so at most G.
    """
    return (2 * k * (G - k) + G) // (2 * G)


def in_steps(value: float, width: float) -> int:
    """Return a value, of which a unit moves at most `width`, in steps of width / G."""
    return int(np.floor(GRID * (value / width)))


def steps_of_unit(units: Units) -> int:
    """Bound the steps of `in_steps` that one unit makes: G, and a few for rounding."""
    return GRID + 2 + units.m // 2**26


def unit_weight(units: Units) -> int:
    """Total weight W of a unit's records: 1 if each record is a unit.

    For groups, W is large, so that shares of it are fine, but ``2 (W m)^2`` stays below 2^62.
    """
    return min(_GROUP_WEIGHT, max(1, 2**30 // units.m)) if units.grouped else 1


def total_weight(units: Units) -> int:
    """Total weight of all records."""
    return unit_weight(units) * units.m


def weights(units: Units) -> NDArray[np.int64]:
    """Integer weights of the records, shape (n,); those of a unit add up to `unit_weight`."""
    return units.record_weights(unit_weight(units))

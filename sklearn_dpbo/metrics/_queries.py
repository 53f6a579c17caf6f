"""Queries: integers computed from predictions, of known sensitivity (zone: sensitive).

A `Query` maps each record to numbers, by a public function, and computes integers from the numbers
of all records. A score releases these integers with noise. If one unit is replaced, the absolute
changes of the integers sum to at most the *sensitivity*. Integers are added
exactly, so rounding cannot break the bound; where a float is rounded to an integer, the bound
includes an allowance. The proofs are in the documentation, "The guarantee".

The validation set has m units. G = 2^20 is the number of steps of the fine grid, to which gains and
functions are rounded. A unit's gain is the mean of its records' gains. In counts, the records of a
unit have the total weight W: 1 if each record is a unit, more for groups (`unit_weight`).

===========  ======================================================  ===============================
query        integers                                                sensitivity
===========  ======================================================  ===============================
`MeanOf`     the sum of the units' gains, in steps; with `spread`,   `steps` (1 for accuracy), or G
             also that of g (1 - g), g being the gain in [0, 1]      for groups
`Cells`      the weight of the records in each cell of its tables    2 W for each table
             (a confusion matrix, a histogram of scores)
`Moments`    sums of errors, labels and their squares (`_errors`)    `Moments.sensitivity`
`Pairs`      the number of correctly ordered pairs (`_pairs`)        `Pairs.sensitivity`
others       a function of the confusion matrix (`_ranking`) or of   G + 2 + m // 2^26
             the order of records (`_pairs`), in steps: `in_steps`   (`ErrorVariance`: 1 more)
===========  ======================================================  ===============================

A label is *unknown* if it is missing or is not one of the training classes.
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
# G, the number of steps of the fine grid between the lowest and the highest value.
GRID = 2**20
# Largest number of classes of a confusion matrix.
MOST_CLASSES = 50
# Largest total weight W of a group's records; `unit_weight` chooses less if the sums would not fit
# into int64.
_GROUP_WEIGHT = 2**10


@dataclass(frozen=True, eq=False)
class Stepwise:
    """Values of records at ascending levels, such as thresholds; each record has at most two.

    A record reaches its first `n_reached` levels: its response is at least these thresholds.
    There it has the value `above`. At the higher levels it has the value `below`.
    """

    below: NDArray[Any]
    above: NDArray[Any]
    n_reached: NDArray[np.intp]
    n_levels: int

    def at(self, level: int) -> NDArray[Any]:
        """Return the values of all records at one level."""
        return np.where(self.n_reached > level, self.above, self.below)

    def summed(self, sum_by_place: Callable[[Any, Any, int], NDArray[Any]]) -> NDArray[Any]:
        """Return sums over all records at each level, shape (n_levels, n_sums).

        The place of a record is the number of levels that it reaches, 0 to n_levels.
        ``sum_by_place(values, places, n_places)`` returns a row of sums for each place, over the
        records at that place.
        """
        n_places = self.n_levels + 1
        low, high = (sum_by_place(v, self.n_reached, n_places) for v in (self.below, self.above))
        # At level l, records at the places 0, ..., l are below, and all others above.
        sums_below = np.cumsum(low, axis=0)[:-1]
        sums_above = np.cumsum(high[::-1], axis=0)[-2::-1]
        return np.asarray(sums_below + sums_above)


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
        Indices of the subgroups whose released counts are summed, see `Cells`.
    """

    response_method: tuple[str, ...] = ("predict",)
    what: str = ""
    weight: int = 1
    subgroups: tuple[int, ...] = (0,)

    def __eq__(self, other: object) -> bool:
        """Return True if both have the same type and fields, so that they share one release."""
        return type(self) is type(other) and same(vars(self), vars(other))

    def __hash__(self) -> int:
        return hash(type(self))

    def check(self, response: NDArray[Any]) -> None:
        """Raise ValueError if public responses cannot be counted."""

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return one value (or row of values) per record, which depends on that record alone."""
        raise NotImplementedError

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return the worst possible values, for n records whose prediction fails."""
        raise NotImplementedError

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        """Compute the integers from the `record_values` of all records of these units."""
        raise NotImplementedError

    def statistics_by_level(self, values: Stepwise, y: Any, units: Units) -> NDArray[np.int64]:
        """Compute the `statistics` at each level, shape (n_levels, n_statistics)."""
        return np.array([self.statistics(values.at(i), y, units) for i in range(values.n_levels)])

    def sensitivity(self, units: Units) -> int:
        """Bound the sum of the absolute changes of the integers if one unit is replaced.

        Only the number of units, and whether they are groups, is used.
        """
        raise NotImplementedError

    def largest(self, units: Units) -> int:
        """Bound all integers; the first can reach the bound.

        Only for queries whose integers are never negative.
        """
        raise NotImplementedError

    def counts_as(self, other: Query, units: Units) -> bool:
        """Return True if another query has the same integers for these units.

        Unlike ``==``, this may depend on the units: if every unit's gain is at a bound, a `MeanOf`
        with `spread` has no second integer, and equals one without. False is always safe: the
        integers are then computed twice.
        """
        return self is other

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of these public records whose values are clipped."""
        return 0.0

    def summed(self, counts: Floats) -> Floats:
        """Return the sums of released counts that scores are computed from.

        These are sums over `subgroups`; without subgroups, the counts themselves.
        """
        return counts

    def unknown_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        """Select the integers that count records of unknown labels; empty if there are none."""
        return np.empty(0, dtype=np.int64)

    def per_unknown(self, units: Units) -> int:
        """Return what a unit of unknown labels adds to `unknown_counts`, if these are not empty."""
        return unit_weight(units)

    def without_unknown(self, counts: Sequence[int]) -> tuple[Self, NDArray[np.int64]]:
        """Return the query without cells for unknown labels, and the integers that it has."""
        return self, np.asarray(counts)

    def sampling_deviations(self, counts: Floats, units: Units) -> Floats | None:
        """Return how much the sums vary between random samples of units from a population.

        `counts` are those of `summed`. The result has a standard deviation for each sum; sums with
        opposite signs are taken to move in opposite directions (see `Moments`). It is None for
        `Cells`, where the sampling error of counts is simulated, and for queries whose scores
        compute it in another way.
        """
        return None

    def adjusted(self, counts: Floats, units: Units, adjust: Callable[..., Floats]) -> Floats:
        """Make counts of cells have their public total; return all other counts unchanged.

        `counts` are those of `summed`. ``adjust(cells, total)`` returns counts with this total.
        """
        return counts

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        """Clip integers to the ranges that they have without noise, if these are known."""
        return np.asarray(counts)


@dataclass(frozen=True, eq=False, repr=False)
class MeanOf(Query):
    """Sum of the gains of all units, in steps.

    ``gain(y, response, classes)`` returns a number per record. It is clipped to `bounds` = (a, b),
    and rounded to one of 0, ..., `steps`; one step is enough if every gain is a or b. NaN counts as
    the lower bound a. A unit's gain is the mean of its records' gains.

    If `spread`, and unless every unit's gain is a or b, there is a second integer: the sum of
    `spread_of` over the gains of units, from which their variance follows. Both integers together
    have the sensitivity of the first.
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
        """Return ``round(steps (clip(gain, a, b) - a) / (b - a))``, shape (n,)."""
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
        if units.grouped:  # the mean of a group is rounded, so it is no sum over its records
            return super().statistics_by_level(values, y, units)

        def sum_by_place(values: Any, places: Any, n_places: int) -> NDArray[Any]:
            by_integer = self._of_units(values, units)
            return np.transpose([np.bincount(places, addends, n_places) for addends in by_integer])

        return values.summed(sum_by_place).astype(np.int64)

    def _of_units(self, values: NDArray[Any], units: Units) -> tuple[NDArray[np.int64], ...]:
        """Return the addends of each integer, one per unit, shape (m,)."""
        # For groups, values of 0, ..., `steps` are converted to the fine grid before their mean.
        G = self.sensitivity(units)
        k = units.mean(values * (G // self.steps))
        return (k, spread_of(k, G)) if self._is_spread(units) else (k,)

    def counts_as(self, other: Query, units: Units) -> bool:
        if not isinstance(other, MeanOf) or other._is_spread(units):
            return False
        return self == replace(other, spread=False)

    def _is_spread(self, units: Units) -> bool:
        """Return True if there is a second integer.

        It is left out if the gain of each unit is one of the bounds, as g (1 - g) is 0 then.
        """
        return self.spread and self.sensitivity(units) > 1

    def sensitivity(self, units: Units) -> int:
        """Return the number of steps of a unit's gain.

        It is G for groups: the mean of gains of 0 and 1 may lie between them.
        """
        require_finite(*self.bounds)
        return GRID if units.grouped else self.steps

    def largest(self, units: Units) -> int:
        return self.sensitivity(units) * units.m

    def within_range(self, counts: ArrayLike, units: Units) -> NDArray[Any]:
        return np.clip(counts, 0, self.largest(units))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(Query):
    """Weight of the records in each cell of one or more tables.

    The records of a unit have the total weight W, see `weights`. A record lies in one cell of each
    table. The values of n records are indices of cells, shape (n,) for one table or (n, n_tables):
    those of a table begin where those of the table before end.

    There is a copy of all tables for each of `n_subgroups`, and a record is counted in the copy of
    its subgroup. Scores are computed from the sum of the copies of `subgroups`.

    If `unknown`, the last `n_unknown` cells of each table (none where no labels are counted) are
    for records of unknown labels, see `_unknown`. They are released with the others, at no cost.
    """

    n_subgroups: int = 1
    subgroups: tuple[int, ...] = (0,)
    unknown: bool = True

    @property
    def known_sizes(self) -> tuple[int, ...]:
        """Number of cells of each table, in one copy, without those of unknown labels."""
        raise NotImplementedError

    @property
    def n_unknown(self) -> int:
        """Number of cells of unknown labels at the end of each table, if `unknown`."""
        return 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each table, in one copy."""
        return tuple(n + self.unknown * self.n_unknown for n in self.known_sizes)

    @property
    def are_unknown(self) -> NDArray[np.bool_]:
        """Mask of the cells of unknown labels, over all tables of one copy."""
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
        """Sum the weights of the records at each place in each cell, shape (n_places, n_cells).

        See `Stepwise.summed` on places. The cells are those of all copies.
        """
        w = weights(units)
        n_in_copy = sum(self.sizes)
        n_cells = n_in_copy * self.n_subgroups
        # A query with one subgroup counts all records there, though units may have more subgroups.
        subgroups = np.minimum(units.subgroups, self.n_subgroups - 1)
        # The counts are one flat array, by place, then by subgroup, then by cell. The values of a
        # record are indices within the copy that begins at `first`.
        first = n_cells * places + n_in_copy * subgroups
        columns = values.reshape(len(values), -1).T + first
        # Sums of weights are exact: floats hold all integers up to 2^53.
        n_counts = n_cells * n_places
        counts = sum(np.bincount(cells, weights=w, minlength=n_counts) for cells in columns)
        return np.asarray(counts).astype(np.int64).reshape(n_places, n_cells)

    def of_counts(self, counts: NDArray[np.int64], units: Units) -> tuple[int, ...]:
        """Compute the integers from the total weight of the records in each cell."""
        return tuple(counts.tolist())

    def sensitivity(self, units: Units) -> int:
        """Return 2 W per table: a unit leaves with weight W, and another comes with weight W."""
        return 2 * unit_weight(units) * len(self.sizes)

    def unknown_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        return np.asarray(counts).reshape(self.n_subgroups, -1)[:, self.are_unknown].ravel()

    def per_unknown(self, units: Units) -> int:
        return unit_weight(units) * len(self.sizes)

    def without_unknown(self, counts: Sequence[int]) -> tuple[Self, NDArray[np.int64]]:
        kept = np.asarray(counts).reshape(self.n_subgroups, -1)[:, ~self.are_unknown]
        return replace(self, unknown=False), kept.ravel()

    def by_table(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """Split the counts of one copy (along the last axis) into those of each table."""
        return np.split(np.asarray(counts), np.cumsum(self.sizes)[:-1], axis=-1)

    def adjusted(self, counts: Floats, units: Units, adjust: Callable[..., Floats]) -> Floats:
        """Make each table have its public total, by ``adjust(table, total)``.

        Only the total of all subgroups is public. If some are left out, the noisy total of the
        table takes its place.
        """
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
    """Confusion matrix: K cells for each true class, one for each predicted class.

    If `unknown`, the last K cells are for records of unknown labels, as if these were one more true
    class that is never predicted. A record whose prediction fails counts as an error: a prediction
    of the class after its own (after the last, the first).
    """

    classes: NDArray[Any]
    what = "confusion matrix"
    # Whether the predictions are the model's own: a histogram may use another threshold.
    follows = True

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.intp]:
        """Return K times the index of the true class, plus that of the predicted one."""
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
        """Position in `classes` of the class of each column."""
        return np.arange(len(self.classes))

    def matrices(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Reshape counts to confusion matrices, shape (..., K, K), or (..., K + 1, K) if `unknown`.

        The additional last row is that of unknown labels.
        """
        return counts.reshape(*counts.shape[:-1], -1, len(self.classes))


@dataclass(frozen=True, eq=False)
class ClassSizes(Cells):
    """Weight of the records of each class; if `unknown`, the last cell is for unknown labels."""

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
    """Raise ValueError unless all bounds are finite: no other range can be divided into steps."""
    if not np.isfinite(bounds).all():
        raise ValueError(f"counts need finite bounds; found {bounds}")


def numbers(y: Any) -> Floats:
    """Convert labels to floats; of objects, one by one, with NaN for what is no number."""
    y = np.asarray(y)
    if y.dtype == object:
        y = np.array([as_number(label) for label in y])
    return np.asarray(y, dtype=float)


def spread_of(k: NDArray[np.int64], G: int) -> NDArray[np.int64]:
    """Compute h(k) = round(k (G - k) / G): for a gain of k of G steps, g (1 - g) in steps.

    If k rises by one, h changes by at most one. So neither k + h nor k - h falls as k rises. Each
    of the two is 0 for k = 0 and G for k = G. For any k and k', ``|k - k'| + |h - h'|`` is the
    difference of k + h or of k - h, so at most G.
    """
    return (2 * k * (G - k) + G) // (2 * G)


def in_steps(value: float, width: float) -> int:
    """Return a value in steps of width / G, rounded down.

    `width` bounds the change of the value if one unit is replaced.
    """
    return int(np.floor(GRID * (value / width)))


def steps_of_unit(units: Units) -> int:
    """Bound the change of `in_steps` if one unit is replaced: G, and a few steps for rounding.

    Each of the two values has an error of floats below m / 2^27 steps, and is rounded down: their
    difference grows by 2 + m // 2^26 steps at most.
    """
    return GRID + 2 + units.m // 2**26


def unit_weight(units: Units) -> int:
    """Return W, the total weight of a unit's records: 1 if each record is a unit.

    W is divided among a group's records in integers, so it is large; but small enough that ``2 (W
    m)^2``, the largest value of `Pairs`, stays below 2^62.
    """
    return min(_GROUP_WEIGHT, max(1, 2**30 // units.m)) if units.grouped else 1


def total_weight(units: Units) -> int:
    """Return the total weight of all records, W m."""
    return unit_weight(units) * units.m


def weights(units: Units) -> NDArray[np.int64]:
    """Return integer weights of the records, shape (n,); those of a unit sum to `unit_weight`."""
    return units.record_weights(unit_weight(units))

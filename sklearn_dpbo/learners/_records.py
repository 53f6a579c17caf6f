"""Sealed records of a fit, from which only noisy tables are released (zone: boundary).

This is the only module of learners that computes with sealed values. All methods return sealed
values. Functions at the top of modules compute them, because methods could keep what they see.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from ..privacy.sensitive import Secret
from ._columns import Ends, value_counts, with_categories
from ._counts import cell_counts, norm_counts, size_counts, target_counts
from ._gradients import GradientRows, Objective, gradient
from ._rows import Floats, Levels, Positions, Rows, Scaling, moved, numbers, sums_of_products


class Records:
    """Sealed records, coded as numbers.

    Public are the number `m` of units, the name of a `unit`, the time `begun` of the fit, and
    `frequent`, the positions of columns whose categories are to be released.
    """

    def __init__(self, rows: Rows, m: int, unit: str, begun: datetime) -> None:
        self.m = m
        self.unit = unit
        self.frequent = (*rows.occurring,)
        self.begun = begun
        self._rows = Secret(rows)

    def values(self) -> Secret:
        """Count the units that have each value of the `frequent` columns."""
        return self._rows.then(value_counts)

    def columns(self, levels: Levels, missing: bool, ends: Ends | None) -> Columns:
        """Clip columns of numbers at their ends, and replace categories by indicators."""
        rows = self._rows.then(partial(with_categories, levels=levels, missing=missing, ends=ends))
        return Columns(rows)


class Columns:
    """Sealed columns of numbers and indicators, with labels or targets."""

    def __init__(self, rows: Secret) -> None:
        self._rows = rows

    def moved(self, middle: Floats) -> Columns:
        """Subtract these numbers from the first columns."""
        return Columns(self._rows.then(partial(moved, middle=middle)))

    def numbers(self, d: int, target: bool) -> Columns:
        """Keep the first d columns only; append the target as a column if `target`."""
        return Columns(self._rows.then(partial(numbers, d=d, target=target)))

    def sizes(self, pairs: bool) -> Secret:
        """Count the sizes of values and, with `pairs`, their distances in pairs of units."""
        return self._rows.then(partial(size_counts, pairs=pairs))

    def cells(self, center: Floats, width: Floats, reach: Positions) -> Secret:
        """Count the values in cells around each column's centre."""
        return self._rows.then(partial(cell_counts, center=center, width=width, reach=reach))

    def targets(self, center: float, scale: float) -> Secret:
        """Count the distances of targets from the centre, in scales."""
        return self._rows.then(partial(target_counts, center=center, scale=scale))

    def norms(self, scaling: Scaling, d: int) -> Secret:
        """Count the norms of scaled rows of d columns."""
        return self._rows.then(partial(norm_counts, scaling=scaling, d=d))

    def sums_of_products(self, scaling: Scaling, steps: tuple[int, ...]) -> Secret:
        """Sum the products of scaled columns, 1 and targets."""
        return self._rows.then(partial(sums_of_products, scaling=scaling, steps=steps))

    def gradients(self, objective: Objective) -> Gradients:
        """Scale rows, and divide them into batches, for the gradients of an objective."""
        return Gradients(self._rows.then(partial(GradientRows, objective=objective)))


class Gradients:
    """Sealed batches of scaled rows, for which gradients are computed."""

    def __init__(self, rows: Secret) -> None:
        self._rows = rows

    def at(self, W: Floats, clip: float, batch: int) -> Secret:
        """Sum a batch's gradients at the coefficients W, each clipped to the norm `clip`."""
        return self._rows.then(partial(gradient, W=W, clip=clip, batch=batch))

"""The records of a fit, sealed: what is computed of them gets noise (zone: boundary).

This is the only module of learners that computes with what is sealed. All methods return something
sealed; functions that belong to no object compute it, so that they can leave nothing behind.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..privacy.sensitive import Secret
from ._columns import Ends, value_counts, with_categories
from ._counts import cell_counts, norm_counts, size_counts, target_counts
from ._gradients import GradientRows, Objective, gradient
from ._rows import Floats, Levels, Rows, Scaling, moved, numbers, sums_of_products


class Records:
    """Records as they are coded, sealed.

    Public are the number of units, what one is called, when the fit had `begun`, and `frequent`:
    the columns whose categories are to be released.
    """

    def __init__(self, rows: Rows, m: int, unit: str, begun: datetime) -> None:
        self.m, self.unit, self.frequent, self.begun = m, unit, (*rows.occurring,), begun
        self._rows = Secret(rows)

    def values(self) -> Secret:
        """Return how many units have each value of the columns of `frequent`."""
        return self._rows.then(value_counts)

    def columns(self, levels: Levels, missing: bool, ends: Ends | None) -> Columns:
        """Return the columns of numbers, within these ends, and indicators."""
        return Columns(
            self._rows.then(partial(with_categories, levels=levels, missing=missing, ends=ends))
        )


class Columns:
    """Columns of numbers and indicators, with labels or targets, sealed."""

    def __init__(self, rows: Secret) -> None:
        self._rows = rows

    def moved(self, middle: Floats) -> Columns:
        """Return the same, the first columns less these numbers."""
        return Columns(self._rows.then(partial(moved, middle=middle)))

    def numbers(self, d: int, target: bool) -> Columns:
        """Return the first d columns alone, and the target if it is wanted."""
        return Columns(self._rows.then(partial(numbers, d=d, target=target)))

    def sizes(self, pairs: bool) -> Secret:
        """Return counts of how large values are, and how far apart in pairs of units."""
        return self._rows.then(partial(size_counts, pairs=pairs))

    def cells(self, center: Floats, width: Floats, reach: NDArray[np.intp]) -> Secret:
        """Return counts of values in cells, so many on either side of the centre."""
        return self._rows.then(partial(cell_counts, center=center, width=width, reach=reach))

    def targets(self, center: float, scale: float) -> Secret:
        """Return counts of how far targets are from the centre, in scales."""
        return self._rows.then(partial(target_counts, center=center, scale=scale))

    def norms(self, scaling: Scaling, d: int) -> Secret:
        """Return counts of how long scaled rows of d columns are."""
        return self._rows.then(partial(norm_counts, scaling=scaling, d=d))

    def sums_of_products(self, scaling: Scaling, steps: tuple[int, ...]) -> Secret:
        """Return the sums of products of scaled columns, 1 and targets."""
        return self._rows.then(partial(sums_of_products, scaling=scaling, steps=steps))

    def gradients(self, of: Objective) -> Gradients:
        """Return what gradients of an objective are computed of."""
        return Gradients(self._rows.then(partial(GradientRows, of=of)))


class Gradients:
    """Scaled rows of which gradients are computed, sealed."""

    def __init__(self, rows: Secret) -> None:
        self._rows = rows

    def at(self, W: Floats, clip: float, batch: int) -> Secret:
        """Return the sum of a batch's gradients at these coefficients, in units of `clip`."""
        return self._rows.then(partial(gradient, W=W, clip=clip, batch=batch))

"""The score of each decision threshold on the validation set (zone: sensitive).

Each protected record is predicted once. Its response says which label it gets from a threshold; and
what either label is worth, and is counted as, is computed with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._data.units import Units
from .._privacy.frames import ClearFrames
from .._privacy.sensitive import Secret, Sensitive
from ..scoring._queries import MeanOf, Query
from ..scoring._response import class_scores
from ..scoring._scorers import PrivateScorer
from .model import Model
from .protected_values import ProtectedTable
from .suppress_output import suppress_output

__all__ = ["LabelGains", "counts_at", "label_values", "threshold_curve"]


@dataclass(frozen=True)
class LabelGains(Query):
    """Per record: the response, and what either label is worth and counted as; shape (n, 5)."""

    scorer: PrivateScorer
    response_method: tuple[str, ...]

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return the response, the gains of both labels, and their values for `counts`."""
        scorer, counts = self.scorer, self.scorer.counts
        gains = _of_either_label(scorer.query, y, classes)
        counted = gains if counts is scorer.query else _of_either_label(counts, y, classes)
        return np.stack([class_scores(response)[:, 0], *gains, *counted], axis=1)

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """A record that cannot be predicted is worth the least, whatever the threshold."""
        counted = self.scorer.counts.lowest_values(y, n)
        return np.stack([*np.zeros((3, n)), counted, counted], axis=1)

    def total(
        self, values: NDArray[Any], units: Units, grid: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return the sum over units at each threshold of a grid, in steps."""
        score, (first, second) = values[:, 0], values[:, 1:3].T.astype(np.int64)
        # The second class is predicted at thresholds 0, ..., place - 1; never for NaN.
        place = np.where(np.isnan(score), 0, np.searchsorted(grid, score, side="right"))
        query = cast(MeanOf, self.scorer.query)
        gains = query.fine(first, units), query.fine(second, units)
        start, place, jumps = _jumps(place, *gains, units)
        change = np.zeros(len(grid) + 1, dtype=np.int64)
        np.add.at(change, place, jumps)
        found: NDArray[np.int64] = start + np.cumsum(change[:-1])
        return found


def _of_either_label(counted: Query, y: Any, classes: Any) -> list[NDArray[Any]]:
    """Return each record's value if it gets the first label, and if it gets the second."""
    return [counted.record_values(y, np.full(len(y), label), classes) for label in classes]


@ClearFrames()
def label_values(model: Model, label_gains: LabelGains, table: ProtectedTable) -> Secret:
    """Return the values of all protected records, see `LabelGains`."""
    with suppress_output():
        return Secret(table.values(model, label_gains))


def threshold_curve(
    values: Secret, label_gains: LabelGains, table: ProtectedTable, grid: NDArray[np.float64]
) -> Secret:
    """Return runs of thresholds with the same score: where they start, and that score in steps."""

    def runs(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        total = label_gains.total(values, table.units, grid)
        starts = np.flatnonzero(np.diff(total, prepend=total[0] - 1))
        return starts, total[starts]

    return values.then(runs)


def counts_at(
    threshold: float, values: Secret, label_gains: LabelGains, table: ProtectedTable
) -> Sensitive:
    """Return what is released of the labels that a threshold gives, in a table of one row.

    A unit's values say what it adds to the counts, so their sensitivity is that of `counts`.
    """
    query = label_gains.scorer.counts

    def counted(values: NDArray[Any]) -> list[tuple[int, ...]]:
        column = np.where(values[:, 0] >= threshold, values[:, 4], values[:, 3])
        return [query.statistics(column.astype(np.int64), table.y, table.units)]

    return values.measured(counted, query.sensitivity(table.units))


def _jumps(
    place: NDArray[np.intp], first: NDArray[np.int64], second: NDArray[np.int64], units: Units
) -> tuple[int, NDArray[np.intp], NDArray[np.int64]]:
    """Return the sum over units at the lowest threshold, and where and how far it jumps."""
    if units.labels is None:
        return int(second.sum()), place, first - second
    order, sizes = np.lexsort((place, units.labels)), np.bincount(units.labels)
    unit, begins = units.labels[order], np.cumsum(sizes) - sizes
    # Each unit's sum at the lowest threshold, and after each of its records has changed sides.
    start = np.add.reduceat(second[order], begins)
    change = np.cumsum((first - second)[order])
    before = np.concatenate([[0], change])[begins]
    after = start[unit] + change - before[unit]
    mean = _rounded(after, sizes[unit])
    previous = np.concatenate([[0], mean[:-1]])
    previous[begins] = _rounded(start, sizes)
    return int(_rounded(start, sizes).sum()), place[order], mean - previous


def _rounded(totals: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Divide integers, rounded as `Units.mean` does."""
    means: NDArray[np.int64] = (2 * totals + sizes) // (2 * sizes)
    return means

"""Integers computed from a candidate's predictions, of known sensitivity (zone: sensitive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.cells import as_number
from .._data.units import Units

__all__ = [
    "CellCounts",
    "Predictions",
    "Statistics",
    "numbers",
    "total_weight",
    "unit_weight",
    "weights",
]

# Largest total weight W of a group's records, if the sums fit into int64.
_GROUP_WEIGHT = 2**10


class Statistics:
    """Integers that measure how good predictions are.

    Attributes
    ----------
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    what : str
        What is counted, in words, for privacy reports.
    custom : bool
        Whether a user's function is called, which might depend on other records.
    """

    response_method: tuple[str, ...]
    what: str = ""

    def __eq__(self, other: object) -> bool:
        """Whether both count the same, so that they share one release."""
        return type(self) is type(other) and all(
            map(_same, vars(self).values(), vars(other).values())
        )

    @property
    def custom(self) -> bool:
        return False

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        """Return one value (or row of values) per record, which depends on that record alone.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs), or None
            Labels of the records.
        response : ndarray of shape (n,) or (n, k)
            Response of the estimator to each record, see `response_method`.
        classes : ndarray of shape (n_classes,), list of them or None
            ``classes_`` of the fitted estimator: one array per output, None for regressors.

        Returns
        -------
        values : ndarray of shape (n,) or (n, n_values)
            What `statistics` takes; not in units of the score.
        """
        raise NotImplementedError

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        """Return the worst possible value of each record.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs), or None
            Labels of the records.
        n : int
            Number of records.

        Returns
        -------
        values : ndarray of shape (n,) or (n, n_values)
            As returned by `record_values`.
        """
        raise NotImplementedError

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        """Return the integers.

        Parameters
        ----------
        values : ndarray of shape (n,) or (n, n_values)
            As returned by `record_values`.
        y : ndarray of shape (n,) or (n, n_outputs), or None
            Labels of the records.
        units : Units
            Which of the n records belong to the same unit.
        """
        raise NotImplementedError

    def sensitivity(self, units: Units) -> int:
        """Return the most that one unit changes them: the sum of absolute differences.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        """
        raise NotImplementedError

    def unclipped(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        """Return the gain of each public record, outside of the bounds, too; only if `custom`.

        Parameters
        ----------
        y, response, classes
            As in `record_values`.
        """
        raise NotImplementedError

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        """Return the share of these public records whose gains lie outside of the bounds.

        Parameters
        ----------
        y, response, classes
            As in `record_values`.
        """
        return 0.0


class CellCounts(Statistics):
    """Numbers of records in cells; the records of a unit weigh W together.

    A record's value is the number of its cell, or a row of them: it then lies in several cells.
    """

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        raise NotImplementedError

    @property
    def n_each(self) -> int:
        """Number of cells in which a record lies."""
        return 1

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        counts = np.zeros(self.n_cells, dtype=np.int64)
        for cells in values.reshape(len(values), -1).T:
            np.add.at(counts, cells, weights(units))
        return tuple(counts.tolist())

    def sensitivity(self, units: Units) -> int:
        """A unit adds W to the cells, for each in which a record lies; what replaces it, too."""
        return 2 * unit_weight(units) * self.n_each


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of one candidate for public records that it was not fitted on.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, n_outputs), or None
        Their labels.
    response : ndarray of shape (n,) or (n, k)
        The response to them.
    classes : ndarray of shape (n_classes,), list of them or None
        ``classes_`` of the fitted estimator.
    """

    y: Any
    response: NDArray[Any]
    classes: Any


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal; arrays, if all their entries are."""
    return a is b or bool(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b)


def numbers(y: Any) -> NDArray[np.float64]:
    """Return labels as floats, each read by itself; NaN for one that no float can hold.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels; of objects, perhaps.
    """
    y = np.asarray(y)
    if y.dtype == object:
        y = np.array([as_number(label) for label in y])
    found: NDArray[np.float64] = y.astype(float)
    return found


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

"""Protected units of a validation set (zone: public).

A *unit* is what the guarantee protects: one record, or all records of one group (a patient).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import is_missing

__all__ = ["Units", "unit_name"]


def _place(group: Any) -> tuple[bool, Any, str]:
    """Return what groups are sorted by: numbers, then others, of whatever kinds."""
    number = isinstance(group, Real)
    return not number, group if number else 0, repr(group)


@dataclass(frozen=True, eq=False)
class Units:
    """The rows of a validation set, grouped into protected units.

    Parameters
    ----------
    m : int
        Number of units (public).
    order : ndarray of shape (n_rows,) or None
        Row numbers sorted by unit; None if each row is a unit.
    ends : ndarray of shape (m + 1,) or None
        The rows of unit u are ``order[ends[u]:ends[u + 1]]``.
    """

    m: int
    order: NDArray[np.intp] | None = None
    ends: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, n: int, groups: Any = None) -> Units:
        """Make one unit of each of n rows, or of each distinct value in groups.

        Parameters
        ----------
        n : int
            Number of rows.
        groups : array-like of shape (n,) or None
            The group that each row belongs to.

        Raises
        ------
        ValueError
            If groups has several columns, missing values or another length.
        """
        if groups is None:
            return cls(n)
        groups = groups.tolist() if hasattr(groups, "tolist") else list(groups)
        if any(isinstance(g, list | dict) for g in groups):
            raise ValueError("groups are one entry per record; found several columns")
        if len(groups) != n:
            raise ValueError(f"groups has {len(groups)} entries for {n} rows")
        if any(map(is_missing, groups)):
            raise ValueError(
                "groups have missing values: every record must be known to belong to one group"
            )
        # Not in the order in which they come: that changes with the size of a group.
        unit_of_group = {g: u for u, g in enumerate(sorted(set(groups), key=_place))}
        unit = np.array([unit_of_group[g] for g in groups])
        order = np.argsort(unit, kind="stable")
        ends = np.searchsorted(unit[order], np.arange(len(unit_of_group) + 1))
        return cls(len(unit_of_group), order, ends)

    @property
    def name(self) -> str:
        """Name of a unit in texts: "record" or "group"."""
        return "group" if self.grouped else "record"

    @property
    def grouped(self) -> bool:
        """Whether a unit may have several rows."""
        return self.order is not None

    def rows(self, first: int, last: int) -> NDArray[np.intp]:
        """Return the row numbers of the units first, ..., last - 1."""
        if self.order is None or self.ends is None:
            return np.arange(first, last)
        return self.order[self.ends[first] : self.ends[last]]

    def labels(self) -> NDArray[np.int_] | None:
        """Return the number of each row's unit; None if each row is a unit."""
        if self.order is None or self.ends is None:
            return None
        unit = np.empty(len(self.order), dtype=int)
        unit[self.order] = np.repeat(np.arange(self.m), np.diff(self.ends))
        return unit

    def mean(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the mean over each unit, rounded to the nearest integer.

        Parameters
        ----------
        values : ndarray of int, shape (n_rows,)
            Not negative.

        Returns
        -------
        means : ndarray of int, shape (m,)
            In the order of the units.
        """
        if self.order is None or self.ends is None:
            return values
        totals, sizes = np.add.reduceat(values[self.order], self.ends[:-1]), np.diff(self.ends)
        means: NDArray[np.int64] = (2 * totals + sizes) // (2 * sizes)
        return means

    def record_weights(self, total: int) -> NDArray[np.int64]:
        """Return an integer weight of each row; those of a unit differ by 1 at most.

        Parameters
        ----------
        total : int
            Sum of the weights of each unit.
        """
        if self.order is None or self.ends is None:
            return np.full(self.m, total, dtype=np.int64)
        sizes = np.diff(self.ends)
        unit = np.repeat(np.arange(self.m), sizes)
        position_in_unit = np.arange(len(self.order)) - self.ends[unit]
        share, remainder = np.divmod(total, sizes)
        weights = np.empty(len(self.order), dtype=np.int64)
        weights[self.order] = share[unit] + (position_in_unit < remainder[unit])
        return weights


def unit_name(groups: object) -> str:
    """Return what a unit is called, given the groups that the user passed, or None."""
    return "record" if groups is None else "group"

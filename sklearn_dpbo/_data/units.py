"""Protected units of a validation set (zone: public).

A *unit* is what the guarantee protects: one record, or all records of one group (a patient).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tables import dense, is_missing, plain_array

__all__ = ["Units", "one_column", "unit_name"]


@dataclass(frozen=True, eq=False)
class Units:
    """m protected units, which is public, and the number of each row's unit (None: its own).

    `subgroups` has the number of each row's subgroup, for queries that count them apart.
    """

    m: int
    labels: NDArray[np.intp] | None = None
    subgroups: NDArray[np.intp] | int = 0

    @classmethod
    def of(cls, n: int, groups: Any = None, name: str = "groups") -> Units:
        """Make one unit of each of n rows, or of each distinct value in groups."""
        if groups is None:
            return cls(n)
        groups = one_column(groups, name)
        groups = groups.tolist() if hasattr(groups, "tolist") else list(groups)
        if any(isinstance(g, list | dict) for g in groups):
            raise ValueError(f"{name} has one entry for each row; found a list or dict as an entry")
        if len(groups) != n:
            raise ValueError(f"{name} has {len(groups)} entries for {n} rows")
        if any(map(is_missing, groups)):
            raise ValueError(
                "groups have missing values: every record must be known to belong to one group"
            )

        def place(group: Any) -> tuple[bool, Any, str]:  # numbers, then others of whatever kinds
            number = isinstance(group, Real)
            return not number, group if number else 0, repr(group)

        # Not in the order in which they come: that changes with the size of a group.
        number = {group: u for u, group in enumerate(sorted(set(groups), key=place))}
        return cls(len(number), np.array([number[group] for group in groups], dtype=np.intp))

    @property
    def name(self) -> str:
        """Name of a unit in texts: "record" or "group"."""
        return unit_name(self.labels)

    @property
    def grouped(self) -> bool:
        """Whether a unit may have several rows."""
        return self.labels is not None

    def rows(self, first: int, last: int) -> NDArray[np.intp]:
        """Return the row numbers of the units first, ..., last - 1."""
        if self.labels is None:
            return np.arange(first, last)
        return np.flatnonzero((first <= self.labels) & (self.labels < last))

    def mean(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the mean of integers from 0 up over each unit, rounded to the nearest one."""
        if self.labels is None:
            return values
        sizes, totals = np.bincount(self.labels), np.zeros(self.m, dtype=np.int64)
        np.add.at(totals, self.labels, values)
        return (2 * totals + sizes) // (2 * sizes)

    def record_weights(self, total: int) -> NDArray[np.int64]:
        """Return integer weights: those of a unit add up to `total`, and differ by 1 at most."""
        if self.labels is None:
            return np.full(self.m, total, dtype=np.int64)
        order, sizes = np.argsort(self.labels, kind="stable"), np.bincount(self.labels)
        unit = self.labels[order]
        position_in_unit = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[unit]
        weights = np.empty(len(order), dtype=np.int64)
        weights[order] = total // sizes[unit] + (position_in_unit < total % sizes[unit])
        return weights


def one_column(groups: Any, name: str) -> Any:
    """Return groups; of a table with one column, that column."""
    shape: tuple[int, ...] = getattr(groups, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        return groups.iloc[:, 0] if hasattr(groups, "iloc") else dense(groups)
    if len(shape) > 1 or not np.iterable(groups) or isinstance(groups, str | bytes):
        what = f"a table of shape {shape}" if shape else repr(groups)
        raise ValueError(
            f"{name} says which group each row belongs to, in one column with one entry for each "
            f"row; found {what}"
        )
    return plain_array(groups)


def unit_name(groups: object) -> str:
    """Name a unit, given the groups that the user passed, or None."""
    return "record" if groups is None else "group"

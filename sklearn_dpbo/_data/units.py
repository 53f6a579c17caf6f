"""Which validation records stand or fall together (zone: public).

A *unit* is what the guarantee protects: one record, or all the records of one group (a patient).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Units"]


@dataclass(frozen=True)
class Units:
    """The rows of a validation set, gathered into protected units.

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
    order: np.ndarray | None = None
    ends: np.ndarray | None = None

    @classmethod
    def of(cls, n: int, groups=None) -> Units:
        """Make one unit of each of n rows, or of each distinct value in groups."""
        if groups is None:
            return cls(n)
        groups = groups.tolist() if hasattr(groups, "tolist") else list(groups)
        if any(isinstance(g, list | dict) for g in groups):
            raise ValueError("groups_val has one entry per record; found several columns")
        if any(g is None or g != g for g in groups):
            raise ValueError(
                "groups_val has missing values: every record must be known to belong to one group"
            )
        number: dict = {}
        unit = np.array([number.setdefault(g, len(number)) for g in groups])
        order = np.argsort(unit, kind="stable")
        ends = np.searchsorted(unit[order], np.arange(len(number) + 1))
        return cls(len(number), order, ends)

    @property
    def name(self) -> str:
        """What a unit is called: "record" or "group"."""
        return "group" if self.grouped else "record"

    @property
    def grouped(self) -> bool:
        """Whether a unit may have several rows."""
        return self.order is not None

    def rows(self, first: int, last: int) -> np.ndarray:
        """Return the row numbers of the units first, ..., last - 1."""
        if self.order is None or self.ends is None:
            return np.arange(first, last)
        return self.order[self.ends[first] : self.ends[last]]

    def labels(self) -> np.ndarray | None:
        """Return the number of each row's unit; None if each row is one."""
        if self.order is None or self.ends is None:
            return None
        unit = np.empty(len(self.order), dtype=int)
        unit[self.order] = np.repeat(np.arange(self.m), np.diff(self.ends))
        return unit

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Average non-negative integers over each unit, rounded to the nearest integer."""
        if self.order is None or self.ends is None:
            return values
        totals, sizes = np.add.reduceat(values[self.order], self.ends[:-1]), np.diff(self.ends)
        return (2 * totals + sizes) // (2 * sizes)

    def spread(self, weight: int) -> np.ndarray:
        """Divide this weight among the rows of each unit, into integers of exactly that sum."""
        if self.order is None or self.ends is None:
            return np.full(self.m, weight, dtype=np.int64)
        sizes = np.diff(self.ends)
        unit = np.repeat(np.arange(self.m), sizes)
        place = np.arange(len(self.order)) - self.ends[unit]
        share, left = np.divmod(weight, sizes)
        weights = np.empty(len(self.order), dtype=np.int64)
        weights[self.order] = share[unit] + (place < left[unit])
        return weights

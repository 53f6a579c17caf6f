"""Protected units of a validation set (zone: public).

A *unit* is what the guarantee protects: one record, or all records of one group (a patient).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tables import EXACT, dense, is_missing, plain_array

# Types that labels of groups may have, with the function that reads each.
_TYPES: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bytes: bytes,
    Integral: int,
    float: float,
    np.floating: float,
}


@dataclass(frozen=True, eq=False)
class Units:
    """Protected units: their number m, which is public, and the unit of each row.

    `labels` has the number of each row's unit, shape (n_rows,); None if each row is a unit.
    `subgroups` has the number of each row's subgroup, for queries that count by subgroup.
    """

    m: int
    labels: NDArray[np.intp] | None = None
    subgroups: NDArray[np.intp] | int = 0

    @classmethod
    def of(cls, n: int, groups: Any = None, name: str = "groups") -> Units:
        """Make a unit of each of n rows, or of each distinct value in groups."""
        if groups is None:
            return cls(n)
        labels = _labels(groups, n, name)
        # Sorted, as the order in which labels first occur depends on which rows a group has.
        number = {label: u for u, label in enumerate(sorted(set(labels)))}
        return cls(len(number), np.array([number[label] for label in labels], dtype=np.intp))

    @property
    def name(self) -> str:
        """Name of a unit in texts: "record" or "group"."""
        return unit_name(self.labels)

    @property
    def grouped(self) -> bool:
        """True if a unit may have several rows."""
        return self.labels is not None

    @property
    def schema(self) -> Units:
        """The number of units, without the unit of each row, which is protected."""
        return Units(self.m, np.empty(0, dtype=np.intp) if self.grouped else None)

    def rows(self, first: int, last: int) -> NDArray[np.intp]:
        """List the row numbers of the units first, ..., last - 1."""
        if self.labels is None:
            return np.arange(first, last)
        return np.flatnonzero((first <= self.labels) & (self.labels < last))

    def mean(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Average integers >= 0 over the rows of each unit, rounded; returns shape (m,)."""
        if self.labels is None:
            return values
        sizes = np.bincount(self.labels)
        totals = np.zeros(self.m, dtype=np.int64)
        np.add.at(totals, self.labels, values)
        return (2 * totals + sizes) // (2 * sizes)

    def record_weights(self, total: int) -> NDArray[np.int64]:
        """Return an integer weight for each row; those of a unit sum to `total`, equal up to 1."""
        if self.labels is None:
            return np.full(self.m, total, dtype=np.int64)
        order = np.argsort(self.labels, kind="stable")
        sizes = np.bincount(self.labels)
        unit_of_row = self.labels[order]
        position_in_unit = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[unit_of_row]
        size_of_unit = sizes[unit_of_row]
        weights = np.empty(len(order), dtype=np.int64)
        weights[order] = total // size_of_unit + (position_in_unit < total % size_of_unit)
        return weights


def _labels(groups: Any, n: int, name: str) -> list[Any]:
    """Read the group labels of n rows, which must have one type; errors name types and no label.

    With two types, one person could have two labels that differ, such as "1" and 1. Labels of other
    types, such as ``("p", nan)``, need not equal themselves.
    """
    groups = one_column(groups, name)
    if hasattr(groups, "to_pylist"):  # of pyarrow, whose scalars have types of their own
        groups = groups.to_pylist()
    # `tolist` would make integers of numpy's dates.
    dates = getattr(getattr(groups, "dtype", None), "kind", "") in ("m", "M")
    cells = groups.tolist() if hasattr(groups, "tolist") and not dates else list(groups)
    if len(cells) != n:
        raise ValueError(f"{name} has {len(cells)} entries for {n} rows")
    if any(map(is_missing, cells)):
        raise ValueError(
            f"{name} has missing values: every record must be known to belong to one group. Leave "
            "these records out or, if no two of them belong together, give each its own group"
        )
    labels = _of_one_type(cells)
    if labels is None:
        raise ValueError(
            f"{name} needs entries of one type: text, whole numbers (floats: without a fraction, "
            "below 2^53), or categories of these; found "
            f"{', '.join(sorted({type(cell).__name__ for cell in cells}))}. Turn them into text, "
            "such that all records of a group get the same one, for example by "
            f"{name}.astype(str)"
        )
    return labels


def _of_one_type(cells: list[Any]) -> list[Any] | None:
    """Read cells that are all texts, all bytes or all whole numbers; None for any others.

    Whole floats are read, as pandas makes them of integer identifiers if one is missing. Floats
    with a fraction are refused, as they were computed, and those from 2^53 on, as they may be
    rounded: equal identifiers may then differ.
    """
    types = {type(cell) for cell in cells}
    read = {next((base for base in _TYPES if issubclass(kind, base)), None) for kind in types}
    if bool in types or None in read or len(read) > 1:
        return None
    labels = [_TYPES[base](cell) for base in read if base for cell in cells]
    floats = read <= {float, np.floating}
    return None if floats and not all(x.is_integer() and abs(x) < EXACT for x in labels) else labels


def one_column(groups: Any, name: str) -> Any:
    """Return groups as one column, also if they come as a table with one column."""
    shape: tuple[int, ...] = getattr(groups, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        return groups.iloc[:, 0] if hasattr(groups, "iloc") else dense(groups)
    if len(shape) > 1 or not np.iterable(groups) or isinstance(groups, str | bytes):
        what = f"a table of shape {shape}" if shape else type(groups).__name__
        raise ValueError(
            f"{name} says which group each row belongs to, in one column with one entry for each "
            f"row; found {what}"
        )
    return plain_array(groups)


def unit_name(groups: object) -> str:
    """Name a unit, given the groups that the user passed, or None."""
    return "record" if groups is None else "group"

"""Subgroups of protected records, by public levels of columns (zone: public).

Levels are never read from protected values. Each cell is read by itself. A cell that has none of
the levels, or cannot be read, counts as "other", so no cell raises an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..privacy.suppress_output import suppress_output
from .canonical import key_of_name, kind_of
from .tables import as_number, as_table, dense, is_frame, is_number, is_series, n_rows

OTHER = "other"
# Largest number of subgroups: the noise of numbers for all records grows with its square root.
_MOST = 50


@dataclass(frozen=True, eq=False)
class Subgroups:
    """Levels by column: texts, or bands (low, high); a number x is the band (x, x).

    `names` are those of the columns in the user's table; the keys of `levels` are their texts.
    """

    levels: dict[str, tuple[Any, ...]]
    names: tuple[Any, ...]

    @classmethod
    def of(cls, levels: Any, values: Any) -> Subgroups | None:
        """Check `subgroups` and `subgroups_val`, as the user passed them; None if both are None."""
        if levels is None and values is None:
            return None
        if values is None or not isinstance(levels, dict) or not levels:
            raise ValueError(
                "subgroups_val says which subgroup each record is in, and subgroups which levels "
                'each column has, as in subgroups={"sex": ["f", "m"], "age": [(18, 65), (65, 120)]}'
                ": pass both. Levels are public: do not read them from protected records"
            )
        checked = {str(name): _checked(name, column) for name, column in levels.items()}
        subgroups = cls(checked, tuple(levels))
        if len(subgroups.levels) < len(levels):
            raise ValueError(f"subgroups has two names with the same text, among {list(levels)}")
        if subgroups.n > _MOST:
            raise ValueError(
                f"subgroups has {subgroups.n} combinations; at most {_MOST} are allowed"
            )
        return subgroups

    @classmethod
    def from_dict(cls, levels: Mapping[str, Sequence[Any]]) -> Subgroups:
        """Read the result of `to_dict`."""

        def read(level: Any) -> Any:
            if isinstance(level, str):
                return level
            low, high = level
            return (-math.inf if low is None else low, math.inf if high is None else high)

        levels_read = {name: tuple(map(read, column)) for name, column in levels.items()}
        return cls(levels_read, tuple(levels_read))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the levels by column: texts, or bands [low, high]; None stands for infinity."""

        def end(number: float) -> float | None:
            return number if math.isfinite(number) else None

        return {
            name: [level if isinstance(level, str) else [*map(end, level)] for level in column]
            for name, column in self.levels.items()
        }

    @property
    def n(self) -> int:
        """Number of combinations of levels, with "other" as a further level of each column."""
        return math.prod(len(levels) + 1 for levels in self.levels.values())

    def members(self, by: Sequence[str]) -> dict[tuple[Any, ...], tuple[int, ...]]:
        """List the numbers of subgroups for each combination of labels of the columns `by`."""
        if unknown := set(by) - set(self.levels):
            raise ValueError(
                f"by must name columns among {list(self.levels)}; found {sorted(unknown)}"
            )
        labels = [[*map(_label, levels), OTHER] for levels in self.levels.values()]
        members: dict[tuple[Any, ...], tuple[int, ...]] = {}
        for number, combination in enumerate(product(*labels)):
            label_of_column = dict(zip(self.levels, combination, strict=True))
            key = tuple(label_of_column[name] for name in by)
            members[key] = (*members.get(key, ()), number)
        return members

    @suppress_output()
    def numbers(self, values: Any, n: int) -> NDArray[np.intp]:
        """Return the number of each record's subgroup, shape (n,); `values` are protected."""
        numbers = np.zeros(n, dtype=np.intp)
        table = as_table(values)
        if n_rows(table) != n:
            raise ValueError(f"subgroups_val has {n_rows(table)} entries for {n} records")
        for column, levels in zip(self._columns(table), self.levels.values(), strict=True):
            positions = [_position(cell, levels) for cell in column.tolist()]
            numbers = numbers * (len(levels) + 1) + positions
        return numbers

    def _columns(self, table: Any) -> list[Any]:
        """Find the columns; ValueError if one is missing, or has not the kind of its levels."""
        if is_frame(table):
            keys = [key_of_name(name) for name in table.columns]
            wanted = [key_of_name(name) for name in self.names]
            columns = [table.iloc[:, keys.index(key)] for key in wanted if key in keys]
        else:
            columns = [table] if is_series(table) else list(np.atleast_2d(dense(table).T))
        if len(columns) != len(self.levels):
            alike = [name for name in getattr(table, "columns", ()) if str(name) in self.levels]
            hint = f", and has {alike}: give the names the same types" if alike else ""
            raise ValueError(f"subgroups_val needs one column for each of {list(self.names)}{hint}")
        for column, (name, levels) in zip(columns, self.levels.items(), strict=True):
            kind = "text" if isinstance(levels[0], str) else "numbers"
            if (declared := kind_of(column.dtype)) not in (None, kind):
                raise ValueError(
                    f"subgroups_val[{name!r}] holds {declared}, and its levels are {kind}: no "
                    "record can have any of them"
                )
        return columns


def _checked(name: Any, levels: Any) -> tuple[Any, ...]:
    """Check the levels of a column; the error quotes none, as they may be protected values."""
    listed = () if isinstance(levels, str) or not np.iterable(levels) else tuple(levels)
    if not all(isinstance(level, str) for level in listed):
        listed = tuple(level if isinstance(level, tuple) else (level, level) for level in listed)
        pairs = all(len(band) == 2 and all(map(is_number, band)) for band in listed)
        listed = listed if pairs and _ordered(listed) else ()
    if not 0 < len(listed) == len({*listed}):
        raise ValueError(
            f"subgroups[{name!r}] must be a list of different texts, or of numbers and bands (low, "
            f"high), with low <= x < high, that do not overlap; other values count as "
            f'"{OTHER}". For dates, use the year. Found an object of type {type(levels).__name__}'
        )
    return listed


def _ordered(bands: tuple[Any, ...]) -> bool:
    """Return True if bands have low < high and do not overlap; single numbers are not checked."""
    proper = sorted(band for band in bands if band[0] != band[1])
    apart = all(below[1] <= above[0] for below, above in pairwise(proper))
    return apart and all(low < high for low, high in proper)


def _position(cell: Any, levels: tuple[Any, ...]) -> int:
    """Find the first level that a protected cell has; len(levels), for "other", if none."""
    with suppress(Exception):  # of a cell that cannot be read
        if isinstance(levels[0], str):
            return levels.index(str.__str__(cell))
        x = as_number(cell)
        return [x == low or low <= x < high for low, high in levels].index(True)
    return len(levels)


def _label(level: Any) -> Any:
    low, high = (level, level) if isinstance(level, str) else level
    return low if low == high else f"[{low:g}, {high:g})"

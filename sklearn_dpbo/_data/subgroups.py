"""Subgroups of protected records, by public levels of columns (zone: public).

Levels are never read from protected values. Each cell is read by itself; one that is no level, or
cannot be read, is "other". So nothing raises because of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .canonical import kind_of
from .tables import as_number, as_table, dense, is_frame, is_number, is_series, n_rows

__all__ = ["OTHER", "Subgroups"]

OTHER = "other"
# Each subgroup has a histogram of its own; noise grows with the root of their number.
_MOST = 50


@dataclass(frozen=True)
class Subgroups:
    """Names of columns and the levels of each: texts, numbers, or bands ``(low, high)``."""

    levels: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, levels: Any, values: Any) -> Subgroups | None:
        """Return the subgroups of these arguments of the user's; None without any."""
        if levels is None and values is None:
            return None
        if levels is None or values is None or not isinstance(levels, Mapping) or not levels:
            raise ValueError(
                "subgroups_val says which subgroup each record is in, and subgroups which levels "
                'each column has, as in subgroups={"sex": ["f", "m"], "age": [(18, 65), (65, 120)]}'
                ": pass both. Levels are public: do not read them from protected records"
            )
        found = cls({str(name): _checked(name, own) for name, own in levels.items()})
        if found.n > _MOST:
            raise ValueError(f"subgroups has {found.n} combinations of levels; at most {_MOST}")
        return found

    @property
    def n(self) -> int:
        """Number of subgroups: of combinations of levels, each column with "other"."""
        return math.prod(self._shape)

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(own) + 1 for own in self.levels.values())

    def members(self, by: Sequence[str]) -> dict[tuple[Any, ...], tuple[int, ...]]:
        """Return, by the labels of these columns, the numbers of the subgroups that have them."""
        if unknown := set(by) - set(self.levels):
            raise ValueError(f"by takes columns among {list(self.levels)}; found {sorted(unknown)}")
        numbers = np.moveaxis(
            np.arange(self.n).reshape(self._shape),
            [list(self.levels).index(name) for name in by],
            range(len(by)),
        )
        numbers = numbers.reshape(*numbers.shape[: len(by)], -1)
        labels = [[*map(_label, self.levels[name]), OTHER] for name in by]
        rows = numbers.reshape(-1, numbers.shape[-1]).tolist()
        return dict(zip(product(*labels), map(tuple, rows), strict=True))

    def codes(self, table: Any, n: int) -> NDArray[np.intp]:
        """Return the number of the subgroup of each of n protected records."""
        columns = self._columns(as_table(table))
        if (rows := n_rows(columns[0])) != n:
            raise ValueError(f"subgroups_val has {rows} entries for {n} records")
        places = [
            np.array([_place(cell, own) for cell in column.tolist()], dtype=np.intp)
            for column, own in zip(columns, self.levels.values(), strict=True)
        ]
        return np.ravel_multi_index(places, self._shape)

    def _columns(self, table: Any) -> list[Any]:
        """Return the columns; ValueError if they are not there, or declare another kind."""
        names = list(self.levels)
        if is_frame(table):
            own = list(map(str, table.columns))
            columns = [table.iloc[:, own.index(name)] for name in names if own.count(name) == 1]
        else:
            table = table if is_series(table) else dense(table)
            columns = [table] if table.ndim == 1 else list(table.T)
        if len(columns) != len(names):
            raise ValueError(f"subgroups_val needs one column for each of {names}")
        for name, column in zip(names, columns, strict=True):
            kind = "text" if isinstance(self.levels[name][0], str) else "numbers"
            if (declared := kind_of(column.dtype)) not in (None, kind):
                raise ValueError(
                    f"subgroups_val[{name!r}] holds {declared}, and its levels are {kind}: no "
                    "record can have any of them"
                )
        return columns


def _checked(name: Any, levels: Any) -> tuple[Any, ...]:
    """Return the levels of a column, unless they are of several kinds, or a value has two.

    The error quotes none: they may be protected by mistake.
    """
    listed = () if isinstance(levels, str) or not np.iterable(levels) else tuple(levels)
    listed = tuple(level for level in listed if not _has(level, OTHER))
    bands = [level for level in listed if isinstance(level, tuple)]
    if bands and len(bands) == len(listed):
        ends = [end for band in sorted(bands) for end in band]
        pairs = all(map(is_number, ends)) and {*map(len, bands)} == {2}
        if pairs and all(low < high for low, high in bands) and ends == sorted(ends):
            return listed
    kinds = {str if isinstance(level, str) else is_number(level) for level in listed}
    if kinds in ({str}, {True}) and len({*listed}) == len(listed):
        return listed
    raise ValueError(
        f"subgroups[{name!r}] is a list of different texts or numbers, or of bands (low, high) "
        "that do not overlap, as [(18, 40), (40, 65)], with low <= x < high. Values that are no "
        f'level count as "{OTHER}". Found {len(listed)} levels in an object of type '
        f"{type(levels).__name__}"
    )


def _place(cell: Any, levels: tuple[Any, ...]) -> int:
    """Return the position of the level of a protected cell, or the one after the last."""
    with suppress(Exception):  # of a cell that cannot be read
        return next(i for i, level in enumerate(levels) if _has(cell, level))
    return len(levels)


def _has(cell: Any, level: Any) -> bool:
    if isinstance(level, str):
        return isinstance(cell, str) and str.__str__(cell) == level
    x = as_number(cell)
    return bool(level[0] <= x < level[1] if isinstance(level, tuple) else x == level)


def _label(level: Any) -> Any:
    return f"[{level[0]:g}, {level[1]:g})" if isinstance(level, tuple) else level

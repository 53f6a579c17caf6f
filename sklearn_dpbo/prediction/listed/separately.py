"""Models whose parts that are not listed predict each protected unit by itself (zone: sensitive).

*Theorem.* If each listed part makes row i of what it returns of row i and of what was fitted, and
every other part is a `Separately`, then so does the whole model: a composition of maps that work
row by row works row by row. A `Separately` does by construction: it calls new copies of its part on
one unit at a time, between the public companions, and undoes what a call leaves behind.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ...records.pickles import Unpickler
from ...records.tables import (
    as_table,
    is_frame,
    is_series,
    n_rows,
    stack,
    take_rows,
    with_own_cells,
)
from ..calls import Calls
from .parts import CutOut, Network, Step
from .stand_ins import PLAIN, Mapped, StandIn

# Methods of a part that take rows.
_METHODS = ("predict", "predict_proba", "decision_function", "transform", "inverse_transform")
_OBJECT, _DUPLICATES = np.dtype(object), "allows_duplicate_labels"
# Outputs are put together after so many calls; so many cells of them are kept at most.
_CALLS, _CELLS = 2**10, 2**25
_LIBRARIES = {"builtins", "numpy", "pandas", "scipy"}


@dataclass(eq=False)
class Batch:
    """Rows that a model predicts at once: companions above, rows of units, companions below.

    `rows` are numbers in the protected table, where -1 stands for a companion, and `units` what
    they are of. A part adds to `odd` each unit that it failed for. What it returns for a
    `complete` table is kept under the name of the table, and its `cut`: which part, of how many.
    """

    n_above: int
    n_below: int
    rows: NDArray[np.intp]
    units: NDArray[np.intp]
    table: str
    complete: bool
    cut: tuple[int, int] = (0, 1)
    odd: set[int] = field(default_factory=set)

    def around(self, own: NDArray[np.intp], n: int) -> NDArray[np.intp]:
        """Return the positions of companions above, of these n rows at most, companions below."""
        return np.concatenate([np.arange(self.n_above), own, np.arange(n - self.n_below, n)])

    def positions(self) -> list[NDArray[np.intp]]:
        """Return the positions of the rows of each unit."""
        order = np.argsort(self.units, kind="stable")
        first = np.flatnonzero(np.diff(self.units[order])) + 1
        places = order[:, None] if len(first) + 1 == len(order) else np.split(order, first)
        return [place + self.n_above for place in places]


def for_batch(pickled: bytes, batch: Batch) -> Any:
    """Return a new copy of a model of which parts were cut out, to predict this batch."""
    return _ForBatch(io.BytesIO(pickled), batch).load()


class _ForBatch(Unpickler):
    """Makes a `Separately` of what was cut out."""

    def __init__(self, file: Any, batch: Batch) -> None:
        super().__init__(file)
        self._batch = batch

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function by name."""
        value = super().find_class(module, name)
        if value is Step:
            return partial(for_batch, batch=self._batch)
        if value is Network:
            return Mapped
        return partial(Separately, self._batch) if value is CutOut else value


class Separately(StandIn):
    """A fitted part of a model that is called on one unit at a time, beside the companions."""

    def __init__(self, batch: Batch, pickled: bytes, key: bytes) -> None:
        super().__init__(pickled)
        self._batch, self._key, self._n_calls = batch, key, 0

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS and hasattr(self._like, name):
            return partial(self._call, name)
        return super().__getattr__(name)

    def _call(self, name: str, X: Any) -> Any:
        """Call a method of the part for a batch: for one unit at a time, beside the companions."""
        batch = self._batch
        n = len(batch.rows)
        k = batch.n_above + batch.n_below
        if n_rows(X) != n + k:
            raise ValueError("another number of rows")
        # A model calls its parts in the same order for any batch.
        self._n_calls += 1
        key = self._key + f"{name} {self._n_calls} {batch.cut}".encode()
        outputs, rows = SHARED.get(batch.table, key), batch.rows
        if outputs is None:
            outputs, rows = self._one_by_one(name, X), np.arange(n)
            if batch.complete:
                SHARED.put(batch.table, key, outputs)
        batch.odd |= outputs.odd
        # Rows for the companions, and then for all others.
        own = np.where(rows < 0, 0, rows + k)
        return with_own_cells(take_rows(outputs.rows, batch.around(own, k)))

    def _one_by_one(self, name: str, X: Any) -> _Outputs:
        batch = self._batch
        places = batch.positions()
        a = batch.n_above
        k = a + batch.n_below
        calls = Calls(self._pickled)
        rows_of = _rows_of(X)
        above, below = np.split(batch.around(places[0][:0], n_rows(X)), [a])
        # Copies, as it may return the same array each time.
        companions = rows_of(np.concatenate([above, below]))
        public = with_own_cells(_ask(name, companions, calls.copy()).copy())
        kind = _Kind.of(public)
        if n_rows(public) != k:
            raise ValueError("another number of rows")
        done = [public]
        rows: list[Any] = []
        odd: set[int] = set()
        for place in places:
            unit = rows_of(np.concatenate([above, place, below]))
            row = calls(partial(_rows_of_unit, kind, name, unit, a, len(place)))
            if row is None:
                odd.add(int(batch.units[place[0] - a]))
                row = take_rows(public, np.zeros(len(place), dtype=np.intp))
            rows.append(row)
            if len(rows) == _CALLS:
                done.append(kind.joined(rows))
                rows = []
        order = k + np.argsort(np.concatenate(places))
        all_rows = kind.joined(done + rows)
        return _Outputs(take_rows(all_rows, np.concatenate([np.arange(k), order])), odd)


def _ask(name: str, X: Any, part: Any) -> Any:
    """Call a method of a copy of a part."""
    output = getattr(part, name)(X)
    return output.tocsr() if issparse(output) else output


def _rows_of_unit(kind: _Kind, name: str, X: Any, n_above: int, n: int, part: Any) -> Any:
    """Return what a part returns for the n rows of a unit, or None if it is of another kind."""
    output = _ask(name, X, part)
    return kind.rows(output, n_above, n) if n_rows(output) == n_rows(X) else None


def _rows_of(X: Any) -> Callable[[NDArray[np.intp]], Any]:
    """Return a function that copies rows of a table."""
    if isinstance(X, np.ndarray) and not X.dtype.hasobject:
        return partial(np.ndarray.take, X, axis=0)
    if is_frame(X) and _OBJECT not in set(X.dtypes):
        return partial(take_rows, X)
    return lambda rows: with_own_cells(take_rows(X, rows))


# ---------------------------------------------------------------------- outputs
class _Outputs(NamedTuple):
    """Rows for the companions, then for all others; and the units that a part failed for."""

    rows: Any
    odd: set[int]


@dataclass(frozen=True, eq=False)
class _Kind:
    """The type, shape and cells that all rows of an output share, as those of companions show it.

    numpy and pandas choose one type for many rows. So rows of another type are refused, and where
    no type is declared, cells of a type that no companion has in their column.
    """

    like: Any
    declared: Any
    cells: list[set[type]]

    @classmethod
    def of(cls, public: Any) -> _Kind:
        """Return the kind of what companions get; TypeError of one that a user may have made."""
        kind = type(public)
        known = kind in (np.ndarray, list) or is_frame(public) or is_series(public)
        cells = [set(map(_type_of, column)) for column in _undeclared(public)]
        if not (known or issparse(public)) or kind.__module__.split(".")[0] not in _LIBRARIES:
            raise TypeError(f"outputs of type {kind.__name__}")
        if kind is list and not set().union(*cells) <= PLAIN | {dict}:
            raise TypeError("cells that numpy would look into")
        return cls(public, _declared(public), cells)

    def rows(self, X: Any, first: int, n: int) -> Any:
        """Return a copy of n rows, or None if they are of another kind."""
        if _declared(X) != self.declared:
            return None
        own = slice(first, first + n)
        rows = (X.iloc[own] if hasattr(X, "iloc") else X[own]).copy()
        if self.cells:
            rows = with_own_cells(rows)
            cells = [set(map(_type_of, column)) for column in _undeclared(rows)]
            if len(cells) != len(self.cells) or not all(map(set.issubset, cells, self.cells)):
                return None
        return rows

    def joined(self, parts: list[Any]) -> Any:
        """Return rows of this kind below each other, in one layout, with new labels."""
        if isinstance(self.like, list):
            return [row for part in parts for row in part]
        if isinstance(self.like, np.ndarray):
            return np.ascontiguousarray(stack(parts))
        if issparse(self.like):
            return as_table(stack(parts))
        rows = as_table(stack(parts).copy())
        return rows.set_axis(self.like.columns, axis=1) if is_frame(rows) else rows


def _type_of(cell: Any) -> Any:
    """Return the type of a cell; None of integers of which numpy would make objects."""
    return None if type(cell) is int and abs(cell) >= 2**63 else type(cell)


def _declared(X: Any) -> Any:
    """Describe the declared type of an output: of texts, without the length of the longest."""
    if not hasattr(X, "iloc"):
        dtype: Any = getattr(X, "dtype", None)
        kind = dtype.kind if getattr(dtype, "kind", "") in ("U", "S") else dtype
        return type(X), kind, getattr(X, "shape", ())[1:]
    columns = (tuple(X.columns), tuple(X.columns.names), tuple(X.dtypes)) if is_frame(X) else X.name
    return type(X), columns, X.dtype if is_series(X) else None, bool(X.attrs), X.flags[_DUPLICATES]


def _undeclared(X: Any) -> list[Any]:
    """Return the columns of cells that declare no type."""
    if is_frame(X):
        return [X.iloc[:, j] for j in np.flatnonzero([dtype == _OBJECT for dtype in X.dtypes])]
    if isinstance(X, list):
        return list(zip(*[r if type(r) in (list, tuple) else [r] for r in X], strict=True))
    if getattr(X, "dtype", None) != _OBJECT:
        return []
    return list(np.asarray(X).reshape(n_rows(X), -1).T)


class _Shared:
    """Outputs of parts, which candidates share, for the table that was used last.

    Keys follow from public things alone: what is found here, and when, tells nothing.
    """

    def __init__(self) -> None:
        # Re-entrant: the collector may drop a table while this thread is in here.
        self._table, self._lock = "", RLock()
        self._kept: dict[bytes, _Outputs] = {}

    def get(self, table: str, key: bytes) -> _Outputs | None:
        """Return outputs for a table, by its name, or None."""
        with self._lock:
            return self._kept.get(key) if table == self._table else None

    def put(self, table: str, key: bytes, outputs: _Outputs) -> None:
        """Keep outputs, and older ones unless all together are too large."""
        with self._lock:
            if table != self._table:
                self._table, self._kept = table, {}
            self._kept[key] = outputs
            while len(self._kept) > 1 and sum(_size(o.rows) for o in self._kept.values()) > _CELLS:
                del self._kept[next(iter(self._kept))]

    def forget(self, table: str) -> None:
        """Drop what is kept for a table."""
        with self._lock:
            if table == self._table:
                self._kept = {}


def _size(X: Any) -> int:
    return int(np.prod(getattr(X, "shape", len(X))))


SHARED = _Shared()

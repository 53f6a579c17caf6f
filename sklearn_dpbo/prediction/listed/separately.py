"""Models whose unlisted parts predict each protected unit by itself (zone: sensitive).

*Theorem.* If row i of the output of each listed part is a function of row i of its input and of the
fitted part, and every other part is a `Separately`, then the whole model works row by row: a
composition of maps that work row by row works row by row. A `Separately` does by construction. It
calls new copies of its part on one unit at a time, between the public companions, and undoes all
side effects of a call.
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
_OBJECT = np.dtype(object)
_DUPLICATES = "allows_duplicate_labels"
# Number of calls after which outputs are joined.
_CALLS_PER_JOIN = 2**10
# Largest number of cells of outputs that are kept for other candidates.
_MOST_CELLS = 2**25
_LIBRARIES = {"builtins", "numpy", "pandas", "scipy"}


@dataclass(eq=False)
class Batch:
    """Rows that a model predicts at once: companions above, rows of units, companions below.

    `rows` are row numbers in the protected table, where -1 stands for a companion, and `units` are
    their units. A part adds to `odd` each unit for which it failed. Outputs for a `complete` table
    are kept under its name (`table`), and under its `cut`, as in `ProtectedTable`.
    """

    n_above: int
    n_below: int
    rows: NDArray[np.intp]
    units: NDArray[np.intp]
    table: str
    complete: bool
    cut: tuple[int, int] = (0, 1)
    odd: set[int] = field(default_factory=set)

    def around(self, positions: NDArray[np.intp], n: int) -> NDArray[np.intp]:
        """Put positions of companions above and below these positions, in a table of n rows."""
        above = np.arange(self.n_above)
        return np.concatenate([above, positions, np.arange(n - self.n_below, n)])

    def positions(self) -> list[NDArray[np.intp]]:
        """Return the positions of the rows of each unit."""
        order = np.argsort(self.units, kind="stable")
        first = np.flatnonzero(np.diff(self.units[order])) + 1
        places = order[:, None] if len(first) + 1 == len(order) else np.split(order, first)
        return [place + self.n_above for place in places]


def for_batch(pickled: bytes, batch: Batch) -> Any:
    """Unpickle a model with parts cut out, to predict this batch."""
    return _ForBatch(io.BytesIO(pickled), batch).load()


class _ForBatch(Unpickler):
    """Unpickler that puts a `Separately` in the place of each part that was cut out."""

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
        self._batch = batch
        self._key = key
        self._n_calls = 0

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
        outputs = SHARED.get(batch.table, key)
        rows = batch.rows
        if outputs is None:
            outputs = self._one_by_one(name, X)
            rows = np.arange(n)
            if batch.complete:
                SHARED.put(batch.table, key, outputs)
        batch.odd |= outputs.odd
        # The outputs have the companions' rows first, then all others.
        positions = np.where(rows < 0, 0, rows + k)
        return with_own_cells(take_rows(outputs.rows, batch.around(positions, k)))

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
            if len(rows) == _CALLS_PER_JOIN:
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
    """Call a part for the n rows of a unit, and return its output; None if of another kind."""
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
    """Output rows of companions, then of all others; and the units for which the part failed."""

    rows: Any
    odd: set[int]


@dataclass(frozen=True, eq=False)
class _Kind:
    """Type, shape and types of cells that all rows of an output must have, from companions' rows.

    numpy and pandas choose one type for many rows. So rows of another type are refused. If no type
    is declared, so are cells of a type that no companion has in the same column.
    """

    like: Any
    declared: Any
    cells: list[set[type]]

    @classmethod
    def of(cls, public: Any) -> _Kind:
        """Determine the kind of companions' output; TypeError if its type may be a user's."""
        output_type = type(public)
        is_table = output_type in (np.ndarray, list) or is_frame(public) or is_series(public)
        library = output_type.__module__.split(".")[0]
        cells = [set(map(_type_of, column)) for column in _undeclared(public)]
        if not (is_table or issparse(public)) or library not in _LIBRARIES:
            raise TypeError(f"outputs of type {output_type.__name__}")
        if output_type is list and not set().union(*cells) <= PLAIN | {dict}:
            raise TypeError("cells that numpy would look into")
        return cls(public, _declared(public), cells)

    def rows(self, X: Any, first: int, n: int) -> Any:
        """Copy n rows from the first on; None if they are of another kind."""
        if _declared(X) != self.declared:
            return None
        selected = slice(first, first + n)
        rows = (X.iloc[selected] if hasattr(X, "iloc") else X[selected]).copy()
        if self.cells:
            rows = with_own_cells(rows)
            cells = [set(map(_type_of, column)) for column in _undeclared(rows)]
            if len(cells) != len(self.cells) or not all(map(set.issubset, cells, self.cells)):
                return None
        return rows

    def joined(self, parts: list[Any]) -> Any:
        """Join tables of this kind below each other, in one layout, with new row labels."""
        if isinstance(self.like, list):
            return [row for part in parts for row in part]
        if isinstance(self.like, np.ndarray):
            return np.ascontiguousarray(stack(parts))
        if issparse(self.like):
            return as_table(stack(parts))
        rows = as_table(stack(parts).copy())
        return rows.set_axis(self.like.columns, axis=1) if is_frame(rows) else rows


def _type_of(cell: Any) -> Any:
    """Return the type of a cell; None for integers that numpy would convert to objects."""
    return None if type(cell) is int and abs(cell) >= 2**63 else type(cell)


def _declared(X: Any) -> Any:
    """Describe the declared type of an output; for texts, without the length of the longest."""
    if not hasattr(X, "iloc"):
        dtype: Any = getattr(X, "dtype", None)
        kind = dtype.kind if getattr(dtype, "kind", "") in ("U", "S") else dtype
        return type(X), kind, getattr(X, "shape", ())[1:]
    columns = (tuple(X.columns), tuple(X.columns.names), tuple(X.dtypes)) if is_frame(X) else X.name
    return type(X), columns, X.dtype if is_series(X) else None, bool(X.attrs), X.flags[_DUPLICATES]


def _undeclared(X: Any) -> list[Any]:
    """Return the columns of cells without a declared type."""
    if is_frame(X):
        return [X.iloc[:, j] for j in np.flatnonzero([dtype == _OBJECT for dtype in X.dtypes])]
    if isinstance(X, list):
        return list(zip(*[r if type(r) in (list, tuple) else [r] for r in X], strict=True))
    if getattr(X, "dtype", None) != _OBJECT:
        return []
    return list(np.asarray(X).reshape(n_rows(X), -1).T)


class _Shared:
    """Cache of parts' outputs, which candidates share, for the table that was used last.

    Keys are functions of public values only, so the hits of this cache reveal nothing.
    """

    def __init__(self) -> None:
        # Re-entrant: the garbage collector may drop a table while this thread has the lock.
        self._lock = RLock()
        self._table = ""
        self._kept: dict[bytes, _Outputs] = {}

    def get(self, table: str, key: bytes) -> _Outputs | None:
        """Return the outputs for a table, given by its name, or None."""
        with self._lock:
            return self._kept.get(key) if table == self._table else None

    def put(self, table: str, key: bytes, outputs: _Outputs) -> None:
        """Keep outputs; the oldest ones are dropped if all together are too large."""
        with self._lock:
            if table != self._table:
                self._table = table
                self._kept = {}
            self._kept[key] = outputs
            while len(self._kept) > 1 and self._n_cells() > _MOST_CELLS:
                del self._kept[next(iter(self._kept))]

    def _n_cells(self) -> int:
        return sum(_size(outputs.rows) for outputs in self._kept.values())

    def forget(self, table: str) -> None:
        """Drop the outputs for a table."""
        with self._lock:
            if table == self._table:
                self._kept = {}


def _size(X: Any) -> int:
    return int(np.prod(getattr(X, "shape", len(X))))


SHARED = _Shared()

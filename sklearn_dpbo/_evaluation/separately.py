"""Models whose parts that are not listed predict each protected unit by itself (zone: sensitive).

*Theorem.* If each listed part makes row i of what it returns of row i and of what was fitted, and
every other part is a `Separately`, then so does the whole model: a composition of maps that work
row by row works row by row. A `Separately` does by construction. It calls new copies of its part
on one unit at a time, between the public companions, and leaves nothing behind.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .._data.pickles import Unpickler, fresh
from .._data.tables import is_frame, n_rows, stack, take_rows, with_own_cells
from .parts import METHODS, CutOut, is_estimator
from .suppress_output import drop_errors

__all__ = ["SHARED", "Batch", "for_batch"]

# Methods of a part that take no rows. No others can be called, but those of `METHODS`.
_WITHOUT_ROWS = ("get_feature_names_out", "get_params", "get_metadata_routing")
_OBJECT = np.dtype(object)
# Outputs are put together after so many calls; so many cells of them are kept at most.
_CALLS, _CELLS = 2**10, 2**25
# Types of cells that numpy does not look into when it makes an array of a list.
_IN_LISTS = {str, bytes, bool, int, float, type(None), dict}


# ---------------------------------------------------------------------- calls
@dataclass(eq=False)
class Batch:
    """Rows that a model predicts at once: companions above, units by their row numbers, companions.

    A part adds to `odd` which units it could not be called on, or returned something else for. Of
    a `table`, a name, all units are predicted at once; what parts return is kept under this name.
    """

    n_above: int
    n_below: int
    rows: NDArray[np.intp]
    units: NDArray[np.intp]
    table: str = ""
    complete: bool = False
    odd: set[int] = field(default_factory=set)

    def positions(self) -> list[NDArray[np.intp]]:
        """Return the positions, among the units' rows, of the rows of each unit."""
        order = np.argsort(self.units, kind="stable")
        first = np.flatnonzero(np.diff(self.units[order])) + 1
        return list(order[:, None]) if len(first) + 1 == len(order) else np.split(order, first)


def for_batch(pickled: bytes, batch: Batch) -> Any:
    """Return a new copy of a model whose parts were cut out, to predict this batch."""
    return _ForBatch(io.BytesIO(pickled), batch).load()


class _ForBatch(Unpickler):
    def __init__(self, file: Any, batch: Batch) -> None:
        super().__init__(file)
        self._batch = batch

    def find_class(self, module: str, name: str) -> Any:
        value = super().find_class(module, name)
        return partial(Separately, self._batch) if value is CutOut else value


class Separately:
    """A fitted part of a model that is called on one unit at a time, beside the companions."""

    def __init__(self, batch: Batch, pickled: bytes, key: bytes) -> None:
        self._batch, self._pickled, self._key = batch, pickled, key
        self._like = fresh(pickled)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_like":
            raise AttributeError(name)
        value = getattr(self._like, name)
        if name in METHODS:
            return partial(self._call, name)
        if (callable(value) and name not in _WITHOUT_ROWS) or is_estimator(type(value)):
            raise AttributeError(f"{name} could be called on all records at once")
        return value

    def fit(self, *_: Any) -> None:
        raise TypeError("it is fitted")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self._like.__sklearn_tags__()

    def _call(self, name: str, X: Any) -> Any:
        """Return what the part returns for a batch: of each unit what it returns of it alone."""
        batch, key = self._batch, self._key + name.encode()
        a, k, n = batch.n_above, batch.n_above + batch.n_below, len(batch.rows)
        if n_rows(X) != k + n:
            raise ValueError("another number of rows")
        outputs, rows = SHARED.get(batch.table, key), batch.rows
        if outputs is None:
            outputs, rows = self._one_by_one(name, X), np.arange(n)
            if batch.complete:
                SHARED.put(batch.table, key, outputs)
        batch.odd |= outputs.odd
        own = np.where(rows < 0, 0, rows + k)
        index = np.concatenate([np.arange(a), own, np.arange(a, k)])
        found = with_own_cells(take_rows(outputs.rows, index))
        indexed = hasattr(found, "iloc") and hasattr(X, "iloc")
        return found.set_axis(X.index, axis=0) if indexed else found

    def _one_by_one(self, name: str, X: Any) -> _Outputs:
        """Return what it returns for the companions, and then for each unit by itself."""
        batch, n = self._batch, len(self._batch.rows)
        a, k = batch.n_above, batch.n_above + batch.n_below
        above, below = np.arange(a), np.arange(a + n, k + n)
        public = self._ask(name, X, np.concatenate([above, below]))
        kind, first = Kind.of(public, k), np.zeros(n, dtype=np.intp)
        done, rows, odd = [public], [], set()
        places, calls = batch.positions(), drop_errors()
        for place in places:
            row, own = None, slice(a, a + len(place))
            with calls:
                found = self._ask(name, X, np.concatenate([above, place + a, below]))
                row = kind.rows(found, k + len(place), own)
            if row is None:
                odd.add(int(batch.units[place[0]]))
                row = take_rows(public, first[: len(place)])
            rows.append(row)
            if len(rows) == _CALLS:
                done.append(_joined(rows))
                rows = []
        order = k + np.argsort(np.concatenate(places))
        return _Outputs(take_rows(_joined(done + rows), np.concatenate([np.arange(k), order])), odd)

    def _ask(self, name: str, X: Any, rows: NDArray[np.intp]) -> Any:
        found = getattr(fresh(self._pickled), name)(with_own_cells(take_rows(X, rows)))
        return found.tocsr() if issparse(found) else found


# ---------------------------------------------------------------------- outputs
class _Outputs(NamedTuple):
    """Rows for the companions, then for all others; and the units that a part failed for."""

    rows: Any
    odd: set[int]


@dataclass(frozen=True)
class Kind:
    """What all rows of an output have in common: its type, and those of columns and cells.

    numpy and pandas choose one type for many rows. So rows of another type are refused, and where
    no type is declared, cells of a type that no companion has in the column.
    """

    declared: Any
    cells: list[set[type]]

    @classmethod
    def of(cls, public: Any, n: int) -> Kind:
        """Return the kind of what the companions get; raises ValueError if it has other rows."""
        if n_rows(public) != n:
            raise ValueError("another number of rows")
        cells = [set(map(type, column)) for column in _cells(public)]
        if isinstance(public, list) and not set().union(*cells) <= _IN_LISTS:
            raise TypeError("cells whose types numpy would look into")
        return cls(_declared(public), cells)

    def rows(self, X: Any, n: int, own: slice) -> Any:
        """Return these of n rows, or None if they are of another kind."""
        if n_rows(X) != n or _declared(X) != self.declared:
            return None
        rows = X[own] if not hasattr(X, "iloc") else X.iloc[own]
        if self.cells:
            cells = [set(map(type, column)) for column in _cells(rows)]
            if len(cells) != len(self.cells) or not all(map(set.issubset, cells, self.cells)):
                return None
        return rows


def _declared(X: Any) -> Any:
    """Return what an output declares of all its rows: of texts, not the length of the longest."""
    if is_frame(X):
        return type(X), tuple(X.columns), tuple(X.dtypes)
    dtype = getattr(X, "dtype", None)
    shape = getattr(X, "shape", ())[1:]
    return type(X), dtype.kind if getattr(dtype, "kind", "") in ("U", "S") else dtype, shape


def _cells(X: Any) -> list[Any]:
    """Return the columns of cells that declare no type."""
    if is_frame(X):
        return [X.iloc[:, j] for j in np.flatnonzero([dtype == _OBJECT for dtype in X.dtypes])]
    if isinstance(X, list):
        records = [r if type(r) in (list, tuple) else [r] for r in X]
        return list(zip(*records, strict=True))
    if getattr(X, "dtype", None) != _OBJECT:
        return []
    return list(np.asarray(X).reshape(n_rows(X), -1).T)


def _joined(parts: list[Any]) -> Any:
    """Return the rows of outputs of one kind, one below the other, with new labels."""
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    if hasattr(parts[0], "iloc"):
        parts = [part.reset_index(drop=True) for part in parts]
    return stack(parts)


class _Shared:
    """Outputs of parts, which candidates share, for the table used last.

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
        """Keep outputs, and others while all are no larger than a table that fits into memory."""
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

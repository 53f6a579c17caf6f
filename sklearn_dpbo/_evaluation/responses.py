"""What estimators return, read so that no record changes how another is read (zone: public).

numpy chooses one type for a whole array. So the *kind* of a response is what public records get:
type and shape per record. Arrays of another kind are refused as a whole; entries of sequences, and
of object arrays, one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .._data.cells import Cells
from .._data.tables import dense, is_frame

__all__ = ["Kind", "agree"]

# By how much responses may differ, relative to their range (and to their size), through the
# rounding of sums in another order.
_TOLERANCE = {"f4": (1e-4, 1e-5), "f8": (1e-6, 1e-10)}


@dataclass(frozen=True, eq=False)
class Kind:
    """Type and shape of the response to one record; `cells` if entries are read one by one."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    cells: Cells | None = None

    @classmethod
    def of(cls, raw: Any) -> Kind:
        """Return the kind of a response to public records."""
        if _declares_type(raw):
            response = dense(raw)
            return cls(response.dtype, response.shape[1:])
        entries = _entries(raw)
        response = dense(np.array(entries))
        if response.dtype.kind in "biufUS":
            return cls(response.dtype, response.shape[1:], Cells.of(_leaves(entries)))
        return cls(np.dtype(object), (), Cells.of(entries))

    def read(self, raw: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the response to n records, and which of them have one of another kind.

        Their entries are replaced by that of the first record, which is public. ValueError if it is
        of another kind as a whole.
        """
        if self.cells is None:
            response = dense(raw) if _declares_type(raw) else None
            if response is None or response.shape != (n, *self.shape) or not self._same(response):
                raise ValueError("a response of another kind")
            return response, np.empty(0, dtype=np.intp)
        entries = _entries(raw)
        if len(entries) != n:
            raise ValueError("a response of another length")
        fits = [self._fits(entry) for entry in entries]
        entries = [entry if fit else entries[0] for entry, fit in zip(entries, fits, strict=True)]
        return self._array(entries), np.flatnonzero(~np.array(fits))

    def _same(self, response: NDArray[Any]) -> bool:
        if self.dtype.kind in "US":  # whose length is that of the longest text
            return response.dtype.kind == self.dtype.kind
        return bool(response.dtype == self.dtype)

    def _fits(self, entry: Any) -> bool:
        cells = cast(Cells, self.cells)
        try:
            if self.dtype != object and np.shape(_squeezed(entry)) != self.shape:
                return False
            leaves = _leaves([entry]) if self.dtype != object else [entry]
            return all(cells.has(leaf) for leaf in leaves)
        except Exception:  # of an entry that has no shape
            return False

    def _array(self, entries: list[Any]) -> NDArray[Any]:
        if self.dtype != object:
            array: NDArray[Any] = dense(np.array(entries))
            return array if self.dtype.kind in "US" else array.astype(self.dtype)
        objects = np.empty(len(entries), dtype=object)
        objects[:] = entries
        return objects


def _declares_type(raw: Any) -> bool:
    """Whether a response declares one type for all records, whatever they are."""
    if issparse(raw):
        return True
    if is_frame(raw):
        return all(isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in raw.dtypes)
    dtype = getattr(raw, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind != "O" and np.ndim(raw) > 0


def _entries(raw: Any) -> list[Any]:
    if is_frame(raw):
        return list(raw.itertuples(index=False, name=None))
    if isinstance(raw, np.ndarray):
        return list(raw.tolist()) if raw.ndim else []
    return list(raw)


def _squeezed(entry: Any) -> Any:
    """Return the entry of a single column as `dense` has it."""
    return entry[0] if np.shape(entry) == (1,) else entry


def _leaves(entries: list[Any]) -> list[Any]:
    """Return the scalars inside entries, which may be sequences."""
    leaves: list[Any] = []
    for entry in entries:
        nested = isinstance(entry, list | tuple | np.ndarray)
        leaves += _leaves(list(entry)) if nested else [entry]
    return leaves


def agree(a: NDArray[Any], b: NDArray[Any], sample: NDArray[Any], classifier: bool) -> bool:
    """Whether responses to the same records agree: labels exactly, numbers up to rounding errors.

    The range of `sample` says what a rounding error is. A classifier's whole numbers are labels.
    """
    if a.shape != b.shape:
        return False
    if np.array_equal(a, b):  # as they mostly are
        return True
    if sample.dtype.kind != "f" or (classifier and sample.ndim == 1 and _whole(sample)):
        return np.array_equal(a, b)
    finite = sample[np.isfinite(sample)]
    if finite.size == 0:
        return np.array_equal(a, b, equal_nan=True)
    relative, floor = _TOLERANCE["f8" if sample.dtype.itemsize >= 8 else "f4"]
    # Each end by itself, as their difference may be more than a float holds.
    spread = relative * finite.max() - relative * finite.min()
    tolerance = spread + floor * np.abs(finite).max()
    with np.errstate(invalid="ignore", over="ignore"):  # of infinite and of huge responses
        near = np.abs(a - b) <= tolerance
        return bool(near.all()) or np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True)


def _whole(sample: NDArray[Any]) -> bool:
    """Whether these are labels, which are whole; so is every float beyond 2^53, which none is."""
    return bool((sample == np.round(sample)).all() and (np.abs(sample) < 2**53).all())

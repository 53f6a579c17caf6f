"""Responses of estimators, read so that no record affects how another is read (zone: public).

numpy chooses one type for a whole array. So responses must be of the *kind* that public records
get: the same type and shape per record. If the response to one record is not, the whole batch is
refused, and the record is found in the same way as one that cannot be predicted. Entries of
sequences, and of object arrays, are read one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..records.canonical import as_array, single_cells
from ..records.tables import dense, is_frame

# Largest differences of responses by the rounding of sums in another order, relative to their range
# and to their size.
_TOLERANCE = {"f4": (1e-4, 1e-5), "f8": (1e-6, 1e-10)}

# Stands for a cell of another kind.
_ODD = object()


@dataclass(frozen=True, eq=False)
class Response:
    """Responses to public records; `declared` is True if they declare one type for all records."""

    values: NDArray[Any]
    declared: bool

    @classmethod
    def of(cls, raw: Any) -> Response:
        """Read an estimator's response to public records."""
        declared = _declares_type(raw)
        # A copy: an estimator may write later responses into the same array.
        values = dense(raw).copy() if declared else dense(np.array(_entries(raw), dtype=object))
        if not declared and (typed := np.array(values.tolist())).dtype.kind in "biuf":
            values = typed
        return cls(values, declared)

    def read(self, raw: Any, n: int) -> NDArray[Any]:
        """Read the response to n records; ValueError if it is of another kind for any record."""
        like = self.values
        if self.declared and not _declares_type(raw):
            raise ValueError("a response that declares no type")
        response = dense(raw) if self.declared else self._read_each(_entries(raw))
        # The length that texts declare is that of the longest one.
        same = response.dtype.kind == like.dtype.kind in "US" or response.dtype == like.dtype
        if not same or response.shape != (n, *like.shape[1:]):
            raise ValueError("a response of another kind")
        return response

    def _read_each(self, entries: list[Any]) -> NDArray[Any]:
        """Convert entries that declare no type to the type of public ones."""
        like = self.values
        entries = single_cells(entries) if like.ndim == 1 else entries
        cells = as_array(entries, like.astype(object), _ODD)
        if any(cell is _ODD for cell in cells.flat):
            raise ValueError("an entry of another kind")
        response = cells.astype(like.dtype)
        if like.dtype.kind in "iu" and (response != cells).any():
            raise ValueError("an entry that is no whole number")
        return response


def _declares_type(raw: Any) -> bool:
    """Return True if a response declares one type for all records, whatever they are."""
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


def agree(a: NDArray[Any], b: NDArray[Any], sample: NDArray[Any], classifier: bool) -> bool:
    """Return True if responses to the same records agree.

    Labels must be equal, numbers up to rounding errors relative to the range of `sample`. Whole
    numbers of a `classifier` are labels.
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
    # Each end is scaled separately, because their difference may overflow.
    spread = relative * finite.max() - relative * finite.min()
    tolerance = spread + floor * np.abs(finite).max()
    near = np.abs(a - b) <= tolerance
    return bool(near.all()) or np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True)


def _whole(sample: NDArray[Any]) -> bool:
    """Return True for whole numbers below 2^53; larger floats are all whole, and no labels."""
    return bool((sample == np.round(sample)).all() and (np.abs(sample) < 2**53).all())

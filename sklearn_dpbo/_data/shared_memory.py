"""Arguments of `fit` that would train on protected records (zone: public).

Looks at identity and memory alone, never at values. So copies are not found, nor are slices of
polars and pyarrow tables, nor what a library has copied into objects of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

try:
    from numpy.lib.array_utils import byte_bounds
except ImportError:  # numpy before 2.0
    from numpy import byte_bounds  # type: ignore[attr-defined,no-redef]

from .tables import is_frame

__all__ = ["contains_protected", "refuse_protected"]

# How deep containers and objects are searched.
_DEPTH = 8
# What `numpy.shares_memory` may try; beyond it, memory counts as shared.
_WORK: Any = 10_000
# What contains nothing.
_ATOMS = (str, bytes, int, float, complex, range, type, ModuleType, NoneType)


def refuse_protected(fit_params: Mapping[str, Any], protected: tuple[Any, ...], what: str) -> None:
    """Raise ValueError if a fit parameter is, contains or shares memory with protected records.

    Parameters
    ----------
    fit_params : dict
        Arguments of the estimator's `fit`.
    protected : tuple of tables
        Protected records and labels; None among them is left out.
    what : str
        What they are called in the message.
    """
    memory = _Memory(protected)
    for name, value in fit_params.items():
        if memory.held_by(value):
            raise ValueError(
                f"the fit parameter {name!r} contains {what}: the estimator would be trained "
                "(or stopped early) on protected records, and what it learns of them is not "
                f"private. Pass public records in {name!r}, such as a part of the training "
                "set that is kept out of X"
            )


def contains_protected(value: Any, protected: tuple[Any, ...]) -> bool:
    """Whether a value is, contains or shares memory with one of these tables.

    Parameters
    ----------
    value : object
        Public.
    protected : tuple of tables
        As in `refuse_protected`.
    """
    return _Memory(protected).held_by(value)


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value and all that it contains, what is nearest first."""
    seen, level = {id(value)}, [value]
    for _ in range(_DEPTH):
        yield from level
        inside = [each for part in level for each in _inside(part)]
        level = []
        for each in inside:
            if not isinstance(each, _ATOMS) and id(each) not in seen:
                seen.add(id(each))
                level.append(each)


def _inside(value: Any) -> Iterable[Any]:
    """Return what a container, an object or a function holds."""
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, np.ndarray):
        return value.flat if value.dtype == np.dtype(object) else ()
    if is_frame(value):
        return ()
    if isinstance(value, memoryview):
        return (np.asarray(value),)
    if isinstance(value, Sequence | Set | ValuesView):
        return value
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, FunctionType):
        bound = [c.cell_contents for c in value.__closure__ or () if _is_filled(c)]
        defaults = value.__kwdefaults__ or {}
        return [*bound, *(value.__defaults__ or ()), *defaults.values()]
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    own = [getattr(value, name) for name in slots if hasattr(value, name)]
    return [*own, *getattr(value, "__dict__", {}).values()]


def _slots(kind: type) -> Iterable[str]:
    slots: Any = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else slots
    private = f"_{kind.__name__.lstrip('_')}"
    return [private + name if name.startswith("__") else name for name in names]


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # of a variable that has no value yet
        return False


def _arrays(table: Any) -> list[NDArray[Any]]:
    """Return the arrays that a table keeps its values in, as far as they can be had."""
    if isinstance(table, np.ndarray):
        return [table]
    if issparse(table):
        return [a for a in (getattr(table, "data", None),) if isinstance(a, np.ndarray)]
    if is_frame(table):
        return [a for j in range(table.shape[1]) for a in _column_arrays(table.iloc[:, j])]
    return _column_arrays(table)


def _column_arrays(column: Any) -> list[NDArray[Any]]:
    """Return the array of a pandas column, or of the codes of its categories."""
    if not hasattr(column, "index"):
        return []
    array = getattr(column, "array", None)
    parts = [getattr(array, name, None) for name in ("codes", "_data", "_ndarray")]
    parts += [_offsets(chunk) for chunk in getattr(getattr(array, "_pa_array", None), "chunks", ())]
    return [part for part in parts if isinstance(part, np.ndarray)]


def _offsets(chunk: Any) -> NDArray[Any] | None:
    """Return where an Arrow array of texts keeps its own rows' offsets; slices share the rest."""
    width = {"string": 4, "large_string": 8}.get(str(chunk.type))
    if width is None or chunk.buffers()[1] is None:
        return None
    first, last = chunk.offset * width, (chunk.offset + len(chunk)) * width
    return np.frombuffer(chunk.buffers()[1], np.uint8)[first:last]


def _records(table: Any) -> list[Any]:
    """Return the records of a list that can be written into.

    Others may be one object because they are equal (an empty tuple, a missing value).
    """
    if not isinstance(table, list | tuple):
        return []
    return [record for record in table if isinstance(record, list | dict | set | np.ndarray)]


class _Memory:
    """Objects and memory of protected tables."""

    def __init__(self, tables: tuple[Any, ...]) -> None:
        given = [table for table in tables if table is not None]
        self._identities = {id(part) for table in given for part in (table, *_records(table))}
        self._arrays = [a for table in given for a in _arrays(table) if a.size]
        bounds = np.array([byte_bounds(a) for a in self._arrays], dtype=np.int64).reshape(-1, 2)
        self._first, self._last = bounds.T

    def held_by(self, value: Any) -> bool:
        """Whether a value, or something in it, is one of the tables or shares memory with one."""
        return any(
            id(part) in self._identities or any(self._shared_with(a) for a in _arrays(part))
            for part in _parts(value)
        )

    def _shared_with(self, array: NDArray[Any]) -> bool:
        if not array.size:
            return False
        first, last = byte_bounds(array)
        near = np.flatnonzero((self._first < last) & (first < self._last))
        return any(_overlap(array, self._arrays[i]) for i in near)


def _overlap(a: NDArray[Any], b: NDArray[Any]) -> bool:
    try:
        return bool(np.shares_memory(a, b, max_work=_WORK))
    except np.exceptions.TooHardError:
        return True

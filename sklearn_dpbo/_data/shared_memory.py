"""Arguments of `fit` that would train on protected records (zone: public).

Looks at identity and memory alone, never at values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .tables import is_frame

__all__ = ["refuse_protected"]

# How deep containers and objects are searched.
_DEPTH = 8
# What `numpy.shares_memory` may try; beyond it, memory counts as shared.
_WORK: Any = 10_000


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
    tables = [table for table in protected if table is not None]
    arrays = [array for table in tables for array in _arrays(table)]
    records = {id(record) for table in tables for record in _records(table)}
    identities = {id(table) for table in tables} | records
    for name, value in fit_params.items():
        for part in _parts(value, _DEPTH, set()):
            if id(part) in identities or any(_overlap(a, b) for a in _arrays(part) for b in arrays):
                raise ValueError(
                    f"the fit parameter {name!r} contains {what}: the estimator would be trained "
                    "(or stopped early) on protected records, and what it learns of them is not "
                    f"private. Pass public records in {name!r}, such as a part of the training "
                    "set that is kept out of X"
                )


def _parts(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    """Yield a value and all that it contains."""
    if id(value) in seen or depth == 0:
        return
    seen.add(id(value))
    yield value
    if isinstance(value, Mapping):
        inside: list[Any] = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        inside = list(value)
    elif isinstance(value, np.ndarray):
        inside = list(value.flat) if value.dtype == object else []
    else:
        inside = [] if is_frame(value) else list(getattr(value, "__dict__", {}).values())
    for each in inside:
        if not isinstance(each, str | bytes | int | float | type | None):
            yield from _parts(each, depth - 1, seen)


def _arrays(table: Any) -> list[NDArray[Any]]:
    """Return the arrays that a table keeps its values in, as far as they can be had."""
    if isinstance(table, np.ndarray):
        return [table]
    if issparse(table):
        return [a for a in (getattr(table, "data", None),) if isinstance(a, np.ndarray)]
    if is_frame(table):
        columns = [table.iloc[:, j] for j in range(table.shape[1])]
        return [np.asarray(column) for column in columns if isinstance(column.dtype, np.dtype)]
    if isinstance(getattr(table, "dtype", None), np.dtype) and hasattr(table, "index"):
        return [np.asarray(table)]
    return []


def _records(table: Any) -> list[Any]:
    """Return the records of a list that are objects of their own."""
    if not isinstance(table, list | tuple):
        return []
    return [record for record in table if isinstance(record, list | dict | np.ndarray)]


def _overlap(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if not a.size or not b.size or not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=_WORK))
    except np.exceptions.TooHardError:
        return True

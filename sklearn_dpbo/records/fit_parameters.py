"""Other arguments of an estimator's `fit`, which must not hold protected records (zone: public).

Contents are never compared with protected records: an error would reveal a record. So an argument
that may hold records is accepted only if the caller marks it as public. Memory may be compared: an
argument that is a protected table, or a view of one, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .tables import n_rows


@dataclass(frozen=True, eq=False)
class Public:
    """A fit parameter that the caller has marked as public."""

    value: Any

    def __repr__(self) -> str:
        return f"<{type(self.value).__name__}, marked as public>"


def public(value: Any) -> Public:
    """Mark an argument of `fit` as public, so that the estimator may train on it.

    A search passes other arguments of `fit` on to the estimator, which may train on the records in
    them, stop early by them, or keep its losses on them. Nothing of that is protected. Therefore
    an argument that may hold records, such as `eval_set`, has to be marked as public.

    Parameters
    ----------
    value : object
        What the estimator's `fit` is to get. *It must not contain validation records*, nor copies
        of them, nor anything computed from them. It is passed on whole, even if it has one entry
        for each row of X.

    Returns
    -------
    marked : object
        To be passed to `fit` of `PrivateBayesSearchCV`, `PrivateThresholdClassifier`,
        or to a `CuratorSide`.

    See Also
    --------
    PrivateBayesSearchCV : Its `fit` takes such arguments.

    Notes
    -----
    Not to be marked: arguments with one entry for each row of X (weights, for example), which
    are split as X is; and plain settings, which hold no records: a number, text, bytes, a truth
    value or None.

    Examples
    --------
    >>> from sklearn_dpbo import public
    >>> public([([[0.5, 1.0], [0.2, 3.0]], [0, 1])])
    <list, marked as public>

    With records that are in neither ``X_train`` nor ``X_val``:

    >>> search.fit(  # doctest: +SKIP
    ...     X_train, y_train, X_val=X_val, y_val=y_val, eval_set=public([(X_stop, y_stop)])
    ... )
    """
    return Public(value)


def check_fit_params(fit_params: Mapping[str, Any], n: int) -> None:
    """Raise ValueError for parameters that may hold records and are not marked; X has n rows."""
    unmarked_types = {}
    for name, value in fit_params.items():
        marked = value is None or isinstance(value, Public | str | bytes | Number | np.bool_)
        if not (marked or per_row(value, n)):
            entries = f" with {n_rows(value)} entries" if _is_listed(value) else ""
            unmarked_types[name] = f"{type(value).__name__}{entries}"
    if not unmarked_types:
        return
    one = len(unmarked_types) == 1
    names = ", ".join(map(repr, unmarked_types))
    call = ", ".join(f"{name}=public(...)" for name in unmarked_types)
    raise ValueError(
        f"the fit parameter{'' if one else 's'} {names} may hold records, as "
        f"{'it has' if one else 'they have'} not one entry for each of the {n} rows of X (found "
        f"{', '.join(unmarked_types.values())}): to train on them, or to stop early by them, is "
        "not private. Give weights one entry for each row. If no validation record is in "
        f"{'it' if one else 'them'}, nor a copy of one, pass {call}, with public from sklearn_dpbo"
    )


def refuse_protected(fit_params: Mapping[str, Any], *protected: Any) -> None:
    """Raise ValueError for a parameter marked as public that holds a protected table, or a view."""
    for name, value in fit_params.items():
        for part in _parts(value.value) if isinstance(value, Public) else ():
            if any(share_memory(part, table) for table in protected):
                raise ValueError(
                    f"the fit parameter {name!r} is marked as public, but holds protected records "
                    f"(found the same {type(part).__name__} or a view of it): to train on them, or "
                    "to stop early by them, is not private. Pass other records"
                )


def share_memory(a: Any, b: Any) -> bool:
    """Return True if two tables are one object, or arrays or frames that overlap in memory."""
    if a is b:
        return a is not None
    pairs = product(_memory(a), _memory(b))
    return any(np.shares_memory(array_a, array_b) for array_a, array_b in pairs)


def unmarked(fit_params: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the marks of `public` from fit parameters, as the estimator gets them."""
    return {k: v.value if isinstance(v, Public) else v for k, v in fit_params.items()}


def per_row(value: Any, n: int) -> bool:
    """Return True if a fit parameter has one entry for each of n rows."""
    return _is_listed(value) and n_rows(value) == n


def _is_listed(value: Any) -> bool:
    return isinstance(value, list | tuple) or len(getattr(value, "shape", ())) > 0


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value, and the entries of lists, tuples and dicts in it at any depth."""
    yield value
    if isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part)


def _memory(table: Any) -> list[NDArray[Any]]:
    """List the arrays that hold a table's values; columns of pandas' own dtypes are left out."""
    if issparse(table):
        table = getattr(table, "data", None)
    elif hasattr(table, "iloc"):
        columns = [table] if table.ndim == 1 else [table.iloc[:, j] for j in range(table.shape[1])]
        # `to_numpy` copies the others.
        return [column.to_numpy() for column in columns if isinstance(column.dtype, np.dtype)]
    return [table] if isinstance(table, np.ndarray) else []

"""Tables that a model was fitted or scored on in this process: none is kept (zone: public)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref

from .fit_parameters import share_memory

_FITTED: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()
_SCORED: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()


def remember_fitted(model: Any, X: Any) -> None:
    """Remember on which table a model was fitted, alone or by a search."""
    _remember(_FITTED, model, X)


def remember_scored(search: Any, X_val: Any) -> None:
    """Remember on which table a search scored its candidates."""
    _remember(_SCORED, search, X_val)


def was_fitted_on(model: Any, X: Any) -> bool:
    """Whether this object, or memory of it, is what a model was fitted on."""
    return _is_remembered(_FITTED, model, X)


def was_scored_on(search: Any, X: Any) -> bool:
    """Whether this object, or memory of it, is what a search scored its candidates on."""
    return _is_remembered(_SCORED, search, X)


def _remember(tables: WeakKeyDictionary[Any, ref[Any]], model: Any, X: Any) -> None:
    with suppress(TypeError):  # of a table that is a list, or of no model
        tables.pop(model, None)
        tables[model] = ref(X)


def _is_remembered(tables: WeakKeyDictionary[Any, ref[Any]], model: Any, X: Any) -> bool:
    with suppress(TypeError):  # an object that has no weak references, or no hash
        table = tables.get(model)
        return table is not None and share_memory(table(), X)
    return False

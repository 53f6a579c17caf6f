"""Weak references to the tables that models were fitted or scored on here (zone: public)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref

from sklearn.pipeline import Pipeline

from ..privacy.warn import warn
from .fit_parameters import share_memory

_FITTED: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()
_SCORED: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()


def remember_fitted(model: Any, table: Any) -> None:
    """Remember the table that a model, or a search, was fitted on."""
    _remember(_FITTED, model, table)


def remember_scored(search: Any, table: Any) -> None:
    """Remember the table that a search scored its candidates on."""
    _remember(_SCORED, search, table)


def was_scored_on(search: Any, table: Any) -> bool:
    """Return True if a search scored its candidates on this table, or on memory it shares."""
    return _is_remembered(_SCORED, search, table)


def warn_if_fitted_on(table: Any, models: Mapping[str, Any]) -> None:
    """Warn if one of these models was fitted on this table; keys are names of arguments."""
    for name, model in models.items():
        last = model[-1] if isinstance(model, Pipeline) else model
        if _is_remembered(_FITTED, model, table) or _is_remembered(_FITTED, last, table):
            warn(
                f"{name} was fitted on X_val: the results will show how well it remembers these "
                "records, not how good it is on new ones. Hold out some records"
            )


def _remember(tables: WeakKeyDictionary[Any, ref[Any]], model: Any, table: Any) -> None:
    with suppress(TypeError):  # of a table that is a list, or of no model
        tables.pop(model, None)
        tables[model] = ref(table)


def _is_remembered(tables: WeakKeyDictionary[Any, ref[Any]], model: Any, table: Any) -> bool:
    with suppress(TypeError):  # of an object that has no weak references, or no hash
        remembered = tables.get(model)
        return remembered is not None and share_memory(remembered(), table)
    return False

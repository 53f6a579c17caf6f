"""Which table a model was fitted on, or a search scored on, in this process (zone: public).

Both are held by weak references: nothing here keeps a model or a table alive, or is pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref

from sklearn.pipeline import Pipeline

from ..privacy.warn import warn
from .fit_parameters import share_memory

# The table that each model, or search, was fitted on.
_FITTED: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()
# The table that each search scored its candidates on.
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
        # Learners and searches of this package call `remember_fitted`; a Pipeline of scikit-learn
        # does not, but its last step may be one of them, and get the table as it is.
        last = model[-1] if isinstance(model, Pipeline) else model
        if _is_remembered(_FITTED, model, table) or _is_remembered(_FITTED, last, table):
            warn(
                f"{name} was fitted on X_val: the results will show how well it remembers these "
                "records, not how good it is on new ones. Hold out some records"
            )


def _remember(tables: WeakKeyDictionary[Any, ref[Any]], model: Any, table: Any) -> None:
    # Some tables (a list) or models (None, as with refit=False) cannot be referenced weakly. They
    # are not remembered; nor is the table before, if the model was fitted again.
    with suppress(TypeError):
        tables.pop(model, None)
        tables[model] = ref(table)


def _is_remembered(tables: WeakKeyDictionary[Any, ref[Any]], model: Any, table: Any) -> bool:
    # A model that cannot be referenced weakly, or has no hash, was not remembered either.
    with suppress(TypeError):
        remembered = tables.get(model)
        return remembered is not None and share_memory(remembered(), table)
    return False

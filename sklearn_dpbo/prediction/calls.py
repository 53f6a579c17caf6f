"""Isolated calls of a user's code, one for each protected unit (zone: sensitive).

*Contract.* The result of a call is a function of the object as it was pickled, of the arguments,
and of the state of the process at the first call. Each call gets a new copy of the object. It
leaves neither an error nor a changed generator, warning filter or numerical setting to the next
call. Estimators and their parts, gains, and families of utilities are called in this way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..metrics._gains import Custom
from ..privacy.suppress_output import drop_errors
from ..records.pickles import Copier, Unpickler, packed
from .listed.listed import is_listed

T = TypeVar("T")


class Calls:
    """Calls of copies of one pickled object; no call can depend on an earlier one."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    @cached_property
    def _copier(self) -> Copier:
        return Copier(self._pickled)

    @cached_property
    def _restored(self) -> drop_errors:
        return drop_errors()

    def copy(self) -> Any:
        """Return a new copy."""
        return self._copier.copy()

    def __call__(self, use: Callable[[Any], T]) -> T | None:
        """Call `use` with a new copy, and return its result; None if it fails."""
        with self._restored:
            return use(self.copy())
        return None


class _Isolated(Custom):
    """A user's gain in a query of protected records, which gets each record in a separate call."""

    __call__ = Custom.of_each

    def of_one(self, y: Any, response: NDArray[Any], classes: Any) -> Any:
        """Compute the gain of one record; NaN, which counts as the lowest gain, if it fails."""
        gain = self._calls(lambda gain: gain.of_one(y, response, classes))
        return np.full(1, np.nan) if gain is None else gain

    @cached_property
    def _calls(self) -> Calls:
        return Calls(packed(Custom(self.function)))


class _ForProtected(Unpickler):
    """Unpickler that isolates users' gains."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function by name."""
        value = super().find_class(module, name)
        return _Isolated if value is Custom else value


def query_for_protected(pickled: bytes) -> Any:
    """Copy a query for protected records, with isolated gains; TypeError unless it is listed."""
    query = _ForProtected.of(pickled)
    _check_listed(query)
    return query


def _check_listed(query: Any) -> None:
    """Raise TypeError unless a query and all its parts count each record by itself."""
    if not (is_listed(query) or type(query) is _Isolated):
        raise TypeError(f"{type(query).__name__} is not known to count each record by itself")
    parts = vars(query)
    for part in (parts.get("gain"), parts.get("counts"), *parts.get("parts", ())):
        if part is not None:
            _check_listed(part)

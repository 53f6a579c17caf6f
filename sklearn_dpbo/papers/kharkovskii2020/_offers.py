"""What a modeler may ask for: rows by number, or candidates of a space (zone: public)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from ..._params import check_number, is_finite
from ..._space.axes import EDGE, Distribution
from ..._space.space import SearchSpace
from ...objective._messages import MessageError

__all__ = ["RowsOffered", "SpaceOffered"]


@dataclass(frozen=True, eq=False)
class RowsOffered:
    """Rows by number, each with a candidate if there is an objective."""

    n: int
    settings: tuple[dict[str, Any], ...] | None = None
    name = "rows"

    @classmethod
    def of(cls, settings: Any) -> RowsOffered:
        known = isinstance(settings, Sequence) and not isinstance(settings, str)
        known = known and bool(settings) and all(isinstance(each, dict) for each in settings)
        if not known or any(hasattr(v, "rvs") for each in settings for v in each.values()):
            raise ValueError(
                "settings must list the candidates that a PrivateObjective offers: a list with one "
                "dict for each row, or a search space such as {'C': loguniform(1e-3, 1e3)}; found "
                f"{settings!r:.200}"
            )
        copies = ({k: clone(v, safe=False) for k, v in each.items()} for each in settings)
        return cls(len(settings), tuple(copies))

    def canonical(self, row: Any) -> int:
        try:
            expected = f"numbered from 0 to {self.n - 1}"
            check_number("a row", row, expected, lambda r: 0 <= r < self.n, Integral)
        except ValueError as error:
            raise MessageError(*error.args) from None
        return int(row)

    def candidate(self, row: int) -> dict[str, Any]:
        return cast(Sequence[dict[str, Any]], self.settings)[row]

    def examples(self) -> Sequence[dict[str, Any]]:
        """Return candidates to check the names of parameters with."""
        return self.settings or ()

    def to_message(self) -> dict[str, Any]:
        return {"n_rows": self.n}


@dataclass(frozen=True, eq=False)
class SpaceOffered:
    """Candidates of a space: for each parameter its values, or a range of numbers."""

    axes: dict[str, Any]
    name = "settings"

    @classmethod
    def of(cls, param_grid: Mapping[str, Any]) -> SpaceOffered:
        (axes,) = SearchSpace(param_grid).subspaces
        return cls({name: _offered(name, axis) for name, axis in axes.items()})

    def canonical(self, candidate: Any) -> dict[str, Any]:
        """Return a candidate with the space's own values, such as 1 for 1.0 in a list with 1."""
        if not isinstance(candidate, dict) or set(candidate) != set(self.axes):
            raise MessageError(
                f"each of settings must be a dict of {sorted(self.axes)}; found {candidate!r:.200}"
            )
        return {name: _value(name, self.axes[name], candidate[name]) for name in self.axes}

    def candidate(self, candidate: dict[str, Any]) -> dict[str, Any]:
        return candidate

    def examples(self) -> Sequence[dict[str, Any]]:
        return [{name: axis[0] for name, axis in self.axes.items()}]

    def to_message(self) -> dict[str, Any]:
        return {"settings": {name: _message_of(axis) for name, axis in self.axes.items()}}


def _message_of(axis: Any) -> Any:
    return axis if isinstance(axis, list) else {"low": axis[0], "high": axis[1]}


def _offered(name: str, axis: Any) -> Any:
    """Return the values of an axis, or its ends and whether it has whole numbers only."""
    if isinstance(axis, Distribution):
        low, high = axis.values_at(np.array([EDGE, 1 - EDGE]))
        return low, high, isinstance(low, int)
    values = [each.item() if isinstance(each, np.generic) else each for each in axis.values]
    for value in values:
        try:
            same = json.loads(json.dumps(value, allow_nan=False)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            raise ValueError(
                f"settings[{name!r}] has {value!r}, which JSON cannot represent: pass a list with "
                "one candidate for each row, to be asked for by row number"
            )
    return values


def _value(name: str, axis: Any, value: Any) -> Any:
    """Return the axis' own value that equals this one."""
    number = isinstance(value, Real) and not isinstance(value, bool) and is_finite(value)
    if isinstance(axis, list):
        for known in axis:
            alike = type(known) is type(value)
            if known == value and (alike or (number and not isinstance(known, bool))):
                return known
        raise MessageError(f"{name} must be one of {axis!r}; found {value!r:.200}")
    low, high, whole = axis
    if not number or not low <= value <= high or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise MessageError(f"{name} must be {kind} from {low!r} to {high!r}; found {value!r:.200}")
    return int(value) if whole else float(value)

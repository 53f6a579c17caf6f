"""What a modeler may ask for: rows by number, or settings of a space (zone: public)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._params import check_number, is_finite
from .._space.axes import EDGE, Distribution
from .._space.space import SearchSpace

__all__ = ["MessageError", "RowsOffered", "SpaceOffered"]


class MessageError(ValueError):
    """A message is malformed, or asks for what is not offered; its text may be sent back."""


@dataclass(frozen=True)
class RowsOffered:
    """Rows by number, of which each may have a setting.

    Parameters
    ----------
    n : int
        How many rows there are.
    settings : tuple of dict, or None
        The setting of each.
    """

    n: int
    settings: tuple[dict[str, Any], ...] | None = None
    name = "rows"

    @classmethod
    def of(cls, settings: Any) -> RowsOffered:
        """Return the rows with these settings, of which copies are kept.

        Raises
        ------
        ValueError
            If it is no list of settings.
        """
        known = isinstance(settings, Sequence) and not isinstance(settings, str)
        if not known or not settings or not all(isinstance(each, dict) for each in settings):
            raise ValueError(
                "settings says what a PrivateObjective may be asked for: a list with the setting "
                f"of each row, or a search space such as {{'C': loguniform(1e-3, 1e3)}}; found "
                f"{settings!r:.200}"
            )
        if any(hasattr(value, "ppf") for each in settings for value in each.values()):
            raise ValueError(
                "a list has the setting of each row, and no distributions: one dict is a search "
                "space. Spaces of several dicts are not offered by message"
            )
        copies = ({k: clone(v, safe=False) for k, v in each.items()} for each in settings)
        return cls(len(settings), tuple(copies))

    def canonical(self, row: Any) -> int:
        """Return the number of a row, or raise MessageError."""
        try:
            check_number(
                "a row", row, f"numbered 0 to {self.n - 1}", lambda r: 0 <= r < self.n, int
            )
        except ValueError as error:
            raise MessageError(*error.args) from None
        return int(row)

    def setting(self, row: int) -> dict[str, Any]:
        """Return the setting of a row."""
        assert self.settings is not None, "there are settings if there is an objective"
        return self.settings[row]

    def examples(self) -> Sequence[dict[str, Any]]:
        """Return settings to check the names of parameters with."""
        return self.settings or ()

    def to_message(self) -> dict[str, Any]:
        """Return what is offered, for a message."""
        return {"n_rows": self.n}


@dataclass(frozen=True)
class SpaceOffered:
    """Settings of a space.

    Parameters
    ----------
    axes : dict of str to list or to (low, high, whole)
        For each parameter its values, or a range of numbers, whole ones or not.
    """

    axes: dict[str, Any]
    name = "settings"

    @classmethod
    def of(cls, param_grid: Mapping[str, Any]) -> SpaceOffered:
        """Return what a search space offers.

        Raises
        ------
        ValueError
            If it is no search space, or has values that JSON cannot represent.
        """
        (axes,) = SearchSpace(param_grid).subspaces
        return cls({name: _offered(name, axis) for name, axis in axes.items()})

    def canonical(self, setting: Any) -> dict[str, Any]:
        """Return a setting with the space's own values: 1 for 1.0 in a list with 1, say.

        Raises
        ------
        MessageError
            If it is none of the space.
        """
        if not isinstance(setting, dict) or set(setting) != set(self.axes):
            raise MessageError(
                f"a setting is a dict of {sorted(self.axes)}; found {setting!r:.200}"
            )
        return {name: _value(name, self.axes[name], setting[name]) for name in self.axes}

    def setting(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Return the setting."""
        return setting

    def examples(self) -> Sequence[dict[str, Any]]:
        """Return settings to check the names of parameters with."""
        return [{name: axis[0] for name, axis in self.axes.items()}]

    def to_message(self) -> dict[str, Any]:
        """Return what is offered, for a message."""
        return {"settings": {name: _told(axis) for name, axis in self.axes.items()}}


def _told(axis: Any) -> Any:
    """Return an axis as a message has it."""
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
                f"settings[{name!r}] has {value!r}, which a message in JSON cannot represent: give "
                "a list with the setting of each row, and let rows be asked for by number"
            )
    return values


def _value(name: str, axis: Any, value: Any) -> Any:
    """Return the axis' own value that equals this one."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
    if isinstance(axis, list):
        for known in axis:
            alike = type(known) is type(value)
            if known == value and (alike or (number and not isinstance(known, bool))):
                return known
        raise MessageError(f"{name} is one of {axis!r}; found {value!r:.200}")
    low, high, whole = axis
    if not number or not low <= value <= high or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise MessageError(f"{name} is {kind} from {low!r} to {high!r}; found {value!r:.200}")
    return int(value) if whole else float(value)

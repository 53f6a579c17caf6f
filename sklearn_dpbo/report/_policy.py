"""Policies: rules for releases, in TOML (zone: public)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

UNITS = ("record", "group", "instance")


@dataclass(frozen=True)
class Policy:
    """Rules of a data owner for releases; None is no rule.

    Parameters
    ----------
    epsilon : float, default=None
        The largest epsilon of one release.
    epsilon_per_dataset, epsilon_per_year : float, default=None
        The largest sum of epsilon of all charges of the ledger, and of those in the calendar years
        (UTC) of the release's charges. They need a ledger.
    delta_times_units : float, default=1.0
        Delta has to be below this, divided by the number of units.
    fewest_units, fewest_units_per_subgroup : int, default=None
        The smallest number of records (or groups) in all, and the smallest noisy number in each
        subgroup that is reported.
    units : tuple of str, default=None
        Units that may be protected: "record", "group" or "instance".
    assumptions : bool, default=False
        Whether the guarantee may rest on an assumption about the data.
    ledger : bool, default=False
        Whether the release must have been charged to a ledger.
    """

    epsilon: float | None = None
    epsilon_per_dataset: float | None = None
    epsilon_per_year: float | None = None
    delta_times_units: float | None = 1.0
    fewest_units: int | None = None
    fewest_units_per_subgroup: int | None = None
    units: tuple[str, ...] | None = None
    assumptions: bool = False
    ledger: bool = False

    @classmethod
    def of(cls, policy: Any) -> Self:
        """Return the policy of a path, a dict or a Policy; ValueError for an invalid rule."""
        if isinstance(policy, cls):
            return policy
        if isinstance(policy, str | os.PathLike):
            try:
                policy = tomllib.loads(Path(policy).read_text(encoding="utf-8"))
            except tomllib.TOMLDecodeError as error:
                raise ValueError(f"the policy is not valid TOML: {error}") from None
        rules: Mapping[str, Any] = policy or {}
        names = [field.name for field in fields(cls)]
        if unknown := sorted(set(rules) - set(names)):
            raise ValueError(f"rules of a policy must be among {names}; found {unknown}")
        for name, value in rules.items():
            _check_rule(name, value)
        units = {"units": tuple(rules["units"])} if "units" in rules else {}
        return cls(**{**rules, **units})


def _check_rule(name: str, value: Any) -> None:
    """Raise ValueError unless the value of a rule has the right type and range."""
    if name == "units":
        valid = isinstance(value, list | tuple) and set(value) <= set(UNITS)
        expected = f"a list of {list(UNITS)}"
    elif name in ("assumptions", "ledger"):
        valid = isinstance(value, bool)
        expected = "true or false"
    else:
        number = int if name.startswith("fewest") else (int, float)
        valid = isinstance(value, number) and not isinstance(value, bool) and value > 0
        expected = "a whole number above 0" if name.startswith("fewest") else "a number above 0"
    if not valid:
        raise ValueError(f"the rule {name} must be {expected}; found {value!r}")

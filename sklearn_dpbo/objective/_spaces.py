"""A search space as lists of values and ranges of numbers (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Range", "domains", "plain"]


class Range(NamedTuple):
    """Numbers from low to high: only whole ones, or all; spread evenly, or by their logarithm."""

    low: float
    high: float
    whole: bool
    log: bool


def domains(space: Any) -> dict[str, list[Any] | Range]:
    """Return the values of each parameter of a search space, or their range."""
    if not isinstance(space, Mapping) or not space:
        raise ValueError(
            f"space must be a dict from parameter names to lists or distributions; found {space!r}"
        )
    return {str(name): _domain(name, values) for name, values in space.items()}


def _domain(name: str, values: Any) -> list[Any] | Range:
    if isinstance(values, list | np.ndarray) and len(values):
        return [plain(value) for value in values]
    if not hasattr(values, "rvs"):
        raise ValueError(
            f"space[{name!r}] must be a list of values or a distribution of scipy, such as "
            f"scipy.stats.loguniform(1e-3, 1e3); found {values!r}"
        )
    law = getattr(getattr(values, "dist", None), "name", type(values).__name__)
    if law not in ("uniform", "loguniform", "reciprocal", "randint"):
        raise ValueError(
            f"space[{name!r}]: scipy.stats.{law} is no range of numbers. Use uniform, loguniform "
            "or randint"
        )
    low, high = (plain(end) for end in values.support())
    if law == "randint":
        return Range(int(low), int(high), whole=True, log=False)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"space[{name!r}] must have finite bounds; found {low} to {high}")
    return Range(low, high, whole=False, log=law != "uniform")


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one, which stores and estimators accept."""
    return value.item() if isinstance(value, np.generic) else value

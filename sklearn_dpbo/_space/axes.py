"""One parameter's values, placed in the unit interval (zone: public).

Every value has one coordinate in [0, 1]: equal coordinates mean equal values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Number

import numpy as np

__all__ = ["EDGE", "Categories", "Distribution", "axis_of", "found", "same"]

# Keeps quantiles of unbounded distributions finite.
EDGE = 2.0**-40
# Halvings that find where a discrete distribution's steps lie.
_HALVINGS = 40


@dataclass(frozen=True)
class Categories:
    """A list of values: unordered, but a list of numbers keeps its order in the unit interval."""

    name: str
    values: tuple
    coordinates: np.ndarray
    ordered: bool

    @property
    def n_points(self) -> float:
        """How many values there are."""
        return len(self.values)

    def snap(self, u: np.ndarray) -> np.ndarray:
        """Return the coordinates whose slices of [0, 1) hold u."""
        places = np.unique(self.coordinates)
        return places[np.minimum((u * len(places)).astype(int), len(places) - 1)]

    def values_at(self, coordinates: np.ndarray) -> list:
        """Return the values at these coordinates."""
        places, first = np.unique(self.coordinates, return_index=True)
        return [self.values[first[i]] for i in np.searchsorted(places, coordinates)]

    def locate(self, value) -> float:
        """Return the coordinate of a value; raise ValueError if it is not in the list."""
        for candidate, coordinate in zip(self.values, self.coordinates, strict=True):
            if same(candidate, value):
                return float(coordinate)
        raise ValueError(f"{self.name}={value!r} is not among {list(self.values)!r}")


@dataclass(frozen=True)
class Distribution:
    """A distribution, through its quantile function."""

    name: str
    quantile: Callable
    discrete: bool
    n_points: float = math.inf
    ordered: bool = True
    _middles: dict = field(default_factory=dict, repr=False)

    def quantiles(self, u: np.ndarray) -> np.ndarray:
        """Return the u-quantiles, or say what is wrong with the distribution."""
        try:
            with np.errstate(all="ignore"):  # what is not finite is refused below
                values = np.asarray(self.quantile(u), dtype=float)
        except TypeError as error:
            raise ValueError(
                f"param_grid[{self.name!r}]: quantiles of the distribution cannot be computed "
                f"({error}); give it its parameters, as in scipy.stats.randint(1, 10)"
            ) from None
        if not np.isfinite(values).all():
            raise ValueError(
                f"param_grid[{self.name!r}]: some quantiles of the distribution are not finite; "
                "check its parameters"
            )
        return values

    @cached_property
    def _whole(self) -> bool:
        values = self.quantiles(np.linspace(EDGE, 1 - EDGE, 257))
        return self.discrete and bool((values == np.rint(values)).all())

    def snap(self, u: np.ndarray) -> np.ndarray:
        """Return u; for a discrete distribution, the middle of the step that holds it."""
        u = np.clip(u, EDGE, 1 - EDGE)
        if not self.discrete:
            return u
        values = self.quantiles(u)
        new = np.array(sorted(set(values.tolist()) - self._middles.keys()))
        if new.size:
            middle = (self._edge(new, "left") + self._edge(new, "right")) / 2
            self._middles.update(zip(new.tolist(), middle.tolist(), strict=True))
        return np.array([self._middles[v] for v in values.tolist()])

    def _edge(self, values: np.ndarray, side: str) -> np.ndarray:
        """Return where the quantile function reaches (left) or leaves (right) these values."""
        low, high = np.full(len(values), EDGE), np.full(len(values), 1 - EDGE)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            at = self.quantiles(middle)
            beyond = at >= values if side == "left" else at > values
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high if side == "left" else low

    def values_at(self, coordinates: np.ndarray) -> list:
        """Return the quantiles at these coordinates, as plain Python numbers."""
        values = self.quantiles(coordinates)
        return (values.astype(int) if self._whole else values).tolist()

    def locate(self, value) -> float:
        """Return the coordinate of a value; raise ValueError if it is beyond the distribution."""
        lowest, highest = self.quantiles(np.array([EDGE, 1 - EDGE]))
        width = 1e-9 * max(abs(lowest), abs(highest))
        inside = isinstance(value, Number) and lowest - width <= value <= highest + width
        if inside:
            target = np.array([min(max(float(value), lowest), highest)])
            place = self.snap((self._edge(target, "left") + self._edge(target, "right")) / 2)
            if not self.discrete or self.quantiles(place)[0] == value:
                return float(place[0])
        lowest = lowest if abs(lowest) > width else 0.0  # quantiles of EDGE are no round numbers
        raise ValueError(
            f"{self.name}={value!r} is not a value of its distribution, which reaches from "
            f"{lowest:g} to {highest:g}"
        )


def axis_of(name, values) -> Categories | Distribution:
    """Return the axis that an entry of param_grid describes; raise ValueError if malformed."""
    quantile = getattr(values, "ppf", None) or getattr(values, "icdf", None)
    if callable(quantile) and not isinstance(values, type):
        return Distribution(name, quantile, _is_discrete(values))
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sequence | np.ndarray):
        hint = "; write [value] for a single value" if isinstance(values, str | Number) else ""
        raise ValueError(
            f"param_grid[{name!r}] is a list of values or a distribution with a ppf method"
            f"{hint}; {found(values)}"
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"param_grid[{name!r}] is one-dimensional; found shape {values.shape}")
    if len(values) == 0:
        raise ValueError(f"param_grid[{name!r}] is empty; give at least one value")
    ordered = all(isinstance(v, Number) and not isinstance(v, bool | complex) for v in values)
    ordered = ordered and not any(_is_nan(v) for v in values)
    return Categories(name, tuple(values), _coordinates(values, ordered), ordered)


def _is_nan(value) -> bool:
    try:
        return math.isnan(value)
    except OverflowError:  # of a whole number beyond any float
        return False


def _is_discrete(distribution) -> bool:
    kinds = [kind.__name__ for kind in type(distribution).__mro__]
    return hasattr(distribution, "pmf") and "ContinuousDistribution" not in kinds


def _coordinates(values, ordered: bool) -> np.ndarray:
    """Place numbers by rank (a grid is even on the scale its author chose), others in order."""
    if ordered:  # 1 and 1.0 are the same number, and not the same setting
        # Plain numbers, which compare whatever their size: numpy's are cast to each other's types.
        plain = [v.item() if isinstance(v, np.generic) else v for v in values]
        keys = [(p, type(v).__name__) for p, v in zip(plain, values, strict=True)]
        distinct = sorted(set(keys))
        return (np.array([distinct.index(key) for key in keys]) + 0.5) / len(distinct)
    return (np.arange(len(values)) + 0.5) / len(values)


def same(a, b) -> bool:
    """Whether two values are the same, whatever they are."""
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError):  # arrays, and whatever else has no plain answer
        return False


def found(thing) -> str:
    """Return how to speak of a thing that was found instead of what was expected."""
    return f"found {thing!r} ({type(thing).__name__})"

"""The values of one parameter and their coordinates in the unit interval (zone: public).

Each value has one coordinate in [0, 1], and values with equal coordinates are equal.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Number, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidParameterError
from ..privacy.float_errors import ignore_float_errors

# Longest list of values: each value without an order is a column of the surrogate, and a long list
# of numbers should be a distribution.
_MOST_VALUES = 20_000
# Distance of coordinates to 0 and 1 that keeps quantiles of unbounded distributions finite.
EDGE = 2.0**-40
# Bisection steps when the quantile function is inverted.
_BISECTIONS = 40
# Third entries of scikit-optimize's tuples (low, high, prior), and the same in scipy.stats.
_PRIORS = {"log-uniform": "loguniform({0!r}, {1!r})", "uniform": "uniform({0!r}, {1!r} - {0!r})"}


@dataclass(frozen=True, eq=False)
class Categories:
    """A list of different values. If all are numbers, their order is kept in [0, 1]."""

    name: str
    values: tuple[Any, ...]
    coordinates: NDArray[np.float64]
    ordered: bool

    @property
    def n_points(self) -> float:
        """Number of values."""
        return len(self.values)

    def snap(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move coordinates u, shape (n,), to those of values; each has an equal part of [0, 1)."""
        n = len(self.values)
        index: NDArray[np.int_] = np.minimum((u * n).astype(int), n - 1)
        return (index + 0.5) / n

    def values_at(self, coordinates: NDArray[np.float64]) -> list[Any]:
        """Return the values at coordinates of shape (n,), which `snap` returned."""
        order = np.argsort(self.coordinates)
        return [self.values[order[i]] for i in (coordinates * len(order)).astype(int)]

    def locate(self, value: Any) -> float:
        """Return the coordinate of a value; raise ValueError if it is not in the list."""
        for candidate, coordinate in zip(self.values, self.coordinates, strict=True):
            if same(candidate, value):
                return float(coordinate)
        raise ValueError(f"{self.name}={value!r} is not among {reprlib.repr(list(self.values))}")


@dataclass(frozen=True)
class Distribution:
    """A distribution, given by its quantile function."""

    name: str
    quantile: Callable[[NDArray[np.float64]], Any]
    discrete: bool
    n_points: float = math.inf
    ordered: bool = True
    _middles: dict[float, float] = field(default_factory=dict, repr=False)

    def quantiles(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the u-quantiles; raise ValueError if they are not finite numbers."""
        try:
            with ignore_float_errors():  # quantiles that are not finite raise an error below
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
    def _is_integer(self) -> bool:
        values = self.quantiles(np.linspace(EDGE, 1 - EDGE, 257))
        return self.discrete and bool((values == np.rint(values)).all())

    def snap(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move coordinates u, shape (n,), to the middle of their step if values are discrete."""
        u = np.clip(u, EDGE, 1 - EDGE)
        if not self.discrete:
            return u
        values = self.quantiles(u)
        new = np.array(sorted(set(values.tolist()) - self._middles.keys()))
        if new.size:
            middle = (self._edge(new, "left") + self._edge(new, "right")) / 2
            self._middles.update(zip(new.tolist(), middle.tolist(), strict=True))
        return np.array([self._middles[v] for v in values.tolist()])

    def _edge(self, values: NDArray[np.float64], side: str) -> NDArray[np.float64]:
        """Bisect for the u where quantiles reach ("left") or exceed ("right") each value."""
        low, high = np.full(len(values), EDGE), np.full(len(values), 1 - EDGE)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            quantiles = self.quantiles(middle)
            beyond = quantiles >= values if side == "left" else quantiles > values
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high if side == "left" else low

    def values_at(self, coordinates: NDArray[np.float64]) -> list[Any]:
        """Return the quantiles at these coordinates, as Python numbers."""
        quantiles = self.quantiles(coordinates)
        values: list[Any] = (quantiles.astype(int) if self._is_integer else quantiles).tolist()
        return values

    def locate(self, value: Any) -> float:
        """Return the coordinate of a value; raise ValueError if there is none."""
        lowest, highest = self.quantiles(np.array([EDGE, 1 - EDGE]))
        width = 1e-9 * max(abs(lowest), abs(highest))
        inside = isinstance(value, Real) and lowest - width <= value <= highest + width
        if inside:
            target = np.array([min(max(float(value), lowest), highest)])
            edges = ("left", "right") if self.discrete else ("left",)
            place = self.snap(np.mean([self._edge(target, edge) for edge in edges], axis=0))
            if not self.discrete or self.quantiles(place)[0] == value:
                return float(place[0])
        lowest = lowest if abs(lowest) > width else 0.0  # the EDGE-quantile is only close to 0
        raise ValueError(
            f"{self.name}={value!r} is not a value of its distribution, which reaches from "
            f"{lowest:g} to {highest:g}"
        )


Axis = Categories | Distribution


def axis_of(name: str, values: Any) -> Axis:
    """Make the axis of one parameter of param_grid; raise ValueError if `values` are malformed."""
    quantile = getattr(values, "ppf", None) or getattr(values, "icdf", None)
    is_object = not isinstance(values, type)
    if callable(quantile) and is_object:
        return Distribution(name, quantile, _is_discrete(values))
    ends = [getattr(values, end, None) for end in ("low", "high")]
    if is_object and all(map(_is_ordered, ends)):
        return _range_of(name, values)
    if is_object and getattr(values, "prior", None) is None:
        values = getattr(values, "choices", getattr(values, "categories", values))
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes):
        raise InvalidParameterError(
            f"param_grid[{name!r}] must be a list of values or a distribution with a ppf method: "
            f"write [{reprlib.repr(values)}] for a single value, scipy.stats.loguniform(0.001, "
            "1000) or uniform(0, 1) for a range, randint(1, 11) for whole numbers (or pass a space "
            "of scikit-optimize, whose categories are equally likely, or of Optuna); "
            f"{found(values)}"
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(
            f"param_grid[{name!r}] must be one-dimensional; found shape {values.shape}"
        )
    if not 0 < len(values) <= _MOST_VALUES:
        raise ValueError(
            f"param_grid[{name!r}] is empty or lists more than {_MOST_VALUES:,} values: give at "
            "least one, or a distribution"
        )
    _refuse_prior(name, values)
    different = _distinct(values)
    ordered = all(map(_is_ordered, different))
    return Categories(name, different, _coordinates(different, ordered), ordered)


def _range_of(name: str, declared: Any) -> Distribution:
    """Make the distribution over a range of scikit-optimize or Optuna, with both ends.

    Numbers, or their logarithms, are uniform. With a step (1 for whole numbers), they are rounded
    to it; half a step is added at both ends, so that the ends are as likely as other values.
    """
    low, high = declared.low, declared.high
    are_integers = np.dtype(getattr(declared, "dtype", type(low))).kind in "iu"
    step = getattr(declared, "step", None) or (1 if are_integers else 0)
    prior = getattr(declared, "prior", "uniform")
    log = getattr(declared, "log", prior == "log-uniform")
    if not low <= high or (log and low <= 0) or prior not in _PRIORS:
        raise ValueError(
            f"param_grid[{name!r}] must be a range with low <= high (and low > 0 if logarithmic); "
            f"{found(declared)}"
        )
    ends = np.array([low - step / 2, high + step / 2])
    first, last = np.log(ends) if log else ends

    def quantile(u: NDArray[np.float64]) -> Any:
        values = first + u * (last - first)
        values = np.exp(values) if log else values
        values = np.rint((values - low) / step) * step + low if step else values
        return np.clip(values, low, high)

    return Distribution(name, quantile, step > 0)


def _refuse_prior(name: str, values: Sequence[Any] | NDArray[Any]) -> None:
    """Raise ValueError for a range as scikit-optimize writes it: (low, high, "log-uniform")."""
    prior = values[2] if len(values) > 2 else None
    if isinstance(prior, str) and prior in _PRIORS and all(map(_is_ordered, values[:2])):
        raise ValueError(
            f"param_grid[{name!r}] would be a list with {prior!r} among its values: for a "
            f"range, write scipy.stats.{_PRIORS[prior].format(*values)}; {found(values)}"
        )


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Remove copies of values, which would be tried, and could be chosen, twice."""
    different: dict[Any, Any] = {}
    for value in values:
        different.setdefault(key_of(value), value)
    return tuple(different.values())


def key_of(value: Any) -> Any:
    """Return a key that equal values of one type share, if they have a hash."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def _is_ordered(value: Any) -> bool:
    """Return True if a value is a real number, but not NaN or a truth value."""
    number = isinstance(value, Number) and not isinstance(value, bool | complex)
    return number and bool(value == value)


def _is_discrete(distribution: Any) -> bool:
    kinds = [kind.__name__ for kind in type(distribution).__mro__]
    return hasattr(distribution, "pmf") and "ContinuousDistribution" not in kinds


def _coordinates(values: Sequence[Any], ordered: bool) -> NDArray[np.float64]:
    """Return evenly spaced coordinates, shape (n_values,): numbers by rank, others as listed.

    Ranks keep a grid even on the scale that its author chose.
    """
    order = list(range(len(values)))
    if ordered:
        # Python numbers compare exactly; NumPy casts numbers to a common type first. The type is
        # part of the key because 1 and 1.0 are different candidates.
        plain = [v.item() if isinstance(v, np.generic) else v for v in values]
        order.sort(key=lambda i: (plain[i], type(values[i]).__name__))
    coordinates = np.empty(len(values))
    coordinates[order] = (np.arange(len(values)) + 0.5) / len(values)
    return coordinates


def same(a: Any, b: Any) -> bool:
    """Return True if two values are identical, or of one type and equal."""
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # arrays, for example, have no single truth value
        return False


def found(value: Any) -> str:
    """Return the end of an error message, which shows the value found and its type."""
    return f"found {reprlib.repr(value)} ({type(value).__name__})"

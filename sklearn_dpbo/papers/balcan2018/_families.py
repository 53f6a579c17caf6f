"""Families of algorithms with one parameter, and their utilities (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ._piecewise import PiecewiseConstant, check_interval, uniform_grid

P = ParamSpec("P")
R = TypeVar("R")

# Parameters whose utilities are computed at a time; bounds memory.
_BLOCK = 2**12


class Family(Protocol):
    """An algorithm with one real parameter, and the utility of its solutions.

    Any object with these two methods is a family. What they return must depend on the instance, the
    parameter and public facts alone; fix the seed of random numbers. Instances can have any type.

    A family can also have ``utilities(instance, parameters)``, for an array of parameters at once;
    ``check(interval)``, which raises an error if the family's parameters are invalid, and is called
    before any instance is used (later errors are withheld); and ``interval``, the default of the
    configurator's.
    """

    def breakpoints(self, instance: Any) -> ArrayLike | None:
        """Return all parameters at which the utility can change, in any order.

        Extra parameters do no harm; missing ones do. With None, the utility is computed at every
        point of the grid.
        """

    def utility(self, instance: Any, parameter: float) -> float:
        """Return the utility of the solution with this parameter."""


class BaseFamily(BaseEstimator):
    """Base of the families that come with the package."""

    interval: tuple[float, float]

    def utility(self, instance: Any, parameter: float) -> float:
        return float(self.utilities(instance, np.array([parameter], dtype=float))[0])

    def utilities(self, instance: Any, parameters: ArrayLike) -> NDArray[np.float64]:
        """Return the objective, as a share of its range, at each of these parameters."""
        rho = np.asarray(parameters, dtype=float)
        blocks = [rho[i : i + _BLOCK] for i in range(0, len(rho), _BLOCK)]
        objective = np.concatenate([self._objectives(instance, block) for block in blocks])
        low, high = self._range(instance)
        width = high - low or np.inf
        return np.clip((objective - low) / width, 0, 1)  # despite rounding

    def _objectives(self, instance: Any, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _range(self, instance: Any) -> tuple[float, float]:
        """Return bounds on the objective of all solutions."""
        raise NotImplementedError


def piecewise_utility(
    family: Family, instance: Any, interval: tuple[float, float], grid_size: int = 2**16
) -> PiecewiseConstant:
    """Return the utility of an instance as a function of the parameter.

    Parameters
    ----------
    family, instance : Family, object
        The algorithm, and an instance, as the family takes it.
    interval : tuple (low, high) of float
        The parameters, both ends included.
    grid_size : int, default=2**16
        Number of points at which the utility is computed if the family knows no breakpoints.

    Returns
    -------
    utility : PiecewiseConstant
        *Not private*: use it only for instances that need no protection.
    """
    interval = check_interval(interval)
    check_family(family, interval)
    return utility_on(family, instance, interval, uniform_grid(interval, grid_size))


def check_family(family: Any, interval: tuple[float, float]) -> None:
    """Raise ValueError if an object is not a family; call its own check, if it has one."""
    for method in ("breakpoints", "utility"):
        if isinstance(family, type) or not callable(getattr(family, method, None)):
            raise ValueError(
                f"family must be an object with a method {method!r}, such as Knapsack(); found "
                f"{family!r}"
            )
    if callable(check := getattr(family, "check", None)):
        check(interval)


def converted(convert: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Return ``convert(*args, **kwargs)``; None if it fails, as its error quotes the numbers."""
    try:
        return convert(*args, **kwargs)
    except (TypeError, ValueError, OverflowError):
        return None


def utility_on(
    family: Family, instance: Any, interval: tuple[float, float], grid: NDArray[np.float64]
) -> PiecewiseConstant:
    """Compute an instance's utility: exactly, or on the grid if the family has no breakpoints."""

    def utilities(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        if (vectorized := _vectorized_utility(family)) is not None:
            # A copy, because a family that writes into it would move the grid of other instances.
            return np.array(vectorized(instance, parameters.copy()), dtype=float)
        return np.array([family.utility(instance, rho) for rho in parameters.tolist()], dtype=float)

    breakpoints = family.breakpoints(instance)
    if breakpoints is None:
        return PiecewiseConstant(interval, grid[1:], utilities(grid)).merged()
    return PiecewiseConstant.of(utilities, breakpoints, interval)


def _vectorized_utility(family: Any) -> Callable[..., Any] | None:
    """Return `utilities`, if the family has it and no subclass has overridden `utility` since."""
    lineage = type(family).__mro__
    first = {
        name: next((i for i, kind in enumerate(lineage) if name in vars(kind)), len(lineage))
        for name in ("utilities", "utility")
    }
    return getattr(family, "utilities", None) if first["utilities"] <= first["utility"] else None

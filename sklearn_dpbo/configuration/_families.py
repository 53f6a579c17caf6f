"""What a family of algorithms with one parameter has to say of an instance (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from sklearn.base import BaseEstimator

from .._privacy.piecewise import PiecewiseConstant, check_interval, uniform_grid

__all__ = ["Family", "GreedyOrRounding", "piecewise_utility"]


# Parameters that are tried at a time, so that memory stays small.
_BLOCK = 2**12


class Family(Protocol):
    """An algorithm with one real parameter, and what its solutions are worth.

    Any object with these two methods will do. Whatever they return must follow from the instance,
    the parameter and public facts alone; randomness must come from a fixed seed. Instances of any
    type are passed on as they are.

    A family may also have ``utilities(instance, parameters)``, for an array of parameters at once;
    ``check(interval)``, which raises if the family is set up wrongly and is called before any
    instance is looked at (what is raised later is withheld); and an attribute ``interval``, which
    is used if the configurator is given none.
    """

    def breakpoints(self, instance) -> np.ndarray | None:
        """Return all parameters at which the utility may change, in any order.

        There may be too many of them, not too few. None if they are not known: then the utility is
        computed at every point of the grid.
        """

    def utility(self, instance, parameter: float) -> float:
        """Return what the solution with this parameter is worth."""


class GreedyOrRounding(BaseEstimator):
    """Base of the families that come with the package.

    Parameters
    ----------
    utility_as : {"share", "objective"}, default="share"
        "share" is the objective as a share of the most that any solution could have, in [0, 1];
        "objective" is the objective itself, as in the paper.
    """

    interval: tuple[float, float]

    def __init__(self, *, utility_as="share") -> None:
        self.utility_as = utility_as

    def check(self, interval: tuple[float, float]) -> None:
        """Raise ValueError if a parameter of the family makes no sense, or this interval."""
        if self.utility_as not in ("share", "objective"):
            raise ValueError(f"utility_as is 'share' or 'objective'; found {self.utility_as!r}")

    def utility(self, instance, parameter: float) -> float:
        """Return what the solution with this parameter is worth."""
        return float(self.utilities(instance, np.array([parameter], dtype=float))[0])

    def utilities(self, instance, parameters) -> np.ndarray:
        """Return the utility at each of these parameters, shape (n_parameters,)."""
        rho = np.asarray(parameters, dtype=float)
        blocks = [rho[i : i + _BLOCK] for i in range(0, len(rho), _BLOCK)]
        objective = np.concatenate([self._objectives(instance, block) for block in blocks])
        return objective if self.utility_as == "objective" else self._share(instance, objective)

    def _objectives(self, instance, parameters: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _share(self, instance, objective: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def piecewise_utility(
    family: Family, instance, interval: tuple[float, float], grid_size: int = 2**16
) -> PiecewiseConstant:
    """Return an instance's utility as a function of the parameter.

    Parameters
    ----------
    family : Family
    instance : object
        As the family takes it.
    interval : tuple (low, high) of float
    grid_size : int, default=2**16
        Where the family knows no breakpoints, the utility is computed at this many points, and
        taken to be constant from each to the next.

    Returns
    -------
    utility : PiecewiseConstant
        *Not private*: to look at instances that need no protection.
    """
    interval = check_interval(interval)
    check_family(family, interval)
    return utility_on(family, instance, interval, uniform_grid(interval, grid_size))


def check_family(family, interval: tuple[float, float]) -> None:
    """Raise ValueError if an object is no family, or says that it is set up wrongly."""
    for method in ("breakpoints", "utility"):
        if isinstance(family, type) or not callable(getattr(family, method, None)):
            raise ValueError(
                f"family is an object with a method {method!r}, such as Knapsack(); found "
                f"{family!r}"
            )
    if callable(check := getattr(family, "check", None)):
        check(interval)


def without_words(convert, *args, **kwargs):
    """Return what `convert` makes of the arguments; None if it fails: errors quote numbers."""
    try:
        return convert(*args, **kwargs)
    except (TypeError, ValueError, OverflowError):
        return None


def utility_on(family: Family, instance, interval, grid: np.ndarray) -> PiecewiseConstant:
    """Return an instance's utility; computed at the points of the grid if there is no other way."""

    def utilities(parameters):
        if (at_once := _at_once(family)) is not None:
            # A copy: it is not for one instance to move the grid that others are computed on.
            return np.array(at_once(instance, parameters.copy()), dtype=float)
        return np.array([family.utility(instance, rho) for rho in parameters.tolist()], dtype=float)

    breakpoints = family.breakpoints(instance)
    if breakpoints is None:
        return PiecewiseConstant(interval, grid[1:], utilities(grid)).merged()
    return PiecewiseConstant.of(utilities, breakpoints, interval)


def _at_once(family) -> Callable | None:
    """Return `utilities`, if it is there and not older than a `utility` that a subclass put in."""
    lineage = type(family).__mro__
    age = {
        name: next((i for i, kind in enumerate(lineage) if name in vars(kind)), len(lineage))
        for name in ("utilities", "utility")
    }
    return getattr(family, "utilities", None) if age["utilities"] <= age["utility"] else None

"""Utilities that are constant on pieces of an interval: sums, grids, theory (zone: sensitive).

An algorithm with one parameter often does the same for all parameters between two *critical
points*, so that an instance's utility is a step function of the parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PiecewiseConstant:
    """``u(rho) = values[k]`` for ``breakpoints[k - 1] <= rho < breakpoints[k]``.

    Parameters
    ----------
    interval : tuple (low, high) of float
        Domain of the function, both ends included.
    breakpoints : ndarray of shape (n,)
        Strictly increasing, within (low, high].
    values : ndarray of shape (n + 1,)
        Values before, between and after the breakpoints.
    """

    interval: tuple[float, float]
    breakpoints: NDArray[Any]
    values: NDArray[Any]

    def __post_init__(self) -> None:
        low, high = check_interval(self.interval)
        b, v = np.asarray(self.breakpoints, dtype=float), np.asarray(self.values)
        if b.ndim != 1 or v.shape != (len(b) + 1,):
            raise ValueError(
                f"n breakpoints must separate n + 1 values; found shapes {b.shape} and {v.shape}"
            )
        inside = np.concatenate([[low], b, [math.nextafter(high, math.inf)]])
        if not (np.diff(inside) > 0).all():
            raise ValueError("breakpoints must be finite, increasing, and within the interval")
        if not np.isfinite(v).all():
            raise ValueError("values must be finite numbers")
        vars(self).update(interval=(low, high), breakpoints=b, values=v)

    @classmethod
    def of(
        cls,
        evaluate: Callable[[NDArray[np.float64]], Any],
        breakpoints: Any,
        interval: tuple[float, float],
    ) -> PiecewiseConstant:
        """Return the step function with the values of `evaluate` between these breakpoints.

        `evaluate` takes an array of parameters and returns their utilities. Breakpoints come in any
        order; extra ones do no harm, and those outside the interval, or not finite, do not count.
        """
        low, high = interval
        b = np.asarray(breakpoints, dtype=float).ravel()
        b = np.unique(b[(b > low) & (b <= high)])
        edges = np.concatenate([[low], b, [high]])
        return cls(interval, b, evaluate(edges[:-1] + np.diff(edges) / 2)).merged()

    @classmethod
    def from_jumps(
        cls, interval: tuple[float, float], first: Any, positions: Any, jumps: Any
    ) -> PiecewiseConstant:
        """Return ``u(rho) = first + (sum of jumps at positions <= rho)``; exact for integers."""
        low, high = interval
        positions = np.asarray(positions, dtype=float)
        jumps = np.asarray(jumps)
        jumps = jumps if jumps.size else jumps.astype(int)  # an empty array would have floats
        first = first + jumps[positions <= low].sum()
        here = (positions > low) & (positions <= high)
        order = np.argsort(positions[here], kind="stable")
        b = positions[here][order]
        value_after = first + np.cumsum(jumps[here][order])
        last = np.append(b[1:] != b[:-1], True)[: len(b)]  # the last of several jumps at one place
        return cls(interval, b[last], np.concatenate([[first], value_after[last]])).merged()

    @classmethod
    def total(cls, functions: Iterable[PiecewiseConstant]) -> PiecewiseConstant:
        """Return the exact sum of functions with integer values on one interval."""
        functions = list(functions)
        if not functions:
            raise ValueError("the sample is empty: there are no utilities to add up")
        if any(u.values.dtype.kind not in "iu" for u in functions):
            raise ValueError("sums are exact for integers only; take u.quantized(...) first")
        if len({u.interval for u in functions}) > 1:
            raise ValueError("utilities can only be added up on the same interval")
        first = sum(int(u.values[0]) for u in functions)
        positions = np.concatenate([u.breakpoints for u in functions])
        jumps = np.concatenate([np.diff(u.values.astype(np.int64)) for u in functions])
        return cls.from_jumps(functions[0].interval, first, positions, jumps)

    def __call__(self, rho: Any) -> NDArray[Any]:
        """Return the value at each parameter, in the shape of `rho`."""
        rho = np.asarray(rho, dtype=float)
        low, high = self.interval
        if not ((rho >= low) & (rho <= high)).all():
            raise ValueError(f"parameters must lie in [{low:g}, {high:g}]")
        values: NDArray[Any] = self.values[np.searchsorted(self.breakpoints, rho, side="right")]
        return values

    def merged(self) -> PiecewiseConstant:
        """Remove breakpoints at which the value does not change."""
        changes = self.values[1:] != self.values[:-1]
        values = np.concatenate([self.values[:1], self.values[1:][changes]])
        return PiecewiseConstant(self.interval, self.breakpoints[changes], values)

    def quantized(self, utility_bound: float, steps: int) -> PiecewiseConstant:
        """Return ``round(steps u / H)`` with H the utility bound, as integers."""
        q = np.rint(steps * (np.asarray(self.values, dtype=float) / utility_bound))
        return PiecewiseConstant(self.interval, self.breakpoints, q.astype(np.int64)).merged()

    def runs(self, grid: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return (starts, values) of the runs of points of a sorted grid with the same value.

        Run k holds the points ``starts[k], ..., starts[k + 1] - 1``; the last ends with the grid.
        """
        first = np.concatenate([[0], np.searchsorted(grid, self.breakpoints, side="left")])
        occupied = first < np.append(first[1:], len(grid))  # pieces that contain a grid point
        return first[occupied], self.values[occupied]

    def on(self, grid: NDArray[Any]) -> PiecewiseConstant:
        """Return a function with the same values on a sorted grid, and breakpoints on the grid."""
        starts, values = self.runs(grid)
        return PiecewiseConstant(self.interval, grid[starts[1:]], values)


def check_interval(interval: Any) -> tuple[float, float]:
    """Return (low, high) as floats; raise ValueError unless both are finite and low < high."""
    try:
        low, high = (float(end) for end in interval if not isinstance(end, str))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"interval must be a pair (low, high); found {interval!r}") from None
    if not (math.isfinite(high - low) and low < high):
        raise ValueError(f"interval must have finite ends, low < high; found {interval!r}")
    return low, high


def uniform_grid(interval: tuple[float, float], size: int) -> NDArray[Any]:
    """Return the centres of cells of equal width, ascending: a public grid.

    Parameters
    ----------
    interval : tuple (low, high) of float
        The interval to divide.
    size : int
        Number of cells.

    Returns
    -------
    grid : ndarray of shape (size,)
    """
    low, high = check_interval(interval)
    if size < 1:
        raise ValueError(f"a grid must have one point or more; found {size!r}")
    grid = low + (high - low) * ((np.arange(size) + 0.5) / size)
    if not (np.diff(grid) > 0).all():
        raise ValueError(f"floating point has no {size:,} numbers between {low!r} and {high!r}")
    return grid

"""Utilities that are constant on pieces of an interval: sums, grids, theory (zone: sensitive).

An algorithm with one parameter often does the same for all parameters between two *critical
points*, so that an instance's utility is a step function of the parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..privacy import Secret

__all__ = [
    "PiecewiseConstant",
    "dispersion",
    "excess_utility_bound",
    "published_distribution",
    "uniform_grid",
]


@dataclass(frozen=True, eq=False)
class PiecewiseConstant:
    """``u(rho) = values[k]`` for ``breakpoints[k - 1] <= rho < breakpoints[k]``.

    Parameters
    ----------
    interval : tuple (low, high) of float
        Where it is defined, both ends included.
    breakpoints : ndarray of float, shape (n,)
        Strictly increasing, within (low, high].
    values : ndarray of int or float, shape (n + 1,)

    Raises
    ------
    ValueError
        If shapes, order or interval are wrong, or numbers are not finite.
    """

    interval: tuple[float, float]
    breakpoints: np.ndarray
    values: np.ndarray

    def __post_init__(self):
        low, high = check_interval(self.interval)
        b, v = np.asarray(self.breakpoints, dtype=float), np.asarray(self.values)
        if b.ndim != 1 or v.shape != (len(b) + 1,):
            raise ValueError(
                f"n breakpoints part n + 1 values; found shapes {b.shape} and {v.shape}"
            )
        inside = np.concatenate([[low], b, [math.nextafter(high, math.inf)]])
        if not (np.diff(inside) > 0).all():
            raise ValueError("breakpoints are finite, increasing, and within the interval")
        if not np.isfinite(v).all():
            raise ValueError("values are finite numbers")
        vars(self).update(interval=(low, high), breakpoints=b, values=v)

    @classmethod
    def of(
        cls, evaluate: Callable, breakpoints, interval: tuple[float, float]
    ) -> PiecewiseConstant:
        """Return the step function that has these values between these points.

        Parameters
        ----------
        evaluate : callable
            Takes an array of parameters and returns their utilities.
        breakpoints : array-like of float
            In any order; those outside the interval, or not finite, do not count. There may be too
            many of them, not too few.
        interval : tuple (low, high) of float
        """
        low, high = interval
        b = np.asarray(breakpoints, dtype=float).ravel()
        b = np.unique(b[(b > low) & (b <= high)])
        edges = np.concatenate([[low], b, [high]])
        return cls(interval, b, evaluate(edges[:-1] + np.diff(edges) / 2)).merged()

    @classmethod
    def from_jumps(
        cls, interval: tuple[float, float], first, positions, jumps
    ) -> PiecewiseConstant:
        """Return ``u(rho) = first + (the sum of jumps at positions <= rho)``; exact for integers.

        Takes O(n log n) time for n jumps.
        """
        low, high = interval
        positions, jumps = np.asarray(positions, dtype=float), np.asarray(jumps)
        jumps = jumps if jumps.size else jumps.astype(int)  # no jumps are no reason for floats
        first = first + jumps[positions <= low].sum()
        here = (positions > low) & (positions <= high)
        order = np.argsort(positions[here], kind="stable")
        b, value_after = positions[here][order], first + np.cumsum(jumps[here][order])
        last = np.append(b[1:] != b[:-1], True)[: len(b)]  # of several jumps at one place
        return cls(interval, b[last], np.concatenate([[first], value_after[last]])).merged()

    @classmethod
    def total(cls, functions: Iterable[PiecewiseConstant]) -> PiecewiseConstant:
        """Return the exact sum of functions with integer values on one interval.

        Takes O(B log B) time for B breakpoints in all.

        Raises
        ------
        ValueError
            If there are none, values are not integers, or intervals differ.
        """
        functions = list(functions)
        if not functions:
            raise ValueError("a sum of no utilities has no interval: the sample is empty")
        if any(u.values.dtype.kind not in "iu" for u in functions):
            raise ValueError("sums are exact for integers only; take u.quantized(...) first")
        if len({u.interval for u in functions}) > 1:
            raise ValueError("utilities can only be added up on the same interval")
        first = sum(int(u.values[0]) for u in functions)
        positions = np.concatenate([u.breakpoints for u in functions])
        jumps = np.concatenate([np.diff(u.values.astype(np.int64)) for u in functions])
        return cls.from_jumps(functions[0].interval, first, positions, jumps)

    def __call__(self, rho):
        """Return the value at each parameter, in the shape of `rho`.

        Raises
        ------
        ValueError
            If a parameter lies outside the interval.
        """
        rho, (low, high) = np.asarray(rho, dtype=float), self.interval
        if not ((rho >= low) & (rho <= high)).all():
            raise ValueError(f"parameters lie in [{low:g}, {high:g}]")
        return self.values[np.searchsorted(self.breakpoints, rho, side="right")]

    def merged(self) -> PiecewiseConstant:
        """Return the same function without breakpoints at which nothing changes."""
        changes = self.values[1:] != self.values[:-1]
        values = np.concatenate([self.values[:1], self.values[1:][changes]])
        return PiecewiseConstant(self.interval, self.breakpoints[changes], values)

    def quantized(self, utility_bound: float, steps: int) -> PiecewiseConstant:
        """Return ``round(steps u / H)`` with H the utility bound, as integers."""
        q = np.rint(steps * (np.asarray(self.values, dtype=float) / utility_bound))
        return PiecewiseConstant(self.interval, self.breakpoints, q.astype(np.int64)).merged()

    def runs(self, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return runs of points of a sorted grid on which the function is constant.

        Returns
        -------
        starts : ndarray of int, shape (n_runs,)
            Run k holds the points ``starts[k], ..., starts[k + 1] - 1``; the last ends with the
            grid.
        values : ndarray, shape (n_runs,)
        """
        first = np.concatenate([[0], np.searchsorted(grid, self.breakpoints, side="left")])
        held = first < np.append(first[1:], len(grid))  # of pieces that a grid point lies in
        return first[held], self.values[held]

    def on(self, grid: np.ndarray) -> PiecewiseConstant:
        """Return the function that agrees with it on a sorted grid, with breakpoints there."""
        starts, values = self.runs(grid)
        return PiecewiseConstant(self.interval, grid[starts[1:]], values)


def check_interval(interval) -> tuple[float, float]:
    """Return (low, high) as floats, if that is an interval of some width."""
    try:
        low, high = (float(end) for end in interval if not isinstance(end, str))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"interval is a pair (low, high); found {interval!r}") from None
    if not (math.isfinite(high - low) and low < high):
        raise ValueError(f"interval has finite ends with low < high; found {interval!r}")
    return low, high


def uniform_grid(interval: tuple[float, float], size: int) -> np.ndarray:
    """Return the centres of cells of equal width, ascending: a public grid.

    Parameters
    ----------
    interval : tuple (low, high) of float
        What the cells divide.
    size : int
        Number of cells.

    Returns
    -------
    grid : ndarray of shape (size,)
        Their centres.
    """
    low, high = check_interval(interval)
    if size < 1:
        raise ValueError(f"a grid has one point or more; found {size!r}")
    grid = low + (high - low) * ((np.arange(size) + 0.5) / size)
    if not (np.diff(grid) > 0).all():
        raise ValueError(f"floating point has no {size:,} numbers between {low!r} and {high!r}")
    return grid


def dispersion(
    functions: Iterable[PiecewiseConstant], width: float, *, public: bool = False
) -> int | Secret:
    """Return the largest number of critical points that any window of this width holds.

    The k that `excess_utility_bound` asks for: with the breakpoints of each instance of the sample
    counted by themselves.

    Parameters
    ----------
    functions : iterable of PiecewiseConstant
        One per instance.
    width : float
    public : bool, default=False
        Say True if the instances need no protection (simulated ones, say). Otherwise the number,
        whose sensitivity is not bounded, comes as a `Secret`, which nobody can read.

    Returns
    -------
    k : int or Secret
    """
    if not width >= 0:
        raise ValueError(f"width is 0 or more; found {width!r}")
    b = np.sort(np.concatenate([np.empty(0), *(u.breakpoints for u in functions)]))
    inside = np.searchsorted(b, b + width, side="right") - np.arange(len(b))
    k = int(inside.max(initial=0))
    return k if public else Secret(k)


def excess_utility_bound(
    n_instances: int,
    *,
    epsilon: float,
    utility_bound: float,
    interval: tuple[float, float],
    width: float,
    k: int,
    beta: float = 0.05,
    grid_size: int = 2**16,
    form: str = "sound",
) -> float:
    """Return how far below the best the mean utility of the parameter drawn lies at most.

    If no window of width w inside the interval holds more than k critical points, then with
    probability 1 - beta the parameter drawn falls short of the best on the whole interval by at
    most ::

        H / n (2 (1 + 1e-5) / epsilon (ln(G / floor(w G / R)) + ln(1 / beta)) + k)  +  H / 2^17,

    where R is the length of the interval, of whose G grid points a window holds floor(w G / R) or
    more. (The factor and the last term are for rounding to integers, and epsilon from 1e-6 up.)

    Parameters
    ----------
    n_instances : int
    epsilon : float
        Of the draw of the parameter alone.
    utility_bound : float
        H: utilities lie in [0, H].
    interval : tuple (low, high) of float
    width : float
        w, at least a cell of the grid and at most R.
    k : int
    beta : float, default=0.05
    grid_size : int, default=2**16
        G.
    form : {"sound", "published"}, default="sound"
        "published" is what the paper's abstract prints, ``H / n (2 ln(1 / w) / epsilon + k)``: for
        an interval of length 1 and w below 1, without a probability of failure, and not a theorem
        as it stands.

    Returns
    -------
    bound : float, in units of the utility

    References
    ----------
    Balcan, Dick and Vitercik, "Private algorithm configuration", 2018; Dispersion for data-driven
    algorithm design, online learning, and private optimization, FOCS 2018. Proof in the
    documentation, "Configuration".
    """
    low, high = check_interval(interval)
    R, H, w = high - low, utility_bound, width
    if not (0 < w <= R):
        raise ValueError(f"width is positive and at most {R:g}; found {width!r}")
    if n_instances < 1 or not (epsilon > 0 and H > 0 and 0 < beta < 1 and k >= 0):
        raise ValueError(
            "n_instances is 1 or more, epsilon and utility_bound are positive, beta lies in (0, 1) "
            f"and k is 0 or more; found {n_instances!r}, {epsilon!r}, {H!r}, {beta!r} and {k!r}"
        )
    if form == "published":
        return H / n_instances * (2 * math.log(1 / w) / epsilon + k)
    if form != "sound":
        raise ValueError(f"form is 'sound' or 'published'; found {form!r}")
    in_window = math.floor(Fraction(w) * grid_size / Fraction(R))
    if in_window < 1:
        raise ValueError(f"width is a cell of the grid, {R / grid_size:g}, or more; found {w!r}")
    logs = math.log(grid_size / in_window) + math.log(1 / beta)
    return H / n_instances * (2 * (1 + 1e-5) * logs / epsilon + k) + H * 2.0**-17


def published_distribution(
    total: PiecewiseConstant, epsilon: float, utility_bound: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the draw as the paper's abstract prints it: **not** differentially private.

    ``P(critical point rho)`` is proportional to ``exp(epsilon |S| U(S, rho) / H)``. Critical points
    are computed from the instances: whoever sees one can tell a sample that has it from all that
    have not. Besides, replacing an instance changes the exponent by epsilon in either direction,
    which costs 2 epsilon and not epsilon. Here to compare with; nothing in this package draws from
    it.

    Parameters
    ----------
    total : PiecewiseConstant
        The sum of the instances' utilities, ``|S| U(S, .)``.
    epsilon, utility_bound : float

    Returns
    -------
    points : ndarray of shape (n_breakpoints,)
    probabilities : ndarray of shape (n_breakpoints,)
    """
    exponent = epsilon * np.asarray(total.values[1:], dtype=float) / utility_bound
    weights = np.exp(exponent - exponent.max(initial=-np.inf))
    return total.breakpoints, weights / weights.sum()

"""Bounds on the utility lost by drawing a parameter privately (zone: sensitive)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from ...privacy.checks import check_number
from ...privacy.sensitive import Secret
from ._piecewise import PiecewiseConstant, check_interval


def dispersion(
    functions: Iterable[PiecewiseConstant], width: float, *, public: bool = False
) -> int | Secret:
    """Count the critical points in the window of this width that contains most of them.

    The count is the k of `excess_utility_bound`. A breakpoint that several instances share counts
    once for each of them.

    Parameters
    ----------
    functions : iterable of PiecewiseConstant
        The utilities of the instances, one for each.
    width : float
        Width of the window, in units of the parameter; 0 or more.
    public : bool, default=False
        Set to True if the instances need no protection, for example because they are simulated.
        Otherwise k is a `Secret`, which cannot be read, because its sensitivity is not bounded.

    Returns
    -------
    k : int or Secret
    """
    check_number("width", width, "0 or more", lambda v: v >= 0, finite=False)
    critical = np.sort(np.concatenate([np.empty(0), *(u.breakpoints for u in functions)]))
    in_window = np.searchsorted(critical, critical + width, side="right") - np.arange(len(critical))
    k = int(in_window.max(initial=0))
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
) -> float:
    """Return an upper bound on the mean utility lost by drawing the parameter privately.

    If no window of width w inside the interval has more than k critical points, then with
    probability 1 - beta the mean utility of the selected parameter is below the best on the whole
    interval by at most ::

        H / n (2 / epsilon (ln(G / floor(w G / R)) + ln(1 / beta)) + k)  +  H / 2^20,

    where R is the length of the interval. The last term accounts for rounding to integers. Proof:
    "Tune an algorithm on sensitive instances: Balcan et al. (2018)" in the documentation.

    Parameters
    ----------
    n_instances : int
        n, the size of the sample.
    epsilon : float
        Privacy loss of the choice of the parameter, without that of the score; positive.
    utility_bound : float
        H: utilities lie in [0, H].
    interval : tuple (low, high) of float
        The parameters to choose from.
    width : float
        w, in units of the parameter; at least R / G and at most R.
    k : int
        Largest number of critical points in a window, as `dispersion` returns it.
    beta : float, default=0.05
        Probability that the bound fails; in (0, 1).
    grid_size : int, default=2**16
        G, the number of grid points.

    Returns
    -------
    bound : float
        In units of the utility.
    """
    low, high = check_interval(interval)
    R = high - low
    H = utility_bound
    w = width
    check_number("width", w, f"positive and at most {R:g}", lambda v: 0 < v <= R)
    check_number("n_instances", n_instances, "1 or more", lambda v: v >= 1, Integral)
    check_number("epsilon", epsilon, "positive", lambda v: v > 0)
    check_number("utility_bound", H, "positive", lambda v: v > 0)
    check_number("beta", beta, "in (0, 1)", lambda v: 0 < v < 1)
    check_number("k", k, "0 or more", lambda v: v >= 0, Integral)
    in_window = math.floor(Fraction(w) * grid_size / Fraction(R))
    if in_window < 1:
        raise ValueError(
            f"width must be at least {R / grid_size:g}, a cell of the grid; found {w!r}"
        )
    logs = math.log(grid_size / in_window) + math.log(1 / beta)
    return H / n_instances * (2 * logs / epsilon + k) + H * 2.0**-20


def expected_utility_bound(
    n_instances: int,
    *,
    utility_bound: float,
    beta: float = 0.05,
    grid_size: int = 2**16,
    **window: Any,
) -> float:
    """Return an upper bound on the *expected* utility lost by drawing the parameter privately.

    If the instances are drawn independently from a distribution, and no window of width w inside
    the interval has more than k of their critical points, then with probability 1 - beta the
    utility of the selected parameter on a *new* instance is in expectation below the best on the
    whole interval by at most ::

        excess_utility_bound at beta / 3
            + H (sqrt(ln(3 / beta) / (2 n)) + sqrt(ln(3 G / beta) / (2 n))).

    It goes to 0 as n grows if k / n does. Proof: "Tune an algorithm on sensitive instances: Balcan
    et al. (2018)" in the documentation.

    Parameters
    ----------
    n_instances, utility_bound : int, float
        As in `excess_utility_bound`.
    beta : float, default=0.05
        Probability, over the sample and the draw, that the bound fails; in (0, 1).
    grid_size : int, default=2**16
        G, the number of grid points.
    **window
        epsilon, interval, width and k, as in `excess_utility_bound`. If k holds only with
        probability 1 - p, add p to beta.

    Returns
    -------
    bound : float
        In units of the utility.
    """
    n = n_instances
    H = utility_bound
    G = grid_size
    excess = excess_utility_bound(
        n, utility_bound=H, beta=beta / 3 if beta < 1 else beta, grid_size=G, **window
    )
    at_best, on_grid = (math.sqrt(math.log(3 * p / beta) / (2 * n)) for p in (1, G))
    return excess + H * (at_best + on_grid)


def rotation_dispersion_bound(
    n_instances: int, n_variables: int, width: float, *, beta: float = 0.05
) -> int:
    """Bound the k of `OutwardRotation` with probability 1 - beta over its random directions.

    For any distinct programmes, no window of width w in [0, pi / 2] then has more critical points
    than ::

        2 m n w / pi + n L / 3 + sqrt((n L / 3)^2 + 4 m n^2 w L / pi)

    with ``L = ln(ceil(pi / (2 w)) / beta)``, and never more than m n. With ``w = 1 / sqrt(m)``, up
    to logarithms, `excess_utility_bound` is of the order ``H / m (1 / epsilon + n sqrt(m))`` of the
    abstract (Balcan, Dick and Vitercik, 2018). Proof: "Tune an algorithm on sensitive
    instances: Balcan et al. (2018)" in the documentation.

    Parameters
    ----------
    n_instances : int
        m, 1 or more.
    n_variables : int
        n, the largest number of variables of a programme; 1 or more.
    width : float
        w, an angle; positive and at most pi / 2.
    beta : float, default=0.05
        Probability that the bound fails; in (0, 1).

    Returns
    -------
    k : int
        For one direction per programme (``n_directions=1``).
    """
    check_number("n_instances", n_instances, "1 or more", lambda v: v >= 1, Integral)
    check_number("n_variables", n_variables, "1 or more", lambda v: v >= 1, Integral)
    quarter = math.pi / 2
    check_number("width", width, "positive and at most pi / 2", lambda v: 0 < v <= quarter)
    check_number("beta", beta, "in (0, 1)", lambda v: 0 < v < 1)
    m, n = int(n_instances), int(n_variables)
    log = math.log(math.ceil(quarter / width) / beta)
    mean, variance = 2 * m * n * width / math.pi, 2 * m * n**2 * width / math.pi
    above = n * log / 3 + math.hypot(n * log / 3, math.sqrt(2 * variance * log))
    return min(math.floor(mean + above), m * n)

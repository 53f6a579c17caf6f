"""How far from the best a parameter can be that is drawn privately (zone: sensitive)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from .._privacy.piecewise import PiecewiseConstant, check_interval
from .._privacy.sensitive import Secret

__all__ = ["dispersion", "excess_utility_bound"]


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

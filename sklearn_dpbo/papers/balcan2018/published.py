"""Formulas in the abstract of Balcan, Dick and Vitercik (2018), to compare (zone: sensitive).

Nothing here gives a guarantee, and nothing in this package draws from it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...privacy.checks import check_number
from ._piecewise import PiecewiseConstant

__all__ = [
    "published_distribution",
    "published_excess_utility_bound",
    "published_rotation_rate",
]


def published_distribution(
    total: PiecewiseConstant, epsilon: float, utility_bound: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distribution that the paper's abstract prints: **not** differentially private.

    ``P(critical point rho)`` is proportional to ``exp(epsilon |S| U(S, rho) / H)``. A critical
    point that is drawn distinguishes samples that have it from all others. Besides, the loss is
    epsilon only for neighbours that *add or remove* an instance, which moves all exponents in the
    same direction. Elsewhere in this package neighbours *replace* an instance. This moves some
    exponents up and others down, and costs 2 epsilon.

    Parameters
    ----------
    total : PiecewiseConstant
        The sum of the instances' utilities, ``|S| U(S, .)``.
    epsilon : float
        The privacy loss that the abstract claims, without naming its neighbours.
    utility_bound : float
        H: utilities lie in [0, H].

    Returns
    -------
    points, probabilities : ndarray of shape (n_breakpoints,)
        The critical points, ascending, and the probability of each.
    """
    exponent = epsilon * np.asarray(total.values[1:], dtype=float) / utility_bound
    weights = np.exp(exponent - exponent.max(initial=-np.inf))
    return total.breakpoints, weights / weights.sum()


def published_excess_utility_bound(
    n_instances: int, *, epsilon: float, utility_bound: float, width: float, k: int
) -> float:
    """Return the bound as the paper's abstract prints it: **not** a theorem as it stands.

    ``H / n (2 ln(ceil(1 / w)) / epsilon + k)`` is for an interval of length 1, and has no
    probability of failure. `excess_utility_bound` has both.

    Parameters
    ----------
    n_instances, epsilon, utility_bound : int or float
        As in `excess_utility_bound`.
    width : float
        w, the width of a window, as a share of the interval; in (0, 1].
    k : int
        Largest number of critical points in a window.

    Returns
    -------
    bound : float
        In units of the utility.
    """
    check_number("width", width, "in (0, 1]", lambda v: 0 < v <= 1)
    return utility_bound / n_instances * (2 * math.log(math.ceil(1 / width)) / epsilon + k)


def published_rotation_rate(
    n_instances: int, n_variables: int, *, epsilon: float, utility_bound: float
) -> float:
    """Return the rate that the paper's abstract prints for integer quadratic programmes.

    ``H / |S| (1 / epsilon + n sqrt(|S|))`` is an order of magnitude (the abstract writes O with a
    tilde), not a bound; `excess_utility_bound` with `rotation_dispersion_bound` is one.

    Parameters
    ----------
    n_instances, n_variables : int
        ``|S|`` and n, 1 or more.
    epsilon, utility_bound : float
        As in `excess_utility_bound`.

    Returns
    -------
    rate : float
        In units of the utility.
    """
    return utility_bound / n_instances * (1 / epsilon + n_variables * math.sqrt(n_instances))

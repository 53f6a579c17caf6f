"""What the abstract of Balcan, Dick and Vitercik (2018) prints, to compare with (zone: sensitive).

Nothing here gives a guarantee as it stands, and nothing in this package draws from it.
"""

from __future__ import annotations

import numpy as np

from .._privacy.piecewise import PiecewiseConstant

__all__ = ["published_distribution"]


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

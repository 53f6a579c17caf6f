"""Acquisition functions: which candidate to evaluate next (zone: public).

An acquisition function is any callable ``acquisition(mean, std, best)``. It gets the posterior
mean and standard deviation of each candidate, both of shape (n_candidates,), and the highest mean
among the candidates already evaluated. It returns an array of shape (n_candidates,); the candidate
with the largest value is evaluated next. `UpperConfidenceBound` is linear in the mean, so it can
also be computed from sensitive scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr
from scipy.stats import norm


@dataclass(frozen=True)
class UpperConfidenceBound:
    """``mean + kappa std``.

    Parameters
    ----------
    kappa : float, default=2.0
        Weight of the standard deviation, 0 or more; a larger one explores more.

    References
    ----------
    Srinivas, Krause, Kakade and Seeger, "Gaussian process optimization in the bandit setting",
    ICML 2010.
    """

    kappa: float = 2.0

    def __call__(
        self, mean: NDArray[np.float64], std: NDArray[np.float64], best: float | None
    ) -> NDArray[np.float64]:
        """Return the upper confidence bound of each candidate; `best` is not used."""
        return mean + self.kappa * std


@dataclass(frozen=True)
class ExpectedImprovement:
    """Logarithm of ``E max(f - best - xi, 0)``.

    That is ``std (phi(z) + z Phi(z))`` with ``z = (mean - best - xi) / std``.

    Parameters
    ----------
    xi : float, default=0.0
        The least improvement that counts, in units of the score.

    References
    ----------
    Mockus, Tiesis and Zilinskas, 1978; computed on the scale of Ament, Daulton, Eriksson,
    Balandat and Bakshy, "Unexpected improvements to expected improvement", NeurIPS 2023.
    """

    xi: float = 0.0

    def __call__(
        self, mean: NDArray[np.float64], std: NDArray[np.float64], best: float
    ) -> NDArray[np.float64]:
        """Return the logarithm of the expected improvement of each candidate."""
        std = np.maximum(std, 1e-12)
        z = (mean - best - self.xi) / std
        return np.log(std) + np.where(z > -1, _log_h_above(z), _log_h_below(z))


def _log_h_above(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``ln h(z)`` with ``h = phi + z Phi``, for z >= -1."""
    z = np.maximum(z, -1)
    log_h: NDArray[np.float64] = np.log(norm.pdf(z) + z * norm.cdf(z))
    return log_h


def _log_h_below(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``ln h(z)`` for z <= -1 as that of ``phi (1 + z Phi / phi)``, which is stable.

    For large -z, h approaches ``phi / z^2``.
    """
    z = np.minimum(z, -1)
    log_phi = norm.logpdf(z)
    inside = 1 + z * np.exp(log_ndtr(z) - log_phi)
    log_inside = np.log(np.maximum(inside, 1e-300))
    log_h: NDArray[np.float64] = log_phi + np.where(z < -1e3, -2 * np.log(-z), log_inside)
    return log_h

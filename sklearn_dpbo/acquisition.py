"""Where to look next: acquisition functions (zone: public).

An acquisition is called as ``acquisition(mean, std, best)`` with the posterior mean and standard
deviation of each candidate, shape (n,), and the best mean among the candidates already evaluated;
it returns a value for each, shape (n,), larger where it is better to look. Any such callable
serves. `UpperConfidenceBound` is also linear in the mean, which is what lets it be computed from
sensitive scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm

__all__ = ["ExpectedImprovement", "UpperConfidenceBound"]


@dataclass(frozen=True)
class UpperConfidenceBound:
    """``mean + kappa std``.

    Parameters
    ----------
    kappa : float, default=2.0
        Zero or more: how much is expected of what is not known.

    References
    ----------
    Srinivas, Krause, Kakade and Seeger, "Gaussian process optimization in the bandit setting",
    ICML 2010.
    """

    kappa: float = 2.0

    def __call__(self, mean, std, best):
        """Return the bound of each candidate."""
        return mean + self.kappa * std


@dataclass(frozen=True)
class ExpectedImprovement:
    """Logarithm of ``E max(f - best - xi, 0)``.

    That is ``std (phi(z) + z Phi(z))`` with ``z = (mean - best - xi) / std``.

    Parameters
    ----------
    xi : float, default=0.0
        What an improvement has to exceed, in units of the score.

    References
    ----------
    Mockus, Tiesis and Zilinskas, 1978; computed on the scale of Ament, Daulton, Eriksson,
    Balandat and Bakshy, "Unexpected improvements to expected improvement", NeurIPS 2023.
    """

    xi: float = 0.0

    def __call__(self, mean, std, best):
        """Return the logarithm of the expected improvement of each candidate."""
        std = np.maximum(std, 1e-12)
        z = (mean - best - self.xi) / std
        return np.log(std) + np.where(z > -1, _log_h_near(z), _log_h_far(z))


def _log_h_near(z):
    """Return ``ln h(z)``, ``h = phi + z Phi``, for z from -1 up."""
    z = np.maximum(z, -1)
    return np.log(norm.pdf(z) + z * norm.cdf(z))


def _log_h_far(z):
    """Return ``ln h(z)`` below -1: ``h = phi (1 + z Phi / phi)``, about ``phi / z^2`` far out."""
    z = np.minimum(z, -1)
    log_phi = norm.logpdf(z)
    inside = 1 + z * np.exp(log_ndtr(z) - log_phi)
    log_inside = np.log(np.maximum(inside, 1e-300))
    return log_phi + np.where(z < -1e3, -2 * np.log(-z), log_inside)

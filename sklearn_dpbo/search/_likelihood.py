"""Kernel parameters from public values, by marginal likelihood (zone: public).

Never call this with sensitive values: what is learnt here is not protected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from ._surrogate import KERNEL_SHAPES, Kernel

# Normal priors (mean, standard deviation) of the logarithms, for features in the unit cube and
# standardised values: weak, but sufficient with few observations. The prior mean of the
# length-scale grows with the dimension, as distances do.
_LENGTH_SCALE = (np.log(0.4), 0.8)
_VARIANCE = (0.0, 1.0)
_NOISE = (np.log(1e-3), 2.5)
_BOUNDS = {"length": (np.log(0.01), np.log(30)), "variance": (-5, 5), "noise": (np.log(1e-7), 1)}
# Relative tolerance of the log-likelihood: a smaller one takes steps that change no choice.
_TOLERANCE = 1e-6


def _length_prior(n_parameters: int) -> tuple[float, float]:
    mean, deviation = _LENGTH_SCALE
    return mean + 0.5 * np.log(n_parameters), deviation


def default_kernel(shape: str, owner: np.ndarray, variance: float = 1.0) -> Kernel:
    """Make the kernel to use without observations, with the prior median of the length-scale.

    `owner` has the number of each feature's parameter, shape (n_features,).
    """
    mean, _ = _length_prior(owner.max(initial=0) + 1)
    return Kernel(shape, np.full(len(owner), np.exp(mean)), variance)


class FittedKernel(NamedTuple):
    """A kernel, the variance of the noise of observations, and the prior mean."""

    kernel: Kernel
    noise: float
    mean: float


def fit_kernel(X: np.ndarray, y: np.ndarray, shape: str, owner: np.ndarray) -> FittedKernel:
    """Fit kernel, noise variance and prior mean to public values y, shape (n,).

    Maximises ``log N(y | mean(y), K + s I)`` plus the logarithm of a weak log-normal prior, over a
    length-scale for each parameter, the variance of the kernel and s. Features X, shape
    (n, n_features), lie in [0, 1]; `owner` has the number of each feature's parameter, and the
    features of one parameter share its length-scale.
    """
    mean = float(np.mean(y))
    scale = float(np.std(y))
    n_parameters = int(owner.max(initial=0)) + 1
    constant = scale <= 1e-12 * np.abs(y).max(initial=0.0)  # up to rounding errors
    if len(y) < 3 or constant or not len(owner):  # without features all points are alike
        variance = 1.0 if constant else scale**2
        return FittedKernel(default_kernel(shape, owner, variance), 1e-3 * variance, mean)
    z = (y - mean) / scale
    squares = np.zeros((n_parameters, len(y), len(y)))
    np.add.at(squares, owner, (X.T[:, :, None] - X.T[:, None, :]) ** 2)
    prior_of_lengths = np.tile(_length_prior(n_parameters), (n_parameters, 1))
    prior = np.vstack([prior_of_lengths, _VARIANCE, _NOISE])
    bounds = [_BOUNDS["length"]] * n_parameters + [_BOUNDS["variance"], _BOUNDS["noise"]]

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = _negative_log_likelihood(theta, z, squares, shape)
        deviation = (theta - prior[:, 0]) / prior[:, 1]
        return value + 0.5 * deviation @ deviation, slope + deviation / prior[:, 1]

    starts = [prior[:, 0], prior[:, 0] + np.r_[-np.ones(n_parameters), 0, 0]]
    options = {"method": "L-BFGS-B", "options": {"ftol": _TOLERANCE}}
    minima = [minimize(loss, start, jac=True, bounds=bounds, **options) for start in starts]
    theta = np.exp(min(minima, key=lambda minimum: minimum.fun).x)
    kernel = Kernel(shape, theta[:-2][owner], theta[-2] * scale**2)
    return FittedKernel(kernel, theta[-1] * scale**2, mean)


def _negative_log_likelihood(
    theta: NDArray[np.float64], z: NDArray[np.float64], squares: NDArray[np.float64], shape: str
) -> tuple[float, NDArray[np.float64]]:
    """Return -log N(z | 0, K + s I) and its gradient by theta, shape (n_parameters + 2,).

    theta has the logarithms of the length-scales, of the variance of the kernel and of s; `squares`
    has the squared distances along each parameter, shape (n_parameters, n, n).
    """
    h, slope = KERNEL_SHAPES[shape]
    n = len(z)
    by_parameter = squares.reshape(len(squares), -1)
    weights = np.exp(-2 * theta[:-2])
    variance, s = np.exp(theta[-2:])
    r2 = (weights @ by_parameter).reshape(n, n)
    K = variance * h(r2)
    factor, failed = dpotrf(K + s * np.eye(n), lower=True)
    if failed:
        raise np.linalg.LinAlgError("the kernel matrix is not positive definite")
    alpha, _ = dpotrs(factor, z, lower=True)
    value = 0.5 * z @ alpha + np.log(factor.diagonal()).sum() + 0.5 * n * np.log(2 * np.pi)
    # d value / d theta = -1/2 trace((alpha alpha' - C^-1) dC / d theta). Of the inverse, the part
    # below the diagonal counts twice: what is above it is 0 here, and the rest is symmetric.
    inverse, _ = dpotri(factor, lower=True)
    inverse *= 2
    np.einsum("ii->i", inverse)[:] /= 2
    inner = alpha[:, None] * alpha - inverse
    by_length = variance * weights * (by_parameter @ (inner * slope(r2)).ravel())
    return value, -0.5 * np.array([*by_length, (inner * K).sum(), s * np.trace(inner)])

"""Kernel parameters from public values, by marginal likelihood (zone: public).

Never call this with sensitive values: what is learnt here is not protected.
"""

from __future__ import annotations

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
# Of the logarithm of the likelihood, relative: more digits take steps that change no choice.
_TOLERANCE = 1e-6


def _length_prior(n_parameters: int) -> tuple[float, float]:
    mean, deviation = _LENGTH_SCALE
    return mean + 0.5 * np.log(n_parameters), deviation


def default_kernel(shape: str, owner: np.ndarray, variance: float = 1.0) -> Kernel:
    """Return the kernel to use without observations: with the prior median of the length-scale.

    Features with one number in `owner` belong to one parameter.
    """
    mean, _ = _length_prior(owner.max(initial=0) + 1)
    return Kernel(shape, np.full(len(owner), np.exp(mean)), variance)


def fit_kernel(
    X: np.ndarray, y: np.ndarray, shape: str, owner: np.ndarray
) -> tuple[Kernel, float, float]:
    """Return the kernel, noise variance and prior mean that make public values most likely.

    Maximises ``log N(y | mean(y), K + s I)`` plus the logarithm of a weak log-normal prior, over a
    length-scale for each parameter, the variance of the kernel and s. Features X lie in [0, 1];
    those with one number in `owner` belong to one parameter, and share its length-scale.
    """
    mean, scale = float(np.mean(y)), float(np.std(y))
    n_parameters = int(owner.max(initial=0)) + 1
    constant = scale <= 1e-12 * np.abs(y).max(initial=0.0)  # up to rounding errors
    if len(y) < 3 or constant or not len(owner):  # without features all points are alike
        variance = 1.0 if constant else scale**2
        return default_kernel(shape, owner, variance), 1e-3 * variance, mean
    z = (y - mean) / scale
    squares = np.zeros((n_parameters, len(y), len(y)))
    np.add.at(squares, owner, (X.T[:, :, None] - X.T[:, None, :]) ** 2)
    prior = np.array([_length_prior(n_parameters)] * n_parameters + [_VARIANCE, _NOISE])
    bounds = [_BOUNDS["length"]] * n_parameters + [_BOUNDS["variance"], _BOUNDS["noise"]]

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = _negative_log_likelihood(theta, z, squares, shape)
        deviation = (theta - prior[:, 0]) / prior[:, 1]
        return value + 0.5 * deviation @ deviation, slope + deviation / prior[:, 1]

    starts = [prior[:, 0], prior[:, 0] + np.r_[[-1.0] * n_parameters, 0, 0]]
    search = {"method": "L-BFGS-B", "options": {"ftol": _TOLERANCE}}
    found = [minimize(loss, start, jac=True, bounds=bounds, **search) for start in starts]
    theta = np.exp(min(found, key=lambda result: result.fun).x)
    kernel = Kernel(shape, theta[:-2][owner], theta[-2] * scale**2)
    return kernel, theta[-1] * scale**2, mean


def _negative_log_likelihood(
    theta: NDArray[np.float64], z: NDArray[np.float64], squares: NDArray[np.float64], shape: str
) -> tuple[float, NDArray[np.float64]]:
    """Return -log N(z | 0, K + s I) and its gradient by the logarithms theta.

    theta has the length-scales, the variance of the kernel and s; `squares` the squared distances
    along each parameter, (n_parameters, n, n).
    """
    h, slope = KERNEL_SHAPES[shape]
    n, by_parameter = len(z), squares.reshape(len(squares), -1)
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

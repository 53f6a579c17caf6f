"""Gaussian process on a finite domain, one Cholesky row per observation (zone: public).

With observations at points ``x_1, ..., x_t`` of a domain Lambda, kernel matrix
``K_ij = k(x_i, x_j)``, noise variance s and prior mean m, the posterior at every l of Lambda is

    mean(l)     = m(l) + sum_j w_j(l) (y_j - m(x_j)),      w(l) = (K + s I)^-1 k(l)
    variance(l) = k(l, l) - k(l)' (K + s I)^-1 k(l).

The variance and the weights w depend on *where* was looked, never on what was seen. So, where the
values are sensitive, all of this module stays public, and the mean is a linear map with public
weights that `sklearn_dpbo._privacy.sensitive.Sensitive.linear` applies.

With ``L L' = K + s I`` and ``V = L^-1 k(Lambda)``, one more observation at l adds one row to each:
``v = (k(l, .) - V[:, l]' V) / sqrt(variance(l) + s)``, in O(|Lambda| t).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import solve_triangular

__all__ = ["KERNEL_SHAPES", "Kernel", "Surrogate"]


def _squared_exponential(r2):
    return np.exp(-0.5 * r2)


def _matern32(r2):
    r = np.sqrt(3 * r2)
    return (1 + r) * np.exp(-r)


def _matern52(r2):
    r = np.sqrt(5 * r2)
    return (1 + r + r**2 / 3) * np.exp(-r)


# h(r^2), and -2 h'(r^2), which times (x_d - x'_d)^2 / l_d^2 is the slope in log l_d.
KERNEL_SHAPES = {
    "squared_exponential": (_squared_exponential, _squared_exponential),
    "matern32": (_matern32, lambda r2: 3 * np.exp(-np.sqrt(3 * r2))),
    "matern52": (
        _matern52,
        lambda r2: 5 / 3 * (1 + np.sqrt(5 * r2)) * np.exp(-np.sqrt(5 * r2)),
    ),
}


@dataclass(frozen=True)
class Kernel:
    """A stationary kernel with a length-scale per feature.

    ``k(x, x') = bias + variance h(r^2)`` with ``r^2 = sum_d (x_d - x'_d)^2 / l_d^2`` and ``h(r^2)``
    ``exp(-r^2 / 2)`` for "squared_exponential", ``(1 + a) exp(-a)``, ``a = sqrt(3) r``, for
    "matern32", and ``(1 + a + a^2 / 3) exp(-a)``, ``a = sqrt(5) r``, for "matern52".

    Parameters
    ----------
    shape : str
    length_scale : float or array-like of shape (n_features,), in units of the features
    variance : float, default=1.0
    bias : float, default=0.0
        Variance of an unknown constant: the level of the function, if it is not known.

    References
    ----------
    Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, section 4.2.
    """

    shape: str
    length_scale: np.ndarray | float
    variance: float = 1.0
    bias: float = 0.0

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel matrix between rows of A, (n, d), and of B, (m, d)."""
        return self.of_scaled(A / self.length_scale, B / self.length_scale)

    def of_scaled(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel matrix between rows that were divided by the length-scales."""
        r2 = np.zeros((len(A), len(B)))
        for a, b in zip(A.T, B.T, strict=True):  # term by term: no cancellation
            r2 += (a[:, None] - b) ** 2
        return self.bias + self.variance * KERNEL_SHAPES[self.shape][0](r2)


@dataclass
class _Rows:
    """Rows that grow in place: whoever holds the newest state appends, others copy."""

    buffer: np.ndarray
    used: int = 0

    def append(self, t: int, row: np.ndarray) -> _Rows:
        row = row.astype(self.buffer.dtype, copy=False)
        if t < self.used and np.array_equal(self.buffer[t], row):
            return self  # rows depend on points alone: the same point was tried here before
        rows = self
        if t < self.used or t == len(self.buffer):
            length = max(t + 1, len(self.buffer) * (1 + (t == self.used)))
            buffer = np.empty((length, row.size), self.buffer.dtype)
            buffer[:t] = self.buffer[:t]
            rows = _Rows(buffer, t)
        rows.buffer[t] = row
        rows.used = t + 1
        return rows


@dataclass(frozen=True)
class Surrogate:
    """An immutable Gaussian process on a finite domain; made by `Surrogate.on`.

    Attributes
    ----------
    picked : tuple of int
        Positions in the domain that were observed, in order.
    mean : ndarray of shape (n_points,)
        Posterior mean of the function.
    variance : ndarray of shape (n_points,)
        Posterior variance of the function (without noise).

    Notes
    -----
    Memory: one array of n_points by the number of observations, besides vectors.
    """

    kernel: Kernel
    noise: float
    picked: tuple[int, ...]
    mean: np.ndarray
    variance: np.ndarray
    _scaled: np.ndarray = field(repr=False)
    _V: _Rows = field(repr=False)
    _diagonal: tuple[float, ...] = field(default=(), repr=False)

    @classmethod
    def on(
        cls, domain, kernel: Kernel, noise: float, prior_mean=0.0, *, capacity=64, dtype=np.float64
    ) -> Surrogate:
        """Return the prior.

        Parameters
        ----------
        domain : ndarray of shape (n_points, n_features)
        kernel : Kernel
        noise : float
            Variance of an observation given the function; positive.
        prior_mean : float or ndarray of shape (n_points,)
        capacity : int
            Observations to have room for; more are taken, at the cost of a copy.
        dtype : numpy.float64 or numpy.float32
            Of the one large array; half the memory at a loss of precision.
        """
        if not noise > 0:
            raise ValueError(f"the noise variance is positive; found {noise!r}")
        n = len(domain)
        return cls(
            kernel,
            noise,
            (),
            np.broadcast_to(np.asarray(prior_mean, dtype=float), n).copy(),
            np.full(n, float(kernel.variance + kernel.bias)),
            np.asarray(domain, dtype=float) / kernel.length_scale,
            _Rows(np.empty((capacity, n), dtype)),
        )

    @property
    def std(self) -> np.ndarray:
        """Posterior standard deviation, shape (n_points,)."""
        return np.sqrt(self.variance)

    def condition(self, index: int, value: float | None = None) -> Surrogate:
        """Return the posterior after one more observation.

        Parameters
        ----------
        index : int
            Position in the domain.
        value : float or None
            What was observed. None stands for the present mean, which only shrinks the variance:
            a hallucinated observation, for batches (Desautels, Krause and Burdick, JMLR 2014), and
            for values that are sensitive.
        """
        t = len(self.picked)
        V = self._V.buffer[:t]
        l_tt = math.sqrt(self.variance[index] + self.noise)
        k = self.kernel.of_scaled(self._scaled[[index]], self._scaled)[0]
        v = (k - V[:, index] @ V) / l_tt
        mean = self.mean if value is None else self.mean + v * ((value - self.mean[index]) / l_tt)
        return replace(
            self,
            picked=(*self.picked, int(index)),
            mean=mean,
            variance=np.maximum(self.variance - v**2, 0.0),
            _V=self._V.append(t, v),
            _diagonal=(*self._diagonal, l_tt),
        )

    def correlation(self, index: int) -> np.ndarray:
        """Return the prior correlation h of one point with all, shape (n_points,)."""
        k = self.kernel.of_scaled(self._scaled[[index]], self._scaled)[0]
        return (k - self.kernel.bias) / self.kernel.variance

    def condition_all(self, indices, values=None) -> Surrogate:
        """Return the posterior after several observations, in order."""
        values = [None] * len(indices) if values is None else values
        model = self
        for index, value in zip(indices, values, strict=True):
            model = model.condition(index, value)
        return model

    def weights(self) -> np.ndarray:
        """Return w, shape (n_observations, n_points): what each observation adds to each mean."""
        V = self._V.buffer[: len(self.picked)]
        L = np.tril(V[:, self.picked].T, -1) + np.diag(self._diagonal)
        return solve_triangular(L, V, lower=True, trans="T", check_finite=False)

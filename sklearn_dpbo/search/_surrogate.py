"""Gaussian process on a finite domain, one Cholesky row per observation (zone: public).

With observations at points ``x_1, ..., x_t`` of a domain Lambda, kernel matrix
``K_ij = k(x_i, x_j)``, noise variance s and prior mean m, the posterior at every l of Lambda is

    mean(l)     = m(l) + sum_j w_j(l) (y_j - m(x_j)),      w(l) = (K + s I)^-1 k(l)
    variance(l) = k(l, l) - k(l)' (K + s I)^-1 k(l).

With ``L L' = K + s I`` and ``V = L^-1 k(Lambda)``, one more observation at l adds one row to each:
``v = (k(l, .) - V[:, l]' V) / sqrt(variance(l) + s)``, in O(|Lambda| t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ..privacy.checks import check_number

_THREADS = ThreadpoolController()

_F = TypeVar("_F", bound=Callable[..., Any])
_Radial = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def single_threaded(function: _F) -> _F:
    """Make a function run its linear algebra in one thread: faster for small matrices."""
    limited: _F = _THREADS.wrap(limits=1, user_api="blas")(function)
    return limited


def _squared_exponential(r2: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-0.5 * r2)


def _matern32(r2: NDArray[np.float64]) -> NDArray[np.float64]:
    r = np.sqrt(3 * r2)
    return (1 + r) * np.exp(-r)


def _matern52(r2: NDArray[np.float64]) -> NDArray[np.float64]:
    r = np.sqrt(5 * r2)
    return (1 + r + r**2 / 3) * np.exp(-r)


# h(r^2), and -2 h'(r^2), which times (x_d - x'_d)^2 / l_d^2 is the derivative by log l_d.
KERNEL_SHAPES: dict[str, tuple[_Radial, _Radial]] = {
    "squared_exponential": (_squared_exponential, _squared_exponential),
    "matern32": (_matern32, lambda r2: 3 * np.exp(-np.sqrt(3 * r2))),
    "matern52": (
        _matern52,
        lambda r2: 5 / 3 * (1 + np.sqrt(5 * r2)) * np.exp(-np.sqrt(5 * r2)),
    ),
}


@dataclass(frozen=True, eq=False)
class Kernel:
    """A stationary kernel with a length-scale per feature.

    ``k(x, x') = bias + variance h(r^2)`` with ``r^2 = sum_d (x_d - x'_d)^2 / l_d^2``, where h(r^2)
    is ``exp(-r^2 / 2)`` for "squared_exponential", ``(1 + a) exp(-a)``, ``a = sqrt(3) r``, for
    "matern32", and ``(1 + a + a^2 / 3) exp(-a)``, ``a = sqrt(5) r``, for "matern52".

    Parameters
    ----------
    shape : {"squared_exponential", "matern32", "matern52"}
        Shape of the kernel.
    length_scale : float or ndarray of shape (n_features,)
        The l_d, in units of the features.
    variance, bias : float, default=1.0 and 0.0
        Variance of the function, and of an unknown constant that is added to it.
    """

    shape: str
    length_scale: NDArray[np.float64] | float
    variance: float = 1.0
    bias: float = 0.0

    def __call__(self, A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel matrix of shape (n, m) between the rows of A, (n, d), and B, (m, d)."""
        return self.of_scaled(A / self.length_scale, B / self.length_scale)

    def of_scaled(self, A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel matrix between rows already divided by the length-scales."""
        r2 = np.zeros((len(A), len(B)))
        for a, b in zip(A.T, B.T, strict=True):  # |a|^2 - 2 a'b + |b|^2 would cancel
            r2 += (a[:, None] - b) ** 2
        return self.bias + self.variance * KERNEL_SHAPES[self.shape][0](r2)


@dataclass(eq=False)
class _Rows:
    """Rows in a buffer that several surrogates share; an older surrogate appends to a copy."""

    buffer: NDArray[np.float64]
    used: int = 0

    def append(self, t: int, row: NDArray[np.float64]) -> _Rows:
        if t < self.used and np.array_equal(self.buffer[t], row):
            return self  # another surrogate has observed the same point here
        rows = self
        if t < self.used or t == len(self.buffer):
            length = max(t + 1, len(self.buffer) * (1 + (t == self.used)))
            buffer = np.empty((length, row.size))
            buffer[:t] = self.buffer[:t]
            rows = _Rows(buffer, t)
        rows.buffer[t] = row
        rows.used = t + 1
        return rows


@dataclass(frozen=True, eq=False)
class Surrogate:
    """An immutable Gaussian process on a finite domain; made by `Surrogate.on`.

    `noise` is the variance of an observation given the function; `picked` are the positions that
    were observed, in order; `mean` and `variance` are those of the function, shape (n_points,).
    Memory is one array of shape (n_observations, n_points), and vectors.
    """

    kernel: Kernel
    noise: float
    picked: tuple[int, ...]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    _scaled: NDArray[np.float64] = field(repr=False)
    _V: _Rows = field(repr=False)

    @classmethod
    def on(
        cls,
        domain: NDArray[np.float64],
        kernel: Kernel,
        noise: float,
        prior_mean: float | NDArray[np.float64] = 0.0,
        *,
        capacity: int = 64,
    ) -> Surrogate:
        """Make the prior, with memory for `capacity` observations; one more copies the array."""
        check_number("the noise variance", noise, "positive", lambda v: v > 0, finite=False)
        n = len(domain)
        return cls(
            kernel,
            noise,
            (),
            np.broadcast_to(np.asarray(prior_mean, dtype=float), n).copy(),
            np.full(n, float(kernel.variance + kernel.bias)),
            np.asarray(domain, dtype=float) / kernel.length_scale,
            _Rows(np.empty((capacity, n))),
        )

    @property
    def std(self) -> NDArray[np.float64]:
        """Posterior standard deviation, shape (n_points,)."""
        return np.sqrt(self.variance)

    def condition(self, index: int, value: float | None = None) -> Surrogate:
        """Return the posterior after one more observation, at position `index` in the domain.

        The value None stands for the posterior mean: the mean stays, and the variance shrinks.
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
        )

    def condition_all(
        self,
        indices: Sequence[int] | NDArray[np.int_],
        values: Sequence[float | None] | NDArray[np.float64] | None = None,
    ) -> Surrogate:
        """Return the posterior after several observations, in order, as `condition` takes them."""
        values = [None] * len(indices) if values is None else values
        model = self
        for index, value in zip(indices, values, strict=True):
            model = model.condition(index, value)
        return model

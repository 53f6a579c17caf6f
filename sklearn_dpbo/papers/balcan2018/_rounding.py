"""Rounding the semidefinite relaxation of integer quadratic programmes (zone: sensitive).

To maximise ``x' A x`` over x in {-1, 1}^n, solve its relaxation over unit vectors u_i (Goemans and
Williamson), and round the vectors to signs by a random direction. Directions are drawn once per
instance, with a seed computed from `random_state` and the instance, so that a solution depends on
the instance and the parameter alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...privacy.checks import check_number
from ...privacy.float_errors import ignore_float_errors
from ._families import BaseFamily, converted


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticProgram:
    """Maximise ``x' A x`` over x in {-1, 1}^n; error messages do not quote A.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Numbers below 1e100; only the symmetric part counts. For a maximum cut, this is minus the
        matrix of edge weights.
    """

    A: NDArray[np.float64]

    def __post_init__(self) -> None:
        A: NDArray[np.float64] | None = converted(np.asarray, self.A, dtype=float)
        if A is None or A.ndim != 2 or A.shape[0] != A.shape[1] or not len(A):
            raise ValueError("A must be a square matrix of numbers; found something else")
        if not np.abs(A).max() < 1e100:
            raise ValueError("A must have numbers below 1e100; found others")
        vars(self).update(A=(A + A.T) / 2)

    @cached_property
    def vectors(self) -> NDArray[np.float64]:
        """Unit vectors u_i, the rows, that maximise ``sum_ij A_ij <u_i, u_j>``. Needs cvxpy."""
        return _relaxation(self.A)

    def __repr__(self) -> str:
        return f"<QuadraticProgram: {len(self.A)} variables>"


class _Rounding(BaseFamily):
    """Base of both roundings: random directions, and the objective as a share."""

    def __init__(self, *, n_directions: int = 1, random_state: int = 0) -> None:
        self.n_directions = n_directions
        self.random_state = random_state

    def check(self, interval: tuple[float, float]) -> None:
        check_number("n_directions", self.n_directions, "1 or more", lambda v: v >= 1, Integral)
        check_number("random_state", self.random_state, "0 and up", lambda v: v >= 0, Integral)
        _solver()

    def _directions(self, instance: QuadraticProgram) -> NDArray[np.float64]:
        """Return standard normal variables, shape (n_directions, 2 n)."""
        digest = hashlib.sha256(np.ascontiguousarray(instance.A).tobytes()).digest()
        seed = [int(self.random_state), int.from_bytes(digest, "little")]
        shape = (self.n_directions, 2 * len(instance.A))
        return np.random.default_rng(seed).standard_normal(shape)

    def _coordinates(
        self, instance: QuadraticProgram
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return <u_i, Z> and z_(n + i) for each direction Z, each of shape (n_directions, n)."""
        Z = self._directions(instance)
        n = len(instance.A)
        return Z[:, :n] @ instance.vectors.T, Z[:, n:]

    def _range(self, instance: QuadraticProgram) -> tuple[float, float]:
        largest = float(np.abs(instance.A).sum())
        return -largest, largest


class OutwardRotation(_Rounding):
    """Round to signs after turning the vectors outwards by an angle gamma (Zwick, STOC 1999).

    ``x_i = sgn(<u_i, Z> cos(gamma) + z_(n + i) sin(gamma))``, with gamma in [0, pi / 2]: 0 is the
    rounding of Goemans and Williamson, pi / 2 draws the signs at random. The utility is
    ``(x' A x + |A|) / (2 |A|)`` with ``|A|`` the sum of the absolute entries.

    Parameters
    ----------
    n_directions, random_state : int, default=1 and 0
        Number of random directions per instance, over which the objective is averaged, and their
        public seed.
    """

    interval = (0.0, np.pi / 2)

    def check(self, interval: tuple[float, float]) -> None:
        super().check(interval)
        if not -np.pi / 2 <= interval[0] < interval[1] <= np.pi / 2:
            raise ValueError(f"gamma lies in [-pi/2, pi/2]; found the interval {interval!r}")

    def breakpoints(self, instance: QuadraticProgram) -> NDArray[np.float64]:
        """Return ``arctan(-<u_i, Z> / z_(n + i))`` for all variables and directions."""
        y, z = self._coordinates(instance)
        with ignore_float_errors():
            gamma: NDArray[np.float64] = np.arctan(-y / z).ravel()
        return gamma[np.isfinite(gamma)]

    def _objectives(
        self, instance: QuadraticProgram, parameters: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        gamma = parameters[:, None]
        total = np.zeros(len(parameters))
        for y, z in zip(*self._coordinates(instance), strict=True):
            x = np.where(y * np.cos(gamma) + z * np.sin(gamma) >= 0, 1.0, -1.0)
            total += ((x @ instance.A) * x).sum(axis=1)
        return total / self.n_directions


class SLinear(_Rounding):
    """Draw signs with a bias that is linear up to s (Feige and Langberg, J. Algorithms 2006).

    ``x_i = 1`` with probability ``(1 + phi_s(<u_i, Z>)) / 2``, where ``phi_s(y)`` is ``y / s``,
    clipped to [-1, 1]. The utility is the expected one, given Z. Between the borders
    ``|<u_i, Z>|`` it is a quadratic function of 1 / s and so not constant; it is computed at every
    point of the grid. The parameter s is positive; in the limit of 0 this is the rounding of
    Goemans and Williamson.

    Parameters
    ----------
    n_directions, random_state : int
        As in `OutwardRotation`.
    """

    interval = (0.0, 5.0)

    def check(self, interval: tuple[float, float]) -> None:
        super().check(interval)
        if interval[0] < 0:
            raise ValueError(
                f"s is positive: the interval begins at 0 or above; found {interval!r}"
            )

    def breakpoints(self, instance: QuadraticProgram) -> None:
        """Return None: there are no pieces on which the utility is constant."""
        return

    def _objectives(
        self, instance: QuadraticProgram, parameters: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if not (parameters > 0).all():
            raise ValueError("s is positive; found other parameters")
        total = np.zeros(len(parameters))
        for y in self._coordinates(instance)[0]:
            pieces = _quadratics(instance.A, y)
            # The number of borders below s, which is the number of variables drawn at random.
            k = np.searchsorted(np.sort(np.abs(y)), parameters, side="left")
            total += pieces.a[k] + pieces.b[k] / parameters + pieces.c[k] / parameters**2
        return total / self.n_directions


class _Quadratics(NamedTuple):
    """Objective ``a_k + b_k / s + c_k / s^2`` for s above k borders; arrays of shape (n + 1,)."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    c: NDArray[np.float64]


def _quadratics(A: NDArray[np.float64], y: NDArray[np.float64]) -> _Quadratics:
    """Expand the expected objective of the projections y in powers of 1 / s.

    With C the signs that are not random, and L the other variables' projections,
    ``E x' A x = (C + L / s)' (A - diag A) (C + L / s) + trace A``.
    """
    off_diagonal = A - np.diag(np.diag(A))
    n = len(y)
    rank = np.argsort(np.argsort(np.abs(y), kind="stable"), kind="stable")
    linear = rank < np.arange(n + 1)[:, None]
    C, L = np.where(linear, 0.0, np.sign(y)), np.where(linear, y, 0.0)
    CA = C @ off_diagonal
    return _Quadratics(
        a=(CA * C).sum(axis=1) + np.trace(A),
        b=2 * (CA * L).sum(axis=1),
        c=((L @ off_diagonal) * L).sum(axis=1),
    )


def _solver() -> Any:
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError(
            'the relaxation needs cvxpy; install it: python -m pip install "sklearn_dpbo[sdp]"'
        ) from error
    return cvxpy


def _relaxation(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve ``max sum_ij A_ij X_ij`` for positive semidefinite X with ones on the diagonal."""
    cp = _solver()
    n = len(A)
    X = cp.Variable((n, n), PSD=True)
    scale = np.abs(A).max() or 1.0
    problem = cp.Problem(cp.Maximize(cp.trace((A / scale) @ X)), [cp.diag(X) == 1])
    problem.solve(solver=cp.CLARABEL)
    if X.value is None:
        raise ValueError(f"the solver did not solve the relaxation: {problem.status}")
    # X = V diag(l) V', so the vectors are the rows of V sqrt(l), normalised again after rounding.
    eigenvalues, V = np.linalg.eigh(X.value)
    U: NDArray[np.float64] = V * np.sqrt(np.maximum(eigenvalues, 0))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    return U

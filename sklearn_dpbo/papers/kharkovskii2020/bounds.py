"""The lemmas and theorems of "Private Outsourced Bayesian Optimization", as printed (zone: public).

Kharkovskii, Dai and Low, ICML 2020. They are about the table that `published.ProjectionCurator`
releases, and about GP-UCB on it. None is about privacy. The documentation, "Let another party
optimise: Kharkovskii et al. (2020), PO-GP-UCB", says what they assume, and why Theorem 3 is
vacuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from ...privacy.checks import check_number

__all__ = [
    "RegretBounds",
    "is_diagonally_dominant",
    "projection_dimension",
    "projection_threshold",
    "stretch_factor",
    "ucb_beta",
]

_SHARE = "in (0, 1)", lambda v: 0 < v < 1
_POSITIVE = "positive", lambda v: v > 0
_COUNT = "1 or more", lambda v: v >= 1, Integral


def projection_threshold(epsilon: float, delta: float, n_components: int) -> float:
    """Return ``omega = 16 sqrt(r ln(2 / delta)) ln(16 r / delta) / epsilon`` (Algorithm 1, line 5).

    If the smallest singular value of the centred rows is less, the algorithm increases all of them.

    Parameters
    ----------
    epsilon, delta : float
        Positive; delta below 1.
    n_components : int
        r, 1 or more.

    Returns
    -------
    omega : float
    """
    check_number("epsilon", epsilon, *_POSITIVE)
    check_number("delta", delta, *_SHARE)
    check_number("n_components", n_components, *_COUNT)
    logs = math.sqrt(n_components * math.log(2 / delta)) * math.log(16 * n_components / delta)
    return float(16 * logs / epsilon)


def projection_dimension(n_rows: int, nu: float, mu: float) -> int:
    """Return the least integer r with ``r >= 8 ln(n^2 / mu) / nu^2`` (Lemma 1).

    With M of d x r independent standard normal entries, all pairs of n rows then have ::

        (1 - nu) |x - x'|^2  <=  |x M - x' M|^2 / r  <=  (1 + nu) |x - x'|^2

    with probability 1 - mu at least.

    Parameters
    ----------
    n_rows : int
        n, 1 or more.
    nu, mu : float
        Relative error of squared distances, in (0, 1/2]; probability that it fails, in (0, 1).

    Returns
    -------
    r : int
    """
    check_number("n_rows", n_rows, *_COUNT)
    check_number("nu", nu, "in (0, 1/2]", lambda v: 0 < v <= 0.5)
    check_number("mu", mu, *_SHARE)
    return math.ceil(8 * (2 * math.log(n_rows) - math.log(mu)) / nu**2)


def stretch_factor(s_min: float, omega: float) -> float:
    """Return ``C' = 1 + omega^2 / s_min^2`` if ``s_min < omega``, else 1 (Theorem 2).

    The projection may stretch squared distances by this factor, besides the relative error of
    `projection_dimension`.

    Parameters
    ----------
    s_min : float
        Smallest singular value of the centred rows; 0 or more.
    omega : float
        `projection_threshold`; positive.

    Returns
    -------
    C : float
        1 or more; infinite if s_min is 0, as distances of 0 can become positive.
    """
    check_number("s_min", s_min, "0 or more", lambda v: v >= 0)
    check_number("omega", omega, *_POSITIVE)
    if s_min >= omega:
        return 1.0
    return 1 + (omega / s_min) ** 2 if s_min > 0 else math.inf


def is_diagonally_dominant(covariance: ArrayLike) -> bool:
    """Return True if a covariance matrix is diagonally dominant in the sense of Definition 3.

    That is, for each row x of the set X0, ::

        k(x, x)  >=  (sqrt(|X0| - 1) + 1) sum over x' != x in X0 of |k(x, x')|.

    (The paper has no absolute values: its kernel is positive.)

    Parameters
    ----------
    covariance : array-like of shape (n, n)
        A symmetric matrix.

    Returns
    -------
    dominant : bool
    """
    K = np.asarray(covariance, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size or not np.isfinite(K).all():
        raise ValueError(
            f"covariance must be a square matrix of finite numbers; found shape {K.shape}"
        )
    if not np.allclose(K, K.T):
        raise ValueError("covariance must be symmetric; found a matrix that is not")
    diagonal = np.diag(K)
    off_diagonal = np.abs(K - np.diag(diagonal)).sum(axis=1)
    return bool((diagonal >= (math.sqrt(len(K) - 1) + 1) * off_diagonal).all())


def ucb_beta(n_rows: int, t: int, delta: float) -> float:
    """Return ``beta_t = 2 ln(n t^2 pi^2 / (6 delta'))`` (Algorithm 2, line 3).

    A Gaussian process of known mean and covariance lies within ``sqrt(beta_t)`` posterior standard
    deviations of the posterior mean, for all rows and all t, with probability 1 - delta' at least.

    Parameters
    ----------
    n_rows, t : int
        n, and the number of the question, from 1.
    delta : float
        delta', in (0, 1). Theorem 3 sets it to delta_ucb / 2.

    Returns
    -------
    beta : float
    """
    return 2 * math.log(n_rows * t**2 * math.pi**2 / (6 * delta))


@dataclass(frozen=True)
class RegretBounds:
    """Theorem 3: the regret of GP-UCB on a random projection, as printed.

    With probability 1 - delta_ucb at least, if ``s_min >= omega``, if ``K`` of the rows asked for
    before is diagonally dominant at each t <= T, and if M has `n_components` columns or more, ::

        S_T <= sqrt(epsilon_ucb^2 + 24 (C_2 + C_1 sqrt(beta_T))^2 ln(T) / T
                    + 24 / ln(1 + 1 / sigma_n^2) beta_T gamma_T / T).

    C_1 and C_2 are orders of magnitude in the paper. The theorem says nothing about the algorithm:
    its right-hand side is never below `least_simple_regret`.

    Parameters
    ----------
    n_rows : int
        n, 1 or more.
    T : int
        Number of questions, 2 or more.
    diameter : float
        d: the largest distance of two rows, in length-scales; positive.
    outcome_bound : float
        L: outcomes are at most L in absolute value; positive.
    noise : float
        sigma_n, standard deviation of an outcome given the function; positive.
    scale : float, default=1.0
        sigma_y, prior standard deviation of the function; in (0, 1], as the paper assumes
        ``k(x, x') <= 1``.
    epsilon_ucb : float, default=1.0
        Part of the regret that the projection may add; positive.
    delta_ucb : float, default=0.05
        Probability that the bound fails; in (0, 1).
    constants : tuple of two floats, default=(1.0, 1.0)
        Factors of C_1 and C_2, 0 or more; the paper does not state them.
    """

    n_rows: int
    T: int
    diameter: float
    outcome_bound: float
    noise: float
    scale: float = 1.0
    epsilon_ucb: float = 1.0
    delta_ucb: float = 0.05
    constants: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        check_number("n_rows", self.n_rows, *_COUNT)
        check_number("T", self.T, "2 or more", lambda v: v >= 2, Integral)
        for name in ("diameter", "outcome_bound", "noise", "epsilon_ucb"):
            check_number(name, getattr(self, name), *_POSITIVE)
        check_number("scale", self.scale, "in (0, 1]", lambda v: 0 < v <= 1)
        check_number("delta_ucb", self.delta_ucb, *_SHARE)
        for constant in self.constants:
            check_number("each of constants", constant, "0 or more", lambda v: v >= 0)

    @property
    def mu(self) -> float:
        """``mu = delta_ucb / 2``: the part of delta_ucb for the projection."""
        return self.delta_ucb / 2

    @property
    def nu(self) -> float:
        """``nu = min(epsilon_ucb / (2 sqrt(3) d^2 L), 2 / d^2, 1/2)``: allowed relative error."""
        d2 = self.diameter**2
        return min(self.epsilon_ucb / (2 * math.sqrt(3) * d2 * self.outcome_bound), 2 / d2, 0.5)

    @property
    def n_components(self) -> int:
        """The least r that the theorem allows: `projection_dimension` of nu and mu."""
        return projection_dimension(self.n_rows, self.nu, self.mu)

    def beta(self, t: int) -> float:
        """`ucb_beta` with ``delta' = delta_ucb / 2``."""
        return ucb_beta(self.n_rows, t, self.delta_ucb / 2)

    @property
    def C1(self) -> float:  # noqa: N802 (its name in the paper)
        """``sigma_y sqrt(sigma_y^2 + sigma_n^2) (sigma_y^2 / sigma_n^2 + 1)``, times a factor."""
        y2 = self.scale**2
        n2 = self.noise**2
        return self.constants[0] * self.scale * math.sqrt(y2 + n2) * (y2 / n2 + 1)

    @property
    def C2(self) -> float:  # noqa: N802
        """``sigma_y^2 / sigma_n^2 L``, times a factor."""
        return self.constants[1] * self.scale**2 / self.noise**2 * self.outcome_bound

    def simple_regret(self, gamma: float) -> float:
        """Return the bound on the simple regret S_T, given gamma_T or a bound on it, in nats."""
        check_number("gamma", gamma, "0 or more", lambda v: v >= 0)
        root = self.C2 + self.C1 * math.sqrt(self.beta(self.T))
        added = self.epsilon_ucb**2 + 24 * root**2 * math.log(self.T) / self.T
        return math.sqrt(added + self._learning_term(gamma))

    @property
    def least_simple_regret(self) -> float:
        """Lower bound on the right-hand side of Theorem 3: the root of its third term.

        If the covariance of ``m = T - 1`` rows is dominant, as the theorem assumes, gamma_T is at
        least ``m / 2 ln(1 + a / sigma_n^2)`` with ``a = sigma_y^2 s / (s + 1)`` and ``s = sqrt(m -
        1)`` (``a = sigma_y^2`` if m = 1). With probability 1 - delta_ucb / 2, no row has a larger
        regret: see the documentation, "Let another party optimise: Kharkovskii et al. (2020),
        PO-GP-UCB".
        """
        m = self.T - 1
        s = math.sqrt(m - 1) if m > 1 else math.inf
        eigenvalue = self.scale**2 / (1 + 1 / s)
        gained = m / 2 * math.log1p(eigenvalue / self.noise**2)
        return math.sqrt(self._learning_term(gained))

    def _learning_term(self, gamma: float) -> float:
        return 24 / math.log1p(self.noise**-2) * self.beta(self.T) * gamma / self.T

"""The published curator of Kharkovskii, Dai and Low (2020), without guarantee (zone: boundary)."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ...exceptions import PrivacyWarning
from ...privacy.checks import check_number
from ...privacy.warn import warn
from ._curators import Curator
from .bounds import projection_threshold

__all__ = ["ProjectionCurator"]

# "auto" chooses no more columns than these.
_MOST_COMPONENTS = 10_000


class ProjectionCurator(Curator):
    """Release a random projection, as published: **not** differentially private.

    This is the curator's part of PO-GP-UCB (Kharkovskii, Dai and Low, ICML 2020, Algorithm 1), line
    by line: centre X, sample M with d x r standard normal entries, and with ``X = U S V'`` and

        omega = 16 sqrt(r ln(2 / delta)) ln(16 r / delta) / epsilon,

    release ``Z = X M / sqrt(r)`` if ``s_min(X) >= omega``, else ``Z = U sqrt(S^2 + omega^2) V' M /
    sqrt(r)``. In both branches the columns of Z are combinations of the columns of X. So whoever
    knows a few rows can reconstruct all others if there are at least d + 2 rows and r >= d. Use it
    only to reproduce and compare.

    Parameters
    ----------
    epsilon : float, default=1.0
        Epsilon of the paper. It guarantees nothing.
    delta : float, default=1e-5
        Delta of the paper, in (0, 1). It guarantees nothing.
    n_components : int or "auto", default="auto"
        r. "auto" is the largest r up to 10,000 with ``s_min(X) >= omega`` (1 if there is none). It
        looks at the data, and r is visible in the release.
    random_state : int, RandomState instance or None, default=None
        Seed of M. Keep it secret: whoever knows M can compute X.

    Attributes
    ----------
    released_ : ndarray of shape (n_rows, r)
    n_components_ : int
    omega_ : float
    guarantee_ : None
        There is none.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        n_components: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_components = n_components
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        if self.n_components != "auto":
            expected = "'auto' or 1 or more"
            check_number("n_components", self.n_components, expected, lambda r: r >= 1, Integral)

    def _release(self, X: NDArray[np.float64]) -> dict[str, Any]:
        warn(
            "ProjectionCurator has no privacy guarantee: whoever knows a few rows can reconstruct "
            "all others at any epsilon, if n_rows >= n_features + 2 and n_components >= "
            "n_features. Use GaussianCurator, which is (epsilon, delta)-private.",
            PrivacyWarning,
        )
        X = X - X.mean(axis=0)  # 2
        U, S, Vt = np.linalg.svd(X, full_matrices=False)  # 4
        r = self._auto(S.min()) if self.n_components == "auto" else self.n_components
        M = check_random_state(self.random_state).standard_normal((X.shape[1], r))  # 3
        omega = projection_threshold(self.epsilon, self.delta, r)  # 5
        if S.min() < omega:  # 6-8
            X = U @ (np.sqrt(S**2 + omega**2)[:, None] * Vt)  # 9
        Z = X @ M / math.sqrt(r)  # 7, 10
        return {"released_": Z, "n_components_": r, "omega_": omega, "guarantee_": None}

    def _auto(self, s_min: float) -> int:
        def fits(r: int) -> bool:
            return projection_threshold(self.epsilon, self.delta, r) <= s_min

        r = 1
        while r < _MOST_COMPONENTS and fits(r + 1):  # omega grows with r
            r += 1
        return r

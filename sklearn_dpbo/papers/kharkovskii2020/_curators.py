"""The noisy table that the holder of the data releases once (zone: boundary)."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ...privacy.accounting import PrivacyLoss
from ...privacy.checks import check_number
from ...privacy.float_errors import ignore_float_errors
from ...privacy.ledger._ledger import PrivacyLedger
from ...privacy.mechanisms import Price
from ...privacy.sensitive import Secret
from ...privacy.spending import Spending
from .._rows import row_norms
from ._calibration import gaussian_sigma

# Rows are rounded to a grid of at most sigma / 2^24.
_STEPS = 2**24


class Curator(BaseEstimator):
    """A release of a table's rows."""

    epsilon: Any
    delta: Any
    released_: NDArray[np.float64]
    guarantee_: str | None

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Release the rows of X with noise; row i of the result belongs to row i of X."""
        return self.fit(X).released_.copy()

    @ignore_float_errors()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the rows as `fit_transform` does; the table is `released_`."""
        self._check()
        # An error leaves an earlier release as it is.
        self.__dict__.update(self._release(check_array(X, dtype=np.float64)))
        return self

    def _check(self) -> None:
        check_number("epsilon", self.epsilon, "a finite number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("delta", self.delta, "in (0, 1)", lambda d: 1e-300 <= d < 1)

    def _release(self, X: NDArray[np.float64]) -> dict[str, Any]:
        raise NotImplementedError


class GaussianCurator(Curator):
    """Release rows with Gaussian noise, with (epsilon, delta)-differential privacy.

    Neighbouring tables have the same shape and differ in one row, by at most `distance` in
    Euclidean norm (1 in Kharkovskii et al., 2020, Definition 1). The release is ``Z = X + E``:
    E is independent normal noise with the smallest standard deviation sigma that (epsilon, delta)
    allows. The documentation, "Let another party optimise: Kharkovskii et al. (2020), PO-GP-UCB",
    has the proof.

    Not protected are the outcomes that the modeler asks for, and errors: whether `fit` refuses a
    table, and the message, must stay on the side that holds the data.

    Parameters
    ----------
    epsilon : float, default=1.0
        From 1e-9 up.
    delta : float, default=1e-5
        In (0, 1); usually below 1 / n_rows.
    distance : float, default=1.0
        Largest difference between neighbouring rows. Scale the columns so that it covers the
        differences that matter to you.
    max_norm : float, default=None
        Rows with a larger norm are scaled down to it. With ``max_norm = distance / 2`` any row can
        be replaced by any other.
    ledger : PrivacyLedger or None, default=None
        The ledger that is charged (epsilon, delta) before the release.

    Attributes
    ----------
    released_ : ndarray of shape (n_rows, n_features)
        The noisy rows; safe to hand over.
    sigma_ : float
        Standard deviation of the noise. Public: give it to the modeler as `input_noise`.
    privacy_ : PrivacyLoss
        Cost of the release. Each call of `fit` costs it again.
    guarantee_ : str
    """

    sigma_: float
    privacy_: PrivacyLoss

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        distance: float = 1.0,
        max_norm: float | None = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.distance = distance
        self.max_norm = max_norm
        self.ledger = ledger

    def _check(self) -> None:
        super()._check()
        positive = "positive (1e-100 to 1e100)", lambda v: 1e-100 < float(v) < 1e100
        check_number("distance", self.distance, *positive)
        check_number("max_norm", self.max_norm, *positive, optional=True)

    def _release(self, X: NDArray[np.float64]) -> dict[str, Any]:
        spending = Spending.begin(
            self.ledger,
            self.epsilon,
            self.delta,
            what="image of the rows",
            mechanism=type(self).__name__,
            unit=f"row within {self.distance:g}",
        )
        spending.warn_if_weak(len(X), "row")
        Y = self._bounded(X)
        epsilon, delta = spending.epsilon, spending.delta
        distance = float(self.distance)
        rounding_error = 0.0
        if self.max_norm is not None:
            # Clipping rounds; without it, every step is exact.
            distance = min(distance, 2 * float(self.max_norm))
            rounding_error = 1e-14 * X.shape[1] * float(self.max_norm)
        step = 2.0 ** math.floor(math.log2(gaussian_sigma(epsilon, delta, distance) / _STEPS))
        grid_distance = distance + 2 * rounding_error + step * Y.shape[1] ** 0.5
        sigma = gaussian_sigma(epsilon, delta, grid_distance)
        if sigma > 2**20 * _STEPS * step:
            raise ValueError(
                f"distance={self.distance!r} is too small for max_norm={self.max_norm!r}: rounding "
                "errors are larger than the distance of neighbouring rows. Increase distance"
            )
        # Clipping moves no two rows apart. An overflow error instead would reveal a row.
        grid_rows = np.rint(np.clip(Y / step, -(2.0**60), 2.0**60)).astype(np.int64)
        price = Price(1, epsilon, delta, spread=sigma / step)
        release = spending.tables(price, [1.0], purpose="image of the rows")
        noisy = release(Secret(grid_rows))
        guarantee = (
            f"(epsilon, delta) = ({epsilon:g}, {delta:g}) for tables in which one row differs by "
            f"at most {self.distance:g} in Euclidean norm; outcomes are not protected"
        )
        return {
            "released_": noisy * step,
            "sigma_": sigma,
            "privacy_": release.loss,
            "receipts_": spending.spent.receipts,
            "guarantee_": guarantee
            if spending.spent.secure
            else "NONE: the noise is seeded. For tests only",
        }

    def _bounded(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale rows with a norm above max_norm down to it."""
        if self.max_norm is None:
            return X
        lengths = row_norms(X)
        return X * (self.max_norm / np.maximum(lengths, self.max_norm))[:, None]

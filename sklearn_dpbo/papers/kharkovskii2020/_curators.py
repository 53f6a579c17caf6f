"""The noisy table that the holder of the data releases once (zone: boundary)."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._card import card
from ..._data.tables import row_norms
from ..._params import check_number
from ..._privacy.accounting import PrivacyLoss, warn_of_weak_guarantee
from ..._privacy.mechanisms import Mechanisms, Price
from ..._privacy.noise import noise_source
from ..._privacy.sensitive import Secret
from ...ledger._budget import budget_on
from ...ledger._ledger import PrivacyLedger
from ...report._html import ShowsPrivacy
from ._calibration import gaussian_sigma

__all__ = ["Curator", "GaussianCurator"]

# Noise is sampled on a grid of at most sigma / 2^36. Its distance from rounded normal noise, in
# total variation and for each number, is below 0.0202 / 2^72: see the documentation, "Let another
# party optimise".
_STEPS = 2**36
_OFF_NORMAL = 1e-23


class Curator(ShowsPrivacy, BaseEstimator):
    """A release of a table's rows; the holder can also look up rows by number."""

    epsilon: Any
    delta: Any
    released_: NDArray[np.float64]
    guarantee_: str | None

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Release the rows of X with noise; row i of the result belongs to row i of X."""
        self._check()
        before = dict(vars(self))
        try:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
            fitted = {**self._release(X), "_rows": X.copy()}
        except BaseException:
            self.__dict__ = before
            raise
        self.__dict__.update(fitted)
        return self.released_.copy()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the rows as `fit_transform` does; the table is `released_`."""
        self.fit_transform(X)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return `released_`; raise ValueError if X is not what the curator was fitted on."""
        check_is_fitted(self, "released_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows = getattr(self, "_rows", None)
        if rows is None or not np.array_equal(X, rows):
            raise ValueError(
                f"{type(self).__name__} releases only the rows that it was fitted on. To release "
                "other rows, fit a clone on them; the costs of both add up"
            )
        return self.released_.copy()

    def row(self, index: int) -> NDArray[np.float64]:
        """Return a row without noise, for the oracle on the side that holds the data."""
        check_is_fitted(self, "released_")
        if not hasattr(self, "_rows"):
            raise ValueError("a copied or unpickled curator has no rows: use the original")
        if not (isinstance(index, Integral) and 0 <= index < len(self._rows)):
            raise ValueError(f"rows are numbered from 0 to {len(self._rows) - 1}; found {index!r}")
        return self._rows[index].copy()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return names of the released columns."""
        check_is_fitted(self, "released_")
        prefix = type(self).__name__.lower()
        names = [f"{prefix}{i}" for i in range(self.released_.shape[1])]
        return np.array(names, dtype=object)

    def _privacy_card(self) -> str:
        if not hasattr(self, "released_"):
            return ""
        loss, rows = getattr(self, "privacy_", None), [("Guarantee", [self.guarantee_ or "NONE"])]
        if loss is not None:
            rows.append(("Mechanism", [loss.mechanism]))
        rows.append(("Released", [f"released_, {len(self.released_):,} rows"]))
        private = str(self.guarantee_).startswith("(epsilon")
        warning = "" if private else "NOT PRIVATE: there is no guarantee"
        return card("Released rows", rows, warning=warning)

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in super().__getstate__().items() if name != "_rows"}

    def _check(self) -> None:
        check_number("epsilon", self.epsilon, "a number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("delta", self.delta, "in (0, 1)", lambda d: 1e-300 <= d < 1)

    def _release(self, X: NDArray[np.float64]) -> dict[str, Any]:
        raise NotImplementedError


class GaussianCurator(Curator):
    """Release rows with Gaussian noise, with (epsilon, delta)-differential privacy.

    Neighbouring tables have the same shape and differ in one row, by at most `distance` in
    Euclidean norm (1 in Kharkovskii et al., 2020, Definition 1). The release is ``Z = X Q + E``. Q
    is a public matrix of orthonormal columns (or the identity). E is independent normal noise with
    the smallest standard deviation sigma that (epsilon, delta) allows. The documentation, "Let
    another party optimise", has the proof.

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
    clip : bool, default=True
        Whether to scale rows down. If False, rows with a larger norm raise an error.
    n_components : int, default=None
        Number of random directions to project on first. This narrows a table that is too wide to
        hand over. It does not reduce the noise relative to distances.
    random_state : int, RandomState instance or None, default=None
        For the directions, which are public.
    noise_random_state : int or None, default=None
        For tests only: an integer seeds the noise, which then protects nothing. Warns.
    ledger : PrivacyLedger or None, default=None
        The ledger that is charged (epsilon, delta) before the release.

    Attributes
    ----------
    released_ : ndarray of shape (n_rows, n_components)
        The noisy rows; safe to hand over.
    sigma_ : float
        Standard deviation of the noise. Public: give it to the modeler as `input_noise`.
    components_ : ndarray of shape (n_features, n_components), or None
        Q.
    privacy_ : PrivacyLoss
        Cost of the release. Each call of `fit` costs it again.
    guarantee_ : str
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    sigma_: float
    components_: NDArray[np.float64] | None
    privacy_: PrivacyLoss

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        distance: float = 1.0,
        max_norm: float | None = None,
        clip: bool = True,
        n_components: int | None = None,
        random_state: Any = None,
        noise_random_state: int | None = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.distance = distance
        self.max_norm = max_norm
        self.clip = clip
        self.n_components = n_components
        self.random_state = random_state
        self.noise_random_state = noise_random_state
        self.ledger = ledger

    def _check(self) -> None:
        super()._check()
        size = "positive (1e-100 to 1e100)", lambda v: 1e-100 < float(v) < 1e100
        check_number("distance", self.distance, *size)
        check_number("max_norm", self.max_norm, *size, optional=True)
        of_columns = "1 or more", lambda r: 1 <= r < 1e100, Integral
        check_number("n_components", self.n_components, *of_columns, optional=True)
        if not isinstance(self.clip, bool | np.bool_):
            raise ValueError(f"clip must be True or False; found {self.clip!r}")
        if self.n_components is not None and self.max_norm is None:
            raise ValueError(
                "n_components needs max_norm: the rounding error of the projection is bounded by "
                "the largest norm of a row"
            )

    def _release(self, X: NDArray[np.float64]) -> dict[str, Any]:
        noise = noise_source(self.noise_random_state, stacklevel=5)
        X, Q = self._bounded(X), self._directions(X.shape[1])
        Y = X if Q is None else X @ Q
        budget = budget_on(
            self.ledger,
            self.epsilon,
            self.delta,
            what="image of the rows",
            mechanism=type(self).__name__,
            unit=f"row within {self.distance:g}",
        )
        warn_of_weak_guarantee(budget, len(X), "row", stacklevel=5)
        epsilon, delta = budget.epsilon, budget.delta
        near = delta - Y.size * (1 + math.exp(min(epsilon, 700.0))) * _OFF_NORMAL
        if not near > 0.99 * delta:
            raise ValueError(
                f"delta={delta!r} is too small, or epsilon={epsilon!r} too large, for {Y.size:,} "
                "numbers: noise on a grid is not close enough to normal noise"
            )
        distance, inexact = float(self.distance), 0.0
        if self.max_norm is not None:
            # Clipping and projecting round; without them, every step is exact.
            distance = min(distance, 2 * float(self.max_norm))
            inexact = 1e-14 * X.shape[1] * float(self.max_norm)
        step = 2.0 ** math.floor(math.log2(gaussian_sigma(epsilon, near, distance) / _STEPS))
        sigma = gaussian_sigma(epsilon, near, distance + 2 * inexact + step * Y.shape[1] ** 0.5)
        if sigma > 2**20 * _STEPS * step:
            raise ValueError(
                f"distance={self.distance!r} is too small beside max_norm={self.max_norm!r}: "
                "rounding alone makes neighbouring rows more distant"
            )
        # Limiting each number moves no two rows apart; an error would reveal them.
        with np.errstate(over="ignore"):
            whole = np.rint(np.clip(Y / step, -(2.0**60), 2.0**60)).astype(np.int64)
        price = Price(1, epsilon, delta, spread=sigma / step)
        release = Mechanisms(budget, noise).tables(price, 1.0, purpose="image of the rows")
        noisy = release(Secret(whole))
        guarantee = (
            f"(epsilon, delta) = ({epsilon:g}, {delta:g}) for tables in which one row differs by "
            f"at most {self.distance:g} in Euclidean norm; outcomes are not protected"
        )
        return {
            "released_": noisy * step,
            "sigma_": sigma,
            "components_": Q,
            "privacy_": release.loss,
            "receipts_": budget.receipts,
            "guarantee_": guarantee
            if noise.secure
            else "NONE: the noise is seeded. For tests only",
        }

    def _bounded(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows, scaled down to max_norm."""
        if self.max_norm is None:
            return X
        lengths = row_norms(X)
        if not self.clip and (lengths > self.max_norm).any():
            raise ValueError(
                f"the norm of some rows exceeds max_norm={self.max_norm!r}; clip=True scales them "
                "down to it. Nothing was released"
            )
        return X * (self.max_norm / np.maximum(lengths, self.max_norm))[:, None]

    def _directions(self, d: int) -> NDArray[np.float64] | None:
        """Return orthonormal columns: a projection that makes no two rows more distant."""
        if self.n_components is None:
            return None
        if self.n_components > d:
            raise ValueError(f"n_components must be at most {d}; found {self.n_components!r}")
        rng = check_random_state(self.random_state)
        Q: NDArray[np.float64] = np.linalg.qr(rng.standard_normal((d, self.n_components)))[0]
        return Q

"""Ridge regression from one release of sums of products (zone: boundary)."""

from __future__ import annotations

import math
from functools import partial
from numbers import Integral
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LowUtilityWarning
from ..privacy.checks import as_floats, check_number
from ..privacy.warn import warn
from ._base import LARGEST, PrivateLearner
from ._labels import scaled_targets
from ._records import Records
from ._rows import Floats, released_products

# Columns are counted in so many steps, 1 and the target in half as many: their sums have twice the
# noise so. The documentation, "The guarantee for one table", bounds the square of the sensitivity
# by (b + 2 c)^2 + b^2, with traces of at most b for columns and c for each of 1 and the target.
_STEPS = 2**14
# Mean of targets, scaled to [-1, 1], beyond which nearly all of them must be at one end.
_AT_ONE_END = 0.97


def target_bounds(y_bounds: Any) -> tuple[float, float]:
    """Return the lowest and the highest target."""
    bounds = as_floats(y_bounds)
    if bounds is None or bounds.shape != (2,) or not -LARGEST <= bounds[0] < bounds[1] <= LARGEST:
        raise ValueError(
            "give y_bounds=(low, high), the lowest and the highest target, chosen without "
            f"looking at the data, such as (0, 100), within 1e100 of 0; found {y_bounds!r}"
        )
    return float(bounds[0]), float(bounds[1])


class PrivateRidge(RegressorMixin, PrivateLearner):
    """Ridge regression that is (epsilon, delta)-private for each training record (Wang, UAI 2018).

    The sums of products of columns and target are released once, with discrete Gaussian noise. The
    coefficients for any `alpha`, `columns` and `n_components` follow from them (`refitted`) without
    further privacy loss: a search over any number of these costs as much as one model.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength, as in scikit-learn's `Ridge`, for a target scaled to [-1, 1] and
        rows scaled to a norm of at most 1. It is increased as far as the noise requires, see
        `noise_`.
    columns : array-like of int, default=None
        Positions of the columns that the model uses, in `get_feature_names_out`; None uses all.
    n_components : int or None, default=None
        Number of principal components of these columns that the model uses, computed from the
        released sums. None uses the columns themselves.
    epsilon, delta : float, default=1.0 and 1e-6
        The fitted model is (epsilon, delta)-private; delta in (0, 1).
    bounds : tuple of two floats or arrays, default=None
        As in `PrivateLogisticRegression`: lowest and highest value of each column.
    categories : dict, default=None
        All values that a column can have, as in `PrivateLogisticRegression`.
    y_bounds : tuple of two floats
        Lowest and highest target, chosen without looking at the data; targets are clipped there.
        Required: None is refused.
    max_norm : float, default=None
        As in `PrivateLogisticRegression`: largest norm of a scaled row.
    ledger : PrivacyLedger or None, default=None
        The ledger to which (epsilon, delta) is charged, before noise is generated.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns, in their units and that of the target (private). They hold for
        rows that are neither clipped nor shortened.
    categories_ : dict
        Values of each column of categories, by its position (public; private if "frequent").
    coef_std_ : ndarray of shape (n_features,)
        Standard errors of `coef_`, from the draw of the records (residuals of equal variance) and
        from the noise (private). They hold where `alpha` hardly matters and the noise is small
        beside the sums; NaN where it is not, and where `columns` has all indicators of a column.
    intercept_ : float
        Intercept (private).
    gram_ : ndarray of shape (n_features + 1, n_features + 2)
        Noisy sums of products of the columns and 1 with the columns, 1 and the target, all scaled
        (private).
    center_, scale_ : ndarray of shape (n_features,)
        Columns are taken as ``(x - center_) / scale_``, clipped to [-`reach_`, `reach_`]
        (private).
    reach_ : float
        As in `PrivateLogisticRegression`, with 5,000 for 20,000 (public).
    max_norm_ : float
        Rows of such columns with a larger norm are shortened to it (private).
    unresolved_ : ndarray of int
        Positions of columns whose values noisy counts did not find (private): give `bounds`.
    target_squares_ : float
        Noisy sum of the squares of the scaled targets (private).
    noise_ : float
        Standard deviation of the noise in `gram_`, for products of two columns. It is twice as
        large for other entries, and four times for sums of targets and of their squares.
    privacy_ : PrivacyReport
        The privacy report; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    _many, _of_rows = 5_000.0, 4
    gram_: Floats
    # The last result of `_directions`, and what it is of: a search tries a thousand alphas.
    _kept: tuple[Any, tuple[Floats, Floats, Floats]] | None = None
    from_release = ("alpha", "columns", "n_components")

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        columns: Any = None,
        n_components: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Any = None,
        categories: Any = None,
        y_bounds: Any = None,
        max_norm: float | None = None,
        ledger: Any = None,
    ) -> None:
        self.alpha = alpha
        self.columns = columns
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.categories = categories
        self.y_bounds = y_bounds
        self.max_norm = max_norm
        self.ledger = ledger

    @staticmethod
    def search_space() -> dict[str, list[Any]]:
        """Return values for a search, as its `param_distributions`.

        Without a search, a fit has all of epsilon: a search often costs more than it gains.
        """
        return {"alpha": np.geomspace(0.01, 1e5, 100).tolist()}

    def _code_of(self, y: Any) -> partial[NDArray[Any]]:
        low, high = target_bounds(self.y_bounds)
        return partial(scaled_targets, low=low, high=high)

    def _fit(self, records: Records) -> None:
        self._release(records)
        self.refitted()
        self._warn_of_bounds()
        self._warn_of_noise()
        self._warn_of_columns()

    def _release(self, records: Records) -> None:
        """Release the sums of products."""
        self._check_solved(self._n_columns)
        steps = (_STEPS, _STEPS // 2, _STEPS // 2)
        b, c = (steps[0] + 1) ** 2, (steps[1] + 1) ** 2
        sensitivity = math.sqrt((b + 2 * c) ** 2 + b**2) * (1 + 1e-12)
        tables = self._tables(records, 1, sensitivity, "sums of products")
        columns = self._scale(records, tables)
        noisy_sums = tables.release(columns.sums_of_products(self._scaling, steps))
        d = self._n_columns
        released = released_products(d)
        gram = np.zeros(released.shape)
        gram[released] = noisy_sums[:-1]
        scale = np.repeat(1 / np.array(steps), [d, 1, 1])
        gram *= scale[:-1, None] * scale
        gram[d, d] = records.m
        gram[:, :-1] += np.triu(gram[:, :-1], 1).T
        self.gram_ = gram
        self.noise_ = tables.std / _STEPS**2
        self._kept = None
        self.target_squares_ = float(noisy_sums[-1]) * scale[-1] ** 2
        self.privacy_ = self._report(tables, records)

    def _warn_of_noise(self) -> None:
        """Warn if the products with the target are less than twice what noise alone makes them."""
        _, squares, products = cast(tuple[Any, Any], self._kept)[1]
        weights = 1 / np.maximum(squares, self.noise_)
        if weights @ products**2 < 2 * weights.sum() * (2 * self.noise_) ** 2:
            warn(
                "Noise is larger than what the columns say of the target, so that predictions may "
                "be worse than its mean: give narrower y_bounds, fewer columns, a larger alpha or "
                "more epsilon, or fit a PrivateRegressor",
                LowUtilityWarning,
            )

    def _warn_of_bounds(self) -> None:
        """Warn if the released sums say that nearly all targets are at one end of `y_bounds`."""
        m, total = self.gram_[-1, -2:]
        if abs(total) > _AT_ONE_END * m and 4 * self.noise_ < (1 - _AT_ONE_END) * m:
            warn(
                f"Nearly all targets are near one end of y_bounds={self.y_bounds!r}, or beyond it, "
                "where they are clipped: coefficients say little then. Are the bounds in the units "
                "of the targets, and no wider than these need?",
                LowUtilityWarning,
            )

    def refitted(self, **params: Any) -> Self:
        """Solve again for other `alpha`, `columns` or `n_components`, at no privacy loss."""
        check_is_fitted(self, "gram_")
        if others := sorted(set(params) - set(self.from_release)):
            raise ValueError(
                f"{others} cannot be changed without another release. Call fit, which costs "
                f"epsilon again; refitted takes {list(self.from_release)}"
            )
        for name, value in params.items():
            setattr(self, name, value)
        self._check_solved(len(self.gram_) - 1)
        w, constant = self._solved()
        low, high = target_bounds(self.y_bounds)
        half = (high - low) / 2
        self._set_linear(half * w, half * constant + (low + high) / 2)
        return self

    def _check_solved(self, d: int) -> None:
        """Check what the number of columns says about parameters."""
        check_number("alpha", self.alpha, "0 or more", lambda a: a >= 0)
        most = len(self._used(d))
        of = f"a whole number from 1 to {most}", lambda k: 1 <= k <= most, Integral
        check_number("n_components", self.n_components, *of, optional=True)

    def _used(self, d: int) -> NDArray[np.intp]:
        """Return the positions of the columns that the model uses."""
        return np.arange(d) if self.columns is None else np.arange(d)[np.asarray(self.columns)]

    def _solved(self) -> tuple[Floats, Any]:
        """Return the coefficients and the constant, of scaled rows and targets."""
        of = self._used(len(self.gram_) - 1).tobytes(), self.n_components
        if self._kept is None or self._kept[0] != of:
            self._kept = of, self._directions()
        basis, squares, products = self._kept[1]
        # The noise's largest eigenvalue is about 2 sqrt(k) deviations: a matrix with less than half
        # of that may be far from any that records have.
        least = math.sqrt(len(squares)) * self.noise_
        ridge = float(self.alpha) + max(0.0, least - squares.min())
        w: Floats = basis @ (products / (squares + ridge))
        d = len(w)
        return w, (self.gram_[d, -1] - self.gram_[d, :d] @ w) / self.gram_[d, d]

    def _directions(self) -> tuple[Floats, Floats, Floats]:
        """Return uncorrelated directions of centred columns, squares, products with the target."""
        d = len(self.gram_) - 1
        sums = self.gram_[:d] - np.outer(self.gram_[:d, d], self.gram_[d] / self.gram_[d, d])
        used = self._used(d)
        squares, vectors = np.linalg.eigh(sums[np.ix_(used, used)])
        basis = np.zeros((d, len(used)))
        basis[used] = vectors
        if self.n_components is not None:
            k = int(self.n_components)
            squares, basis = squares[-k:], basis[:, -k:]
        return basis, squares, basis.T @ sums[:, -1]

    @property
    def coef_std_(self) -> Floats:
        """Standard errors of `coef_`, to first order in inverse @ (products - sums @ w)."""
        check_is_fitted(self, "gram_")
        w, constant = self._solved()
        d, (basis, squares, products) = len(w), cast(tuple[Any, Any], self._kept)[1]
        least = 2 * math.sqrt(len(squares)) * self.noise_
        if squares.min() < least:
            return np.full(d, np.nan)
        inverse = basis @ (basis / (squares + float(self.alpha))).T
        m, sum_of_targets = self.gram_[d, d], self.gram_[d, d + 1]
        means = self.gram_[:d, d] / m
        # Of the records: residuals of one variance.
        residual = self.target_squares_ - sum_of_targets**2 / m - products @ (basis.T @ w)
        sampling = max(residual, 0.0) / m * (basis * squares) @ basis.T
        # Of the noise in products of columns; with 1; of targets with columns; and with 1.
        of_columns = (w @ w) * np.eye(d) + np.outer(w, w) - np.diag(w**2)
        with_one = np.outer(means, w) - constant * np.eye(d)
        others = 4 * (with_one @ with_one.T + np.eye(d)) + 16 * np.outer(means, means)
        covariance = inverse @ (sampling + self.noise_**2 * (of_columns + others)) @ inverse
        low, high = target_bounds(self.y_bounds)
        errors: Floats = np.sqrt(np.diag(covariance)) * (high - low) / 2
        return errors / (self.scale_ * self.max_norm_)

    def predict(self, X: Any) -> Floats:
        """Return predictions."""
        return self._linear(X)

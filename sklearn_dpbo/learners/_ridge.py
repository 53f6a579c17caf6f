"""Ridge regression on sums of products, which are released once (zone: boundary)."""

from __future__ import annotations

import math
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Self

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

# Steps in 1 of a scaled row. The constant and the target have half as many, so their sums have
# twice the noise. The documentation, "The guarantee for one table", bounds the square of the
# sensitivity by (b + 2 c)^2 + b^2, with traces of at most b for columns, and c for each of the
# constant and the target.
_STEPS = 2**14
# Mean of targets, scaled to [-1, 1], beyond which nearly all of them must be at one end.
_AT_ONE_END = 0.97


class _Directions(NamedTuple):
    """Uncorrelated directions of centred columns.

    `basis`: a direction in each column, shape (n_columns, k); `squares`: sums of squares along
    each, shape (k,); `products`: with the target, shape (k,).
    """

    basis: Floats
    squares: Floats
    products: Floats


def target_bounds(y_bounds: Any) -> tuple[float, float]:
    """Check and return the lowest and the highest target."""
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
    coefficients for any `alpha`, `columns` and `n_components` are computed from them (`refitted`)
    without further privacy loss: a search over any number of these costs as much as one model.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength, as in scikit-learn's `Ridge`, for a target scaled to [-1, 1] and
        rows scaled to a norm of at most 1. It is increased if the noise (`noise_`) requires it.
    columns : array-like of int, default=None
        Columns that the model uses, as positions in `get_feature_names_out`; None uses all.
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
        Lowest and highest target, chosen without looking at the data; targets are clipped at them.
        Required: None is refused.
    max_norm : float, default=None
        As in `PrivateLogisticRegression`: largest norm of a scaled row.
    ledger : PrivacyLedger or None, default=None
        The ledger to which (epsilon, delta) is charged, before noise is generated.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the columns, in the units of the target per unit of the column (private).
        They are exact for rows that are neither clipped nor shortened.
    categories_ : dict
        Values of each column of categories, by its position (public; private if "frequent").
    coef_std_ : ndarray of shape (n_features,)
        Standard errors of `coef_`, from the draw of the records (with residuals of equal variance)
        and from the noise (private). They are valid if `alpha` hardly changes the coefficients and
        the noise is small relative to the sums. NaN if the noise is not small, or if `columns` has
        all indicators of a column.
    intercept_ : float
        Intercept (private).
    gram_ : ndarray of shape (n_features + 1, n_features + 2)
        Noisy sums of products of the columns and 1 with the columns, 1 and the target, all scaled
        (private).
    center_, scale_ : ndarray of shape (n_features,)
        Columns are scaled to ``(x - center_) / scale_``, and clipped to [-`reach_`, `reach_`]
        (private).
    reach_ : float
        As in `PrivateLogisticRegression`, with 5,000 instead of 20,000 (public).
    max_norm_ : float
        Rows of scaled columns with a larger norm are shortened to it (private).
    unresolved_ : ndarray of int
        Positions of columns whose range the noisy counts did not find (private): pass `bounds`.
    target_squares_ : float
        Noisy sum of the squares of the scaled targets (private).
    noise_ : float
        Standard deviation of the noise in `gram_`, for products of two columns. It is twice as
        large for other entries, and four times as large for sums of targets and of their squares.
    privacy_ : PrivacyReport
        The privacy report; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    _wide_from = 5_000.0
    _shortening_power = 4
    gram_: Floats
    # Last (parameters, result) of `_directions`, because a search tries a thousand alphas. It is a
    # plain tuple: models with attributes of other types are not trusted to predict row by row.
    _cached: tuple[Any, tuple[Floats, ...]] | None = None
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
        """Return parameters and values to search over, as `param_distributions`.

        A fit without a search uses all of epsilon: a search often costs more than it gains.
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
        b = (steps[0] + 1) ** 2
        c = (steps[1] + 1) ** 2
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
        self._cached = None
        self.target_squares_ = float(noisy_sums[-1]) * scale[-1] ** 2
        self.privacy_ = self._report(tables, records)

    def _warn_of_noise(self) -> None:
        """Warn if products with the target are less than twice as large as noise makes them."""
        directions = self._current_directions()
        weights = 1 / np.maximum(directions.squares, self.noise_)
        if weights @ directions.products**2 < 2 * weights.sum() * (2 * self.noise_) ** 2:
            warn(
                "The noise hides the dependence of the target on the columns, so predictions may "
                "be worse than the mean of the target: use narrower y_bounds, fewer columns, a "
                "larger alpha or a larger epsilon, or fit a PrivateRegressor",
                LowUtilityWarning,
            )

    def _warn_of_bounds(self) -> None:
        """Warn if, by the released sums, nearly all targets are at one end of `y_bounds`."""
        m, total = self.gram_[-1, -2:]
        if abs(total) > _AT_ONE_END * m and 4 * self.noise_ < (1 - _AT_ONE_END) * m:
            warn(
                f"Nearly all targets are near one end of y_bounds={self.y_bounds!r}, or beyond it "
                "and clipped, so the coefficients are of little use. Check that the bounds are in "
                "the units of the targets, and not too wide",
                LowUtilityWarning,
            )

    def refitted(self, **params: Any) -> Self:
        """Solve again for other `alpha`, `columns` or `n_components`, at no privacy loss."""
        check_is_fitted(self, "gram_")
        if unavailable := sorted(set(params) - set(self.from_release)):
            raise ValueError(
                f"{unavailable} cannot be changed without another release. Call fit, which costs "
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
        """Raise ValueError for parameters that are invalid with d columns."""
        check_number("alpha", self.alpha, "0 or more", lambda a: a >= 0)
        n_used = len(self._used(d))
        component_counts = (
            f"a whole number from 1 to {n_used}",
            lambda k: 1 <= k <= n_used,
            Integral,
        )
        check_number("n_components", self.n_components, *component_counts, optional=True)

    def _used(self, d: int) -> NDArray[np.intp]:
        """Return the positions of the columns that the model uses."""
        return np.arange(d) if self.columns is None else np.arange(d)[np.asarray(self.columns)]

    def _solved(self) -> tuple[Floats, Any]:
        """Solve for the coefficients and the constant of scaled rows and targets."""
        basis, squares, products = self._current_directions()
        # The noise's largest eigenvalue is about 2 sqrt(k) standard deviations: a matrix whose
        # smallest one is less than half of that may be far from all matrices of records.
        least = math.sqrt(len(squares)) * self.noise_
        ridge = float(self.alpha) + max(0.0, least - squares.min())
        w: Floats = basis @ (products / (squares + ridge))
        d = len(w)
        return w, (self.gram_[d, -1] - self.gram_[d, :d] @ w) / self.gram_[d, d]

    def _current_directions(self) -> _Directions:
        """Return `_directions` for the present parameters, from the cache if possible."""
        parameters = self._used(len(self.gram_) - 1).tobytes(), self.n_components
        if self._cached is None or self._cached[0] != parameters:
            self._cached = parameters, tuple(self._directions())
        return _Directions(*self._cached[1])

    def _directions(self) -> _Directions:
        """Compute the eigenvectors of the centred columns' sums of products."""
        d = len(self.gram_) - 1
        sums = self.gram_[:d] - np.outer(self.gram_[:d, d], self.gram_[d] / self.gram_[d, d])
        used = self._used(d)
        squares, vectors = np.linalg.eigh(sums[np.ix_(used, used)])
        basis = np.zeros((d, len(used)))
        basis[used] = vectors
        if self.n_components is not None:
            k = int(self.n_components)
            squares = squares[-k:]
            basis = basis[:, -k:]
        return _Directions(basis, squares, basis.T @ sums[:, -1])

    @property
    def coef_std_(self) -> Floats:
        """Standard errors of `coef_`, to first order in inverse @ (products - sums @ w)."""
        check_is_fitted(self, "gram_")
        w, constant = self._solved()
        d = len(w)
        basis, squares, products = self._current_directions()
        least = 2 * math.sqrt(len(squares)) * self.noise_
        if squares.min() < least:
            return np.full(d, np.nan)
        inverse = basis @ (basis / (squares + float(self.alpha))).T
        m = self.gram_[d, d]
        sum_of_targets = self.gram_[d, d + 1]
        means = self.gram_[:d, d] / m
        # From the draw of the records: residuals of one variance.
        residual = self.target_squares_ - sum_of_targets**2 / m - products @ (basis.T @ w)
        sampling = max(residual, 0.0) / m * (basis * squares) @ basis.T
        # From the noise: in products of two columns; in those of columns with 1 (of twice the
        # deviation) and with targets (likewise); and in the sum of targets (of four times).
        of_columns = (w @ w) * np.eye(d) + np.outer(w, w) - np.diag(w**2)
        with_one = np.outer(means, w) - constant * np.eye(d)
        of_one_and_targets = 4 * (with_one @ with_one.T + np.eye(d)) + 16 * np.outer(means, means)
        noise = self.noise_**2 * (of_columns + of_one_and_targets)
        covariance = inverse @ (sampling + noise) @ inverse
        low, high = target_bounds(self.y_bounds)
        errors: Floats = np.sqrt(np.diag(covariance)) * (high - low) / 2
        return errors / (self.scale_ * self.max_norm_)

    def predict(self, X: Any) -> Floats:
        """Predict the targets of records, shape (n_samples,)."""
        return self._linear(X)

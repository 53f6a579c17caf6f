"""Base class of models that protect their training records (zone: boundary)."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import LowUtilityWarning
from ..privacy.checks import as_floats, check_number
from ..privacy.float_errors import ignore_float_errors
from ..privacy.gdp import gdp_within
from ..privacy.mechanisms import GAUSSIAN_ONLY, Price, Series
from ..privacy.report._html import ShowsPrivacy
from ..privacy.report._report import PrivacyReport, report_of
from ..privacy.sensitive import Secret
from ..privacy.spending import Spending
from ..privacy.warn import warn
from ..records.tables import is_frame, objects
from ..records.units import Units
from ._columns import (
    Coded,
    as_declared,
    asks_for_frequent,
    declared_levels,
    names_of_columns,
    with_indicators,
)
from ._declaration import PrivateTraining
from ._scaling import (
    INDICATOR,
    SHORTENED,
    Release,
    Scaling,
    least_count,
    norm_counts,
    norm_of_counts,
    places_of_counts,
    tables,
)

__all__ = ["LARGEST", "POSITIVE", "PrivateLearner"]

Floats = NDArray[np.float64]

# Beyond these, numbers overflow: an error after the charge, or a warning that reveals a record.
LARGEST = 1e100
# If frequent values are released: the share of the budget (in mu squared) for their counts, and the
# share of delta for values that one unit alone has.
_OF_COUNTS, _OF_RARE = 0.1, 1 / 8
POSITIVE = "a number from 1e-100 to 1e100", lambda v: 1 / LARGEST <= v <= LARGEST

_NOT_PROTECTED = (
    "the number of records (or groups) and columns, group identifiers, the classes, bounds and "
    "other parameters; the duration of the fit; and whatever else is computed from the records, "
    "including another fit"
)


class PrivateLearner(ShowsPrivacy, BaseEstimator):
    """Linear model fitted from noisy sums over privacy units."""

    coef_: Floats
    intercept_: Any
    center_: Floats
    scale_: Floats
    max_norm_: float
    reach_: float
    categories_: dict[int, NDArray[Any]]
    unresolved_: NDArray[np.intp]
    privacy_: PrivacyReport

    # Parameters that can be changed after the fit, from what was released.
    from_release: tuple[str, ...] = ()
    # From so many units times mu on, noise matters less than what is cut off.
    _many = 20_000.0
    # The same of columns, if it is another number.
    _many_for_columns: float | None = None
    # How much less is cut off of rows then, by the factor of columns: shorter rows make descents
    # slower.
    _of_rows = 1
    # Whether numbers that are missing are indicated by columns of their own.
    _indicates_missing = False

    def __init__(
        self,
        epsilon: Any,
        delta: Any,
        bounds: Any,
        categories: Any,
        max_norm: Any,
        ledger: Any,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.categories = categories
        self.max_norm = max_norm
        self.ledger = ledger

    def private_training(self) -> PrivateTraining:
        """Return how the model protects its training records."""
        return PrivateTraining(
            # What a threshold lets through is not Gaussian.
            "approximate" if asks_for_frequent(self.categories) else "GDP",
            groups="groups",
            classes="classes" if is_classifier(self) else None,
            target_bounds="y_bounds" if is_regressor(self) else None,
            from_release=self.from_release,
            noise="exact discrete Gaussian noise (OpenDP)",
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # An error would reveal that a record has a missing number, or a string among numbers.
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.non_deterministic = True
        return tags

    @ignore_float_errors()
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Protected records: numbers and declared categories. Missing numbers count as the centre
            of their column; `PrivateClassifier` and `PrivateRegressor` also have an indicator of
            them.
        y : array-like of shape (n_samples,)
            Protected labels, or targets. Records with a label that is not among the classes are
            ignored. Targets are clipped at `y_bounds`, and a missing one counts as the centre.
        groups : array-like of shape (n_samples,), default=None
            Group of each record. All records of a group are then one privacy unit, and together
            have the weight of one record.

        Returns
        -------
        self : estimator
        """
        self._check()
        coded = self._coded(X, reset=True)
        self._fit(coded, y, Units.of(len(coded), groups))
        return self

    def _fit(self, X: Coded, y: Any, units: Units) -> None:
        """Fit the model to protected records; floating-point errors are ignored."""
        raise NotImplementedError

    def _check(self) -> None:
        check_number("epsilon", self.epsilon, "a finite number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("delta", self.delta, "in (0, 1)", lambda d: 1e-300 <= d < 1)
        check_number("max_norm", self.max_norm, *POSITIVE, optional=True)

    def _table(self, X: Any) -> Floats:
        """Return columns of numbers, NaN for what is missing, and then indicators."""
        return self._indicated(self._coded(X, reset=False).table)

    def _indicated(self, table: Floats) -> Floats:
        """Return columns of numbers, within the bounds, and then indicators."""
        X = with_indicators(table, self.categories_, self._indicates_missing)
        if self.bounds is not None:
            d = self._n_numbers
            X[:, :d] = X[:, :d].clip(*self._bounds(d))
        return X

    def _coded(self, X: Any, *, reset: bool) -> Coded:
        """Return numbers, NaN for what is missing, and positions among categories."""
        X, declared, frequent = declared_levels(X, self.categories if reset else None)
        if reset:
            self.categories_ = declared
        elif is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)  # raises for other columns
        learner = type(self).__name__ if reset else None
        X, occurring = as_declared(X, self.categories_, frequent, learner)
        table: Floats = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False, reset=reset
        )
        if reset and self.bounds is not None:
            self._bounds(self._n_numbers)  # raises before anything is charged
        return Coded(table, occurring)

    @property
    def _n_numbers(self) -> int:
        """The number of columns that are no categories."""
        return int(self.n_features_in_) - len(self.categories_)

    @property
    def _numbers(self) -> NDArray[np.intp]:
        """The positions of the columns that are no categories."""
        return np.delete(np.arange(self.n_features_in_), [*self.categories_])

    def get_feature_names_out(self) -> NDArray[Any]:
        """Return the names of columns and indicators: of `center_`, and of coefficients."""
        check_is_fitted(self, "center_")
        made_up = [f"x{j}" for j in range(self.n_features_in_)]
        names = list(getattr(self, "feature_names_in_", made_up))
        named = names_of_columns(names, self.categories_, self._indicates_missing)
        return np.array(named, dtype=object)

    def _bounds(self, d: int) -> tuple[Floats, Floats]:
        with contextlib.suppress(TypeError, ValueError):  # wrong shape
            ends = (np.array(as_floats(end), dtype=float) for end in self.bounds)
            low, high = (np.broadcast_to(end, d) for end in ends)
            # None becomes NaN.
            if ((low >= -LARGEST) & (low < high) & (high <= LARGEST)).all():
                return low, high
        raise ValueError(
            f"bounds must be two numbers, or two arrays of length {d}: the lowest and the "
            "highest value of each column that is no category, in the order of columns, within "
            f"1e100 of 0; found {self.bounds!r}"
        )

    def _tables(
        self,
        X: Coded,
        n: int,
        sensitivity: float,
        *,
        what: str,
        units: Units,
        target: tuple[Floats, float] | None = None,
    ) -> tuple[Floats, Scaling, Spending, Series[Any], float]:
        """Return columns, how they are scaled, what adds noise to n tables of integers, its scale.

        All is (epsilon, delta)-private together, with the frequent values, with the counts from
        which rows are scaled, and a `target`: a column, and how far its values can lie from 0 (NaN:
        unknown).
        """
        d, k = self._n_numbers + (target is not None), len(X.occurring)
        counted = d > 0 and (self.bounds is None or self.max_norm is None)
        what = "frequent values, " * (k > 0) + "ranges of columns, and " * counted + what
        mechanism = type(self).__name__
        spending = Spending.begin(
            self.ledger, self.epsilon, self.delta, what=what, mechanism=mechanism, unit=units.name
        )
        spending.warn_if_weak(units.m, units.name)
        epsilon, delta = spending.epsilon, spending.delta
        mu = gdp_within(epsilon, delta)
        counts, pairs = tables(units.m, max(d, 1), mu)
        counts = counts[: 4 if self.max_norm is None else 3] if counted else []
        counts = [(math.sqrt(2 * k), _OF_COUNTS)] * (k > 0) + counts
        rest = 1 - sum(share for _, share in counts)
        moves = [*counts, *[(sensitivity, rest / n)] * n]
        # Noise in proportion to these numbers gives each table its share of the budget.
        relative = [moved / math.sqrt(share * len(moves)) for moved, share in moves]
        rare = delta * _OF_RARE * (k > 0)
        price = Price.shared(len(moves), epsilon, delta - rare, GAUSSIAN_ONLY)
        stds = [price.scale(moved) for moved in relative]
        least = least_count(stds[0], k, rare)
        of = f"where about {least:,.0f} {units.name}s make one frequent, {_OF_COUNTS} of mu squared"
        record: dict[str, Any] = {"threshold": least, "detail": of * (k > 0), "delta": delta}
        noisy = spending.tables(price, relative, purpose=what, **record)
        columns = self._with_frequent(X, units, noisy)

        def release(table: NDArray[np.int64]) -> Any:
            return noisy(Secret(table))

        stds = stds[k > 0 :]
        scaling = self._scaling(columns, target, units, release, stds, counted, pairs)
        self.center_ = scaling.center
        self.scale_ = scaling.scale
        self.max_norm_ = scaling.max_norm
        self.reach_ = scaling.reach
        return columns, scaling, spending, noisy, stds[-1]

    def _with_frequent(self, X: Coded, units: Units, noisy: Series[Any]) -> Floats:
        """Release the frequent values, if they are asked for; return columns and indicators."""
        if X.occurring:
            released = noisy(Secret(X.counts(units)))
            own = {j: objects([v for i, _, v in released if i == j]) for j in X.occurring}
            self.categories_ = self.categories_ | own
        return self._indicated(X.among(self.categories_))

    def _wider(self, m: int, many: float | None = None) -> float:
        """Return how many times less is cut off of m units than where noise matters."""
        strength: float = m * gdp_within(self.epsilon, self.delta) / (many or self._many)
        return math.sqrt(math.sqrt(max(1.0, strength)))

    def _scaling(
        self,
        X: Floats,
        target: tuple[Floats, float] | None,
        units: Units,
        release: Release,
        stds: list[float],
        counted: bool,
        pairs: bool,
    ) -> Scaling:
        """Return how columns are scaled: as the parameters say, or by noisy counts.

        Indicators are 0 or 1, which is public: they keep their values.
        """
        d, features, max_norm = self._n_numbers, int(self.n_features_in_), self.max_norm
        self.unresolved_ = np.array([], dtype=np.intp)
        low = high = middle = np.zeros(d)
        half = np.full(d, np.nan)
        if self.bounds is not None:
            low, high = self._bounds(d)
            middle, half = (low + high) / 2, (high - low) / 2
            X = np.hstack([X[:, :d] - middle, X[:, d:]])
        n_indicators = X.shape[1] - d
        if not counted:
            norm = float(max_norm or INDICATOR * math.sqrt(features))
            return Scaling.between(low, high).beside(n_indicators, norm)
        table = X[:, :d]
        if target is not None:
            table, half = np.column_stack([table, target[0]]), np.append(half, target[1])
        places = places_of_counts(table, units, release, stds, pairs, half)
        self.unresolved_ = places.unresolved
        reach = self._wider(units.m, self._many_for_columns)
        scaling = Scaling(places.center[:d], places.scale[:d], reach=reach)
        if target is not None:
            self.y_center_, self.y_scale_ = float(places.center[d]), float(places.scale[d])
        if max_norm is None:
            columns = scaling.beside(n_indicators, 1.0).columns(X)
            counts = release(norm_counts(columns, units.labels, features, scaling.reach))
            shortened = SHORTENED / scaling.reach**self._of_rows
            max_norm = norm_of_counts(counts, stds[3], units.m, features, shortened)
        moved = replace(scaling, center=scaling.center + middle)
        return moved.beside(n_indicators, float(max_norm))

    def _made_up(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return n made-up records, all over the released ranges of columns and all categories."""
        d = self._n_numbers
        made_up = np.empty((n, self.n_features_in_), dtype=object)
        made_up[:, self._numbers] = rng.uniform(-1, 1, (n, d)) * self.scale_[:d] + self.center_[:d]
        for j, own in self.categories_.items():
            made_up[:, j] = rng.choice(np.array([*own, None], dtype=object), n)
        return made_up

    def _warn_of_columns(self) -> None:
        """Warn of columns without categories, and where released counts leave open the values."""
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        names = np.asarray(names, dtype=object)
        if none := [names[j] for j, own in self.categories_.items() if not len(own)]:
            warn(
                f"No value of the columns {none} was frequent enough, so that they are of no use: "
                "declare categories, give more epsilon, or leave the columns out",
                LowUtilityWarning,
            )
        names = np.append(np.delete(names, [*self.categories_]), "y")
        if len(self.unresolved_):
            warn(
                f"The noisy counts leave open where the values of the columns "
                f"{names[self.unresolved_].tolist()} lie, so that they may be of little use: give "
                "bounds, the lowest and the highest value of each column, or more epsilon",
                LowUtilityWarning,
            )

    def _set_linear(self, w: Floats, constants: Floats) -> None:
        """Set the coefficients, (..., n_features), from those of rows of norm at most 1."""
        self.coef_ = w / (self.scale_ * self.max_norm_)
        self.intercept_ = constants - self.coef_ @ self.center_

    def _report(self, spending: Spending, units: Units) -> PrivacyReport:
        return report_of(
            spending.spent,
            title="Differentially private model",
            unit=units.name,
            m=units.m,
            data="training set",
            protected="X and y as given",
            not_protected=_NOT_PROTECTED,
            condition="none",
            released="the fitted model",
        )

    def _released_scaling(self) -> Scaling:
        """Return how rows are scaled."""
        check_is_fitted(self, "coef_")
        return Scaling(self.center_, self.scale_, self.max_norm_, self.reach_)

    @ignore_float_errors()
    def _linear(self, X: Any) -> Floats:
        """Return the linear functions of records."""
        scaling = self._released_scaling()  # before the table: it checks that there is a model
        return self._values(self._table(X), scaling)

    def _values(self, table: Floats, scaling: Scaling) -> Floats:
        """Return the linear functions of columns and indicators."""
        rows = scaling.rows(table)
        w = self.coef_ * (self.scale_ * self.max_norm_)
        values: Floats = rows @ w.T + (self.intercept_ + self.coef_ @ self.center_)
        return values

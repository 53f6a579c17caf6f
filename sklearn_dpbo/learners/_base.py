"""Base class of models that protect their training records (zone: boundary)."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import LowUtilityWarning
from ..privacy.checks import as_floats, check_number
from ..privacy.float_errors import ignore_float_errors
from ..privacy.gdp import gdp_within
from ..privacy.report._html import ShowsPrivacy
from ..privacy.report._report import PrivacyReport, report_of
from ..privacy.spending import Spending
from ..privacy.warn import warn
from ..records.remembered import remember_fitted
from ..records.tables import is_frame, objects
from ..records.units import Units
from ._columns import (
    Ends,
    as_declared,
    asks_for_frequent,
    declared_levels,
    indicated,
    names_of_columns,
)
from ._declaration import PrivateTraining
from ._places import SHORTENED, norm_of_counts, places_of_counts, reach_of_counts
from ._records import Columns, Records
from ._rows import INDICATOR, Floats, Levels, Rows, Scaling
from ._tables import SharedTables

# Beyond these, numbers overflow: an error after the charge, or a warning that reveals a record.
LARGEST = 1e100
POSITIVE = "a number from 1e-100 to 1e100", lambda v: 1 / LARGEST <= v <= LARGEST
COUNT = "a whole number from 1 up", lambda n: n >= 1, Integral

_NOT_PROTECTED = (
    "the number of records (or groups) and columns, group identifiers, the classes, bounds and "
    "other parameters; the duration of the fit; and whatever else is computed from the records, "
    "including another fit"
)


class PrivateLearner(ShowsPrivacy, BaseEstimator):
    """Linear model fitted from noisy sums over privacy units."""

    # Parameters of all.
    epsilon: Any
    delta: Any
    bounds: Any
    categories: Any
    max_norm: Any
    ledger: Any
    coef_: Floats
    y_center_: float
    y_scale_: float
    intercept_: Any
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
        self._fit(self._sealed(X, y, groups))
        remember_fitted(self, X)
        return self

    def _sealed(self, X: Any, y: Any, groups: Any) -> Records:
        """Return records as they are coded by what is declared: nobody can read them then."""
        begun = datetime.now(UTC)  # how long it takes to code them depends on them
        table, occurring = self._coded(X, reset=True)
        self._ends()  # raises before anything is charged
        units = Units.of(len(table), groups)
        code = self._code_of(y)
        rows = Rows(table, code(y, len(table)), units.labels, occurring)
        return Records(rows, units.m, units.name, begun)

    def _code_of(self, y: Any) -> partial[NDArray[Any]]:
        """Return what makes numbers of labels, or targets, and of how many there should be.

        Classes that nobody has declared are read from y; they are public then.
        """
        raise NotImplementedError

    def _fit(self, records: Records) -> None:
        """Fit the model; floating-point errors are ignored."""
        raise NotImplementedError

    def _check(self) -> None:
        check_number("epsilon", self.epsilon, "a finite number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("delta", self.delta, "in (0, 1)", lambda d: 1e-300 <= d < 1)
        check_number("max_norm", self.max_norm, *POSITIVE, optional=True)

    def _table(self, X: Any) -> Floats:
        """Return columns of numbers, NaN for what is missing, and then indicators."""
        return self._indicated(self._coded(X, reset=False)[0])

    def _indicated(self, table: Floats) -> Floats:
        """Return columns of numbers, within the bounds, and then indicators."""
        return indicated(table, self.categories_, self._indicates_missing, self._ends())

    def _coded(self, X: Any, *, reset: bool) -> tuple[Floats, Levels]:
        """Return numbers, NaN for what is missing, and positions among categories.

        And the values that occur in columns whose categories are to be released: see `Rows`.
        """
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
        return table, occurring

    @property
    def _n_numbers(self) -> int:
        """The number of columns that are no categories."""
        return int(self.n_features_in_) - len(self.categories_)

    @property
    def _n_columns(self) -> int:
        """The number of columns of numbers and indicators."""
        of_levels = sum(len(own) + 1 for own in self.categories_.values())
        return self._n_numbers * (1 + self._indicates_missing) + of_levels

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

    def _ends(self) -> Ends | None:
        """Return the bounds of the columns of numbers, if there are any."""
        if self.bounds is None:
            return None
        d = self._n_numbers
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

    @property
    def _counted(self) -> bool:
        """Whether noisy counts say how rows are scaled, if any columns are to be scaled."""
        return self.bounds is None or self.max_norm is None

    def _tables(
        self, records: Records, n: int, sensitivity: float, what: str, half: float | None = None,
        n_batches: int = 1,
    ) -> SharedTables:  # fmt: skip
        """Open the budget, for n tables that a unit moves so far, and for what `_scale` counts.

        `half`: how far targets can lie from 0 (NaN: unknown), if they are counted as columns are.
        A unit is in one of so many batches, which the tables count in turn.
        """
        d = self._n_numbers + (half is not None)
        counted = d > 0 and self._counted
        what = "ranges of columns, and " * counted + what
        what = "frequent values, " * (len(records.frequent) > 0) + what
        spending = Spending.begin(
            self.ledger,
            self.epsilon,
            self.delta,
            what=what,
            mechanism=type(self).__name__,
            unit=records.unit,
            time=records.begun,
        )
        spending.warn_if_weak(records.m, records.unit)
        counts = ("sizes", "places", "closer places") * counted
        counts += ("targets",) * (half is not None) + ("norms",) * (
            counted and self.max_norm is None
        )
        return SharedTables(
            spending, records, what, n_columns=d, counts=counts, n=n, sensitivity=sensitivity,
            n_batches=n_batches,
        )  # fmt: skip

    def _wider(self, m: int, many: float | None = None) -> float:
        """Return how many times less is cut off of m units than where noise matters."""
        strength: float = m * gdp_within(self.epsilon, self.delta) / (many or self._many)
        return math.sqrt(math.sqrt(max(1.0, strength)))

    def _scale(self, records: Records, tables: SharedTables, half: float | None = None) -> Columns:
        """Release frequent values, if asked for; set how rows are scaled; return columns.

        As the parameters say, or by noisy counts; `half` is as in `_tables`. Indicators are 0 or 1,
        which is public: they keep their values.
        """
        if records.frequent:
            released = tables.release(records.values())
            own = {j: objects([v for i, _, v in released if i == j]) for j in records.frequent}
            self.categories_ = self.categories_ | own
        columns = records.columns(self.categories_, self._indicates_missing, self._ends())
        self.unresolved_ = np.array([], dtype=np.intp)
        if tables.stds:
            scaling = self._scaling_of_counts(columns, records.m, tables, half)
        else:
            d, features = self._n_numbers, int(self.n_features_in_)
            norm = float(self.max_norm or INDICATOR * math.sqrt(features))
            low, high = self._ends() or (np.zeros(d), np.zeros(d))
            scaling = Scaling.between(low, high).beside(self._n_columns - d, norm)
        self.center_, self.scale_ = scaling.center, scaling.scale
        self.max_norm_, self.reach_ = scaling.max_norm, scaling.reach
        self.tails_ = scaling.tails
        return columns

    def _usual_tails(self, m: int) -> float:
        """Return how many times as far as others values in the tails of columns reach."""
        return 1.0

    def _scaling_of_counts(
        self, columns: Columns, m: int, tables: SharedTables, half: float | None
    ) -> Scaling:
        """Return how rows are scaled, by noisy counts; set what they say of targets."""
        d, features, max_norm = self._n_numbers, int(self.n_features_in_), self.max_norm
        middle, far = np.zeros(d), np.full(d, np.nan)
        if (ends := self._ends()) is not None:
            low, high = ends
            middle, far = (low + high) / 2, (high - low) / 2
            columns = columns.moved(middle)
        if half is not None:
            far = np.append(far, half)
        places = places_of_counts(columns.numbers(d, half is not None), tables, far)
        self.unresolved_ = places.unresolved
        if half is not None:
            self.y_center_, scale = float(places.center[d]), float(places.scale[d])
            of_targets = tables.release(columns.targets(self.y_center_, scale))
            times, self._beyond = reach_of_counts(of_targets, tables.stds["targets"], m)
            self.y_scale_ = times * scale
        reach = self._wider(m, self._many_for_columns)
        tails = self._usual_tails(m)
        scaling = Scaling(places.center[:d], places.scale[:d], reach=reach, tails=tails)
        n_indicators = self._n_columns - d
        if max_norm is None:
            noisy = tables.release(columns.norms(scaling.beside(n_indicators, 1.0), features))
            shortened = SHORTENED / reach**self._of_rows
            max_norm = norm_of_counts(noisy, tables.stds["norms"], m, features, shortened)
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

    def _report(self, tables: SharedTables, records: Records) -> PrivacyReport:
        return report_of(
            tables.spending.spent,
            title="Differentially private model",
            unit=records.unit,
            m=records.m,
            data="training set",
            protected="X and y as given",
            not_protected=_NOT_PROTECTED,
            condition="none",
            released="the fitted model",
        )

    @property
    def _scaling(self) -> Scaling:
        """How rows are scaled."""
        return Scaling(self.center_, self.scale_, self.max_norm_, self.reach_, self.tails_)

    @ignore_float_errors()
    def _linear(self, X: Any) -> Floats:
        """Return the linear functions of records."""
        check_is_fitted(self, "coef_")
        return self._values(self._table(X))

    def _values(self, table: Floats) -> Floats:
        """Return the linear functions of columns and indicators."""
        rows = self._scaling.rows(table)
        w = self.coef_ * (self.scale_ * self.max_norm_)
        values: Floats = rows @ w.T + (self.intercept_ + self.coef_ @ self.center_)
        return values

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

# Larger numbers overflow: an error after the charge, or a warning that reveals a record.
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

    # Parameters of all subclasses.
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

    # Parameters that can be changed after the fit, because it needs only the released sums.
    from_release: tuple[str, ...] = ()
    # Strength (number of units times mu) from which clipping costs more than noise: bounds widen.
    _wide_from = 20_000.0
    # The same for columns, if it differs.
    _columns_wide_from: float | None = None
    # The share of shortened rows falls by this power of the columns' widening. A larger one would
    # shorten rows less, and so make all rows smaller and descents slower.
    _shortening_power = 1
    # Whether missing numbers have indicator columns.
    _indicates_missing = False

    def private_training(self) -> PrivateTraining:
        """Describe how the model protects its training records."""
        return PrivateTraining(
            # The release of values above a threshold is not a Gaussian mechanism.
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
            of their column; `PrivateClassifier` and `PrivateRegressor` also add an indicator of
            missing numbers.
        y : array-like of shape (n_samples,)
            Protected labels, or targets. Records with a label that is not among the classes are
            ignored. Targets are clipped at `y_bounds`, and a missing one counts as the centre.
        groups : array-like of shape (n_samples,), default=None
            Group of each record. All records of a group then form one privacy unit, which has the
            weight of one record.

        Returns
        -------
        self : estimator
        """
        self._check()
        self._fit(self._sealed(X, y, groups))
        remember_fitted(self, X)
        return self

    def _sealed(self, X: Any, y: Any, groups: Any) -> Records:
        """Code records as numbers, using public declarations only, and seal them."""
        begun = datetime.now(UTC)  # before coding, whose duration depends on the records
        table, occurring = self._coded(X, reset=True)
        self._ends()  # raises before anything is charged
        units = Units.of(len(table), groups)
        code = self._code_of(y)
        rows = Rows(table, code(y, len(table)), units.labels, occurring)
        return Records(rows, units.m, units.name, begun)

    def _code_of(self, y: Any) -> partial[NDArray[Any]]:
        """Return a function ``code(y, n_rows)`` that converts labels or targets to numbers.

        Undeclared classes are read from y, and so become public.
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
        """Convert records to columns of numbers (NaN if missing), then indicators."""
        return self._indicated(self._coded(X, reset=False)[0])

    def _indicated(self, table: Floats) -> Floats:
        """Clip columns of numbers at the bounds, and replace categories by indicators."""
        return indicated(table, self.categories_, self._indicates_missing, self._ends())

    def _coded(self, X: Any, *, reset: bool) -> tuple[Floats, Levels]:
        """Convert a table to numbers (NaN if missing), and categories to their positions.

        The second result has the values that occur in columns whose categories are to be released:
        see `Rows`.
        """
        declared = declared_levels(X, self.categories if reset else None)
        if reset:
            self.categories_ = declared.levels
        elif is_frame(declared.X):
            # Raises if the columns are not those of fit.
            validate_data(self, declared.X, reset=False, skip_check_array=True)
        learner = type(self).__name__ if reset else None
        X, occurring = as_declared(declared.X, self.categories_, declared.frequent, learner)
        table: Floats = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False, reset=reset
        )
        return table, occurring

    @property
    def _n_numbers(self) -> int:
        """Number of columns that are not categories."""
        return int(self.n_features_in_) - len(self.categories_)

    @property
    def _n_columns(self) -> int:
        """Number of columns after coding: numbers and indicators."""
        n_level_indicators = sum(len(levels) + 1 for levels in self.categories_.values())
        return self._n_numbers * (1 + self._indicates_missing) + n_level_indicators

    @property
    def _numbers(self) -> NDArray[np.intp]:
        """Positions of the columns that are not categories."""
        return np.delete(np.arange(self.n_features_in_), [*self.categories_])

    def get_feature_names_out(self) -> NDArray[Any]:
        """Return the names of columns and indicators, in the order of `center_`."""
        check_is_fitted(self, "center_")
        default_names = [f"x{j}" for j in range(self.n_features_in_)]
        names_in = list(getattr(self, "feature_names_in_", default_names))
        names = names_of_columns(names_in, self.categories_, self._indicates_missing)
        return np.array(names, dtype=object)

    def _ends(self) -> Ends | None:
        """Check and return the bounds of the columns of numbers; None if there are none."""
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
        """True if noisy counts determine how rows are scaled."""
        return self.bounds is None or self.max_norm is None

    def _tables(
        self, records: Records, n: int, sensitivity: float, purpose: str,
        half: float | None = None, n_batches: int = 1,
    ) -> SharedTables:  # fmt: skip
        """Open the budget for the counts of `_scale`, and for n tables of this sensitivity.

        `half`: the largest distance of a target from 0 (NaN: unknown) if targets are counted as
        columns are, else None. The tables are of `n_batches` in turn; a unit is in one batch.
        """
        d = self._n_numbers + (half is not None)
        counted = d > 0 and self._counted
        if counted:
            purpose = f"ranges of columns, and {purpose}"
        if records.frequent:
            purpose = f"frequent values, {purpose}"
        spending = Spending.begin(
            self.ledger,
            self.epsilon,
            self.delta,
            what=purpose,
            mechanism=type(self).__name__,
            unit=records.unit,
            time=records.begun,
        )
        spending.warn_if_weak(records.m, records.unit)
        counts: list[str] = []
        if counted:
            counts += ["sizes", "places", "closer places"]
        if half is not None:
            counts.append("targets")
        if counted and self.max_norm is None:
            counts.append("norms")
        return SharedTables(
            spending, records, purpose, n_columns=d, counts=tuple(counts), n=n,
            sensitivity=sensitivity, n_batches=n_batches,
        )  # fmt: skip

    def _widening(self, m: int, wide_from: float | None = None) -> float:
        """Compute the factor, 1 or more, by which bounds widen for m units.

        It is the fourth root of the strength (m times mu) divided by `wide_from`.
        """
        strength = m * gdp_within(self.epsilon, self.delta)
        relative: float = strength / (wide_from or self._wide_from)
        return math.sqrt(math.sqrt(max(1.0, relative)))

    def _scale(self, records: Records, tables: SharedTables, half: float | None = None) -> Columns:
        """Release frequent values, if asked for; set the scaling of rows; return coded columns.

        The scaling follows from the parameters, or from noisy counts; `half` is as in `_tables`.
        Indicators are known to be 0 or 1, and are not counted.
        """
        if records.frequent:
            released = tables.release(records.values())
            levels = {j: objects([v for i, _, v in released if i == j]) for j in records.frequent}
            self.categories_ = self.categories_ | levels
        columns = records.columns(self.categories_, self._indicates_missing, self._ends())
        self.unresolved_ = np.array([], dtype=np.intp)
        if tables.stds:
            scaling = self._scaling_of_counts(columns, records.m, tables, half)
        else:
            d = self._n_numbers
            norm = float(self.max_norm or INDICATOR * math.sqrt(int(self.n_features_in_)))
            low, high = self._ends() or (np.zeros(d), np.zeros(d))
            scaling = Scaling.between(low, high).beside(self._n_columns - d, norm)
        self.center_ = scaling.center
        self.scale_ = scaling.scale
        self.max_norm_ = scaling.max_norm
        self.reach_ = scaling.reach
        self.tails_ = scaling.tails
        return columns

    def _usual_tails(self, m: int) -> float:
        """Return the `tails` of the scaling: how far tails of columns reach, in `reach_`."""
        return 1.0

    def _scaling_of_counts(
        self, columns: Columns, m: int, tables: SharedTables, half: float | None
    ) -> Scaling:
        """Compute the scaling of rows from noisy counts; set that of targets."""
        d = self._n_numbers
        n_features = int(self.n_features_in_)
        max_norm = self.max_norm
        middle = np.zeros(d)
        half_range = np.full(d, np.nan)
        if (ends := self._ends()) is not None:
            low, high = ends
            middle = (low + high) / 2
            half_range = (high - low) / 2
            columns = columns.moved(middle)
        if half is not None:
            half_range = np.append(half_range, half)
        places = places_of_counts(columns.numbers(d, half is not None), tables, half_range)
        self.unresolved_ = places.unresolved
        if half is not None:
            self.y_center_ = float(places.center[d])
            scale = float(places.scale[d])
            noisy = tables.release(columns.targets(self.y_center_, scale))
            n_scales, self._variance_beyond = reach_of_counts(noisy, tables.stds["targets"], m)
            self.y_scale_ = n_scales * scale
        reach = self._widening(m, self._columns_wide_from)
        tails = self._usual_tails(m)
        scaling = Scaling(places.center[:d], places.scale[:d], reach=reach, tails=tails)
        n_indicators = self._n_columns - d
        if max_norm is None:
            noisy = tables.release(columns.norms(scaling.beside(n_indicators, 1.0), n_features))
            shortened = SHORTENED / reach**self._shortening_power
            max_norm = norm_of_counts(noisy, tables.stds["norms"], m, n_features, shortened)
        moved = replace(scaling, center=scaling.center + middle)
        return moved.beside(n_indicators, float(max_norm))

    def _made_up(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw n made-up records: uniform in the released ranges and over all categories."""
        d = self._n_numbers
        made_up = np.empty((n, self.n_features_in_), dtype=object)
        made_up[:, self._numbers] = rng.uniform(-1, 1, (n, d)) * self.scale_[:d] + self.center_[:d]
        for j, levels in self.categories_.items():
            made_up[:, j] = rng.choice(np.array([*levels, None], dtype=object), n)
        return made_up

    def _warn_of_columns(self) -> None:
        """Warn of columns without a frequent value, and of columns whose range was not found."""
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        names = np.asarray(names, dtype=object)
        if empty := [names[j] for j, levels in self.categories_.items() if not len(levels)]:
            warn(
                f"No value of the columns {empty} was frequent enough, so the model cannot use "
                "these columns: declare categories, increase epsilon, or leave the columns out",
                LowUtilityWarning,
            )
        names = np.append(np.delete(names, [*self.categories_]), "y")
        if len(self.unresolved_):
            warn(
                "The noisy counts did not show where the values of the columns "
                f"{names[self.unresolved_].tolist()} lie, so the model may hardly use these "
                "columns: pass bounds, the lowest and the highest value of each column, or "
                "increase epsilon",
                LowUtilityWarning,
            )

    def _set_linear(self, w: Floats, constants: Floats) -> None:
        """Set `coef_` and `intercept_` from those of scaled rows; w: (..., n_features)."""
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
        """Scaling of rows, from the fitted attributes."""
        return Scaling(self.center_, self.scale_, self.max_norm_, self.reach_, self.tails_)

    @ignore_float_errors()
    def _linear(self, X: Any) -> Floats:
        """Compute the linear functions of records, shape (n_samples, n_functions)."""
        check_is_fitted(self, "coef_")
        return self._values(self._table(X))

    def _values(self, table: Floats) -> Floats:
        """Compute the linear functions of columns and indicators."""
        rows = self._scaling.rows(table)
        w = self.coef_ * (self.scale_ * self.max_norm_)
        values: Floats = rows @ w.T + (self.intercept_ + self.coef_ @ self.center_)
        return values

"""A regressor of straight and curved functions of the columns (zone: boundary)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from ..exceptions import LowUtilityWarning
from ..privacy.gdp import gdp_within
from ..privacy.warn import warn
from ._curved import Curved
from ._gradients import CURVATURE, Squared
from ._labels import centred_targets
from ._places import CUT_OFF
from ._records import Records
from ._ridge import target_bounds
from ._rows import Floats

# Strength (units times mu) from which targets are clipped farther from their centre.
_TARGETS_WIDE_FROM = 1_500.0
# The tails of columns reach strength / _STRENGTH_PER_TAIL times as far as `reach_`, between 1 and
# _LARGEST_TAILS times.
_STRENGTH_PER_TAIL = 500.0
_LARGEST_TAILS = 4.0


class PrivateRegressor(RegressorMixin, Curved):
    """Regressor that is (epsilon, delta)-private for each training record, good without tuning.

    The model is linear in straight and curved functions of the columns, as `PrivateClassifier`, and
    is fitted by noisy gradient descent. Each record's gradient is clipped to a norm, so large
    errors count as smaller ones (Huber, 1964): predictions lie between means and medians, and
    approach means with more records or a larger epsilon.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-6
        The fitted model is (epsilon, delta)-private; delta in (0, 1).
    y_bounds : tuple of two floats, default=None
        Lowest and highest target, chosen without looking at the data; targets are clipped at them.
        As for columns, noisy counts find where most targets lie (within the bounds, if any).
        Targets farther than 2.5 usual deviations from the centre are clipped (or farther, if the
        number of records times mu is above 1,500). If noisy counts show that this cuts off more
        than a tenth of the variance, the limit is increased, up to 8 times. If `bounds` and
        `max_norm` are both given, nothing is counted: then `y_bounds` are required, and targets are
        scaled from them.
    bounds : tuple of two floats or arrays, default=None
        Lowest and highest value of each column, chosen without looking at the data; as in
        `PrivateLogisticRegression`.
    categories : dict, default=None
        All values that a column can have, as in `PrivateLogisticRegression`.
    curved : float, default=None
        Share of the curved functions, as in `PrivateClassifier`; a regressor counts as two classes.
    n_trees : int, default=None
        Number of random trees, of depths 3 to 6 (or 5 to 8), as in `PrivateClassifier`.
    C : float, default=1.0
        Inverse regularisation strength, as in `PrivateLogisticRegression`.
    clip : float, default=None
        Norm to which a record's gradient is clipped; the noise is proportional to it. An error of
        the whole range of targets has a gradient of about 0.5. None is a public rule: 0.1 times the
        square of r of `PrivateLogisticRegression`, divided by the factor by which the range of
        targets widens (the fourth root of the number of records times mu, divided by 1,500, if
        above 1).
    max_iter, max_norm : int and float, default=None
        As in `PrivateLogisticRegression`.
    random_state : int, RandomState instance or None, default=None
        Seed of the trees and waves. It is not secret, and does not affect the noise.
    ledger : PrivacyLedger or None, default=None
        The ledger to which (epsilon, delta) is charged, before noise is generated.

    Attributes
    ----------
    y_center_, y_scale_ : float
        Targets are scaled to ``(y - y_center_) / y_scale_``, and clipped to [-1, 1] (private).
    curved_ : float
        The share of curved functions (public).
    bins_, tree_columns_, tree_thresholds_, frequencies_ : ndarray
        Parameters of the curved functions: features of 32 bins, column and threshold of each tree
        at each level, and frequencies of waves (public: drawn without the records).
    reach_, clip_ : float
        How far columns and gradients reach, as in `PrivateClassifier` (public).
    tails_ : float
        Beyond `reach_` columns grow like a logarithm, up to `tails_` times `reach_` (public). It is
        the number of records times mu, divided by 500, but between 1 (columns are cut off at
        `reach_`) and 4.
    coef_ : ndarray of shape (1, n_functions)
        Coefficients of all functions, for scaled targets (private).
    intercept_ : ndarray of shape (1,)
        Intercept (private).
    coef_noise_std_ : float
        Bound on the standard deviation of the noise in a coefficient; proven for a quadratic loss
        (public).
    categories_ : dict
        Values of each column of categories, by its position (public; private if "frequent").
    center_, scale_, max_norm_, unresolved_ : ndarray of shape (n_features,), float and ndarray
        How rows are scaled, as in `PrivateLogisticRegression` (private).
    n_iter_ : int
    privacy_ : PrivacyReport
        The privacy report; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn_dpbo.learners import PrivateRegressor
    >>> X, y = make_friedman1(10_000, random_state=0)
    >>> model = PrivateRegressor(epsilon=1.0, delta=1e-6)
    >>> model.fit(X[:8000], y[:8000]).score(X[8000:], y[8000:])  # doctest: +SKIP
    0.893
    """

    # Smaller than for classes: targets vary by about half of their range, log-odds by several
    # units.
    _coef_noise = 0.2
    _least_clip = 0.1
    # Targets depend on the tails of columns more than classes do.
    _columns_wide_from = 250.0

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        y_bounds: Any = None,
        bounds: Any = None,
        categories: Any = None,
        curved: float | None = None,
        n_trees: int | None = None,
        C: float = 1.0,
        clip: float | None = None,
        max_iter: int | None = None,
        max_norm: float | None = None,
        random_state: Any = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.y_bounds = y_bounds
        self.bounds = bounds
        self.categories = categories
        self.curved = curved
        self.n_trees = n_trees
        self.C = C
        self.clip = clip
        self.max_iter = max_iter
        self.max_norm = max_norm
        self.random_state = random_state
        self.ledger = ledger

    @staticmethod
    def search_space() -> dict[str, list[Any]]:
        """Return parameters and values to search over, as `param_distributions`.

        A fit without a search uses all of epsilon: a search often costs more than it gains.
        """
        return {"curved": [0.0, 0.33, 0.66], "clip": [0.05, 0.1, 0.2]}

    @property
    def _target_range(self) -> tuple[float, float]:
        """Middle of the targets, and their largest distance from it (NaN: unknown)."""
        if self.y_bounds is None and self._counted:
            return 0.0, math.nan
        low, high = target_bounds(self.y_bounds)
        return (low + high) / 2, (high - low) / 2

    def _code_of(self, y: Any) -> partial[NDArray[Any]]:
        middle, half = self._target_range
        return partial(centred_targets, middle=middle, half=half)

    def _fit(self, records: Records) -> None:
        _, half = self._target_range
        self.y_center_ = 0.0
        self.y_scale_ = half
        self._variance_beyond = 0.0
        self._descend(records, 1, half if self._counted else None)

    def _usual_tails(self, m: int) -> float:
        strength = m * gdp_within(self.epsilon, self.delta)
        return float(np.clip(strength / _STRENGTH_PER_TAIL, 1, _LARGEST_TAILS))

    def _usual_clip(self, m: int) -> float:
        range_widening = self._widening(m, _TARGETS_WIDE_FROM)
        return self._least_clip * self._widening(m) ** 2 / range_widening

    def _loss(self, m: int) -> Squared:
        self.y_scale_ *= self._widening(m, _TARGETS_WIDE_FROM)
        middle, half = self._target_range
        if self.y_bounds is not None:
            farthest = half + abs(self.y_center_)
            if self.y_scale_ >= farthest:
                self.y_scale_ = farthest
                self._variance_beyond = 0.0
        loss = Squared(self.y_center_, self.y_scale_)
        self.y_center_ += middle
        return loss

    def _constants(self, gradient: Floats, noise: float) -> Floats:
        return np.clip(-gradient / CURVATURE, -1, 1)

    def _warn_of_columns(self) -> None:
        super()._warn_of_columns()
        if self._variance_beyond > CUT_OFF:
            warn(
                f"Targets are clipped at a distance of {self.y_scale_:.3g} from "
                f"{self.y_center_:.3g}. According to noisy counts, targets beyond have about "
                f"{self._variance_beyond:.0%} of the variance, and no prediction reaches them. "
                "Pass y_bounds, or fit a logarithm of the target",
                LowUtilityWarning,
            )

    def predict(self, X: Any) -> Floats:
        """Predict the targets of records, shape (n_samples,)."""
        values = self._linear(X)[:, 0]
        return self.y_center_ + self.y_scale_ * values

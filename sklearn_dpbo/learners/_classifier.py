"""A classifier of straight and curved functions of the columns (zone: boundary)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._privacy.checks import check_number
from .._privacy.gdp import gdp_within
from ._blocks import Blocks
from ._descent import DescentClassifier
from ._rows import linear
from ._scaling import Scaling

__all__ = ["PrivateClassifier"]

Floats = NDArray[np.float64]

# The share of curved functions is the number of units of a class times mu, divided by this, up to
# the largest: with few units their noise costs more than they give.
_UNITS_OF_ALL_CURVED, _MOST_CURVED = 1_100, 0.66
_N_WAVES = 100


class PrivateClassifier(DescentClassifier):
    """Classifier that is (epsilon, delta)-private for each training record, good without tuning.

    One model of four kinds of functions of the columns, fitted together by gradient descent with
    noise as `PrivateLogisticRegression`: the columns themselves; smooth functions of each; random
    trees, whose splits are drawn without the records, and so cost no privacy; and random waves
    (Rahimi and Recht, NeurIPS 2007). The noise does not grow with their number, as all functions
    of a record together have a bounded norm. With few records the model is nearly linear.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-6
        The fitted model is (epsilon, delta)-private; delta in (0, 1).
    classes : array-like, default=None
        All labels, which are public. None uses the labels in y, which then become public.
    bounds : tuple of two floats or arrays, default=None
        Lowest and highest value of each column, chosen without looking at the data; as in
        `PrivateLogisticRegression`.
    curved : float, default=None
        Share of the curved functions in the squared norm of a record, from 0, a linear model, to 1.
        None is a public rule: the number of records per class times mu, divided by 1,100, and at
        most 0.66.
    n_trees : int, default=60
        Number of random trees, of depths 3 to 6.
    C, clip, max_iter : float, float and int, default=1.0, 0.56 and 60
        As in `PrivateLogisticRegression`. Where one class is rare, a `clip` of 0.8 to 1.1 gives
        better probabilities.
    max_norm : float, default=None
        As in `PrivateLogisticRegression`.
    random_state : int, RandomState instance or None, default=None
        Draws trees and waves. It is no secret, and has no effect on the noise.
    ledger : PrivacyLedger or None, default=None
        The ledger to which (epsilon, delta) is charged, before noise is generated.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    curved_ : float
        The share of curved functions (public).
    coef_ : ndarray of shape (1 or n_classes, n_functions)
        Coefficients of all functions (private).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept (private).
    center_, scale_, max_norm_, unresolved_ : ndarray of shape (n_features,), float and ndarray
        How rows are scaled, as in `PrivateLogisticRegression` (private).
    n_iter_ : int
    privacy_ : PrivacyReport
        The privacy report; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn_dpbo.learners import PrivateClassifier
    >>> X, y = make_moons(3000, noise=0.1, random_state=0)
    >>> model = PrivateClassifier(epsilon=1.0, delta=1e-6, classes=[0, 1])
    >>> model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])  # doctest: +SKIP
    0.985
    """

    learning_rate = None

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        classes: Any = None,
        bounds: Any = None,
        curved: float | None = None,
        n_trees: int = 60,
        C: float = 1.0,
        clip: float = 0.56,
        max_iter: int = 60,
        max_norm: float | None = None,
        random_state: Any = None,
        ledger: Any = None,
    ) -> None:
        super().__init__(epsilon, delta, bounds, max_norm, ledger)
        self.classes = classes
        self.curved = curved
        self.n_trees = n_trees
        self.C = C
        self.clip = clip
        self.max_iter = max_iter
        self.random_state = random_state

    @staticmethod
    def search_space() -> dict[str, list[Any]]:
        """Return values that are worth a search, as its `param_distributions`."""
        return {"curved": [0.0, 0.33, 0.66], "max_iter": [60, 120]}

    def _check(self) -> None:
        super()._check()
        check_number("curved", self.curved, "in [0, 1]", lambda a: 0 <= a <= 1, optional=True)
        check_number(
            "n_trees", self.n_trees, "a whole number from 1 up", lambda n: n >= 1, Integral
        )

    def _draw(self, d: int, m: int) -> None:
        curved = self.curved
        if curved is None:
            mu = gdp_within(self.epsilon, self.delta)
            curved = min(_MOST_CURVED, m * mu / len(self.classes_) / _UNITS_OF_ALL_CURVED)
        rng = check_random_state(self.random_state)
        self._drawn = Blocks.draw(d, float(curved), int(self.n_trees), _N_WAVES, rng)
        self.curved_ = self._drawn.curved

    def _blocks(self, X: Floats, scaling: Scaling) -> list[Any]:
        return self._drawn.of(scaling.columns(X), scaling.max_norm)

    def _set_linear(self, w: Floats, constants: Floats) -> None:
        self.coef_, self.intercept_ = w, constants

    def _linear(self, X: Any) -> Floats:
        check_is_fitted(self, "coef_")
        scaling = Scaling(self.center_, self.scale_, self.max_norm_)
        blocks = self._blocks(self._table(X, reset=False), scaling)
        values: Floats = linear(blocks, self.coef_) + self.intercept_
        return values

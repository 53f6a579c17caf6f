"""Logistic regression on random Fourier features of the columns (zone: boundary)."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._privacy.checks import check_number
from ._logistic import PrivateLogisticRegression
from ._scaling import Scaling

__all__ = ["PrivateKernelClassifier"]

Floats = NDArray[np.float64]


class PrivateKernelClassifier(PrivateLogisticRegression):
    """Classifier with curved boundaries that is (epsilon, delta)-private for each training record.

    `PrivateLogisticRegression` on the columns and on random waves of them: cosines and sines of
    their combinations, which together approximate a Gaussian kernel (Rahimi and Recht, NeurIPS
    2007). The waves are drawn without the records, so they cost no privacy; and all waves of a
    record together have the length of one number, so the noise in a prediction does not grow
    with `n_components`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation strength, as in `PrivateLogisticRegression`.
    gamma : float, default=1.0
        Records at a distance d have the similarity exp(-gamma d^2), where scaled rows have a norm
        of at most 1. Larger values give more detail and need more records; with small ones the
        model is nearly linear. The first parameter to tune.
    n_components : int, default=250
        Number of frequencies, each with a cosine and a sine.
    random_state : int, RandomState instance or None, default=None
        Draws the waves. It is no secret, and has no effect on the noise.
    epsilon, delta, clip, max_iter, learning_rate : float or int
        As in `PrivateLogisticRegression`, with the same defaults.
    bounds, max_norm, classes, ledger : object
        As in `PrivateLogisticRegression`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    frequencies_ : ndarray of shape (n_features, n_components)
        The frequencies of the waves, for scaled rows (public).
    coef_ : ndarray of shape (1 or n_classes, n_features + 2 * n_components)
        Coefficients of the scaled columns, the cosines and the sines (private).
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
    >>> from sklearn_dpbo.learners import PrivateKernelClassifier
    >>> X, y = make_moons(3000, noise=0.1, random_state=0)
    >>> model = PrivateKernelClassifier(epsilon=1.0, delta=1e-6, classes=[0, 1])
    >>> model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])  # doctest: +SKIP
    0.985
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        gamma: float = 1.0,
        n_components: int = 250,
        random_state: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        clip: float = 0.7,
        max_iter: int = 60,
        learning_rate: float | None = None,
        bounds: Any = None,
        max_norm: float | None = None,
        classes: Any = None,
        ledger: Any = None,
    ) -> None:
        super().__init__(
            C,
            epsilon=epsilon,
            delta=delta,
            clip=clip,
            max_iter=max_iter,
            learning_rate=learning_rate,
            bounds=bounds,
            max_norm=max_norm,
            classes=classes,
            ledger=ledger,
        )
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    @staticmethod
    def search_space() -> dict[str, list[Any]]:
        """Return values that are worth a search, as its `param_distributions`."""
        return {"gamma": [0.1, 0.3, 1.0, 3.0, 10.0], "max_iter": [60, 120]}

    def _check(self) -> None:
        super()._check()
        check_number("gamma", self.gamma, "a positive number", lambda v: v > 0)
        of_waves = "a whole number from 1 up", lambda n: n >= 1, Integral
        check_number("n_components", self.n_components, *of_waves)

    def _table(self, X: Any, *, reset: bool) -> Floats:
        table = super()._table(X, reset=reset)
        if reset:
            shape = table.shape[1], int(self.n_components)
            waves = check_random_state(self.random_state).standard_normal(shape)
            self.frequencies_ = waves * math.sqrt(2 * float(self.gamma))
        return table

    def _features(self, rows: Floats) -> Floats:
        # The norm of all waves is 1, and that of rows at most 1.
        phases = rows @ self.frequencies_
        waves = np.hstack([np.cos(phases), np.sin(phases)]) / math.sqrt(phases.shape[1])
        return np.hstack([rows, waves]) / math.sqrt(2)

    def _set_linear(self, w: Floats, constants: Floats) -> None:
        self.coef_, self.intercept_ = w, constants

    def _linear(self, X: Any) -> Floats:
        check_is_fitted(self, "coef_")
        rows = Scaling(self.center_, self.scale_, self.max_norm_).rows(self._table(X, reset=False))
        values: Floats = self._features(rows) @ self.coef_.T + self.intercept_
        return values

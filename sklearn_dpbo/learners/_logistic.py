"""Logistic regression by gradient descent with noise (zone: boundary)."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from .._data.units import Units
from .._privacy.checks import check_number
from .._privacy.sensitive import Secret
from ._base import PrivateClassifier
from ._rows import IntegerRows

__all__ = ["PrivateLogisticRegression"]

Floats = NDArray[np.float64]

# If no step size is given: the standard deviation that noise has in a coefficient (of rows of norm
# 1) after all steps, and the largest step.
_NOISE, _LARGEST_RATE = 3.0, 12.0
# Share of the previous step's velocity that a step keeps.
_MOMENTUM = 0.9
# About the norm of a row with its intercept.
_NORM = 1.3


class PrivateLogisticRegression(PrivateClassifier):
    """Logistic regression that is (epsilon, delta)-private for each training record.

    Fitted by full-batch gradient descent from 0, with momentum (Bassily, Smith and Thakurta, FOCS
    2014; Polyak, 1964). The gradient of each record's loss is clipped to a norm, rounded to
    integers and summed; discrete Gaussian noise is added to the sum. All steps together are
    mu-GDP for the largest mu that implies (epsilon, delta).

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation strength, as in scikit-learn's `LogisticRegression`, for rows that
        are scaled to a norm of at most 1. Such rows are shorter than standardised ones: the same C
        is a stronger penalty, and with many records about the number of columns times as much, or
        more, comes near scikit-learn's default after a `StandardScaler`.
    epsilon, delta : float, default=1.0 and 1e-6
        The fitted model is (epsilon, delta)-private; delta in (0, 1).
    clip : float, default=0.7
        Norm to which a record's gradient is clipped; the noise is proportional to it. At 0.7 only
        wrongly predicted records are clipped; much smaller values favour frequent labels.
    max_iter : int, default=60
        Number of steps; the noise of each grows with the square root of this number.
    learning_rate : float, default=None
        Step size. With larger or more steps the model moves further from 0 and has more noise.
        None takes steps as large as the noise allows, from public numbers: about 4 for 5,000
        records at epsilon = 1, in proportion to both, and at most 12.
    bounds : tuple of two floats or arrays, default=None
        Lowest and highest value of each column, chosen without looking at the data: values are
        clipped there. Where most values lie within the bounds, noisy counts tell; and without
        bounds, how large values are. They take a quarter of the budget at most (in mu squared).
    max_norm : float, default=None
        Scaled rows with a larger norm are shortened to it. With None, that is one row in five,
        according to noisy counts. With `bounds` and `max_norm` nothing is counted: columns are
        scaled from the bounds to [-1, 1] (those between 0 and 1 stay as they are), and the fit has
        the whole budget.
    classes : array-like, default=None
        All labels, which are public. None uses the labels in y, which then become public.
    ledger : PrivacyLedger or None, default=None
        The ledger to which (epsilon, delta) is charged, before noise is generated.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the columns, in their units (private). They hold for rows that are neither
        clipped nor shortened.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept (private).
    center_, scale_ : ndarray of shape (n_features,)
        Columns are taken as ``(x - center_) / scale_``, clipped to [-1, 1] (private).
    max_norm_ : float
        Rows of such columns with a larger norm are shortened to it (private).
    unresolved_ : ndarray of int
        Positions of columns whose values noisy counts did not find (private): give `bounds`.
    n_iter_ : int
    privacy_ : PrivacyReport
        The privacy report; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
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
        super().__init__(epsilon, delta, bounds, max_norm, ledger)
        self.C = C
        self.clip = clip
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.classes = classes

    @staticmethod
    def search_space() -> dict[str, list[Any]]:
        """Return values that are worth a search, as its `param_distributions`."""
        return {"max_iter": [30, 60, 120], "clip": [0.5, 0.7, 1.0]}

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Protected records. Missing numbers count as the centre of their column.
        y : array-like of shape (n_samples,)
            Protected labels. Records with a label that is not among the classes are ignored.
        groups : array-like of shape (n_samples,), default=None
            Group of each record. All records of a group are then one privacy unit, which
            contributes the mean of their gradients.
        """
        self._check()
        X = self._table(X, reset=True)
        code, units = self._class_numbers(y, len(X)), Units.of(len(X), groups)
        unit = units.labels
        n, sensitivity = int(self.max_iter), IntegerRows.sensitivity
        X, mechanisms, noisy, std = self._tables(
            X, n, sensitivity, what="gradients of a model", units=units
        )
        X = np.column_stack([X, np.ones(len(X))])
        squares = np.einsum("ij,ij->i", X, X)
        rows = IntegerRows(X, None if unit is None else np.bincount(unit)[unit])
        K = len(self.classes_) if len(self.classes_) > 2 else 1
        W = np.zeros((K, X.shape[1]))
        velocity, averaged = np.zeros_like(W), np.zeros_like(W)
        step = float(self.clip) * rows.step / units.m
        noise_of_steps = math.sqrt(n) * std * step / (1 - _MOMENTUM)  # in W, at a rate of 1
        rate = self.learning_rate or min(_LARGEST_RATE, _NOISE / noise_of_steps)
        for i in range(n):
            total = Secret(rows.total(self._errors(X, code, W, squares)))
            gradient = step * noisy(total).astype(np.float64)
            if i == 0:
                # At W = 0 the gradient by the intercepts tells the shares of classes: start there,
                # as steps towards rare classes would go too far.
                W[:, -1] = self._intercepts(gradient[:, -1], std * step)
            else:
                velocity = _MOMENTUM * velocity + gradient
                W = W - rate * velocity
                # Afterwards, as a gradient's step would be too long where C is small.
                W[:, :-1] /= 1 + rate / (1 - _MOMENTUM) / (float(self.C) * units.m)
            if i >= n // 2:
                averaged += W / (n - n // 2)
        self._set_linear(averaged[:, :-1], averaged[:, -1])
        self.n_iter_ = n
        self.privacy_ = self._report(mechanisms, units)
        self._warn_of_columns()
        return self

    def _intercepts(self, gradient: Floats, noise: float) -> Floats:
        """Return the intercepts of a model without columns, by its gradient where all are 0."""
        K = len(self.classes_)
        clipped = min(1.0, float(self.clip) / (math.sqrt(1 - 1 / K) * _NORM))
        shares = 1 / K - (gradient if K == 2 else gradient / clipped)
        shares = np.clip(shares, min(2 * noise, 1 / K), 1 - min(2 * noise, 1 / K))
        logits: Floats = np.log(shares) - (np.log1p(-shares) if K == 2 else 0.0)
        return logits

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of all classes, shape (n_samples, n_classes)."""
        return _probabilities(self._linear(X))

    def _check(self) -> None:
        super()._check()
        positive = "a positive number", lambda v: v > 0
        for name in ("C", "clip"):
            check_number(name, getattr(self, name), *positive)
        check_number("learning_rate", self.learning_rate, *positive, optional=True)
        of_steps = "a whole number from 1 up", lambda n: n >= 1, Integral
        check_number("max_iter", self.max_iter, *of_steps)

    @np.errstate(all="ignore")  # a warning would reveal a record
    def _errors(self, X: Floats, code: NDArray[np.intp], W: Floats, squares: Floats) -> Floats:
        """Return e of each record: its gradient e x^T, in units of `clip`, has norm at most 1.

        `squares`: of the norms of rows.
        """
        errors = _probabilities(X @ W.T)
        errors[np.arange(len(X)), code] -= 1
        errors[code < 0] = 0
        if len(W) == 1:
            errors = errors[:, 1:]
        norms = np.sqrt((errors**2).sum(axis=1) * squares)
        scaled: Floats = errors / np.maximum(norms, float(self.clip))[:, None]
        return scaled


def _probabilities(logits: Floats) -> Floats:
    if logits.shape[1] == 1:
        p = expit(logits)
        return np.column_stack([1 - p, p])
    probabilities: Floats = softmax(logits, axis=1)
    return probabilities

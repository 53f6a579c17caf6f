"""Gradient descent with noise on the logistic loss (zone: boundary)."""

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
from ._base import LinearClassifier
from ._rows import IntegerRows, linear, squared_norms
from ._scaling import Scaling

__all__ = ["DescentClassifier"]

Floats = NDArray[np.float64]

# If no step size is given: the standard deviation that noise has in a coefficient (of rows of norm
# 1) after all steps, and the largest step.
_NOISE, _LARGEST_RATE = 3.0, 12.0
# Share of the previous step's velocity that a step keeps.
_MOMENTUM = 0.9
# The column of the intercept is light: a gradient's norm, to which noise is proportional, is mostly
# that of the columns. And about the norm of a row with it.
_INTERCEPT, _NORM = 0.5, 1.12


class DescentClassifier(LinearClassifier):
    """Classifier that is linear in blocks of columns, fitted by noisy gradients.

    Subclasses have the parameters C, clip, max_iter, learning_rate and classes.
    """

    C: Any
    clip: Any
    max_iter: Any
    learning_rate: Any
    n_iter_: int

    def _draw(self, d: int, m: int) -> None:
        """Draw what is public of a model of d columns and m units."""

    def _blocks(self, X: Floats, scaling: Scaling) -> list[Any]:
        """Return what the model is linear in: together of norm at most 1."""
        return [scaling.rows(X)]

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
        self._draw(X.shape[1], units.m)
        scaling, mechanisms, noisy, std = self._tables(
            X, n, sensitivity, what="gradients of a model", units=units
        )
        blocks = [*self._blocks(X, scaling), np.full((len(X), 1), _INTERCEPT)]
        squares = squared_norms(blocks)
        rows = IntegerRows(blocks, None if unit is None else np.bincount(unit)[unit])
        K = len(self.classes_) if len(self.classes_) > 2 else 1
        W = np.zeros((K, sum(block.shape[1] for block in blocks)))
        velocity, averaged = np.zeros_like(W), np.zeros_like(W)
        step = float(self.clip) * rows.step / units.m
        noise_of_steps = math.sqrt(n) * std * step / (1 - _MOMENTUM)  # in W, at a rate of 1
        rate = self.learning_rate or min(_LARGEST_RATE, _NOISE / noise_of_steps)
        for i in range(n):
            total = Secret(rows.total(self._errors(linear(blocks, W), code, squares)))
            gradient = step * noisy(total).astype(np.float64)
            if i == 0:
                # At W = 0 the gradient by the intercepts tells the shares of classes: start there,
                # as steps towards rare classes would go too far.
                by_constant, noise = gradient[:, -1] / _INTERCEPT, std * step / _INTERCEPT
                W[:, -1] = self._intercepts(by_constant, noise) / _INTERCEPT
            else:
                velocity = _MOMENTUM * velocity + gradient
                W = W - rate * velocity
                # Afterwards, as a gradient's step would be too long where C is small.
                W[:, :-1] /= 1 + rate / (1 - _MOMENTUM) / (float(self.C) * units.m)
            if i >= n // 2:
                averaged += W / (n - n // 2)
        self._set_linear(averaged[:, :-1], averaged[:, -1] * _INTERCEPT)
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
    def _errors(self, values: Floats, code: NDArray[np.intp], squares: Floats) -> Floats:
        """Return e of each record: its gradient e x^T, in units of `clip`, has norm at most 1.

        `values`: of the linear functions; `squares`: of the norms of rows.
        """
        errors = _probabilities(values)
        errors[np.arange(len(values)), code] -= 1
        errors[code < 0] = 0
        if len(self.classes_) == 2:
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

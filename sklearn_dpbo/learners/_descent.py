"""Gradient descent with noise (zone: boundary)."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from ..privacy.checks import check_number
from ..privacy.float_errors import ignore_float_errors
from ..privacy.sensitive import Secret
from ..records.units import Units
from ._base import POSITIVE, PrivateLearner
from ._columns import Coded
from ._labels import class_numbers, public_classes
from ._rows import IntegerRows, linear, squared_norms
from ._scaling import Scaling

__all__ = ["Descent", "DescentClassifier"]

Floats = NDArray[np.float64]

# Share of the previous step's velocity that a step keeps.
_MOMENTUM = 0.9
# The number of steps, if none is given and noise matters.
_STEPS = 60
# The column of the intercept is light: a gradient's norm, to which noise is proportional, is mostly
# that of the columns. And about the norm of a row with it.
_INTERCEPT, _NORM = 0.5, 1.12


class Descent(PrivateLearner):
    """Model that is linear in blocks of columns, fitted by noisy gradients.

    Subclasses have the parameters C, clip, max_iter and learning_rate.
    """

    C: Any
    clip: Any
    max_iter: Any
    learning_rate: Any
    clip_: float
    n_iter_: int
    coef_noise_std_: float

    # If no step size is given: the standard deviation that noise has in a coefficient (of rows of
    # norm 1) after all steps, and the largest step.
    _noise, _largest_rate = 3.0, 12.0
    # The norm to which gradients are clipped, if none is given and noise matters.
    _least_clip = 0.56

    def _draw(self, d: int, m: int) -> None:
        """Draw what is public of a model of d columns and m units."""

    def _usual_clip(self, m: int) -> float:
        """Return the norm to which gradients are clipped, if none is given."""
        return self._least_clip * self._wider(m)

    def _blocks(self, X: Floats, scaling: Scaling) -> list[Any]:
        """Return what the model is linear in: together of norm at most 1."""
        return [scaling.rows(X)]

    def _errors(self, values: Floats, targets: NDArray[Any]) -> Floats:
        """Return the derivative of each record's loss by the values of the linear functions."""
        raise NotImplementedError

    def _constants(self, gradient: Floats, noise: float) -> Floats:
        """Return the intercepts to start from, by the gradient where all coefficients are 0."""
        raise NotImplementedError

    def _targets(self, y: NDArray[Any], m: int) -> NDArray[Any]:
        """Return what `_errors` takes of the labels of m units, once ranges are known."""
        return y

    def _descend(
        self,
        X: Coded,
        y: NDArray[Any],
        k: int,
        units: Units,
        target: tuple[Floats, float] | None = None,
    ) -> None:
        """Fit k linear functions; `target`: as for `_tables`, if its range is to be counted."""
        unit = units.labels
        wider, sensitivity = self._wider(units.m), IntegerRows.sensitivity
        n = int(self.max_iter or _STEPS * wider)
        columns, scaling, spending, noisy, std = self._tables(
            X, n, sensitivity, what="gradients of a model", units=units, target=target
        )
        self._draw(columns.shape[1], units.m)
        self.clip_ = clip = float(self.clip or self._usual_clip(units.m))
        y = self._targets(y, units.m)
        blocks = [*self._blocks(columns, scaling), np.full((len(X), 1), _INTERCEPT)]
        norms = np.sqrt(squared_norms(blocks))
        rows = IntegerRows(blocks, None if unit is None else np.bincount(unit)[unit])
        W = np.zeros((k, sum(block.shape[1] for block in blocks)))
        velocity, averaged = np.zeros_like(W), np.zeros_like(W)
        step = clip * rows.step / units.m
        noise_of_steps = math.sqrt(n) * std * step / (1 - _MOMENTUM)  # in W, at a rate of 1
        rate = self.learning_rate or min(self._largest_rate, self._noise / noise_of_steps)
        kept = 1 / (1 + rate / (1 - _MOMENTUM) / (float(self.C) * units.m * self.reach_**2))
        for i in range(n):
            factors = _clipped(self._errors(linear(blocks, W), y), norms, clip)
            gradient = step * noisy(Secret(rows.total(factors))).astype(np.float64)
            if i == 0:
                # At W = 0 the gradient by the intercepts tells shares of classes, or the mean of
                # targets: start there, as steps towards rare classes would go too far.
                by_constant, noise = gradient[:, -1] / _INTERCEPT, std * step / _INTERCEPT
                W[:, -1] = self._constants(by_constant, noise) / _INTERCEPT
            else:
                velocity = _MOMENTUM * velocity + gradient
                W = W - rate * velocity
                # Afterwards, as a gradient's step would be too long where C is small.
                W[:, :-1] *= kept
            if i >= n // 2:
                averaged += W / (n - n // 2)
        self._set_linear(averaged[:, :-1], averaged[:, -1] * _INTERCEPT)
        self.coef_noise_std_ = rate * step * std * _growth(n, kept)
        self.n_iter_ = n
        self.privacy_ = self._report(spending, units)
        self._warn_of_columns()

    def _check(self) -> None:
        super()._check()
        check_number("C", self.C, *POSITIVE)
        check_number("clip", self.clip, *POSITIVE, optional=True)
        check_number("learning_rate", self.learning_rate, *POSITIVE, optional=True)
        of_steps = "a whole number from 1 up", lambda n: n >= 1, Integral
        check_number("max_iter", self.max_iter, *of_steps, optional=True)


class DescentClassifier(ClassifierMixin, Descent):
    """Classifier fitted by noisy gradients of the logistic loss.

    It has one linear function for two classes, else one for each.
    """

    classes: Any

    def _fit(self, X: Coded, y: Any, units: Units) -> None:
        self.classes_ = public_classes(self.classes, y)
        code, K = class_numbers(y, self.classes_, len(X)), len(self.classes_)
        self._descend(X, code, K if K > 2 else 1, units)

    def _constants(self, gradient: Floats, noise: float) -> Floats:
        """Return the intercepts of a model without columns, by its gradient where all are 0."""
        K = len(self.classes_)
        clipped = min(1.0, self.clip_ / (math.sqrt(1 - 1 / K) * _NORM))
        shares = 1 / K - (gradient if K == 2 else gradient / clipped)
        shares = np.clip(shares, min(2 * noise, 1 / K), 1 - min(2 * noise, 1 / K))
        logits: Floats = np.log(shares) - (np.log1p(-shares) if K == 2 else 0.0)
        return logits

    def _errors(self, values: Floats, targets: NDArray[np.intp]) -> Floats:
        errors = _probabilities(values)
        errors[np.arange(len(values)), targets] -= 1
        errors[targets < 0] = 0
        return errors[:, 1:] if len(self.classes_) == 2 else errors

    def decision_function(self, X: Any) -> Floats:
        """Return the linear function of records, shape (n_samples,) or (n_samples, n_classes)."""
        values = self._linear(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of records."""
        values = self.decision_function(X)
        code = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)
        labels: NDArray[Any] = self.classes_[code]
        return labels

    @ignore_float_errors()
    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of all classes, shape (n_samples, n_classes)."""
        return _probabilities(self._linear(X))


def _probabilities(logits: Floats) -> Floats:
    if logits.shape[1] == 1:
        p = expit(logits)
        return np.column_stack([1 - p, p])
    probabilities: Floats = softmax(logits, axis=1)
    return probabilities


def _growth(n: int, kept: float) -> float:
    """Return the standard deviation in coefficients of noise of 1 in n gradients, at a rate of 1.

    For a flat loss: a convex one damps noise. The first gradient sets the intercept alone.
    """
    velocity = moved = averaged = np.zeros(n)  # by the noise of each gradient
    for i in range(1, n):
        velocity = _MOMENTUM * velocity + (np.arange(n) == i)
        moved = (moved + velocity) * kept
        if i >= n // 2:
            averaged = averaged + moved / (n - n // 2)
    return float(np.linalg.norm(averaged))


def _clipped(errors: Floats, norms: Floats, clip: float) -> Floats:
    """Return e of each record: its gradient e x^T, in units of `clip`, has norm at most 1."""
    lengths = np.sqrt((errors**2).sum(axis=1)) * norms
    scaled: Floats = errors / np.maximum(lengths, clip)[:, None]
    return scaled

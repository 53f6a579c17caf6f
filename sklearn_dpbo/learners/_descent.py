"""Gradient descent with noise (zone: boundary)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from ..privacy.checks import check_number
from ..privacy.float_errors import ignore_float_errors
from ..privacy.gdp import gdp_within
from ._base import COUNT, POSITIVE, PrivateLearner
from ._blocks import Blocks, blocks_of
from ._gradients import INTERCEPT, Logistic, Loss, Objective, probabilities
from ._labels import class_numbers, public_classes
from ._records import Records
from ._rows import Floats, IntegerRows

# The largest step size: with larger ones descents may diverge.
_LARGEST_RATE = 12.0
# Units, and units times mu, for each batch, and the most of them.
_UNITS_OF_BATCH, _MANY_FOR_BATCHES, _MOST_BATCHES = 50_000, 10_000.0, 8
# About the norm of a row, with the column of the intercept.
_NORM = 1.12


@dataclass(frozen=True)
class Course:
    """How a descent goes, by public numbers.

    So many steps, if no number is given, each by one of so many batches in turn; `momentum`: the
    share of the previous step's velocity that a step keeps; and what `C` and the noise in
    coefficients are multiplied by.
    """

    n_steps: float = 60
    momentum: float = 0.9
    n_batches: int = 1
    c_factor: float = 1.0
    noise_factor: float = 1.0


class Descent(PrivateLearner):
    """Model that is linear in blocks of columns, fitted by noisy gradients.

    Subclasses have the parameters C, clip, max_iter and learning_rate.
    """

    C: Any
    clip: Any
    max_iter: Any
    learning_rate: Any
    coef_noise_std_: float

    # If no step size is given: the standard deviation that noise has in a coefficient (of rows of
    # norm 1) after all steps.
    _noise = 3.0
    # The norm to which gradients are clipped, if none is given and noise matters.
    _least_clip = 0.56

    def _draw(self, d: int, m: int) -> Blocks | None:
        """Draw the functions of d columns that the model is linear in; None: it is in rows."""
        return None

    def _course(self, m: int) -> Course:
        """Return how the descent of m units goes."""
        return Course(n_batches=self._n_batches(m))

    def _n_batches(self, m: int) -> int:
        """Return in how many batches m units are divided, which saves time and makes more noise."""
        strength = m * gdp_within(self.epsilon, self.delta)
        enough = min(m // _UNITS_OF_BATCH, int(strength / _MANY_FOR_BATCHES))
        return min(_MOST_BATCHES, max(1, enough))

    def _usual_clip(self, m: int) -> float:
        """Return the norm to which gradients are clipped, if none is given."""
        return self._least_clip * self._wider(m)

    def _loss(self, m: int) -> Loss:
        """Return the loss of labels or targets of m units, once ranges are known."""
        return Logistic()

    def _constants(self, gradient: Floats, noise: float) -> Floats:
        """Return the intercepts to start from, by the gradient where all coefficients are 0."""
        raise NotImplementedError

    def _steepest(self, constants: Floats) -> float:
        """Return the largest step size, where the intercepts are these."""
        return _LARGEST_RATE

    def _descend(self, records: Records, k: int, half: float | None = None) -> None:
        """Fit k linear functions; `half` is as in `_tables`."""
        m, course = records.m, self._course(records.m)
        momentum, sensitivity = course.momentum, IntegerRows.sensitivity
        n = int(self.max_iter or course.n_steps * self._wider(m))
        n_batches = course.n_batches
        tables = self._tables(records, n, sensitivity, "gradients of a model", half, n_batches)
        columns, std = self._scale(records, tables, half), tables.std
        functions = self._draw(self._n_columns, m)
        self.clip_ = clip = float(self.clip or self._usual_clip(m))
        objective = Objective(self._scaling, functions, self._loss(m), n_batches)
        gradients = columns.gradients(objective)
        any_row = blocks_of(np.zeros((1, self._n_columns)), self._scaling, functions)
        W = np.zeros((k, sum(block.shape[1] for block in any_row) + 1))
        velocity, averaged = np.zeros_like(W), np.zeros_like(W)
        step = clip * IntegerRows.step * n_batches / m
        noise_of_steps = math.sqrt(n) * std * step / (1 - momentum)  # in W, at a rate of 1
        rate, kept = 0.0, 1.0
        for i in range(n):
            noisy = tables.release(gradients.at(W, clip, i % n_batches))
            gradient = step * noisy.astype(np.float64)
            if i == 0:
                # At W = 0 the gradient by the intercepts tells shares of classes, or the mean of
                # targets: start there, as steps towards rare classes would go too far.
                by_constant, noise = gradient[:, -1] / INTERCEPT, std * step / INTERCEPT
                constants = self._constants(by_constant, noise)
                W[:, -1] = constants / INTERCEPT
                usual = self._noise * course.noise_factor / noise_of_steps
                rate = float(self.learning_rate or min(self._steepest(constants), usual))
                C = float(self.C) * course.c_factor * self.reach_**2
                kept = 1 / (1 + rate / (1 - momentum) / (C * m))
            else:
                velocity = momentum * velocity + gradient
                W = W - rate * velocity
                # Afterwards, as a gradient's step would be too long where C is small.
                W[:, :-1] *= kept
            if i >= n // 2:
                averaged += W / (n - n // 2)
        self._set_linear(averaged[:, :-1], averaged[:, -1] * INTERCEPT)
        self.coef_noise_std_ = rate * step * std * _growth(n, kept, momentum)
        self.n_iter_ = n
        self.privacy_ = self._report(tables, records)
        self._warn_of_columns()

    def _check(self) -> None:
        super()._check()
        check_number("C", self.C, *POSITIVE)
        check_number("clip", self.clip, *POSITIVE, optional=True)
        check_number("learning_rate", self.learning_rate, *POSITIVE, optional=True)
        check_number("max_iter", self.max_iter, *COUNT, optional=True)


class DescentClassifier(ClassifierMixin, Descent):
    """Classifier fitted by noisy gradients of the logistic loss.

    It has one linear function for two classes, else one for each.
    """

    classes: Any

    def _code_of(self, y: Any) -> partial[NDArray[Any]]:
        self.classes_ = public_classes(self.classes, y)
        return partial(class_numbers, classes=self.classes_)

    def _fit(self, records: Records) -> None:
        K = len(self.classes_)
        self._descend(records, K if K > 2 else 1)

    def _constants(self, gradient: Floats, noise: float) -> Floats:
        """Return the intercepts of a model without columns, by its gradient where all are 0."""
        K = len(self.classes_)
        clipped = min(1.0, self.clip_ / (math.sqrt(1 - 1 / K) * _NORM))
        shares = 1 / K - (gradient if K == 2 else gradient / clipped)
        shares = np.clip(shares, min(2 * noise, 1 / K), 1 - min(2 * noise, 1 / K))
        return np.log(shares) - (np.log1p(-shares) if K == 2 else 0.0)

    def _steepest(self, constants: Floats) -> float:
        """Return the largest step size: larger where more than two classes share the records.

        Where all coefficients are 0, the curvature of the loss, 1/2 for two alike, is at most the
        largest probability, which is the largest share.
        """
        K = len(self.classes_)
        largest = 1 / 2 if K == 2 else float(np.exp(constants).max())
        return _LARGEST_RATE * min(K / 2, max(1.0, 1 / 2 / largest))

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
        return probabilities(self._linear(X))


def _growth(n: int, kept: float, momentum: float) -> float:
    """Return the standard deviation in coefficients of noise of 1 in n gradients, at a rate of 1.

    For a flat loss: a convex one damps noise. The first gradient sets the intercept alone.
    """
    velocity = moved = averaged = np.zeros(n)  # by the noise of each gradient
    for i in range(1, n):
        velocity = momentum * velocity + (np.arange(n) == i)
        moved = (moved + velocity) * kept
        if i >= n // 2:
            averaged = averaged + moved / (n - n // 2)
    return float(np.linalg.norm(averaged))

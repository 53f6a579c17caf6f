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
# Each batch has at least this many units, and this strength (units times mu).
_UNITS_PER_BATCH = 50_000
_STRENGTH_PER_BATCH = 10_000.0
_MOST_BATCHES = 8
# Norm of a long row, with the column of the intercept: about sqrt(1 + INTERCEPT^2).
_NORM = 1.12


@dataclass(frozen=True)
class Course:
    """Settings of a descent, from public numbers.

    `n_steps`: default number of steps, before it is widened; each step takes one of `n_batches` in
    turn. `momentum`: share of the previous step's velocity that a step keeps. `C`, and the noise
    that coefficients may have, are multiplied by `c_factor` and `noise_factor`.
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

    # Standard deviation that noise may have in a coefficient (of rows of norm 1) after all steps;
    # it sets the step size if `learning_rate` is None.
    _coef_noise = 3.0
    # Norm to which gradients are clipped if `clip` is None, before it is widened.
    _least_clip = 0.56

    def _draw(self, d: int, m: int) -> Blocks | None:
        """Draw the functions of d columns in which the model is linear; None: the columns."""
        return None

    def _course(self, m: int) -> Course:
        """Return the settings of the descent on m units."""
        return Course(n_batches=self._n_batches(m))

    def _n_batches(self, m: int) -> int:
        """Return the number of batches of m units: more batches save time and add noise."""
        strength = m * gdp_within(self.epsilon, self.delta)
        possible = min(m // _UNITS_PER_BATCH, int(strength / _STRENGTH_PER_BATCH))
        return min(_MOST_BATCHES, max(1, possible))

    def _usual_clip(self, m: int) -> float:
        """Return the norm to which gradients are clipped if `clip` is None."""
        return self._least_clip * self._widening(m)

    def _loss(self, m: int) -> Loss:
        """Return the loss of m units' labels or targets; called once ranges are set."""
        return Logistic()

    def _constants(self, gradient: Floats, noise: float) -> Floats:
        """Compute the first intercepts from the gradient by them at W = 0, which has this noise."""
        raise NotImplementedError

    def _largest_rate(self, constants: Floats) -> float:
        """Return the largest step size for these intercepts."""
        return _LARGEST_RATE

    def _descend(self, records: Records, k: int, half: float | None = None) -> None:
        """Fit k linear functions; `half` is as in `_tables`."""
        m = records.m
        course = self._course(m)
        momentum = course.momentum
        n_batches = course.n_batches
        n_steps = int(self.max_iter or course.n_steps * self._widening(m))
        tables = self._tables(
            records, n_steps, IntegerRows.sensitivity, "gradients of a model", half, n_batches
        )
        std = tables.std
        columns = self._scale(records, tables, half)
        functions = self._draw(self._n_columns, m)
        self.clip_ = clip = float(self.clip or self._usual_clip(m))
        objective = Objective(self._scaling, functions, self._loss(m), n_batches)
        gradients = columns.gradients(objective)
        any_row = blocks_of(np.zeros((1, self._n_columns)), self._scaling, functions)
        W = np.zeros((k, sum(block.shape[1] for block in any_row) + 1))
        velocity = np.zeros_like(W)
        averaged = np.zeros_like(W)
        step = clip * IntegerRows.step * n_batches / m
        noise_of_steps = math.sqrt(n_steps) * std * step / (1 - momentum)  # in W, at a rate of 1
        rate = 0.0
        shrinkage = 1.0
        for i in range(n_steps):
            noisy = tables.release(gradients.at(W, clip, i % n_batches))
            gradient = step * noisy.astype(np.float64)
            if i == 0:
                # At W = 0 the gradient by the intercepts shows the shares of classes, or the mean
                # of targets. Start there, because steps towards rare classes would go too far.
                constants = self._constants(gradient[:, -1] / INTERCEPT, std * step / INTERCEPT)
                W[:, -1] = constants / INTERCEPT
                usual = self._coef_noise * course.noise_factor / noise_of_steps
                rate = float(self.learning_rate or min(self._largest_rate(constants), usual))
                C = float(self.C) * course.c_factor * self.reach_**2
                shrinkage = 1 / (1 + rate / (1 - momentum) / (C * m))
            else:
                velocity = momentum * velocity + gradient
                W = W - rate * velocity
                # Not a part of the gradient, whose steps would be too long for a small C.
                W[:, :-1] *= shrinkage
            if i >= n_steps // 2:
                averaged += W / (n_steps - n_steps // 2)
        self._set_linear(averaged[:, :-1], averaged[:, -1] * INTERCEPT)
        self.coef_noise_std_ = rate * step * std * _growth(n_steps, shrinkage, momentum)
        self.n_iter_ = n_steps
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

    It has one linear function for two classes, and one per class for more.
    """

    classes: Any

    def _code_of(self, y: Any) -> partial[NDArray[Any]]:
        self.classes_ = public_classes(self.classes, y)
        return partial(class_numbers, classes=self.classes_)

    def _fit(self, records: Records) -> None:
        K = len(self.classes_)
        self._descend(records, K if K > 2 else 1)

    def _constants(self, gradient: Floats, noise: float) -> Floats:
        """Compute the intercepts of a model without columns from the gradient where they are 0."""
        K = len(self.classes_)
        clipped = min(1.0, self.clip_ / (math.sqrt(1 - 1 / K) * _NORM))
        shares = 1 / K - (gradient if K == 2 else gradient / clipped)
        least_share = min(2 * noise, 1 / K)
        shares = np.clip(shares, least_share, 1 - least_share)
        return np.log(shares) - (np.log1p(-shares) if K == 2 else 0.0)

    def _largest_rate(self, constants: Floats) -> float:
        """Return the largest step size, which is larger for more than two classes.

        Where all coefficients are 0, the curvature of the loss is at most the largest share of a
        class; it is 1/2 for two classes of equal shares.
        """
        K = len(self.classes_)
        largest_share = 1 / 2 if K == 2 else float(np.exp(constants).max())
        return _LARGEST_RATE * min(K / 2, max(1.0, 1 / 2 / largest_share))

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


def _growth(n: int, shrinkage: float, momentum: float) -> float:
    """Compute the standard deviation in a coefficient from unit noise in n gradients, at rate 1.

    It is exact for a flat loss; a convex one damps noise. The first gradient sets the intercept
    only.
    """
    velocity = coefficient = averaged = np.zeros(n)  # weights of the noise of each gradient
    for i in range(1, n):
        velocity = momentum * velocity + (np.arange(n) == i)
        coefficient = (coefficient + velocity) * shrinkage
        if i >= n // 2:
            averaged = averaged + coefficient / (n - n // 2)
    return float(np.linalg.norm(averaged))

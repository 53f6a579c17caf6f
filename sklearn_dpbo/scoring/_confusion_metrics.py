"""Metrics as functions of the confusion matrix, as scikit-learn defines them (zone: public).

A confusion matrix C has a row per true class and a column per predicted class. Everything here
takes arrays of shape (..., K, K) with entries that are not negative, and returns an array of shape
(...). Where a metric is a ratio with denominator 0 it is 0, as with ``zero_division=0``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AVERAGES", "METRICS", "Metric", "gradient"]

Floats = NDArray[np.float64]
AVERAGES = ("binary", "macro", "micro", "weighted")
# What is added to each cell before a gradient is taken: no cell is empty then.
_PRIOR = 0.5
_STEP = 1e-3


@dataclass(frozen=True)
class Metric:
    """A metric of one class against the others, averaged over classes, or of the whole matrix.

    Parameters
    ----------
    name : str
        A key of `METRICS`.
    average : {"binary", "macro", "micro", "weighted"} or None, default=None
        How classes are averaged; None for metrics of the whole matrix.
    positive : int, default=1
        Position of the positive class, if average is "binary".
    params : tuple of (str, value), default=()
        Other parameters of the metric.
    """

    name: str
    average: str | None = None
    positive: int = 1
    params: tuple[tuple[str, Any], ...] = ()

    def __call__(self, C: Floats) -> Floats:
        """Return the metric of each confusion matrix."""
        compute, params = METRICS[self.name], dict(self.params)
        if self.average is None:
            found: Floats = compute(C, **params)
            return found
        tp = np.diagonal(C, axis1=-2, axis2=-1)
        fp, fn = C.sum(axis=-2) - tp, C.sum(axis=-1) - tp
        over, under = compute(tp, fp, fn, **params)
        return self._averaged(over, under, tp, fp, fn)

    def _averaged(self, over: Floats, under: Floats, tp: Floats, fp: Floats, fn: Floats) -> Floats:
        """Return the average of the ratios over / under of all classes."""
        if self.average == "micro":
            return _ratio(over.sum(axis=-1), under.sum(axis=-1))
        of_class = _ratio(over, under)
        if self.average == "binary":
            found: Floats = of_class[..., self.positive]
            return found
        # Of the classes that occur, among labels or predictions.
        weight = tp + fn if self.average == "weighted" else 1.0 * (tp + fp + fn > 0)
        return _ratio((weight * of_class).sum(axis=-1), weight.sum(axis=-1))

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value."""
        signed = self.name in ("matthews_corrcoef", "cohen_kappa")
        adjusted = dict(self.params).get("adjusted", False)
        return (-1.0 if signed or adjusted else 0.0, 1.0)


def gradient(metric: Callable[[Floats], Floats], C: Floats) -> Floats:
    """Return the derivatives of a metric by the share of each cell, at a confusion matrix.

    By central differences, with half a record added to each cell, as some metrics have none where
    cells are empty.

    Parameters
    ----------
    metric : callable
        From arrays of shape (..., K, K) to arrays of shape (...).
    C : ndarray of shape (K, K)
        Not negative.
    """
    C = C + _PRIOR
    steps = _STEP * np.eye(C.size).reshape(C.size, *C.shape)
    difference = metric(C + steps) - metric(C - steps)
    found: Floats = (difference / (2 * _STEP) * C.sum()).reshape(C.shape)
    return found


def _ratio(over: Floats, under: Floats) -> Floats:
    """over / under, and 0 where under is not positive."""
    positive = under > 0
    found: Floats = np.where(positive, over / np.where(positive, under, 1.0), 0.0)
    return found


# ------------------------------------------------ of one class: numerator and denominator
def _f(tp: Floats, fp: Floats, fn: Floats, beta: float = 1.0) -> tuple[Floats, Floats]:
    b = beta**2
    return (1 + b) * tp, (1 + b) * tp + b * fn + fp


def _precision(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return tp, tp + fp


def _recall(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return tp, tp + fn


def _jaccard(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return tp, tp + fp + fn


# ------------------------------------------------ of the whole matrix
def _accuracy(C: Floats) -> Floats:
    return _ratio(np.trace(C, axis1=-2, axis2=-1), C.sum(axis=(-2, -1)))


def _recalls(C: Floats) -> tuple[Floats, Floats]:
    """Return the recall of each class, and whether the class occurs."""
    size = C.sum(axis=-1)
    return _ratio(np.diagonal(C, axis1=-2, axis2=-1), size), 1.0 * (size > 0)


def _balanced_accuracy(C: Floats, adjusted: bool = False) -> Floats:
    recalls, present = _recalls(C)
    n_present = present.sum(axis=-1)
    mean = _ratio((present * recalls).sum(axis=-1), n_present)
    if not adjusted:
        return mean
    chance = _ratio(np.ones_like(n_present), n_present)
    return _ratio(mean - chance, 1 - chance)


def _geometric_mean(C: Floats) -> Floats:
    """The geometric mean of the recalls of the classes that occur."""
    recalls, present = _recalls(C)
    with np.errstate(divide="ignore"):
        logs = np.where(present > 0, np.log(recalls), 0.0)
    found: Floats = np.exp(logs.sum(axis=-1) / np.maximum(present.sum(axis=-1), 1))
    return np.where(present.any(axis=-1), found, 0.0)


def _matthews(C: Floats) -> Floats:
    n, true, predicted = C.sum(axis=(-2, -1)), C.sum(axis=-1), C.sum(axis=-2)
    correct = np.trace(C, axis1=-2, axis2=-1)
    covariance = correct * n - (true * predicted).sum(axis=-1)
    variances = (n**2 - (true**2).sum(axis=-1)) * (n**2 - (predicted**2).sum(axis=-1))
    return _ratio(covariance, np.sqrt(np.maximum(variances, 0.0)))


def _kappa(C: Floats, weights: str | None = None) -> Floats:
    places = np.arange(C.shape[-1])
    apart = np.abs(places[:, None] - places)
    w = {None: 1.0 * (apart > 0), "linear": 1.0 * apart, "quadratic": 1.0 * apart**2}[weights]
    n, true, predicted = C.sum(axis=(-2, -1)), C.sum(axis=-1), C.sum(axis=-2)
    expected = _ratio((w * true[..., :, None] * predicted[..., None, :]).sum(axis=(-2, -1)), n)
    observed = (w * C).sum(axis=(-2, -1))
    return np.where(expected > 0, 1 - _ratio(observed, expected), 0.0)


METRICS: dict[str, Callable[..., Any]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "cohen_kappa": _kappa,
    "f": _f,
    "geometric_mean": _geometric_mean,
    "jaccard": _jaccard,
    "matthews_corrcoef": _matthews,
    "precision": _precision,
    "recall": _recall,
}

"""Metrics as functions of the confusion matrix, as scikit-learn defines them (zone: public).

A confusion matrix C has a row per true class and a column per predicted class. Everything here
takes arrays of shape (..., K, K) and returns an array of shape (...). Where a metric is a ratio
with denominator 0 it is 0, as with ``zero_division=0``.

Simulated noisy counts may be negative. If a denominator is then not positive, every value is
possible: with ``end="low"`` or ``"high"`` the metric is its lowest or highest value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AVERAGES", "METRICS", "Metric", "gradient", "ratio"]

Floats = NDArray[np.float64]
AVERAGES = ("binary", "macro", "micro", "weighted")
# What is added to each cell before a gradient is taken: no cell is empty then.
_PRIOR = 0.5
_STEP = 1e-3
# How far beyond 0 and 1 the ratio of a class may lie in a draw before it is cut off: cut off at 1
# exactly, means over classes of perfect predictions would seem to be less.
_SLACK = 0.25


def ratio(
    over: Floats, under: Floats, end: str | None = None, low: float = 0.0, high: float = 1.0
) -> Floats:
    """Return over / under; where under is not positive, 0, or the end of what is possible.

    Parameters
    ----------
    over, under : ndarray of float
        Of the same shape.
    end : {"low", "high"} or None
        Which end is asked for; None for counts that are not negative.
    low, high : float
        What is possible.
    """
    defined = under > 0
    found = over / np.where(defined, under, 1.0)
    if end is None:
        return np.where(defined, found, 0.0)
    return np.where(defined, found, high if end == "high" else np.where(over > 0, high, low))


@dataclass(frozen=True, eq=False)
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

    def __call__(self, C: Floats, end: str | None = None) -> Floats:
        """Return the metric of each confusion matrix.

        Parameters
        ----------
        C : ndarray of shape (..., K, K)
            Not negative, unless an end is asked for.
        end : {"low", "high"} or None, default=None
            Which end of what is possible.
        """
        compute = METRICS[self.name]
        params = dict(self.params)
        if self.average is None:
            found: Floats = compute(C, end, **params)
            return found
        tp = np.diagonal(C, axis1=-2, axis2=-1)
        fp, fn = C.sum(axis=-2) - tp, C.sum(axis=-1) - tp
        over, under = compute(tp, fp, fn, **params)
        if self.average == "binary":
            return ratio(over[..., self.positive], under[..., self.positive], end)
        if self.average == "micro":
            return ratio(over.sum(axis=-1), under.sum(axis=-1), end)
        of_class = ratio(over, under, end)
        if self.average == "weighted":
            size = tp + fn
            return ratio((size * np.clip(of_class, -1, 2)).sum(axis=-1), size.sum(axis=-1), end)
        return _mean(of_class, tp + fp + fn > 0, end)

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


def _mean(of_class: Floats, occurs: NDArray[np.bool_], end: str | None) -> Floats:
    """Return the mean over the classes that occur; in a draw, over all of them."""
    if end is not None:
        mean: Floats = np.clip(of_class, -_SLACK, 1 + _SLACK).mean(axis=-1)
        return mean
    return ratio((occurs * of_class).sum(axis=-1), 1.0 * occurs.sum(axis=-1))


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
def _accuracy(C: Floats, end: str | None) -> Floats:
    return ratio(np.trace(C, axis1=-2, axis2=-1), C.sum(axis=(-2, -1)), end)


def _recalls(C: Floats, end: str | None) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the recall of each class, and whether the class occurs."""
    size = C.sum(axis=-1)
    return ratio(np.diagonal(C, axis1=-2, axis2=-1), size, end), size > 0


def _balanced_accuracy(C: Floats, end: str | None, adjusted: bool = False) -> Floats:
    recalls, occurs = _recalls(C, end)
    mean = _mean(recalls, occurs, end)
    if not adjusted:
        return mean
    n = occurs.sum(axis=-1) if end is None else C.shape[-1]
    chance = 1 / np.maximum(n, 2)
    found: Floats = (mean - chance) / (1 - chance)
    return found


def _geometric_mean(C: Floats, end: str | None) -> Floats:
    """The geometric mean of the recalls of the classes that occur."""
    recalls, occurs = _recalls(C, end)
    if end is not None:
        occurs = np.ones_like(occurs)
    powers = np.clip(recalls, 0, 1 + _SLACK) ** (1 / np.maximum(occurs.sum(axis=-1), 1)[..., None])
    found: Floats = np.where(occurs, powers, 1.0).prod(axis=-1)
    return np.where(occurs.any(axis=-1), found, 0.0)


def _matthews(C: Floats, end: str | None) -> Floats:
    n, true, predicted = C.sum(axis=(-2, -1)), C.sum(axis=-1), C.sum(axis=-2)
    correct = np.trace(C, axis1=-2, axis2=-1)
    a, b = n**2 - (true**2).sum(axis=-1), n**2 - (predicted**2).sum(axis=-1)
    under = np.sqrt(np.where((a > 0) & (b > 0), a * b, 0.0))
    over = np.where(under > 0, correct * n - (true * predicted).sum(axis=-1), 0.0)
    return ratio(over, under, end, low=-1.0)


def _kappa(C: Floats, end: str | None, weights: str | None = None) -> Floats:
    places = np.arange(C.shape[-1])
    apart = np.abs(places[:, None] - places)
    w = {None: 1.0 * (apart > 0), "linear": 1.0 * apart, "quadratic": 1.0 * apart**2}[weights]
    n, true, predicted = C.sum(axis=(-2, -1)), C.sum(axis=-1), C.sum(axis=-2)
    expected = (w * true[..., :, None] * predicted[..., None, :]).sum(axis=(-2, -1))
    return ratio(expected - n * (w * C).sum(axis=(-2, -1)), expected, end, low=-1.0)


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

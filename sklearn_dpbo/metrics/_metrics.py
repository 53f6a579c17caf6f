"""Metrics as functions of released counts, as scikit-learn defines them (zone: public).

A confusion matrix has a row per true class and a column per predicted class, shape (..., K, K). If
there is one more row, it has records of unknown labels: they are predicted wrongly, and means over
classes leave them out. A table of scores has a row of counts for the negative and one for the
positive class, by ascending bin of the score, shape (..., 2, n_bins); labels are assumed to be
mixed evenly within a bin.

Counts are not negative if `undefined` is None, and a ratio with denominator 0 is 0 then, as with
``zero_division=0``. Simulated noisy counts may be negative. If a denominator is then not positive,
every value is possible: the ratio is `undefined`, the lowest or highest one.

`_registry` says what else is known of each metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

Floats = NDArray[np.float64]
# From true positives, false positives and false negatives: numerator and denominator of a ratio.
Parts: TypeAlias = Callable[..., tuple[Floats, Floats]]
AVERAGES = ("macro", "micro", "weighted")
# What is added to each cell before a gradient is taken: no cell is empty then.
_PRIOR, _STEP = 0.5, 1e-3
# How far beyond 0 and 1 the ratio of a class may lie in a draw before it is cut off: cut off at 1
# exactly, means over classes of perfect predictions would seem to be less.
_SLACK = 0.25
# Parts of a bin in which the precision is taken.
_PARTS = 4
# For the order within bins: how often it is drawn, into how many parts of bins in all, and of each
# bin at least; and the least share of a class. Counts are no whole numbers, so that this part of a
# record is drawn at once, which makes the deviation smaller by its root.
_N_ORDERS, _N_PARTS, _FEWEST_PARTS, _LEAST_SHARE, _FINE = 40, 1_000, 16, 1e-6, 64


def ratio(over: Floats, under: Floats, undefined: float | None = None) -> Floats:
    """Return over / under, and `undefined` (or 0) where under is not positive."""
    defined = under > 0
    found = over / np.where(defined, under, 1.0)
    return np.where(defined, found, 0.0 if undefined is None else undefined)


def _or_zero(over: Floats, under: Floats, undefined: float | None = None) -> Floats:
    """Return the ratio, and 0 for 0 / 0: in an average, a class that is not predicted has 0."""
    return np.where((over == 0) & (under == 0), 0.0, ratio(over, under, undefined))


# ------------------------------------------------ of one class: numerator and denominator
def f_measure(tp: Floats, fp: Floats, fn: Floats, beta: float = 1.0) -> tuple[Floats, Floats]:
    b = beta**2
    return (1 + b) * tp, (1 + b) * tp + b * fn + fp


def jaccard(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return tp, tp + fp + fn


def precision(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return tp, tp + fp


def recall(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return tp, tp + fn


def class_metric(
    parts: Parts,
    tp: Floats,
    fp: Floats,
    fn: Floats,
    undefined: float | None = None,
    least: float = 0.0,
    **params: Any,
) -> Floats:
    """Return the metric of each class against the others; no denominator is below `least`."""
    over, under = parts(tp, fp, fn, **params)
    return _or_zero(over, np.maximum(under, least) if least else under, undefined)


# ------------------------------------------------ of the whole matrix
def _mean(of_class: Floats, occurs: NDArray[np.bool_], undefined: float | None) -> Floats:
    """Return the mean over the classes that occur; in a draw, over all of them."""
    if undefined is not None:
        mean: Floats = np.clip(of_class, -_SLACK, 1 + _SLACK).mean(axis=-1)
        return mean
    return ratio((occurs * of_class).sum(axis=-1), 1.0 * occurs.sum(axis=-1))


def accuracy(C: Floats, undefined: float | None) -> Floats:
    return ratio(np.trace(C, axis1=-2, axis2=-1), C.sum(axis=(-2, -1)), undefined)


def balanced_accuracy(C: Floats, undefined: float | None) -> Floats:
    size = C.sum(axis=-1)[..., : C.shape[-1]]
    recalls = ratio(np.diagonal(C, axis1=-2, axis2=-1), size, undefined)
    return _mean(recalls, size > 0, undefined)


def informedness(C: Floats, undefined: float | None) -> Floats:
    """Balanced accuracy, on a scale from 0 for chance to 1: of two classes, Youden's J."""
    K: Any = C.shape[-1]
    if undefined is None:
        K = (C.sum(axis=-1)[..., :K] > 0).sum(axis=-1)
    recall = undefined if undefined is None else max(undefined, 0.0)
    return ratio(K * balanced_accuracy(C, recall) - 1, K - 1, undefined)


def matthews(C: Floats, undefined: float | None) -> Floats:
    n, true, predicted = C.sum(axis=(-2, -1)), C.sum(axis=-1), C.sum(axis=-2)
    a, b = n**2 - (true**2).sum(axis=-1), n**2 - (predicted**2).sum(axis=-1)
    under = np.sqrt(np.where((a > 0) & (b > 0), a * b, 0.0))
    true = true[..., : C.shape[-1]]
    over = np.trace(C, axis1=-2, axis2=-1) * n - (true * predicted).sum(axis=-1)
    return _or_zero(over, under, undefined)


def disagreement(K: int, weights: str | None = None) -> Floats:
    """Return how much kappa counts each prediction (column) of a class (row), shape (K, K)."""
    distance = np.abs(np.arange(K)[:, None] - np.arange(K))
    w: Floats = 1.0 * {None: distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    return w


def kappa(C: Floats, undefined: float | None, weights: str | None = None) -> Floats:
    w = disagreement(C.shape[-2], weights)[:, : C.shape[-1]]
    n, true, predicted = C.sum(axis=(-2, -1)), C.sum(axis=-1), C.sum(axis=-2)
    expected = (w * true[..., :, None] * predicted[..., None, :]).sum(axis=(-2, -1))
    return ratio(expected - n * (w * C).sum(axis=(-2, -1)), expected, undefined)


def of_classes(
    parts: Parts, average: str, C: Floats, undefined: float | None, positive: int = 1, **params: Any
) -> Floats:
    """Return an average over classes of a metric of one of them, or that of the positive class."""
    tp = np.diagonal(C, axis1=-2, axis2=-1)
    n, size = C.sum(axis=(-2, -1)), C.sum(axis=-1)[..., : C.shape[-1]]
    fp, fn = C.sum(axis=-2) - tp, size - tp
    if average == "micro":
        right = tp.sum(axis=-1)
        return ratio(*parts(right, n - right, n - right, **params), undefined)
    if not average:
        tp, fp, fn = (each[..., positive] for each in (tp, fp, fn))
        return ratio(*parts(tp, fp, fn, **params), undefined)
    of_class = class_metric(parts, tp, fp, fn, undefined, **params)
    if average == "macro":
        return _mean(of_class, tp + fp + fn > 0, undefined)
    return ratio((size * np.clip(of_class, -1, 2)).sum(axis=-1), n, undefined)


def gradient(metric: Callable[[Floats], Floats], C: Floats) -> Floats:
    """Return the derivatives of a metric by the share of each cell, at a matrix (K, K).

    By central differences, with half a record added to each cell, as some metrics have none where
    cells are empty.
    """
    C = C + _PRIOR
    steps = _STEP * np.eye(C.size).reshape(C.size, *C.shape)
    difference = metric(C + steps) - metric(C - steps)
    found: Floats = (difference / (2 * _STEP) * C.sum()).reshape(C.shape)
    return found


# ------------------------------------------------ of tables of scores
def roc_auc(table: Floats, undefined: float | None = None) -> Floats:
    """Return the area under the ROC curve, with pairs in the same bin counted half."""
    negative, positive = table[..., 0, :], table[..., 1, :]
    n, p = negative.sum(axis=-1), positive.sum(axis=-1)
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = np.where((n > 0) & (p > 0), n * p, 0.0)
    return ratio((positive * below).sum(axis=-1), pairs, undefined)


def average_precision(
    table: Floats, undefined: float | None = None, tied: bool = False, record: float = 0.0
) -> Floats:
    """Return the mean precision over positive records, each of which weighs `record`.

    All of a bin have one score if `tied`; or else its classes are evenly spread over it.
    """
    table = np.ascontiguousarray(table[..., ::-1])  # by descending score
    positive, both = table[..., 1, :], table.sum(axis=-2)
    tp, above = (np.cumsum(n, axis=-1) - n for n in (positive, both))
    total = np.zeros(both.shape)
    parts = np.ones(1) if tied else (np.arange(_PARTS) + 0.5) / _PARTS
    for part in parts:  # in place, as there are thousands of simulated tables
        itself = (1 - part) * record
        under = above + (part * both + itself)
        precision = tp + (part * positive + itself)
        precision[under <= 0] = 0.5
        under[under <= 0] = 1.0
        precision /= under
        total += np.clip(precision, 0, 1, out=precision)
    found = (positive * total).sum(axis=-1) / len(parts)
    return ratio(found, positive.sum(axis=-1), undefined)


def hidden_order(
    area: Callable[[Floats], Floats], table: Floats, known: float
) -> tuple[float, float]:
    """Return how much an area exceeds the one known of bins by the order within, and what it may.

    `table`, of shape (2, n_bins), counts records. The share of positive ones is taken as rising,
    and linear between the middles of neighbouring bins, and records as spread at random over parts
    of their bin, as this share says. The second number is how far off the first may be: its size,
    and three standard deviations.
    """
    if not (table.sum(axis=1) > 0).all():
        return 0.0, 0.0
    grown = area(_orders(tuple(map(tuple, table.tolist())))) - known
    shift = float(np.mean(grown))
    return shift, abs(shift) + 3 * math.sqrt(_FINE) * float(np.std(grown))


@lru_cache(maxsize=8)  # areas under several curves, and their intervals, need the same
def _orders(rows: tuple[tuple[float, ...], ...]) -> Floats:
    """Return tables of parts of bins, shape (_N_ORDERS, 2, -1), as `hidden_order` says."""
    table = np.array(rows)
    size, n_parts = table.sum(axis=0), max(_FEWEST_PARTS, _N_PARTS // table.shape[-1])
    start, some = np.cumsum(size) - size, size > 0
    places = start[:, None] + size[:, None] * (np.arange(n_parts) + 0.5) / n_parts
    middle, share = (start + size / 2)[some], monotone(table)[1, some] / size[some]
    positive = np.clip(np.interp(places, middle, share), _LEAST_SHARE, 1 - _LEAST_SHARE)
    rng, shape = np.random.default_rng(0), (_N_ORDERS, table.shape[-1])
    cells = [
        rng.multinomial(np.rint(_FINE * n).astype(int), of / of.sum(axis=1, keepdims=True), shape)
        for n, of in zip(table, (1 - positive, positive), strict=True)
    ]
    parts: Floats = np.stack(cells, axis=1).reshape(_N_ORDERS, 2, -1) / _FINE
    parts.setflags(write=False)
    return parts


def monotone(table: Floats) -> Floats:
    """Return the table (2, n_bins) in which the share of positive records rises with the score.

    Each bin keeps its size. No count is negative.
    """
    negative, positive = table
    size = np.maximum(negative + positive, 1e-9)
    share = isotonic_regression(positive / size, sample_weight=size, y_min=0.0, y_max=1.0)
    return np.stack([(1 - share) * size, share * size])

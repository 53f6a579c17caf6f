"""Metrics as functions of released counts, as scikit-learn defines them (zone: public).

A confusion matrix C has a row per true class and a column per predicted class, shape (..., K, K).
An additional last row has the records of unknown labels: their predictions are wrong, and means
over classes leave them out. A table of scores has a row of counts for the negative and one for the
positive class, by ascending bin of the score, shape (..., 2, n_bins); labels are assumed to be
mixed evenly within a bin.

If `undefined` is None, no count is negative, and a ratio with denominator 0 is 0, as with
``zero_division=0``. Otherwise counts are simulated, and may be negative. Where a denominator is
then not positive, every value is possible, and the ratio is `undefined`: the metric's lowest or
highest value.

`_registry` has an entry for each metric.
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
# Returns numerator and denominator of a ratio, from a class's true positives, false positives and
# false negatives.
Parts: TypeAlias = Callable[..., tuple[Floats, Floats]]
AVERAGES = ("macro", "micro", "weighted")
# Records added to each cell before a gradient is taken, so that no cell is empty, and the step of
# its difference quotients.
_PRIOR = 0.5
_STEP = 1e-3
# In simulations, the ratio of a class is clipped to [-_SLACK, 1 + _SLACK]: clipped to [0, 1], means
# over classes would be too low for perfect predictions.
_SLACK = 0.25
# Points within a bin at which the precision is computed.
_PARTS = 4
# Simulation of the order within bins: number of draws, parts of all bins together, fewest parts of
# a bin, and least share of a class in a part.
_N_ORDERS = 40
_N_PARTS = 1_000
_FEWEST_PARTS = 16
_LEAST_SHARE = 1e-6
# Counts are fractional. So each record is drawn as this many pieces, and the standard deviation is
# multiplied by the square root.
_FINE = 64


def ratio(numerator: Floats, denominator: Floats, undefined: float | None = None) -> Floats:
    """Divide; return `undefined` (0 if None) where the denominator is not positive."""
    defined = denominator > 0
    quotient = numerator / np.where(defined, denominator, 1.0)
    return np.where(defined, quotient, 0.0 if undefined is None else undefined)


def _or_zero(numerator: Floats, denominator: Floats, undefined: float | None = None) -> Floats:
    """Divide as `ratio`, but return 0 for 0 / 0: in averages, so does a class never predicted."""
    both_zero = (numerator == 0) & (denominator == 0)
    return np.where(both_zero, 0.0, ratio(numerator, denominator, undefined))


# ------------------------------------------------ metrics of one class: numerator and denominator
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
    """Compute the metric of each class against the others; no denominator is below `least`."""
    numerator, denominator = parts(tp, fp, fn, **params)
    if least:
        denominator = np.maximum(denominator, least)
    return _or_zero(numerator, denominator, undefined)


# ------------------------------------------------ metrics of the whole matrix
def _mean(by_class: Floats, occurs: NDArray[np.bool_], undefined: float | None) -> Floats:
    """Average over the classes that occur; in a simulation, over all classes."""
    if undefined is not None:
        mean: Floats = np.clip(by_class, -_SLACK, 1 + _SLACK).mean(axis=-1)
        return mean
    return ratio((occurs * by_class).sum(axis=-1), 1.0 * occurs.sum(axis=-1))


def accuracy(C: Floats, undefined: float | None) -> Floats:
    return ratio(np.trace(C, axis1=-2, axis2=-1), C.sum(axis=(-2, -1)), undefined)


def balanced_accuracy(C: Floats, undefined: float | None) -> Floats:
    class_sizes = C.sum(axis=-1)[..., : C.shape[-1]]
    recalls = ratio(np.diagonal(C, axis1=-2, axis2=-1), class_sizes, undefined)
    return _mean(recalls, class_sizes > 0, undefined)


def informedness(C: Floats, undefined: float | None) -> Floats:
    """Scale balanced accuracy to 0 for chance and 1 for perfect; Youden's J for two classes."""
    K: Any = C.shape[-1]
    if undefined is None:
        K = (C.sum(axis=-1)[..., :K] > 0).sum(axis=-1)
    recall = undefined if undefined is None else max(undefined, 0.0)
    return ratio(K * balanced_accuracy(C, recall) - 1, K - 1, undefined)


def matthews(C: Floats, undefined: float | None) -> Floats:
    n = C.sum(axis=(-2, -1))
    true = C.sum(axis=-1)
    predicted = C.sum(axis=-2)
    true_spread = n**2 - (true**2).sum(axis=-1)
    predicted_spread = n**2 - (predicted**2).sum(axis=-1)
    both_positive = (true_spread > 0) & (predicted_spread > 0)
    denominator = np.sqrt(np.where(both_positive, true_spread * predicted_spread, 0.0))
    true = true[..., : C.shape[-1]]
    numerator = np.trace(C, axis1=-2, axis2=-1) * n - (true * predicted).sum(axis=-1)
    return _or_zero(numerator, denominator, undefined)


def disagreement(K: int, weights: str | None = None) -> Floats:
    """Weights of kappa for each true (row) and predicted class (column), shape (K, K)."""
    distance = np.abs(np.arange(K)[:, None] - np.arange(K))
    w: Floats = 1.0 * {None: distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    return w


def kappa(C: Floats, undefined: float | None, weights: str | None = None) -> Floats:
    w = disagreement(C.shape[-2], weights)[:, : C.shape[-1]]
    n = C.sum(axis=(-2, -1))
    true = C.sum(axis=-1)
    predicted = C.sum(axis=-2)
    expected = (w * true[..., :, None] * predicted[..., None, :]).sum(axis=(-2, -1))
    return ratio(expected - n * (w * C).sum(axis=(-2, -1)), expected, undefined)


def of_classes(
    parts: Parts, average: str, C: Floats, undefined: float | None, positive: int = 1, **params: Any
) -> Floats:
    """Average a metric over classes; if `average` is "", return that of the positive class."""
    tp = np.diagonal(C, axis1=-2, axis2=-1)
    n = C.sum(axis=(-2, -1))
    class_sizes = C.sum(axis=-1)[..., : C.shape[-1]]
    fp = C.sum(axis=-2) - tp
    fn = class_sizes - tp
    if average == "micro":
        n_correct = tp.sum(axis=-1)
        return ratio(*parts(n_correct, n - n_correct, n - n_correct, **params), undefined)
    if not average:
        tp, fp, fn = (counts[..., positive] for counts in (tp, fp, fn))
        return ratio(*parts(tp, fp, fn, **params), undefined)
    by_class = class_metric(parts, tp, fp, fn, undefined, **params)
    if average == "macro":
        return _mean(by_class, tp + fp + fn > 0, undefined)
    return ratio((class_sizes * np.clip(by_class, -1, 2)).sum(axis=-1), n, undefined)


def gradient(metric: Callable[[Floats], Floats], C: Floats) -> Floats:
    """Differentiate a metric by the share of each cell of a matrix, shape (K, K).

    Uses central differences. Half a record is added to each cell first, as some metrics cannot be
    differentiated where cells are empty.
    """
    C = C + _PRIOR
    steps = _STEP * np.eye(C.size).reshape(C.size, *C.shape)
    difference = metric(C + steps) - metric(C - steps)
    slopes: Floats = (difference / (2 * _STEP) * C.sum()).reshape(C.shape)
    return slopes


# ------------------------------------------------ metrics of tables of scores
def roc_auc(table: Floats, undefined: float | None = None) -> Floats:
    """Area under the ROC curve, with pairs in the same bin counted half."""
    negative = table[..., 0, :]
    positive = table[..., 1, :]
    n_negative = negative.sum(axis=-1)
    n_positive = positive.sum(axis=-1)
    beaten = np.cumsum(negative, axis=-1) - negative / 2
    both_occur = (n_negative > 0) & (n_positive > 0)
    n_pairs = np.where(both_occur, n_negative * n_positive, 0.0)
    return ratio((positive * beaten).sum(axis=-1), n_pairs, undefined)


def average_precision(
    table: Floats, undefined: float | None = None, tied: bool = False, record: float = 0.0
) -> Floats:
    """Average the precision over positive records, each of which weighs `record`.

    If `tied`, all records of a bin have the same score; otherwise both classes are spread evenly
    over it.
    """
    table = np.ascontiguousarray(table[..., ::-1])  # by descending score
    positive = table[..., 1, :]
    both = table.sum(axis=-2)
    tp, above = (np.cumsum(counts, axis=-1) - counts for counts in (positive, both))
    total = np.zeros(both.shape)
    parts = np.ones(1) if tied else (np.arange(_PARTS) + 0.5) / _PARTS
    for part in parts:  # in place, as there are thousands of simulated tables
        itself = (1 - part) * record
        n_predicted = above + (part * both + itself)
        precision = tp + (part * positive + itself)
        precision[n_predicted <= 0] = 0.5
        n_predicted[n_predicted <= 0] = 1.0
        precision /= n_predicted
        total += np.clip(precision, 0, 1, out=precision)
    precisions = (positive * total).sum(axis=-1) / len(parts)
    return ratio(precisions, positive.sum(axis=-1), undefined)


def hidden_order(
    area: Callable[[Floats], Floats], table: Floats, binned_area: float
) -> tuple[float, float]:
    """Estimate what the order within bins adds to `binned_area`, and bound the error of that.

    `table`, shape (2, n_bins), counts records. Their order is simulated: the share of positive
    records rises with the score, and is linear between the middles of neighbouring bins; records
    are placed at random within their bin, by this share. The bound of the error is the size of the
    estimate plus three standard deviations.
    """
    if not (table.sum(axis=1) > 0).all():
        return 0.0, 0.0
    added = area(_orders(tuple(map(tuple, table.tolist())))) - binned_area
    shift = float(np.mean(added))
    return shift, abs(shift) + 3 * math.sqrt(_FINE) * float(np.std(added))


@lru_cache(maxsize=8)  # areas under several curves, and their intervals, need the same
def _orders(rows: tuple[tuple[float, ...], ...]) -> Floats:
    """Simulate the order within bins: tables of parts of bins, shape (_N_ORDERS, 2, n_parts)."""
    table = np.array(rows)
    n_bins = table.shape[-1]
    n_parts = max(_FEWEST_PARTS, _N_PARTS // n_bins)
    sizes = table.sum(axis=0)
    starts = np.cumsum(sizes) - sizes
    occupied = sizes > 0
    places = starts[:, None] + sizes[:, None] * (np.arange(n_parts) + 0.5) / n_parts
    middles = (starts + sizes / 2)[occupied]
    shares = monotone(table)[1, occupied] / sizes[occupied]
    positive = np.clip(np.interp(places, middles, shares), _LEAST_SHARE, 1 - _LEAST_SHARE)
    rng = np.random.default_rng(0)
    cells = []
    for counts, share in zip(table, (1 - positive, positive), strict=True):
        pieces = np.rint(_FINE * counts).astype(int)
        probabilities = share / share.sum(axis=1, keepdims=True)
        cells.append(rng.multinomial(pieces, probabilities, (_N_ORDERS, n_bins)))
    orders: Floats = np.stack(cells, axis=1).reshape(_N_ORDERS, 2, -1) / _FINE
    orders.setflags(write=False)
    return orders


def monotone(table: Floats) -> Floats:
    """Smooth a table, shape (2, n_bins): the share of positive records rises with the score.

    Each bin keeps its size. No count is negative.
    """
    negative, positive = table
    sizes = np.maximum(negative + positive, 1e-9)
    share = isotonic_regression(positive / sizes, sample_weight=sizes, y_min=0.0, y_max=1.0)
    return np.stack([(1 - share) * sizes, share * sizes])

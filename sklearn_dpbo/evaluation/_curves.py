"""Curves from histograms of scores (zone: public).

A table has a row of counts for the negative and one for the positive class, by ascending bin of the
score; everything here takes arrays of shape (..., 2, n_bins) with entries that are not negative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "brier_score",
    "calibration",
    "calibration_groups",
    "moments_of",
    "precision_at",
    "precision_recall",
    "roc",
    "tpr_at",
]

Floats = NDArray[np.float64]


def roc(table: Floats) -> tuple[Floats, Floats]:
    """Return false and true positive rates, shape (..., n_bins + 1), by falling threshold."""
    fp, tp = _from_above(table)
    return _share(fp), _share(tp)


def precision_recall(table: Floats) -> tuple[Floats, Floats]:
    """Return precision and recall, shape (..., n_bins + 1), by rising threshold.

    The precision is 1 where nothing is predicted positive.
    """
    fp, tp = (each[..., ::-1] for each in _from_above(table))
    both = fp + tp
    precision = np.where(both > 0, tp / np.where(both > 0, both, 1), 1.0)
    total = tp[..., :1]
    recall: Floats = tp / np.where(total > 0, total, 1)
    return precision, recall


def tpr_at(table: Floats, fpr: Floats) -> Floats:
    """Return the true positive rate at each false positive rate, for tables (n, 2, n_bins)."""
    return np.array([np.interp(fpr, *curve) for curve in zip(*roc(table), strict=True)])


def precision_at(table: Floats, recall: Floats) -> Floats:
    """Return the precision at each recall, for tables (n, 2, n_bins)."""
    precision, found = precision_recall(table)
    curves = zip(found[:, ::-1], precision[:, ::-1], strict=True)
    return np.array([np.interp(recall, *curve) for curve in curves])


def moments_of(scores: Floats, edges: tuple[float, ...]) -> Floats:
    """Return the mean and the mean square of (public) probabilities in each bin, shape (2, n_bins).

    Where there are none, those of even spread.
    """
    ends = np.concatenate([[0.0], np.clip(edges, 0, 1), [1.0]])
    low, high = ends[:-1], ends[1:]
    scores = scores[np.isfinite(scores)]
    place, n_bins = np.searchsorted(edges, scores, side="right"), len(edges) + 1
    n = np.bincount(place, minlength=n_bins)
    sums = np.stack([np.bincount(place, scores**k, n_bins) for k in (1, 2)])
    evenly = np.stack([(low + high) / 2, (low**2 + low * high + high**2) / 3])
    found: Floats = np.where(n > 0, sums / np.maximum(n, 1), evenly)
    return found


def brier_score(table: Floats, moments: Floats) -> Floats:
    """Return the mean square of probability minus label."""
    mean, square = moments
    losses = np.stack([square, 1 - 2 * mean + square])
    total = table.sum(axis=(-2, -1))
    found: Floats = (table * losses).sum(axis=(-2, -1)) / np.where(total > 0, total, 1)
    return found


def calibration_groups(table: Floats, n_groups: int) -> NDArray[np.intp]:
    """Return a number for each bin, such that groups of about as many records have the same."""
    n = table.sum(axis=-2)
    total = max(n.sum(), 1)
    middle = np.cumsum(n) - n / 2
    number = np.minimum(n_groups * middle / total, n_groups - 1).astype(int)
    found: NDArray[np.intp] = np.unique(number, return_inverse=True)[1]
    return found


def calibration(table: Floats, mean: Floats, groups: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the share of positives and the mean probability of each group of bins."""
    member = groups[:, None] == np.arange(groups.max() + 1)
    positive, n = table[..., 1, :] @ member, table.sum(axis=-2) @ member
    filled = np.where(n > 0, n, 1)
    return positive / filled, ((table.sum(axis=-2) * mean) @ member) / filled


def _from_above(table: Floats) -> tuple[Floats, Floats]:
    """Return how many negative and positive records lie above each edge, from none to all."""
    n = np.cumsum(table[..., ::-1], axis=-1)
    n = np.concatenate([np.zeros_like(n[..., :1]), n], axis=-1)
    return n[..., 0, :], n[..., 1, :]


def _share(n: Floats) -> Floats:
    total = n[..., -1:]
    found: Floats = n / np.where(total > 0, total, 1)
    return np.where(total > 0, found, np.linspace(0, 1, n.shape[-1]))

"""Curves and areas from histograms of scores (zone: public).

A table has a row of counts for the negative and one for the positive class, by ascending bin of
the score; everything here takes arrays of shape (..., 2, n_bins) with entries that are not negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["average_precision", "not_negative", "roc_auc"]

Floats = NDArray[np.float64]


def not_negative(counts: NDArray[Any]) -> Floats:
    """Return the nearest counts that are not negative and have the same sum, along the last axis.

    Setting negative ones to 0 would add to the sum what noise took from them.
    """
    z = np.asarray(counts, dtype=float)
    total = np.maximum(z.sum(axis=-1, keepdims=True), 0)
    largest = -np.sort(-z, axis=-1)
    # Taking t_k off all makes the k largest add up to the total; with the right k they stay above 0.
    t = (np.cumsum(largest, axis=-1) - total) / np.arange(1, z.shape[-1] + 1)
    k = np.maximum((largest > t).sum(axis=-1, keepdims=True), 1)
    found: Floats = np.maximum(z - np.take_along_axis(t, k - 1, axis=-1), 0)
    return np.where(total > 0, found, 0.0)


def roc_auc(table: NDArray[Any]) -> Floats:
    """Return the area under the ROC curve, with pairs in the same bin counted half; 1/2 if none."""
    negative, positive = table[..., 0, :].astype(float), table[..., 1, :].astype(float)
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = negative.sum(axis=-1) * positive.sum(axis=-1)
    found: Floats = (positive * below).sum(axis=-1) / np.where(pairs > 0, pairs, 1)
    return np.where(pairs > 0, found, 0.5)


def average_precision(table: NDArray[Any]) -> Floats:
    """Return the mean precision over positives, each in the middle of its bin."""
    table = table[..., ::-1].astype(float)
    negative, positive = table[..., 0, :], table[..., 1, :]
    tp = np.cumsum(positive, axis=-1) - positive / 2
    both = tp + np.cumsum(negative, axis=-1) - negative / 2
    precision = tp / np.where(both > 0, both, 1)
    total = positive.sum(axis=-1)
    found: Floats = (positive * precision).sum(axis=-1) / np.where(total > 0, total, 1)
    return found

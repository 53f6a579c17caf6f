"""Curves and areas from histograms of scores (zone: public).

A table has a row of counts for the negative and one for the positive class, by ascending bin of
the score; everything here takes arrays of shape (..., 2, n_bins). Estimates take counts that are
not negative; intervals take them as the noise has left them. `undefined` is the value where there
is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["average_precision", "roc_auc"]

Floats = NDArray[np.float64]


def roc_auc(table: NDArray[Any], undefined: float = 0.5) -> Floats:
    """Return the area under the ROC curve, with pairs in the same bin counted half."""
    negative, positive = table[..., 0, :].astype(float), table[..., 1, :].astype(float)
    below = np.cumsum(negative, axis=-1) - negative / 2
    N, P = negative.sum(axis=-1), positive.sum(axis=-1)
    defined = (N > 0) & (P > 0)
    found: Floats = (positive * below).sum(axis=-1) / np.where(defined, N * P, 1)
    return np.where(defined, found, undefined)


def average_precision(table: NDArray[Any], undefined: float = 0.0) -> Floats:
    """Return the mean precision over positives, each in the middle of its bin."""
    table = table[..., ::-1].astype(float)
    negative, positive = table[..., 0, :], table[..., 1, :]
    tp = np.cumsum(positive, axis=-1) - positive / 2
    both = tp + np.cumsum(negative, axis=-1) - negative / 2
    # Of counts with noise, which may be negative, no precision follows at some edges.
    precision = np.where(both > 0, np.clip(tp / np.where(both > 0, both, 1), 0, 1), undefined)
    total = positive.sum(axis=-1)
    found: Floats = (positive * precision).sum(axis=-1) / np.where(total > 0, total, 1)
    return np.where(total > 0, found, undefined)

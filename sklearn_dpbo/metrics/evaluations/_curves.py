"""Numbers and curves from histograms of scores (zone: public).

A table has a row of counts for the negative and one for the positive class, by ascending bin of the
score, shape (..., 2, n_bins); they add up to the number of records. Estimates take counts that are
not negative; intervals take them as the noise has left them, since clipped ones vary too little.
`undefined` is the value of 0 / 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._metrics import ratio

Floats = NDArray[np.float64]


def roc(table: Floats) -> tuple[Floats, Floats]:
    """Return false and true positive rates, shape (..., n_bins + 1), by falling threshold."""
    fp, tp = from_above(table)
    return _rising_share(fp), _rising_share(tp)


def precision_recall(table: Floats, undefined: float = 1.0) -> tuple[Floats, Floats]:
    """Return precision and recall, shape (..., n_bins + 1), by rising threshold."""
    fp, tp = from_above(table)
    precision = np.clip(ratio(tp, fp + tp, undefined), 0, 1)
    return precision[..., ::-1], _rising_share(tp)[..., ::-1]


def tpr_at(table: Floats, fpr: Floats) -> Floats:
    """Return the true positive rate at each false positive rate, for tables (n, 2, n_bins)."""
    return _interpolated(fpr, *roc(table))


def precision_at(table: Floats, recall: Floats, undefined: float) -> Floats:
    """Return the precision at each recall, for tables (n, 2, n_bins)."""
    precision, found = precision_recall(table, undefined)
    return _interpolated(recall, found[:, ::-1], precision[:, ::-1])


def moments_of(scores: Floats, edges: tuple[float, ...], separate: bool) -> Floats:
    """Return the mean of (public) probabilities in each bin, their mean square, and both ends.

    Shape (4, n_bins). Where there are none, the moments of even spread. If scores have bins of
    their own, the mean is both ends.
    """
    ends = np.concatenate([[0.0], np.clip(edges, 0, 1), [1.0]])
    low, high = ends[:-1], ends[1:]
    scores = scores[np.isfinite(scores)]
    place, n_bins = np.searchsorted(edges, scores, side="right"), len(edges) + 1
    n = np.bincount(place, minlength=n_bins)
    sums = np.stack([np.bincount(place, scores**k, n_bins) for k in (1, 2)])
    evenly = np.stack([(low + high) / 2, (low**2 + low * high + high**2) / 3])
    moments = np.where(n > 0, sums / np.maximum(n, 1), evenly)
    return np.stack([*moments, *((moments[0],) * 2 if separate else (low, high))])


def brier_score(table: Floats, moments: Floats, end: float | None = None) -> Floats:
    """Return the mean square of probability minus label.

    If `end` is a number, probabilities lie at the end of their bins that makes the score the
    lowest, for 0, or the highest.
    """
    mean, square, low, high = moments
    losses = np.stack([square, 1 - 2 * mean + square])
    if end is not None:
        near, far = (low, high) if end == 0 else (high, low)
        losses = np.stack([near**2, (1 - far) ** 2])
    return ratio((table * losses).sum(axis=(-2, -1)), table.sum(axis=(-2, -1)), end)


def prevalence(table: Floats, undefined: float | None = None) -> Floats:
    """Return the share of positive records."""
    return ratio(table[..., 1, :].sum(axis=-1), table.sum(axis=(-2, -1)), undefined)


def share_predicted(matrix: Floats, k: int, undefined: float | None = None) -> Floats:
    """Return the share of records that are predicted to be of class k."""
    return ratio(matrix[..., k].sum(axis=-1), matrix.sum(axis=(-2, -1)), undefined)


def calibration_groups(table: Floats, n_groups: int) -> NDArray[np.intp]:
    """Return a number for each bin, such that groups of about as many records have the same."""
    n = table.sum(axis=-2)
    total = max(n.sum(), 1)
    middle = np.cumsum(n) - n / 2
    number = np.minimum(n_groups * middle / total, n_groups - 1).astype(int)
    found: NDArray[np.intp] = np.unique(number, return_inverse=True)[1]
    return found


def calibration(
    table: Floats, mean: Floats, groups: NDArray[np.intp], undefined: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the share of positives and the mean probability of each group of bins."""
    member = groups[:, None] == np.arange(groups.max() + 1)
    both = table.sum(axis=-2)
    prob_true = ratio(table[..., 1, :] @ member, both @ member, undefined)
    return np.clip(prob_true, 0, 1), ratio((both * mean) @ member, both @ member, undefined)


def _interpolated(x: Floats, xs: Floats, ys: Floats) -> Floats:
    return np.array([np.interp(x, *curve) for curve in zip(xs, ys, strict=True)])


def from_above(table: Floats) -> tuple[Floats, Floats]:
    """Return how many negative and positive records lie above each edge, from none to all."""
    n = np.cumsum(table[..., ::-1], axis=-1)
    n = np.concatenate([np.zeros_like(n[..., :1]), n], axis=-1)
    return n[..., 0, :], n[..., 1, :]


def _rising_share(n: Floats) -> Floats:
    """Return n as a share of its last entry, never falling."""
    total, evenly = n[..., -1:], np.linspace(0, 1, n.shape[-1])
    share = np.where(total > 0, n / np.where(total > 0, total, 1), evenly)
    return np.clip(np.maximum.accumulate(share, axis=-1), 0, 1)

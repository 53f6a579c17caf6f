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
    precisions, recalls = precision_recall(table, undefined)
    return _interpolated(recall, recalls[:, ::-1], precisions[:, ::-1])


def moments_of(scores: Floats, edges: tuple[float, ...], separate: bool) -> Floats:
    """Summarise public probabilities by bin: mean, mean square, lowest and highest.

    The result has shape (4, n_bins). Moments of an empty bin are those of evenly spread
    probabilities. If each score has a bin of its own (`separate`), lowest and highest are the mean.
    """
    ends = np.concatenate([[0.0], np.clip(edges, 0, 1), [1.0]])
    low, high = ends[:-1], ends[1:]
    scores = scores[np.isfinite(scores)]
    bins = np.searchsorted(edges, scores, side="right")
    n_bins = len(edges) + 1
    n = np.bincount(bins, minlength=n_bins)
    sums = np.stack([np.bincount(bins, scores**k, n_bins) for k in (1, 2)])
    if_even = np.stack([(low + high) / 2, (low**2 + low * high + high**2) / 3])
    mean, square = np.where(n > 0, sums / np.maximum(n, 1), if_even)
    return np.stack([mean, square, mean, mean] if separate else [mean, square, low, high])


def brier_score(table: Floats, moments: Floats, end: float | None = None) -> Floats:
    """Compute the mean square of probability minus label.

    If `end` is not None, each probability is taken to lie at an end of its bin: at that for which
    the score is lowest if `end` is 0, else at the other one.
    """
    mean, square, low, high = moments
    losses = np.stack([square, 1 - 2 * mean + square])
    if end is not None:
        near, far = (low, high) if end == 0 else (high, low)
        losses = np.stack([near**2, (1 - far) ** 2])
    return ratio((table * losses).sum(axis=(-2, -1)), table.sum(axis=(-2, -1)), end)


def prevalence(table: Floats, undefined: float | None = None) -> Floats:
    """Compute the share of positive records."""
    return ratio(table[..., 1, :].sum(axis=-1), table.sum(axis=(-2, -1)), undefined)


def share_predicted(matrix: Floats, k: int, undefined: float | None = None) -> Floats:
    """Compute the share of records whose predicted class is k."""
    return ratio(matrix[..., k].sum(axis=-1), matrix.sum(axis=(-2, -1)), undefined)


def calibration_groups(table: Floats, n_groups: int) -> NDArray[np.intp]:
    """Group adjacent bins into at most n_groups of about equal size; return the group of each."""
    n = table.sum(axis=-2)
    total = max(n.sum(), 1)
    middle = np.cumsum(n) - n / 2
    with_gaps = np.minimum(n_groups * middle / total, n_groups - 1).astype(int)
    groups: NDArray[np.intp] = np.unique(with_gaps, return_inverse=True)[1]
    return groups


def calibration(
    table: Floats, mean: Floats, groups: NDArray[np.intp], undefined: float = 0.0
) -> tuple[Floats, Floats]:
    """Compute the share of positives and the mean probability of each group of bins."""
    member = groups[:, None] == np.arange(groups.max() + 1)
    sizes = table.sum(axis=-2)
    prob_true = ratio(table[..., 1, :] @ member, sizes @ member, undefined)
    return np.clip(prob_true, 0, 1), ratio((sizes * mean) @ member, sizes @ member, undefined)


def _interpolated(x: Floats, xs: Floats, ys: Floats) -> Floats:
    return np.array([np.interp(x, *curve) for curve in zip(xs, ys, strict=True)])


def from_above(table: Floats) -> tuple[Floats, Floats]:
    """Count negative and positive records above each edge, from none to all (n_bins + 1)."""
    n = np.cumsum(table[..., ::-1], axis=-1)
    n = np.concatenate([np.zeros_like(n[..., :1]), n], axis=-1)
    return n[..., 0, :], n[..., 1, :]


def _rising_share(n: Floats) -> Floats:
    """Divide n by its last entry, and make it non-decreasing."""
    total = n[..., -1:]
    if_empty = np.linspace(0, 1, n.shape[-1])
    share = np.where(total > 0, n / np.where(total > 0, total, 1), if_empty)
    return np.clip(np.maximum.accumulate(share, axis=-1), 0, 1)

"""Areas under curves, from histograms of predicted scores (zone: public).

A table has a row of counts for the negative and one for the positive class, by ascending bin of the
score; shape (..., 2, n_bins). The order within a bin is not known: labels are assumed to be mixed
evenly there.

Simulated noisy counts may be negative. If a class is then empty, every value is possible: with
``end="low"`` or ``"high"`` the area is its lowest or highest value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._confusion_metrics import ratio

__all__ = ["RANKING_METRICS", "monotone"]

Floats = NDArray[np.float64]
# Parts of a bin in which the precision is taken.
_PARTS = 4


def roc_auc(table: Floats, end: str | None = None) -> Floats:
    """Return the area under the ROC curve, with pairs in the same bin counted half."""
    negative, positive = table[..., 0, :], table[..., 1, :]
    n, p = negative.sum(axis=-1), positive.sum(axis=-1)
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = np.where((n > 0) & (p > 0), n * p, 0.0)
    return ratio(np.where(pairs > 0, (positive * below).sum(axis=-1), 0.0), pairs, end)


def average_precision(table: Floats, end: str | None = None) -> Floats:
    """Return the mean precision over positive records."""
    table = table[..., ::-1]  # by descending score
    negative, positive = table[..., 0, :], table[..., 1, :]
    tp, both = (np.cumsum(n, axis=-1) - n for n in (positive, positive + negative))
    precision = np.zeros(positive.shape)
    for part in (np.arange(_PARTS) + 0.5) / _PARTS:
        predicted = both + part * (positive + negative)
        found = np.where(predicted > 0, ratio(tp + part * positive, predicted), 0.5)
        precision += np.clip(found, 0, 1) / _PARTS
    total = positive.sum(axis=-1)
    found = np.where(total > 0, (positive * precision).sum(axis=-1), 0.0)
    return ratio(found, total, end)


def monotone(table: Floats) -> Floats:
    """Return the table in which the share of positive records rises with the score.

    By pooling adjacent bins that violate it; each bin keeps its size. Of one table, not negative.
    """
    negative, positive = table
    size = negative + positive
    blocks: list[list[float]] = []  # positive records, all records, bins
    for p, n in zip(positive.tolist(), size.tolist(), strict=True):
        blocks.append([p, max(n, 1e-9), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            p, n, k = blocks.pop()
            blocks[-1] = [blocks[-1][0] + p, blocks[-1][1] + n, blocks[-1][2] + k]
    share = np.repeat([min(p / n, 1.0) for p, n, _ in blocks], [int(k) for _, _, k in blocks])
    return np.stack([(1 - share) * size, share * size])


def _of_two_classes(area: Callable[..., Floats]) -> Callable[..., Floats]:
    return lambda tables, end=None: area(tables[0], end)


def _ovr(tables: list[Floats], end: str | None, weighted: bool) -> Floats:
    """Average over classes, each against the others."""
    areas = np.stack([roc_auc(table, end) for table in tables], axis=-1)
    sizes = np.stack([table[..., 1, :].sum(axis=-1) for table in tables], axis=-1)
    return _average(areas, sizes if weighted else np.ones_like(sizes), end)


def _ovo(tables: list[Floats], end: str | None, weighted: bool) -> Floats:
    """Average over pairs of classes, each by the scores of both."""
    areas, sizes = [], []
    K = len(tables)
    for a in range(K):
        for b in range(a):
            by_a, by_b = tables[a][..., [b, a], :], tables[b][..., [a, b], :]
            areas.append((roc_auc(by_a, end) + roc_auc(by_b, end)) / 2)
            sizes.append(by_a.sum(axis=(-2, -1)))
    w = np.stack(sizes, axis=-1)
    return _average(np.stack(areas, axis=-1), w if weighted else np.ones_like(w), end)


def _average(areas: Floats, w: Floats, end: str | None) -> Floats:
    return ratio((w * areas).sum(axis=-1), w.sum(axis=-1), end)


# By name: from tables (one; or one per class) and an end to areas.
RANKING_METRICS: dict[str, Callable[..., Any]] = {
    "average_precision": _of_two_classes(average_precision),
    "roc_auc": _of_two_classes(roc_auc),
    "roc_auc_ovo": lambda tables, end=None: _ovo(tables, end, False),
    "roc_auc_ovo_weighted": lambda tables, end=None: _ovo(tables, end, True),
    "roc_auc_ovr": lambda tables, end=None: _ovr(tables, end, False),
    "roc_auc_ovr_weighted": lambda tables, end=None: _ovr(tables, end, True),
}

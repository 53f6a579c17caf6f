"""Functions of the confusion matrix, and how far one unit moves them (zone: sensitive).

They rank candidates. A unit adds a matrix, whose entries add up to 1, to the confusion matrix C.
Let the slope of u with respect to C[i, j] lie in [low[i, j], high[i, j]] everywhere, and let
``lowest[i] = min_j low[i, j]``. Then adding a unit raises

    s(C) = u(C) - sum_i lowest[i] sum_j C[i, j]

by something in [0, D], with ``D = max_ij (high[i, j] - lowest[i])``. So replacing a unit changes s
by at most D. All candidates see the same number of units in each class, and therefore s ranks them
as u does. Details are in the documentation, "How metrics are made private".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records.units import Units
from ._metrics import OF_CLASS, class_metric, disagreement, ratio
from ._queries import GRID, Confusion, in_steps, steps_of_unit, unit_weight

__all__ = ["RankedConfusion", "Ranking", "faithful_rankings", "linear"]

Floats = NDArray[np.float64]
# Denominators are kept above one of these: the metric itself, if it is the smallest.
_FLOORS = 2.0 ** np.arange(-1, 40)


@dataclass(frozen=True, eq=False)
class Ranking:
    """A function of the confusion matrix with bounds of its slopes, both of shape (K, K).

    `slope` is that of the score with respect to the function, for candidates like the one that it
    is made for.
    """

    value: Callable[[Floats], Any]
    low: Floats
    high: Floats
    slope: float = 1.0

    @property
    def width(self) -> float:
        """How far one unit moves the function, at most: D."""
        return float((self.high - self._lowest).max()) or 1.0

    @property
    def of_unknown(self) -> Floats:
        """What a record of unknown label adds to s beside an error of the class after, by column.

        All candidates see the same number of such records, so that all may have the same constant
        taken off: the lowest of all classes, if they raise s by D at most then.
        """
        after = np.roll(self._lowest[:, 0], -1)
        highest = np.diagonal(np.roll(self.high, -1, axis=0)).max()
        found: Floats = (after - after.min()) * (highest - after.min() <= self.width)
        return found

    @property
    def _lowest(self) -> Floats:
        lowest: Floats = self.low.min(axis=1, keepdims=True)
        return lowest

    def __call__(self, C: Floats) -> float:
        """Return s(C)."""
        return float(self.value(C) - (self._lowest * C).sum())


@dataclass(frozen=True, eq=False)
class RankedConfusion(Confusion):
    """A function of the confusion matrix; one integer, which a unit moves by G steps at most."""

    ranking: Ranking

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        counts = np.array(super().statistics(values, y, units)) / unit_weight(units)
        *known, unknown = counts.reshape(-1, len(self.classes))
        # As errors: of the class after the predicted one.
        C = np.array(known) + np.roll(np.diag(unknown), 1, axis=0)
        value = self.ranking(C) + float(self.ranking.of_unknown @ unknown)
        return (in_steps(value, self.ranking.width),)

    def sensitivity(self, units: Units) -> int:
        return steps_of_unit(units)

    def largest(self, units: Units) -> int:
        return GRID * units.m


def linear(G: Floats) -> Ranking:
    """Return the sum of C[i, j] G[i, j]."""
    return Ranking(partial(_weighted_sum, G), G, G)


def _weighted_sum(G: Floats, C: Floats) -> Any:
    return (G * C).sum()


def faithful_rankings(name: str, M: Floats, positive: int, **params: Any) -> Iterator[Ranking]:
    """Return functions that rank as a metric does if the classes have the sizes of M's rows.

    None if the metric is linear then. The first ones are the most faithful, later ones have less
    noise: they keep denominators above a floor, at most half as large as those of M.
    """
    n, predicted = M.sum(axis=1), M.sum(axis=0)
    if name == "cohen_kappa":
        yield _kappa(n, **params)
    if name == "matthews_corrcoef":
        most = (M.sum() - predicted.max()) / 2
        yield from (_matthews(n, floor) for floor in _floors(most))
    base, _, average = name.partition("_")
    if base not in OF_CLASS or base == "recall" or average == "micro":
        return
    K = len(n)
    weights = {"macro": np.full(K, 1 / K), "weighted": n / M.sum(), "": np.eye(K)[positive]}
    w, floors = weights[average], [0.0]
    if base == "precision":
        floors = [max(floor, 1.0) for floor in _floors(predicted[w > 0].min() / 2)]
    score = float(class_metric(base, *_of_class(n, M), **params) @ w)
    yield from (_mean_of_classes(base, n, w, floor, score, **params) for floor in floors)


def _floors(most: float) -> Sequence[float]:
    floors: list[float] = _FLOORS[max(most, _FLOORS[0]) >= _FLOORS].tolist()
    return floors


def _of_class(n: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
    """Return true positives, false positives and false negatives of classes of these sizes."""
    tp = np.diagonal(C)
    return tp, C.sum(axis=0) - tp, np.maximum(n - tp, 0.0)


def _mean_of_classes(
    base: str, n: Floats, w: Floats, floor: float, score: float, **params: Any
) -> Ranking:
    """Return the mean of a metric of one class against the others, with weights w.

    Let b = beta^2, q records be predicted as the class, and tp of them correctly. Of F_beta = (1 +
    b) tp / (b n + q) one correct prediction adds at most (1 + b) / (b n), and a wrong one takes
    (1 + b) tp / (b n + q)^2 <= (1 + b) / (4 b n). If it is of one class alone, x = F / (1 + b - F)
    = tp / (b n + q - tp) <= 1 / b has the same order, and moves by less. So does Jaccard's, x for b
    = 1. Precision is tp / max(q, floor).
    """
    alone, slope = bool(np.count_nonzero(w) == 1), 1.0
    b = params.get("beta", 1.0) ** 2
    if base == "jaccard":
        right, wrong = 1 / n, 1 / n
    elif base == "precision":
        right, wrong = np.full((2, len(n)), 1 / floor)
    elif alone:
        right, wrong = 1 / (b * n), 1 / (b**2 * n)
        slope = (1 + b - score) ** 2 / (1 + b)
    else:
        right, wrong = (1 + b) / (b * n), (1 + b) / (4 * b * n)
    odds = b if alone and base in ("f1", "fbeta") else None
    value = partial(_weighted_metric, base, n, w, floor, odds, params)
    low = np.where(np.eye(len(n)) > 0, 0.0, -w * wrong)
    return Ranking(value, low, np.diag(w * right), slope)


def _weighted_metric(
    base: str, n: Floats, w: Floats, floor: float, odds: float | None, params: Any, C: Floats
) -> Any:
    tp, fp, fn = _of_class(n, C)
    if odds is None:
        return w @ class_metric(base, tp, fp, fn, least=floor, **params)
    return w @ ratio(tp, odds * (tp + fn) + fp)


def _kappa(n: Floats, weights: str | None = None) -> Ranking:
    """Return kappa = 1 - v with v = (sum of w C) / (sum of e q), e = w'n / m; cut off at v = 2.

    The slopes of v are (w[i, j] - v e[j]) / (sum of e q), and that sum is (m - 1) min e or more.
    """
    w = disagreement(len(n), weights)
    m, e = n.sum(), n @ w / n.sum()
    least = max(m - 1, 0.5) * e.min()
    return Ranking(partial(_kappa_of, w, e), -w / least, np.maximum(2 * e - w, 0.0) / least)


def _kappa_of(w: Floats, e: Floats, C: Floats) -> Any:
    expected = C.sum(axis=0) @ e
    return 1 - min((w * C).sum() / expected, 2.0) if expected > 0 else 1.0


def _matthews(n: Floats, floor: float) -> Ranking:
    """Return (m tr C - n'q) / (S max(B, B0)), between -1 and 1, S^2 = m^2 - n'n, B^2 = m^2 - q'q.

    B0 is B if all but `floor` records are predicted as one class. The slopes of the first factors
    are (m [i = j] - n[j]) / (S B), and that of 1 / B adds at most q[j] / B^2 <= m / B0^2.
    """
    m = n.sum()
    S, B0 = np.sqrt(m**2 - n @ n), np.sqrt(2 * floor * max(m - floor, floor))
    first = (m * np.eye(len(n)) - n) / (S * B0)
    more = m / B0**2
    value = partial(_matthews_of, n, S, B0)
    return Ranking(value, np.minimum(first, 0.0) - more, np.maximum(first, 0.0) + more)


def _matthews_of(n: Floats, S: float, B0: float, C: Floats) -> Any:
    m, q = n.sum(), C.sum(axis=0)
    B = np.sqrt(max(m**2 - q @ q, 0.0))
    return np.clip((m * np.trace(C) - n @ q) / (S * max(B, B0)), -1.0, 1.0)

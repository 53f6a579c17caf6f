"""Functions of the confusion matrix, and how far one unit moves them (zone: sensitive).

They rank candidates. A unit adds a matrix A, whose entries add up to 1, to the confusion matrix C.
Let it raise u by ``c + sum_ij A[i, j] x[i, j]``, with c the same for all units that may be added to
C, and x[i, j] in [low[i, j], high[i, j]]: bounds of slopes with respect to C[i, j], where c = 0.
Let ``lowest[i] = min_j low[i, j]``. Then adding a unit raises

    s(C) = u(C) - sum_i lowest[i] sum_j C[i, j]

by something in [c, c + D], with ``D = max_ij (high[i, j] - lowest[i])``. So replacing a unit
changes s by at most D. All candidates see the same number of units in each class, and therefore s
ranks them as u does. Details are in the documentation, "How metrics are made private".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..records.units import Units
from ._metrics import Parts, class_metric, disagreement, f_measure, jaccard, precision
from ._queries import GRID, Confusion, in_steps, steps_of_unit, unit_weight

Floats = NDArray[np.float64]
# A ratio that has the order of a metric of one class; a floor of its denominator; for each class,
# what a right prediction adds at most, and what a wrong one takes; the metric's slope by the ratio.
Slopes: TypeAlias = tuple[Parts, float, Floats, Floats, float]
# Denominators are kept above one of these: the metric itself, if it is the smallest.
_FLOORS = 2.0 ** np.arange(-1, 40)


@dataclass(frozen=True, eq=False)
class Ranking:
    """A function of the confusion matrix with bounds of what units add, both of shape (K, K).

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

    def of_counts(self, counts: NDArray[np.int64], units: Units) -> tuple[int, ...]:
        *known, unknown = (counts / unit_weight(units)).reshape(-1, len(self.classes))
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


# Rankings of a metric order matrices as it does if the classes have the sizes of M's rows. The
# first ones are the most faithful, later ones have less noise: they keep denominators above a
# floor, at most half as large as those of M.
# ------------------------------------------------ of one class, and means over classes
def rankings_of_classes(
    parts: Parts, slopes: Any, average: str, M: Floats, positive: int = 1, **params: Any
) -> Iterator[Ranking]:
    """Yield the rankings of `_metrics.of_classes`: means with weights w of ratios with `slopes`."""
    n, K = M.sum(axis=1), len(M)
    weights = {"macro": np.full(K, 1 / K), "weighted": n / M.sum(), "": np.eye(K)[positive]}
    w, most = weights[average], M.sum(axis=0)[weights[average] > 0].min() / 2
    score = float(class_metric(parts, *_of_class(n, M), **params) @ w)
    alone = score if np.count_nonzero(w) == 1 else None
    for ratio, floor, right, wrong, slope in slopes(n, most, alone, **params):
        low = np.where(np.eye(K) > 0, 0.0, -w * wrong)
        value = partial(_weighted_metric, ratio, n, w, floor, params)
        yield Ranking(value, low, np.diag(w * right), slope)


def _floors(most: float) -> Sequence[float]:
    floors: list[float] = _FLOORS[max(most, _FLOORS[0]) >= _FLOORS].tolist()
    return floors


def _of_class(n: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
    """Return true positives, false positives and false negatives of classes of these sizes."""
    tp = np.diagonal(C)
    return tp, C.sum(axis=0) - tp, np.maximum(n - tp, 0.0)


def f_slopes(n: Floats, most: float, alone: float | None, beta: float = 1.0) -> Iterator[Slopes]:
    """Yield what bounds F_beta, for classes of n records.

    Let b = beta^2, q records be predicted as the class, and tp of them correctly. Of F_beta = (1 +
    b) tp / (b n + q) one correct prediction adds at most (1 + b) / (b n), and a wrong one takes
    (1 + b) tp / (b n + q)^2 <= (1 + b) / (4 b n). If it is of one class `alone`, and about this, x
    = F / (1 + b - F) = tp / (b n + q - tp) <= 1 / b has the same order, and moves by less.
    """
    b = beta**2
    if alone is None:
        yield f_measure, 0.0, (1 + b) / (b * n), (1 + b) / (4 * b * n), 1.0
    else:
        yield _odds, 0.0, 1 / (b * n), 1 / (b**2 * n), (1 + b - alone) ** 2 / (1 + b)


def _odds(tp: Floats, fp: Floats, fn: Floats, beta: float = 1.0) -> tuple[Floats, Floats]:
    return tp, beta**2 * (tp + fn) + fp


def jaccard_slopes(n: Floats, most: float, alone: float | None) -> Iterator[Slopes]:
    """Yield what bounds Jaccard's index, which is x of `f_slopes` for b = 1."""
    yield jaccard, 0.0, 1 / n, 1 / n, 1.0


def precision_slopes(n: Floats, most: float, alone: float | None) -> Iterator[Slopes]:
    """Yield what bounds tp / max(q, floor), for floors up to `most`."""
    for floor in _floors(most):
        c = max(floor, 1.0)
        yield precision, c, np.full(len(n), 1 / c), np.full(len(n), 1 / c), 1.0


def _weighted_metric(
    ratio: Parts, n: Floats, w: Floats, floor: float, params: Any, C: Floats
) -> Any:
    return w @ class_metric(ratio, *_of_class(n, C), least=floor, **params)


# ------------------------------------------------ of the whole matrix
def kappa_rankings(M: Floats, weights: str | None = None) -> Iterator[Ranking]:
    """Yield -v with v = (sum of w C) / (sum of e q), e = w'n / m, cut off at `most`: 2, or less.

    Its slopes are (v e[j] - w[i, j]) / (sum of e q), and that sum is m min e or more. Those of two
    cells differ most where v is 0 or `most`.
    """
    n, w = M.sum(axis=1), disagreement(len(M), weights)
    e = n @ w / n.sum()
    most = min((w / e).max(), 2.0)
    width = max(np.ptp(w), np.ptp(w - most * e)) / (n.sum() * e.min())
    yield _moved_by(partial(_kappa_of, w, e, most), min(width, most), len(n))


def _moved_by(value: Callable[[Floats], Any], width: float, K: int) -> Ranking:
    """Return the ranking by a function, from 0 on; replacing a unit moves it by `width` at most."""
    low = np.zeros((K, K))
    return Ranking(value, low, low + width)


def _kappa_of(w: Floats, e: Floats, most: float, C: Floats) -> Any:
    expected = C.sum(axis=0) @ e
    return most - min((w * C).sum() / expected, most) if expected > 0 else most


def matthews_rankings(M: Floats) -> Iterator[Ranking]:
    """Yield the rankings of the correlation coefficient."""
    most = (M.sum() - M.sum(axis=0).max()) / 2
    yield from (_matthews(M.sum(axis=1), floor) for floor in _floors(most))


def _matthews(n: Floats, floor: float) -> Ranking:
    """Return 1 + A / (S b), A = m tr C - n'q, S^2 = m^2 - n'n, b^2 = max(B0^2, m^2 - q'q).

    b is B0 if all but `floor` records are predicted as one class. Replacing a unit moves A / S by
    at most d, and b^2 by at most 2r, with r what two entries of q differ by where b > B0. If b
    rises to b', that moves the ratio by at most ``d / b' + 1 - b / b'``: most at b = B0, and for
    the smallest or the largest b'.
    """
    m, K = n.sum(), len(n)
    S, B0 = np.sqrt(m**2 - n @ n), np.sqrt(2 * floor * (m - floor))
    d = (m + n.max() - n.min()) / S
    r = m - 2 * floor if K == 2 else np.hypot(m - floor, floor)
    width = min(max(d / B0, 1 + (d - B0) / np.sqrt(B0**2 + 2 * r)), 2.0)
    return _moved_by(partial(_matthews_of, n, S, B0), width, K)


def _matthews_of(n: Floats, S: float, B0: float, C: Floats) -> Any:
    m, q = n.sum(), C.sum(axis=0)
    B = np.sqrt(max(m**2 - q @ q, 0.0))
    return 1 + np.clip((m * np.trace(C) - n @ q) / (S * max(B, B0)), -1.0, 1.0)

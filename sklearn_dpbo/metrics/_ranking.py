"""Functions of the confusion matrix that rank candidates, with bounded slopes (zone: sensitive).

A unit adds a matrix A, whose entries add up to 1, to the confusion matrix C. Let u be a function of
C, and let the unit raise u(C) by ``c + sum_ij A[i, j] x[i, j]``, where c is the same for all units
that may be added to C, and x[i, j] is in [low[i, j], high[i, j]]. If c = 0, these are bounds of the
slopes of u with respect to C[i, j]. Let ``lowest[i] = min_j low[i, j]``. Then adding a unit raises

    s(C) = u(C) - sum_i lowest[i] sum_j C[i, j]

by a number in [c, c + D], with ``D = max_ij (high[i, j] - lowest[i])``. So replacing a unit changes
s by at most D. All candidates see the same number of units in each class, and therefore s ranks
them as u does. Details are in the documentation, "How metrics are made private".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..records.units import Units
from ._metrics import Parts, class_metric, disagreement, f_measure, jaccard, precision
from ._queries import GRID, Confusion, in_steps, steps_of_unit, unit_weight

Floats = NDArray[np.float64]
# Floors of denominators. The smallest one does not change the metric.
_FLOORS = 2.0 ** np.arange(-1, 40)


class Slopes(NamedTuple):
    """Ratio that ranks as a metric of one class does, and bounds of its slopes.

    Its denominator is at least `floor`. A right prediction adds at most `right`, and a wrong one
    takes at most `wrong`, each of shape (n_classes,). `slope` is that of the metric with respect to
    the ratio.
    """

    ratio: Parts
    floor: float
    right: Floats
    wrong: Floats
    slope: float = 1.0


@dataclass(frozen=True, eq=False)
class Ranking:
    """Function u of the confusion matrix; bounds `low` and `high` have the shape (K, K).

    `slope` is that of the score with respect to the function, at the confusion matrix for which the
    ranking was made.
    """

    value: Callable[[Floats], Any]
    low: Floats
    high: Floats
    slope: float = 1.0

    @property
    def width(self) -> float:
        """Bound D of the change of s(C) if one unit is replaced."""
        return float((self.high - self._lowest).max()) or 1.0

    @property
    def of_unknown(self) -> Floats:
        """Addends to s for each record of unknown label, by predicted class, shape (K,).

        Such a record counts as an error in the class after the predicted one. These addends cancel
        the term ``lowest`` of that class, up to a constant. All candidates see the same number of
        such records, so the constant changes no ranking. It is chosen so that a record raises s by
        at most D; if that is not possible, all addends are 0.
        """
        after = np.roll(self._lowest[:, 0], -1)
        highest = np.diagonal(np.roll(self.high, -1, axis=0)).max()
        addends: Floats = (after - after.min()) * (highest - after.min() <= self.width)
        return addends

    @property
    def _lowest(self) -> Floats:
        lowest: Floats = self.low.min(axis=1, keepdims=True)
        return lowest

    def __call__(self, C: Floats) -> float:
        """Return s(C)."""
        return float(self.value(C) - (self._lowest * C).sum())


@dataclass(frozen=True, eq=False)
class RankedConfusion(Confusion):
    """Function of the confusion matrix as one integer, which a unit moves by about G steps."""

    ranking: Ranking

    def of_counts(self, counts: NDArray[np.int64], units: Units) -> tuple[int, ...]:
        *rows, unknown = (counts / unit_weight(units)).reshape(-1, len(self.classes))
        # Unknown labels count as errors in the class after the predicted one.
        C = np.array(rows) + np.roll(np.diag(unknown), 1, axis=0)
        value = self.ranking(C) + float(self.ranking.of_unknown @ unknown)
        return (in_steps(value, self.ranking.width),)

    def sensitivity(self, units: Units) -> int:
        return steps_of_unit(units)

    def largest(self, units: Units) -> int:
        return GRID * units.m


def linear(G: Floats) -> Ranking:
    """Return the ranking by the sum of C[i, j] G[i, j]."""
    return Ranking(partial(_weighted_sum, G), G, G)


def _weighted_sum(G: Floats, C: Floats) -> Any:
    return (G * C).sum()


# A function below yields rankings that order matrices as a metric does, if the classes have the
# sizes of M's rows. The first ones are the most faithful. Later ones have less noise: they keep
# denominators above a floor, which is at most half of those of M.
# ------------------------------------------------ metrics of one class, and means over classes
def rankings_of_classes(
    parts: Parts, slopes: Any, average: str, M: Floats, positive: int = 1, **params: Any
) -> Iterator[Ranking]:
    """Yield the rankings of `_metrics.of_classes`: weighted means of ratios with `slopes`."""
    n = M.sum(axis=1)
    K = len(M)
    weights = {"macro": np.full(K, 1 / K), "weighted": n / M.sum(), "": np.eye(K)[positive]}
    w = weights[average]
    most = M.sum(axis=0)[w > 0].min() / 2
    score = float(class_metric(parts, *_of_class(n, M), **params) @ w)
    score_of_one = score if np.count_nonzero(w) == 1 else None
    for of_ratio in slopes(n, most, score_of_one, **params):
        low = np.where(np.eye(K) > 0, 0.0, -w * of_ratio.wrong)
        value = partial(_weighted_metric, of_ratio.ratio, n, w, of_ratio.floor, params)
        yield Ranking(value, low, np.diag(w * of_ratio.right), of_ratio.slope)


def _floors(most: float) -> Sequence[float]:
    """Return the floors up to `most`, and the smallest one."""
    floors: list[float] = _FLOORS[max(most, _FLOORS[0]) >= _FLOORS].tolist()
    return floors


def _of_class(n: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
    """Return true positives, false positives and false negatives, for classes of n records."""
    tp = np.diagonal(C)
    return tp, C.sum(axis=0) - tp, np.maximum(n - tp, 0.0)


def f_slopes(
    n: Floats, most: float, score_of_one: float | None, beta: float = 1.0
) -> Iterator[Slopes]:
    """Yield slopes that rank as F_beta does, for classes of n records.

    Let b = beta^2, q records be predicted as the class, and tp of them correctly. A correct
    prediction adds at most (1 + b) / (b n) to F_beta = (1 + b) tp / (b n + q), and a wrong one
    takes (1 + b) tp / (b n + q)^2 <= (1 + b) / (4 b n). The F_beta of one class, about
    `score_of_one`, has the order of x = F / (1 + b - F) = tp / (b n + q - tp) <= 1 / b, which a
    record moves by less.
    """
    b = beta**2
    if score_of_one is None:
        yield Slopes(f_measure, 0.0, (1 + b) / (b * n), (1 + b) / (4 * b * n))
    else:
        slope = (1 + b - score_of_one) ** 2 / (1 + b)
        yield Slopes(_odds, 0.0, 1 / (b * n), 1 / (b**2 * n), slope)


def _odds(tp: Floats, fp: Floats, fn: Floats, beta: float = 1.0) -> tuple[Floats, Floats]:
    return tp, beta**2 * (tp + fn) + fp


def jaccard_slopes(n: Floats, most: float, score_of_one: float | None) -> Iterator[Slopes]:
    """Yield slopes of the Jaccard index, which is x of `f_slopes` for b = 1."""
    yield Slopes(jaccard, 0.0, 1 / n, 1 / n)


def precision_slopes(n: Floats, most: float, score_of_one: float | None) -> Iterator[Slopes]:
    """Yield slopes of tp / max(q, floor), for floors up to `most`."""
    for floor in _floors(most):
        c = max(floor, 1.0)
        bounds = np.full(len(n), 1 / c)
        yield Slopes(precision, c, bounds, bounds)


def _weighted_metric(
    ratio: Parts, n: Floats, w: Floats, floor: float, params: Any, C: Floats
) -> Any:
    return w @ class_metric(ratio, *_of_class(n, C), least=floor, **params)


# ------------------------------------------------ metrics of the whole matrix
def kappa_rankings(M: Floats, weights: str | None = None) -> Iterator[Ranking]:
    """Yield the ranking of kappa, by -v with v = (sum of w C) / (sum of e q) and e = w'n / m.

    v is clipped at `most`, which is at most 2. The slopes of -v are (v e[j] - w[i, j]) / (sum of
    e q), and that sum is at least m min e. Those of two cells differ most where v is 0 or `most`.
    """
    n = M.sum(axis=1)
    w = disagreement(len(M), weights)
    e = n @ w / n.sum()
    most = min((w / e).max(), 2.0)
    width = max(np.ptp(w), np.ptp(w - most * e)) / (n.sum() * e.min())
    yield _moved_by(partial(_kappa_of, w, e, most), min(width, most), len(n))


def _moved_by(value: Callable[[Floats], Any], width: float, K: int) -> Ranking:
    """Return the ranking by a function that is never negative and that a unit moves by `width`."""
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
    at most d, and b^2 by at most 2r, where r bounds the difference of two entries of q if b > B0.
    If b rises to b', the ratio moves by at most ``d / b' + 1 - b / b'``. That is largest at b = B0,
    and for the smallest or the largest b'.
    """
    m = n.sum()
    K = len(n)
    S = np.sqrt(m**2 - n @ n)
    B0 = np.sqrt(2 * floor * (m - floor))
    d = (m + n.max() - n.min()) / S
    r = m - 2 * floor if K == 2 else np.hypot(m - floor, floor)
    width = min(max(d / B0, 1 + (d - B0) / np.sqrt(B0**2 + 2 * r)), 2.0)
    return _moved_by(partial(_matthews_of, n, S, B0), width, K)


def _matthews_of(n: Floats, S: float, B0: float, C: Floats) -> Any:
    m = n.sum()
    q = C.sum(axis=0)
    B = np.sqrt(max(m**2 - q @ q, 0.0))
    return 1 + np.clip((m * np.trace(C) - n @ q) / (S * max(B, B0)), -1.0, 1.0)

"""Correctly ordered pairs of a positive and a negative record (zone: sensitive).

Let s be the scores of a class, and k_i the sum of 2 [s_i > s_j] + [s_i = s_j] over the records j of
other classes. `Pairs` sums max(0, k_i - t) over the records i of the class, with t even and public;
with more than two classes it sums over all classes, with t = 0. If each of m records is a unit, the
sensitivity is 2 (m - 1) - t for one class. It is 4 (m - 1) for several, as a record is then in the
sums of all classes. `MeanArea` weights the classes as the mean of their areas does, and
`PrecisionSum` is the average precision times the number of positive records. The documentation
proves the sensitivities, also for groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..records.units import Units
from ._labels import encode
from ._metrics import ratio
from ._queries import GRID, Query, in_steps, steps_of_unit, total_weight, unit_weight, weights
from ._response import class_scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs(Query):
    """Number of correctly ordered pairs; one integer.

    A record's values are its scores, one per class in `positives`: these are the positions of the
    classes that are compared with the others, one of two or all. `shares` are their shares of the
    training set. For a positive record, only the negative ones that it beats beyond a share `floor`
    of them count; it is 0 for more than two classes.
    """

    classes: NDArray[Any]
    positives: tuple[int, ...]
    shares: tuple[float, ...]
    floor: float = 0.0
    response_method: tuple[str, ...] = ("decision_function", "predict_proba")

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Return scores; the worst ones where a score is NaN or the label is unknown."""
        scores = class_scores(response, self.positives)
        unknown = np.isnan(scores) | (encode(y, self.classes) < 0)[:, None]
        return np.where(unknown, self.lowest_values(y, len(scores)), scores)

    def lowest_values(self, y: Any, n: int) -> Floats:
        """Return -inf for the class of the record, inf for the others."""
        return np.where(self._is_positive(y), -np.inf, np.inf)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return (sum(self._by_class(values, y, units)),)

    def _by_class(self, values: NDArray[Any], y: Any, units: Units) -> list[int]:
        """Return the sum of each class in `positives`."""
        w = weights(units)
        t = self._floor(units)
        sums = []
        for scores, positive in zip(values.T, self._is_positive(y).T, strict=True):
            beaten = _twice_beaten(scores[positive], scores[~positive], w[~positive])
            sums.append(int((w[positive] * np.maximum(beaten - t, 0)).sum()))
        return sums

    def sensitivity(self, units: Units) -> int:
        per_pair = 2 if len(self.positives) == 1 else 4
        per_record = per_pair * _others(units) - self._floor(units)
        return unit_weight(units) * max(1, per_record)

    def largest(self, units: Units) -> int:
        """Return the maximum of p (2 (V - p) - t) over p, for p of V records positive."""
        V = total_weight(units)
        t = self._floor(units)
        return max(1, (2 * V - t) ** 2 // 8) if len(self.positives) == 1 else 2 * V**2

    def per_step(self, units: Units) -> float:
        """Change of the area by one step, if every positive record beats the floor."""
        pi = np.array(self.shares)
        return 1 / (2 * float((pi * (1 - pi)).sum()) * total_weight(units) ** 2)

    def _is_positive(self, y: Any) -> NDArray[np.bool_]:
        """Return a mask of the records (rows) of each class in `positives` (columns)."""
        mask: NDArray[np.bool_] = encode(y, self.classes)[:, None] == np.array(self.positives)
        return mask

    def _floor(self, units: Units) -> int:
        return 2 * int(self.floor * (1 - self.shares[0]) * total_weight(units))


class MeanArea(Pairs):
    """Mean area under the ROC curves of several classes, for given `shares`; in steps.

    A pair of class c has the value v_c = 1 / (2 K m^2 share_c (1 - share_c)). A record of class a
    is in pairs with the n_c records of each other class c, whose values are 2 (v_a + v_c) at most.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        pairs = np.array(self._by_class(values, y, units), dtype=float)
        return (in_steps(float(self._values(units) @ pairs), self._width(units)),)

    def sensitivity(self, units: Units) -> int:
        return steps_of_unit(units)

    def largest(self, units: Units) -> int:
        return GRID * units.m

    def per_step(self, units: Units) -> float:
        """Change of the mean area by one step."""
        return self._width(units) / GRID

    def _values(self, units: Units) -> Floats:
        """Return the value of a pair of each class, shape (n_classes,)."""
        pi = np.array(self.shares)
        n = total_weight(units)
        v: Floats = 1 / (2 * len(pi) * n**2 * pi * (1 - pi))
        return v

    def _width(self, units: Units) -> float:
        *_, second, first = np.sort(self._values(units))
        return float(2 * unit_weight(units) * max(1, _others(units)) * (first + second))


class PrecisionSum(Pairs):
    """Sum over positive records of the precision at their score: P times average precision.

    Let L = ln(1 + W m). A new positive record of weight w raises the sum by at most w (1 + L), and
    a negative one lowers it by at most w L. So L times the negative weight is added, and a unit
    moves the result by at most W (1 + L). The integer is the result in steps of that.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        scores = values[:, 0]
        positive = self._is_positive(y)[:, 0]
        w = weights(units)
        tp, fp = (
            _weight_from(scores[positive], scores[rows], w[rows]) for rows in (positive, ~positive)
        )
        total = float((w[positive] * tp / np.maximum(tp + fp, 1)).sum())
        total += self._log(units) * float(w[~positive].sum())
        return (in_steps(total, self._width(units)),)

    def sensitivity(self, units: Units) -> int:
        return steps_of_unit(units)

    def largest(self, units: Units) -> int:
        return GRID * units.m

    def per_step(self, units: Units) -> float:
        """Change of the average precision by one step, for the given share of positive records."""
        return self._width(units) / GRID / (self.shares[0] * total_weight(units))

    def _log(self, units: Units) -> float:
        return float(np.log1p(total_weight(units)))

    def _width(self, units: Units) -> float:
        return unit_weight(units) * (1 + self._log(units))


class PairCounts(Pairs):
    """Correctly ordered pairs of two classes, and the numbers of positive and unknown labels.

    Both numbers are multiplied, so that a unit moves them together as much as the pairs, and the
    same noise suits all three. The number of unknown labels gets an eighth of that. This is too
    noisy to correct the area: records of unknown labels count as negative ones that no positive one
    beats.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        (pairs,) = super().statistics(values, y, units)
        w = weights(units)
        positive = int(w[self._is_positive(y)[:, 0]].sum())
        unknown = int(w[encode(y, self.classes) < 0].sum())
        return pairs, self._times(units) * positive, self.per_unknown(units) * unknown

    def sensitivity(self, units: Units) -> int:
        """Add W times both multipliers: a unit moves the positive and unknown weight by W."""
        times = self._times(units) + self.per_unknown(units)
        return super().sensitivity(units) + times * unit_weight(units)

    def unknown_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        return np.asarray(counts[2:])

    def per_unknown(self, units: Units) -> int:
        return max(1, self._most_pairs(units) // 8)

    def without_unknown(self, counts: Sequence[int]) -> tuple[Self, NDArray[np.int64]]:
        return self, np.asarray(counts[:2])

    def area(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        """Compute the area under the ROC curve from counts, shape (..., 2 or 3)."""
        p = counts[..., 1] / self._times(units)
        return ratio(counts[..., 0], 2 * p * (total_weight(units) - p), undefined)

    def smaller_class(self, counts: Sequence[int], units: Units) -> float:
        """Return the size of the smaller class in units, at least 1."""
        positive = counts[1] / self._times(units)
        total = total_weight(units)
        return max(1.0, min(positive, total - positive) / unit_weight(units))

    def _times(self, units: Units) -> int:
        return max(1, self._most_pairs(units) - self.per_unknown(units))

    def _most_pairs(self, units: Units) -> int:
        return super().sensitivity(units) // unit_weight(units)


def _others(units: Units) -> int:
    """Weight of the records that a record can be in pairs with."""
    return total_weight(units) if units.grouped else units.m - 1


def _weight_from(least: Floats, scores: Floats, w: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum, for each number in `least`, the weights of the scores that are at least that."""
    order = np.argsort(scores)
    below = np.concatenate([[0], np.cumsum(w[order])])
    weight: NDArray[np.int64] = below[-1] - below[np.searchsorted(scores[order], least, "left")]
    return weight


def _twice_beaten(winners: Floats, losers: Floats, w: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum, for each winner i, ``w_j (2 [s_i > s_j] + [s_i = s_j])`` over the losers j."""
    order = np.argsort(losers)
    below = np.concatenate([[0], np.cumsum(w[order])])
    # 2 [s_i > s_j] + [s_i = s_j]  =  [s_i > s_j] + [s_i >= s_j]
    less = np.searchsorted(losers[order], winners, "left")
    not_greater = np.searchsorted(losers[order], winners, "right")
    sums: NDArray[np.int64] = below[less] + below[not_greater]
    return sums

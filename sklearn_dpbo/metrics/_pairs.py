"""Pairs of a positive and a negative record in the right order (zone: sensitive).

For a class c, k_i is the sum over records j of other classes of 2 [s_i > s_j] + [s_i = s_j], with
the scores s of c. `Pairs` sums max(0, k_i - t) over the records i of the class, with t even and
public; of more than two classes, over all classes, with t = 0. With m records, each a unit, the
sensitivity is 2 (m - 1) - t for one class and 4 (m - 1) for several, as a record is then in the sum
of its own class and in those of others. `MeanArea` weights the classes as the mean of their areas
does, and `PrecisionSum` is the average precision times the number of positive records. The proofs,
also for groups, are in the documentation.
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
    """Pairs in the right order; one integer. A record's values are its scores, one per class.

    `positives` are the positions of the classes that are held against the others, one of two or
    all; `shares` are their shares of the training set; `floor` is the share of the negative records
    that a positive one has to beat before it counts, 0 for more than two classes.
    """

    classes: NDArray[Any]
    positives: tuple[int, ...]
    shares: tuple[float, ...]
    floor: float = 0.0
    response_method: tuple[str, ...] = ("decision_function", "predict_proba")

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> Floats:
        """Scores; the worst ones where a score is NaN or the label is unknown."""
        s = class_scores(response, self.positives)
        unknown = np.isnan(s) | (encode(y, self.classes) < 0)[:, None]
        return np.where(unknown, self.lowest_values(y, len(s)), s)

    def lowest_values(self, y: Any, n: int) -> Floats:
        """-inf for the class of the record, inf for the others."""
        return np.where(self._own(y), -np.inf, np.inf)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return (sum(self._by_class(values, y, units)),)

    def _by_class(self, values: NDArray[Any], y: Any, units: Units) -> list[int]:
        w, t = weights(units), self._floor(units)
        totals = []
        for s, own in zip(values.T, self._own(y).T, strict=True):
            beaten = _twice_beaten(s[own], s[~own], w[~own])
            totals.append(int((w[own] * np.maximum(beaten - t, 0)).sum()))
        return totals

    def sensitivity(self, units: Units) -> int:
        each = (2 if len(self.positives) == 1 else 4) * _others(units) - self._floor(units)
        return unit_weight(units) * max(1, each)

    def largest(self, units: Units) -> int:
        """Of p positive and V - p negative records: p (2 (V - p) - t), at its maximum."""
        V, t = total_weight(units), self._floor(units)
        return max(1, (2 * V - t) ** 2 // 8) if len(self.positives) == 1 else 2 * V**2

    def per_step(self, units: Units) -> float:
        """Return how much one pair is of the area, as if every positive record beat the floor."""
        pi = np.array(self.shares)
        return 1 / (2 * float((pi * (1 - pi)).sum()) * total_weight(units) ** 2)

    def _own(self, y: Any) -> NDArray[np.bool_]:
        """Whether each record (row) is of each of the classes held against the others (column)."""
        own: NDArray[np.bool_] = encode(y, self.classes)[:, None] == np.array(self.positives)
        return own

    def _floor(self, units: Units) -> int:
        return 2 * int(self.floor * (1 - self.shares[0]) * total_weight(units))


class MeanArea(Pairs):
    """The mean area under the ROC curves of several classes, if their `shares` are right; in steps.

    The pairs of class c count v_c = 1 / (2 K m^2 share_c (1 - share_c)) each. A record of class a
    is in pairs with the n_c records of each other class c, which count 2 (v_a + v_c) at most.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        pairs = np.array(self._by_class(values, y, units), dtype=float)
        return (in_steps(float(self._values(units) @ pairs), self._width(units)),)

    def sensitivity(self, units: Units) -> int:
        return steps_of_unit(units)

    def largest(self, units: Units) -> int:
        return GRID * units.m

    def per_step(self, units: Units) -> float:
        """Return how much one step is of the mean area."""
        return self._width(units) / GRID

    def _values(self, units: Units) -> Floats:
        pi, n = np.array(self.shares), total_weight(units)
        v: Floats = 1 / (2 * len(pi) * n**2 * pi * (1 - pi))
        return v

    def _width(self, units: Units) -> float:
        *_, second, first = np.sort(self._values(units))
        return float(2 * unit_weight(units) * max(1, _others(units)) * (first + second))


class PrecisionSum(Pairs):
    """The sum over positive records of the precision at their score: P times average precision.

    Adding a positive record of weight w raises it by at most w (1 + L), and a negative one lowers
    it by at most w L, with L = ln(1 + W m). So L times the negative weight is added, and a unit
    moves the sum by at most W (1 + L). The integer is in steps of it.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        s, own, w = values[:, 0], self._own(y)[:, 0], weights(units)
        above, below = (_weight_from(s[own], s[k], w[k]) for k in (own, ~own))
        total = float((w[own] * above / np.maximum(above + below, 1)).sum())
        total += self._log(units) * float(w[~own].sum())
        return (in_steps(total, self._width(units)),)

    def sensitivity(self, units: Units) -> int:
        return steps_of_unit(units)

    def largest(self, units: Units) -> int:
        return GRID * units.m

    def per_step(self, units: Units) -> float:
        """Return how much one step is of the average precision, if the share is right."""
        return self._width(units) / GRID / (self.shares[0] * total_weight(units))

    def _log(self, units: Units) -> float:
        return float(np.log1p(total_weight(units)))

    def _width(self, units: Units) -> float:
        return unit_weight(units) * (1 + self._log(units))


class PairCounts(Pairs):
    """The pairs of two classes in the right order, and the numbers of positive and unknown labels.

    These numbers are multiplied so that together they move as much as the pairs do, and the same
    noise suits all. An eighth of that tells how many labels are unknown, too roughly to correct the
    area: such records count as negative ones that no positive one beats.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        (pairs,) = super().statistics(values, y, units)
        w, code = weights(units), encode(y, self.classes)
        positive, unknown = (int(w[own].sum()) for own in (self._own(y)[:, 0], code < 0))
        return pairs, self._times(units) * positive, self.per_unknown(units) * unknown

    def sensitivity(self, units: Units) -> int:
        """W of the positive weight moves, at most, and of the unknown one."""
        times = self._times(units) + self.per_unknown(units)
        return super().sensitivity(units) + times * unit_weight(units)

    def unknown_counts(self, counts: Sequence[int]) -> NDArray[np.int64]:
        return np.asarray(counts[2:])

    def per_unknown(self, units: Units) -> int:
        return max(1, self._most_pairs(units) // 8)

    def without_unknown(self, counts: Sequence[int]) -> tuple[Self, NDArray[np.int64]]:
        return self, np.asarray(counts[:2])

    def area(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        """Return the area under the ROC curve, of counts of shape (..., 2 or 3)."""
        p = counts[..., 1] / self._times(units)
        return ratio(counts[..., 0], 2 * p * (total_weight(units) - p), undefined)

    def smaller_class(self, counts: Sequence[int], units: Units) -> float:
        """Return the size of the smaller class in units, at least 1."""
        positive, total = counts[1] / self._times(units), total_weight(units)
        return max(1.0, min(positive, total - positive) / unit_weight(units))

    def _times(self, units: Units) -> int:
        return max(1, self._most_pairs(units) - self.per_unknown(units))

    def _most_pairs(self, units: Units) -> int:
        return super().sensitivity(units) // unit_weight(units)


def _others(units: Units) -> int:
    """Return the weight of the records that one may be in pairs with."""
    return total_weight(units) if units.grouped else units.m - 1


def _weight_from(least: Floats, scores: Floats, w: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each of `least`, the weight of scores that are as high or higher."""
    order = np.argsort(scores)
    below = np.concatenate([[0], np.cumsum(w[order])])
    weight: NDArray[np.int64] = below[-1] - below[np.searchsorted(scores[order], least, "left")]
    return weight


def _twice_beaten(winners: Floats, losers: Floats, w: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each winner i, the sum over losers j of ``w_j (2 [s_i > s_j] + [s_i = s_j])``."""
    order = np.argsort(losers)
    below = np.concatenate([[0], np.cumsum(w[order])])
    # 2 [s_i > s_j] + [s_i = s_j]  =  [s_i > s_j] + [s_i >= s_j]
    less = np.searchsorted(losers[order], winners, "left")
    not_greater = np.searchsorted(losers[order], winners, "right")
    found: NDArray[np.int64] = below[less] + below[not_greater]
    return found

"""Integer statistics by which candidates are compared that should order records (zone: sensitive).

With m records, of which each is a unit; the proofs, also for groups, are in the documentation, "The
guarantee":

====================  ======================================================  ==============
statistic             definition                                              sensitivity
====================  ======================================================  ==============
`FlooredPairs`        sum over positive i of max(0, k_i - t), where           2 (m - 1) - t
                      k_i = sum over negative j of 2 [s_i > s_j] + [s_i =
                      s_j], and t is even and public
`PairsOfAllClasses`   sum over classes of such a sum, each class against      4 (m - 1)
                      the others, with t = 0
`RecalibratedBrier`   largest, over public (a, b), of the sum of              G
                      G (1 - (y_i - sigmoid(a logit p_i + b))^2)
====================  ======================================================  ==============
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from .._data.units import Units
from ._confusion_metrics import ratio
from ._labels import encode
from ._statistics import Statistics, total_weight, unit_weight, weights

__all__ = [
    "FlooredPairs",
    "Order",
    "PairCounts",
    "PairsOfAllClasses",
    "RecalibratedBrier",
    "positive_scores",
]

# Steps between a record's lowest and highest gain.
_GRID = 2**20
# Recalibrations that are tried: factors of the log-odds, and shifts by the training set's log-odds.
_FACTORS, _SHIFTS = (0.5, 1.0, 2.0), (-1.0, 0.0, 1.0)
_LEAST_P = 1e-6


class Order(Statistics):
    """A statistic of how a candidate orders records: one integer."""

    def largest(self, units: Units) -> int:
        """Return its largest possible value."""
        raise NotImplementedError

    def line(self, units: Units) -> tuple[float, float]:
        """Return (a, b) such that the area is about a + b times it, at the public prevalences."""
        raise NotImplementedError


def positive_scores(response: NDArray[Any], positive: int) -> NDArray[np.float64]:
    """Return how strongly each record is taken for the positive one of two classes."""
    response = np.array(response, dtype=float)
    if response.ndim == 2:
        found: NDArray[np.float64] = response[:, positive]
        return found
    return response if positive == 1 else -response


@dataclass(frozen=True, eq=False)
class FlooredPairs(Order):
    """Pairs in the right order, of positive records that beat a share of the negative ones.

    A record's value is its score; of two classes.

    Parameters
    ----------
    classes : ndarray of shape (2,)
        Sorted.
    positive : int
        Position of the positive class.
    prevalence : float
        Share of positive records in the training set.
    floor : float
        Share of the negative records that do not count; 0 gives the numerator of the area under
        the ROC curve.
    """

    classes: NDArray[Any]
    positive: int
    prevalence: float
    floor: float

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        s = positive_scores(response, self.positive)
        unknown = np.isnan(s) | (encode(y, self.classes) < 0)
        s[unknown] = self.lowest_values(y, len(s))[unknown]
        return s

    def lowest_values(self, y: Any, n: int) -> NDArray[np.float64]:
        """-inf for positive records; others are negative, and worst with the highest score."""
        return np.where(self.is_positive(y), -np.inf, np.inf)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        positive, w = self.is_positive(y), weights(units)
        beaten = _twice_beaten(values[positive], values[~positive], w[~positive])
        return (int((w[positive] * np.maximum(beaten - self._floor(units), 0)).sum()),)

    def sensitivity(self, units: Units) -> int:
        t, W = self._floor(units), unit_weight(units)
        if units.grouped:
            return W * (2 * total_weight(units) - t)
        return max(1, 2 * (units.m - 1) - t)

    def largest(self, units: Units) -> int:
        """Of p positive and V - p negative records: p (2 (V - p) - t), at its maximum."""
        V, t = total_weight(units), self._floor(units)
        return max(1, (2 * V - t) ** 2 // 8)

    def line(self, units: Units) -> tuple[float, float]:
        """As if every positive record beat more than the floor."""
        V, pi = total_weight(units), self.prevalence
        return self.floor, 1 / (2 * pi * (1 - pi) * V**2)

    def is_positive(self, y: Any) -> NDArray[np.bool_]:
        """Return which records are positive."""
        found: NDArray[np.bool_] = encode(y, self.classes) == self.positive
        return found

    def _floor(self, units: Units) -> int:
        return 2 * int(self.floor * (1 - self.prevalence) * total_weight(units))


@dataclass(frozen=True, eq=False)
class PairsOfAllClasses(Order):
    """Pairs in the right order, summed over classes, each against the others.

    A record's values are its scores, one per class.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted; three or more.
    prevalences : ndarray of shape (n_classes,)
        Shares of the classes in the training set.
    """

    classes: NDArray[Any]
    prevalences: NDArray[np.float64]

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        s = np.array(response, dtype=float)
        if s.shape[1:] != (len(self.classes),):
            raise ValueError(
                f"scores of shape {s.shape[1:]} per record, for {len(self.classes)} classes"
            )
        return np.where(np.isnan(s), self.lowest_values(y, len(s)), s)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.float64]:
        """-inf for the class of the record, inf for the others."""
        own = encode(y, self.classes)[:, None] == np.arange(len(self.classes))
        return np.where(own, -np.inf, np.inf)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        code, w = encode(y, self.classes), weights(units)
        total = 0
        for c in range(len(self.classes)):
            own = code == c
            beaten = _twice_beaten(values[own, c], values[~own, c], w[~own])
            total += int((w[own] * beaten).sum())
        return (total,)

    def sensitivity(self, units: Units) -> int:
        W = unit_weight(units)
        if units.grouped:
            return 4 * W * total_weight(units)
        return max(1, 4 * (units.m - 1))

    def largest(self, units: Units) -> int:
        """Each record is beaten, or beats, by 2 at most for each pair and each of two classes."""
        return 2 * total_weight(units) ** 2

    def line(self, units: Units) -> tuple[float, float]:
        pi = self.prevalences
        return 0.0, 1 / (2 * float((pi * (1 - pi)).sum()) * total_weight(units) ** 2)


@dataclass(frozen=True, eq=False)
class RecalibratedBrier(Order):
    """Squared errors of probabilities, after the recalibration that suits the candidate best.

    A score that orders records well has a small error once it is a probability; class weights, for
    instance, shift probabilities and leave the order as it was. A record's values are its gains
    with each recalibration.

    Parameters
    ----------
    classes, positive, prevalence
        As in `FlooredPairs`.
    """

    classes: NDArray[Any]
    positive: int
    prevalence: float

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        p = np.clip(positive_scores(response, self.positive), _LEAST_P, 1 - _LEAST_P)
        code = encode(y, self.classes)
        odds, shift = logit(p)[:, None, None], logit(self.prevalence)
        q = expit(np.array(_FACTORS)[:, None] * odds + shift * np.array(_SHIFTS))
        gain = 1 - ((code == self.positive)[:, None, None] - q) ** 2
        gain = np.where(np.isnan(gain) | (code < 0)[:, None, None], 0.0, gain)
        found: NDArray[np.int64] = np.rint(_GRID * gain).astype(np.int64).reshape(len(p), -1)
        return found

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        return np.zeros((n, len(_FACTORS) * len(_SHIFTS)), dtype=np.int64)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return (max(int(units.mean(column).sum()) for column in values.T),)

    def sensitivity(self, units: Units) -> int:
        """Each sum moves by G at most, and so does the largest of them."""
        return _GRID

    def largest(self, units: Units) -> int:
        return _GRID * units.m

    def line(self, units: Units) -> tuple[float, float]:
        """The largest and the smallest error that there may be stand for 0 and 1: a guess."""
        return 0.0, 1 / self.largest(units)


@dataclass(frozen=True, eq=False)
class PairCounts(Statistics):
    """The pairs in the right order, and how many records are positive, many times over.

    The second number is multiplied by the sensitivity of the first, so that the same noise suits
    both.

    Parameters
    ----------
    pairs : FlooredPairs
        With a floor of 0.
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    """

    pairs: FlooredPairs
    response_method: tuple[str, ...]

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        return self.pairs.record_values(y, response, classes)

    def lowest_values(self, y: Any, n: int) -> NDArray[np.float64]:
        return self.pairs.lowest_values(y, n)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        (pairs,) = self.pairs.statistics(values, y, units)
        positives = int(weights(units)[self.pairs.is_positive(y)].sum())
        return pairs, self._times(units) * positives

    def sensitivity(self, units: Units) -> int:
        """W of the positive weight moves, at most."""
        return self.pairs.sensitivity(units) + self._times(units) * unit_weight(units)

    def area(
        self, counts: NDArray[np.float64], units: Units, end: str | None = None
    ) -> NDArray[np.float64]:
        """Return the area under the ROC curve, of counts of shape (..., 2); see `ratio`."""
        p = counts[..., 1] / self._times(units)
        both = 2 * np.where(p > 0, p, 0.0) * (total_weight(units) - p)
        area = ratio(np.where(both > 0, counts[..., 0], 0.0), both, end)
        return np.clip(area, 0, 1) if end is None else area

    def _times(self, units: Units) -> int:
        return max(1, self.pairs.sensitivity(units) // unit_weight(units))


def _twice_beaten(
    winners: NDArray[np.float64], losers: NDArray[np.float64], w: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, for each winner i, the sum over losers j of ``w_j (2 [s_i > s_j] + [s_i = s_j])``."""
    order = np.argsort(losers)
    below = np.concatenate([[0], np.cumsum(w[order])])
    # 2 [s_i > s_j] + [s_i = s_j]  =  [s_i > s_j] + [s_i >= s_j]
    less = np.searchsorted(losers[order], winners, "left")
    not_greater = np.searchsorted(losers[order], winners, "right")
    found: NDArray[np.int64] = below[less] + below[not_greater]
    return found

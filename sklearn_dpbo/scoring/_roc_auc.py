"""The area under the ROC curve, with its sensitivity (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from .._data.tables import dense
from .._data.units import Units
from . import _gains as gains
from ._scorers import PrivateScorer, scorer_repr

__all__ = ["RocAuc"]

# Largest total weight W of a group's records, if the sums fit into int64.
_GROUP_WEIGHT = 2**10


@dataclass(frozen=True, repr=False)
class RocAuc(PrivateScorer):
    """Area under the ROC curve, from pairs of a positive and a negative record."""

    positive: object = None
    prevalence: float = 0.5
    prepared: bool = False
    name = "roc_auc"
    task = "classification"
    response_method = ("decision_function", "predict_proba")
    bounds = (0.0, 1.0)

    def prepare(self, y_train: Any) -> RocAuc:
        y = dense(y_train)
        classes = np.unique(y)
        if len(classes) != 2 or y.ndim > 1:
            raise ValueError(
                f"scoring='roc_auc' takes two classes; y has {len(classes)}. Use 'accuracy', "
                "'balanced_accuracy' or 'neg_log_loss'"
            )
        prevalence = float(gains.equal(y, classes[1]).mean())
        return replace(self, positive=classes[1], prevalence=prevalence, prepared=True)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        s = np.array(response[:, 1] if response.ndim == 2 else response, dtype=float)
        invalid = np.isnan(s) | (gains.encode(y, classes) < 0)
        s[invalid] = self.lowest_values(y, len(s))[invalid]
        return s

    def lowest_values(self, y: Any, n: int) -> NDArray[np.float64]:
        """-inf for positive records; others are negative, and worst with the highest score."""
        return np.where(gains.equal(y, self.positive), -np.inf, np.inf)

    def weighted(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
        values, y = self._values_and_labels(estimator, X, y)
        positive = gains.equal(y, self.positive)
        return float(roc_auc_score(positive, values, sample_weight=sample_weight))

    def _unit_weight(self, units: Units) -> int:
        """Return W, such that 2 (W m)^2 stays below 2^62."""
        return min(_GROUP_WEIGHT, max(1, 2**30 // units.m)) if units.grouped else 1

    def _total_weight(self, units: Units) -> int:
        return self._unit_weight(units) * units.m

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        w = units.record_weights(self._unit_weight(units))
        positive = gains.equal(y, self.positive)
        order = np.argsort(values[~positive])
        s_negative = values[~positive][order]
        below = np.concatenate([[0], np.cumsum(w[~positive][order])])
        # 2 [s_i > s_j] + [s_i = s_j]  =  [s_i > s_j] + [s_i >= s_j]
        s_positive = values[positive]
        n_less = np.searchsorted(s_negative, s_positive, "left")
        n_not_greater = np.searchsorted(s_negative, s_positive, "right")
        pairs = below[n_less] + below[n_not_greater]
        return int((w[positive] * pairs).sum()), int(w[positive].sum())

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        W = self._unit_weight(units)
        return max(1, 2 * (W * W * (units.m - 1) + W * W // 4)), W

    def largest(self, units: Units) -> int:
        return self._total_weight(units) ** 2 // 2

    def line(self, units: Units) -> tuple[float, float]:
        """The validation set's share of positives is taken to be the training set's."""
        total = self._total_weight(units)
        return 0.0, 1 / (2 * self.prevalence * (1 - self.prevalence) * total**2)

    def _area(self, pairs: int, positives: int, units: Units) -> float:
        """pairs / (2 P N), within [0, 1]; 1/2 where one of the classes is absent."""
        all_pairs = 2 * positives * (self._total_weight(units) - positives)
        return min(max(pairs / all_pairs, 0.0), 1.0) if all_pairs > 0 else 0.5

    def value(self, statistics: Sequence[int], units: Units) -> float:
        pairs, positives = statistics
        return self._area(pairs, positives, units)

    def interval(
        self, low: Sequence[int], high: Sequence[int], units: Units
    ) -> tuple[float, float]:
        """P N is smallest at an end of the range of P, and largest nearest to P = N."""
        total = self._total_weight(units)
        ends = [min(max(p, 0), total) for p in (low[1], high[1])]
        middle = min(max(total // 2, ends[0]), ends[1])
        fewest = min(ends, key=lambda p: p * (total - p))
        if fewest * (total - fewest) == 0:
            return 0.0, 1.0
        return self._area(low[0], middle, units), self._area(high[0], fewest, units)

    def __repr__(self) -> str:
        return scorer_repr(self.name, {})

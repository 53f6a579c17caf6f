"""Scores of how a classifier orders records, with their sensitivity (zone: sensitive).

The choice is by numbers of pairs of a positive and a negative record in the right order. A
histogram of predicted scores is released, and the score computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from .._data.tables import dense
from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from . import _gains as gains
from ._histogram import ScoreHistogram, n_bins
from ._intervals import simulated_interval
from ._ranking_metrics import average_precision, roc_auc
from ._scorers import PrivateScorer, scorer_repr
from ._statistics import Predictions, Statistics, total_weight, unit_weight, weights

__all__ = ["Ranking"]


@dataclass(frozen=True, repr=False)
class Ranking(PrivateScorer):
    """Area under the ROC curve, or average precision, of two classes."""

    name: str
    pos_label: Any = None
    classes: Any = None
    prevalence: float = 0.5
    histogram: ScoreHistogram | None = None
    prepared: bool = False
    task = "classification"
    response_method = ("decision_function", "predict_proba")
    bounds = (0.0, 1.0)
    releases_at = True

    def prepare(self, y_train: Any) -> Ranking:
        y = dense(y_train)
        classes = np.unique(y)
        if len(classes) != 2 or y.ndim > 1:
            raise ValueError(
                f"scoring={self.name!r} takes two classes; y has {len(classes)}. Use "
                "'roc_auc_ovr', 'balanced_accuracy' or 'neg_log_loss'"
            )
        prevalence = float(gains.equal(y, classes[1]).mean())
        return replace(self, classes=classes, prevalence=prevalence, prepared=True)

    @property
    def positive(self) -> Any:
        """The class whose records should have high scores."""
        return self.classes[1]

    def releasing_at(self, public: Predictions, m: int, epsilon: float) -> Ranking:
        bins = n_bins(m, epsilon)
        histogram = ScoreHistogram.at(public, self.classes, self.response_method, bins)
        return replace(self, histogram=histogram)

    def releasing_from(self, histogram: ScoreHistogram) -> Ranking:
        return replace(self, histogram=histogram)

    @property
    def counts(self) -> Statistics:
        assert self.histogram is not None, "`releasing_at` sets it"
        return self.histogram

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        s = np.array(response[:, 1] if response.ndim == 2 else response, dtype=float)
        invalid = np.isnan(s) | (gains.encode(y, classes) < 0)
        s[invalid] = self.lowest_values(y, len(s))[invalid]
        return s

    def lowest_values(self, y: Any, n: int) -> NDArray[np.float64]:
        """-inf for positive records; others are negative, and worst with the highest score."""
        return np.where(gains.equal(y, self.positive), -np.inf, np.inf)

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        values = self.record_values(y, response, classes)
        compute = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
        positive = gains.equal(y, self.positive)
        return float(compute[self.name](positive, values, sample_weight=sample_weight))

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        w = weights(units)
        positive = gains.equal(y, self.positive)
        order = np.argsort(values[~positive])
        s_negative = values[~positive][order]
        below = np.concatenate([[0], np.cumsum(w[~positive][order])])
        # 2 [s_i > s_j] + [s_i = s_j]  =  [s_i > s_j] + [s_i >= s_j]
        s_positive = values[positive]
        n_less = np.searchsorted(s_negative, s_positive, "left")
        n_not_greater = np.searchsorted(s_negative, s_positive, "right")
        pairs = below[n_less] + below[n_not_greater]
        return (int((w[positive] * pairs).sum()),)

    def sensitivity(self, units: Units) -> int:
        W = unit_weight(units)
        return max(1, 2 * (W * W * (units.m - 1) + W * W // 4))

    def largest(self, units: Units) -> int:
        return total_weight(units) ** 2 // 2

    def line(self, units: Units) -> tuple[float, float]:
        """The validation set's share of positives is taken to be the training set's."""
        return 0.0, 1 / (2 * self.prevalence * (1 - self.prevalence) * total_weight(units) ** 2)

    def value(self, counts: Sequence[int], units: Units) -> float:
        assert self.histogram is not None, "`releasing_at` sets it"
        return float(self._of(self.histogram.nearest(np.array([counts]), total_weight(units)))[0])

    def _of(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        assert self.histogram is not None, "`releasing_at` sets it"
        (table,) = self.histogram.tables(counts)
        metric = {"roc_auc": roc_auc, "average_precision": average_precision}[self.name]
        found: NDArray[np.float64] = np.clip(metric(table), *self.bounds)
        return found

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        return simulated_interval(self._of, noisy, confidence)

    def __repr__(self) -> str:
        return scorer_repr(self.name, {})

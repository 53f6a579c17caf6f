"""Scores that are not means of gains, computed in secret (zone: sensitive).

Theorems 1 to 6 are about the score itself, whatever it is computed from: no sensitivity is used
but what the dataset kernel says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._data.units import Units
from ..._evaluation.evaluator import Evaluator
from ..._privacy.noisy_counts import NoisyCounts
from ...scoring._queries import Query
from ...scoring._response import Predictions
from ...scoring._scorers import PrivateScorer

__all__ = ["ExactScore", "observing_scores"]

# Steps between the lowest and the highest score.
_GRID = 2**20


@dataclass(frozen=True, eq=False)
class ExactQuery(Query):
    """A score of protected records, rounded to a grid between its bounds."""

    score: PrivateScorer

    @property
    def response_method(self) -> tuple[str, ...]:  # type: ignore[override]
        methods: tuple[str, ...] = self.score.counts.response_method
        return methods

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[Any]:
        values: NDArray[Any] = self.score.counts.record_values(y, response, classes)
        return values

    def lowest_values(self, y: Any, n: int) -> NDArray[Any]:
        values: NDArray[Any] = self.score.counts.lowest_values(y, n)
        return values

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        counts = self.score.counts.statistics(values, y, units)
        a, b = self.score.bounds
        share = (self.score.value(counts, units) - a) / (b - a)
        return (round(_GRID * min(max(share, 0.0), 1.0)),)

    def sensitivity(self, units: Units) -> int:
        """One record may change the score by all of its range."""
        return _GRID

    def largest(self, units: Units) -> int:
        return _GRID


@dataclass(frozen=True, eq=False, repr=False)
class ExactScore(PrivateScorer):
    """A score that is released as what it is: ``a + b statistic``."""

    score: Any = None

    @classmethod
    def of(cls, score: PrivateScorer) -> ExactScore:
        """Return the score, which needs no public predictions, on a line with its statistic."""
        query = ExactQuery(score)
        known = score.name, score.bounds, score.params, query, query
        methods = query.response_method
        return cls(*known, ends=score.bounds, response_method=methods, score=score)

    def raw(
        self, counts: NDArray[np.float64], units: Units, undefined: float | None = None
    ) -> NDArray[np.float64]:
        a, b = self.bounds
        found: NDArray[np.float64] = a + (b - a) * np.clip(counts[:, 0] / _GRID, 0.0, 1.0)
        return found

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        (ends,) = noisy.interval(confidence)
        low, high = (self.value((end,), units) for end in ends)
        return low, high

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        found: float = self.score.exact(public, sample_weight)
        return found


def observing_scores(oracle: Evaluator, who: str) -> Evaluator:
    """Return the oracle whose statistic lies on a line with the score, exactly."""
    scorer = oracle.scorer
    if scorer.is_mean:
        return oracle
    try:
        found = scorer.release()
    except ValueError:
        raise ValueError(
            f"{who} observes the score itself, but scoring={scorer.name!r} is known only up to the "
            "bins of a histogram. Use an average of gains, such as 'accuracy', a function of the "
            "confusion matrix, such as 'f1', or 'roc_auc'"
        ) from None
    if not all(map(math.isfinite, found.bounds)):
        raise ValueError(
            f"{who} needs a metric with two finite bounds, but scoring={scorer.name!r} lies in "
            f"{found.bounds}. Use 'neg_mean_squared_error' or another metric with bounds"
        )
    return replace(oracle, scorers=(ExactScore.of(found),))

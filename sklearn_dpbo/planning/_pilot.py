"""The error of a released score, estimated from a pilot's public predictions (zone: released).

Noise moves a mean by the same amount whatever the predictions are. Other scores divide by counts,
or count pairs, so the effect of noise depends on how many records of each kind there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from .._data.tables import dense
from .._data.units import Units
from .._privacy.accounting import SCORE, Budget
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import SeededNoise
from .._privacy.sensitive import Sensitive
from ..scoring._make import is_several, resolve_scorer
from ..scoring._of_counts import RankingScore, VarianceExplained
from ..scoring._response import Predictions
from ..scoring._scorers import MeanScore, PrivateScorer, score_and_interval

__all__ = ["N_DRAWS", "Pilot"]

# Number of seeded draws of the noise; the median of their intervals is taken.
N_DRAWS = 9
_N_RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class Pilot:
    """A score, and public predictions of a model about as good as those to come.

    `scorer`: prepared for candidates as good as the pilot, which was not fitted on these records.
    """

    scorer: PrivateScorer
    predictions: Predictions = field(repr=False)
    _widths: dict[tuple[int, float], float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, scoring: Any, estimator: Any, X: Any, y: Any) -> Pilot:
        """Let a fitted model predict public records; parameters as those of `plan_search`."""
        if is_several(scoring):
            raise ValueError(f"a plan is for one score; found scoring={scoring!r}")
        check_is_fitted(estimator)
        check_consistent_length(X, y)
        scorer = resolve_scorer(scoring, estimator).prepare(dense(y))
        predictions = scorer.predictions(estimator, X, y)
        if scorer.choice_uses_public:
            scorer = scorer.choice(predictions)
        return cls(scorer, predictions)

    @property
    def n_records(self) -> int:
        """Number of public records."""
        return len(self.predictions.response)

    @cached_property
    def score(self) -> float:
        """The pilot's score."""
        return _exact(self.scorer, self.predictions)

    @cached_property
    def spread(self) -> float:
        """Bootstrap deviation of the pilot's score on n records, times the square root of n."""
        rng, n, scores = np.random.default_rng(0), self.n_records, []
        kinds = _n_kinds(self.predictions)
        for _ in range(_N_RESAMPLES):
            sample = _rows_of(self.predictions, rng.integers(n, size=n))
            if _n_kinds(sample) == kinds:  # AUC is not defined without a class
                scores.append(_exact(self.scorer, sample))
        return float(np.std(scores) * math.sqrt(n)) if scores else math.nan

    def half_width(self, m: int, epsilon: float) -> float:
        """Return half the width of the released score's interval on m such records (median)."""
        if (m, epsilon) not in self._widths:
            self._widths[m, epsilon] = self._half_width(m, epsilon)
        return self._widths[m, epsilon]

    def _half_width(self, m: int, epsilon: float) -> float:
        units, scorer, sample = Units.of(m), self.scorer, _scaled(self.predictions, m)
        scorer = scorer.release(lambda _: self.predictions, m, epsilon)
        counts = scorer.counts
        values = counts.record_values(sample.y, sample.response, sample.classes)
        table = Sensitive(counts.statistics(values, sample.y, units), counts.sensitivity(units))
        widths = []
        for seed in range(N_DRAWS):
            mechanisms = Mechanisms(Budget(epsilon), SeededNoise(seed))
            noisy = mechanisms.release_counts(table, epsilon, purpose=SCORE)
            _, (low, high) = score_and_interval(scorer, units, noisy)
            widths.append((high - low) / 2 if math.isfinite(high - low) else math.inf)
        return sorted(widths)[N_DRAWS // 2]

    def score_per_step(self, m: int) -> float | None:
        """Return one step of the statistic that ranks candidates, in the score, to first order.

        None if that is not known: for average precision, and for more than two classes.
        """
        scorer, public, units = self.scorer, self.predictions, Units.of(m)
        if isinstance(scorer, RankingScore):
            # The statistic counts each of n p pairs of a negative and a positive record twice.
            share = float(np.mean(public.y == np.unique(public.y)[-1]))
            return 1 / (2 * share * (1 - share) * m**2) if scorer.name == "roc_auc" else None
        if isinstance(scorer, VarianceExplained) or (
            isinstance(scorer, MeanScore) and not scorer.is_mean
        ):
            return _score_per_gain(scorer, public, self.score) / scorer.query.largest(units)
        return scorer.line(units)[1]


def _score_per_gain(scorer: PrivateScorer, public: Predictions, score: float) -> float:
    """Return the derivative of the score by the mean gain, in shares of the gains' range."""
    query: Any = scorer.query
    low, high = query.bounds
    gains = query.unclipped(public.y, public.response, public.classes)
    # Gains that are clipped are taken to grow like the others.
    hidden = float(gains.sum() / gains[gains >= low].sum()) if (gains < low).any() else 1.0
    if isinstance(scorer, VarianceExplained):  # of 1 + g / var(y)
        variance = float(np.var(np.asarray(public.y, dtype=float)))
        return hidden * float(high - low) / variance
    return hidden * float(high - low) / (2 * abs(score)) if score else math.inf  # of -sqrt(-g)


def _exact(scorer: PrivateScorer, public: Predictions) -> float:
    return scorer.exact(public)


def _scaled(public: Predictions, m: int) -> Predictions:
    """Return m of these predictions: each about m / n times, evenly from class to class."""
    n = len(public.response)
    order = np.lexsort(
        [_ranks(values) for values in (public.response, public.y) if values is not None]
    )
    return _rows_of(public, order[(2 * np.arange(m) + 1) * n // (2 * m)])


def _ranks(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each value, or of its last column, in the order of all."""
    column = values if values.ndim == 1 else values[:, -1]
    ranks: NDArray[np.intp] = np.unique(column, return_inverse=True)[1]
    return ranks


def _rows_of(public: Predictions, rows: NDArray[np.intp]) -> Predictions:
    y = None if public.y is None else public.y[rows]
    return Predictions(y, public.response[rows], public.classes)


def _n_kinds(public: Predictions) -> int:
    """Number of classes among the labels; 0 for regression."""
    return 0 if public.classes is None or public.y is None else len(np.unique(public.y, axis=0))

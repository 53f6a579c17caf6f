"""The errors of any metric, estimated from a pilot's public predictions (zone: released).

Noise moves a mean by the same amount whatever the predictions are. Other scores divide by counts,
or count pairs, so the effect of noise depends on how many records of each kind there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from .._data.tables import dense
from .._data.units import Units
from .._privacy.accounting import SCORE, Budget
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import SeededNoise
from .._privacy.sensitive import Sensitive
from ..scoring._make import is_several, resolve_scorer
from ..scoring._of_counts import ConfusionScore
from ..scoring._precision import expected_counts, sampling_deviation
from ..scoring._response import Predictions
from ..scoring._scorers import PrivateScorer, score_and_interval

__all__ = ["N_DRAWS", "PilotErrors"]

# Number of seeded draws of the noise; the median of their intervals is taken.
N_DRAWS = 9


@dataclass(frozen=True, eq=False, repr=False)
class PilotErrors:
    """Errors of a metric for candidates that predict as a pilot does.

    `scorer` is prepared for candidates as good as the pilot, which was not fitted on the records of
    the `public` predictions.
    """

    scorer: PrivateScorer
    public: Predictions
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"m": (10, 10**6), "epsilon": (1e-3, 1e3)}
    tolerance: ClassVar[float] = 0.02
    guaranteed: ClassVar[bool] = False

    @classmethod
    def of(cls, scoring: Any, estimator: Any, X: Any, y: Any) -> PilotErrors:
        """Let a fitted model predict public records; parameters as those of `plan_search`."""
        if is_several(scoring):
            raise ValueError(f"a plan is for one score; found scoring={scoring!r}")
        if estimator is None or X is None or y is None:
            raise ValueError(
                f"a plan for scoring={scoring!r} needs the predictions of a pilot: pass "
                "estimator=, a fitted model, and X= and y=, public records that it was not fitted "
                "on"
            )
        check_is_fitted(estimator)
        check_consistent_length(X, y)
        scorer = resolve_scorer(scoring, estimator).prepare(dense(y))
        public = scorer.predictions(estimator, X, y)
        return cls(scorer.choice(public) if scorer.choice_uses_public else scorer, public)

    @property
    def score_range(self) -> float:
        low, high = self.scorer.bounds
        return high - low

    @cached_property
    def score(self) -> float:
        """The pilot's score."""
        return self.scorer.exact(self.public)

    def sensitivity(self, m: int) -> int:
        """Return that of the statistic which ranks candidates, in steps."""
        return self.scorer.query.sensitivity(Units.of(m))

    def regret(self, steps: float, m: int) -> float:
        """Return a regret in steps of the statistic as one of the score, to first order.

        NaN where the statistic and the score have no such relation at the pilot.
        """
        if not (self.scorer.is_mean or isinstance(self.scorer, ConfusionScore)):
            return math.nan
        return min(steps * self.scorer.line(Units.of(m))[1], self.score_range)

    def score_error(self, m: int, epsilon: float, confidence: float) -> float:
        """Return half the width of ``best_score_interval_`` on m such records (median)."""
        units = Units.of(m)
        scorer = self.scorer.release(lambda _: self.public, m, epsilon)
        counts = scorer.counts
        expected = expected_counts(counts, self.public, units)
        table = Sensitive(expected, counts.sensitivity(units))
        widths = []
        for seed in range(N_DRAWS):
            mechanisms = Mechanisms(Budget(epsilon), SeededNoise(seed))
            noisy = mechanisms.release_counts(table, epsilon, purpose=SCORE)
            _, (low, high) = score_and_interval(scorer, units, noisy)
            widths.append((high - low) / 2 if math.isfinite(high - low) else math.inf)
        return sorted(widths)[N_DRAWS // 2]

    def sampling_error(self, m: int, confidence: float) -> float:
        """Return how far the pilot's score on m records is from that on their population."""
        return NormalDist().inv_cdf((1 + confidence) / 2) * self._spread / math.sqrt(m)

    @cached_property
    def _spread(self) -> float:
        """Bootstrap deviation of the pilot's score on n records, times the square root of n."""
        return sampling_deviation(self.scorer, self.public)

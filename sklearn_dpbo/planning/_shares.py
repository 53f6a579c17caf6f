"""Errors of metrics of classes, estimated from the classes' public shares (zone: released).

Noise moves a mean by the same amount whatever the predictions are. Other scores divide by counts,
or count pairs, so the effect of noise depends on the number of records of each class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from ..metrics._make import is_several, resolve_scorer
from ..metrics._of_counts import ConfusionScore
from ..metrics._precision import expected_width, sampling_deviation
from ..metrics._response import Predictions
from ..metrics._scorers import PrivateScorer
from ..records.units import Units

# Number of made-up records, and least number of each class.
_N_RECORDS = 4096
_LEAST_PER_CLASS = 16


class Probabilities(ClassifierMixin, BaseEstimator):
    """Fitted classifier whose input is the probabilities of the classes."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = np.array(classes)

    def predict_proba(self, X: Any) -> Any:
        """Return X, the probabilities."""
        return X

    def predict(self, X: Any) -> Any:
        """Return the most probable class."""
        return self.classes_[X.argmax(axis=1)]


@dataclass(frozen=True, eq=False, repr=False)
class ShareErrors:
    """Errors of a metric for a candidate of medium quality, with public shares of the classes.

    The candidate predicts the exact probabilities of the classes for made-up records. Their
    features are normal with standard deviation 1, and shifted by 1 along the axis of their class,
    so the AUC of two classes is 0.84.
    """

    scorer: PrivateScorer
    public: Predictions
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"m": (10, 10**6), "epsilon": (1e-3, 1e3)}
    tolerance: ClassVar[float] = 0.02
    guaranteed: ClassVar[bool] = False

    @classmethod
    def of(cls, scoring: Any, class_shares: Mapping[Any, float]) -> ShareErrors:
        """Make records with these shares of the classes, and predict them for a scoring."""
        if is_several(scoring):
            raise ValueError(f"a plan is for one score; found scoring={scoring!r}")
        if len(class_shares) < 2 or min(class_shares.values()) <= 0:
            raise ValueError(
                f"class_shares must have two or more positive shares; found {class_shares}"
            )
        classes = sorted(class_shares)
        shares = np.array([class_shares[label] for label in classes], dtype=float)
        shares /= shares.sum()
        class_counts = np.maximum(_LEAST_PER_CLASS, shares * _N_RECORDS).astype(int)
        code = np.repeat(np.arange(len(classes)), class_counts)
        features = np.random.default_rng(0).normal(np.eye(len(classes))[code])
        model = Probabilities(classes)
        y = np.array(classes)[code]
        scorer = resolve_scorer(scoring, model).prepare(y)
        public = scorer.predictions(model, softmax(features + np.log(shares), axis=1), y)
        return cls(scorer.choice(public) if scorer.choice_uses_public else scorer, public)

    @property
    def score_range(self) -> float:
        return self.scorer.score_range

    @property
    def most(self) -> float:
        """Half the width of the widest interval."""
        return self.score_range / 2

    def sensitivity(self, m: int) -> int:
        """Return the sensitivity of the statistic that ranks candidates, in steps."""
        return self.scorer.query.sensitivity(Units.of(m))

    def regret(self, steps: float, m: int) -> float:
        """Convert a regret in steps of the statistic to one of the score, to first order.

        NaN if the score has no such conversion.
        """
        if not (self.scorer.is_mean or isinstance(self.scorer, ConfusionScore)):
            return math.nan
        return min(steps * self.scorer.line(Units.of(m))[1], self.score_range)

    def score_error(self, m: int, epsilon: float, confidence: float) -> float:
        """Estimate half the width of ``best_score_interval_`` on m such records."""
        units = Units.of(m)
        scorer = self.scorer.release(lambda _: self.public, m, epsilon)
        scale = scorer.counts.sensitivity(units) / epsilon
        width = expected_width(scorer, lambda _: self.public, units, scale).width
        return width / 2 if math.isfinite(width) else math.inf

    def sampling_error(self, m: int, confidence: float) -> float:
        """Approximate the difference between a score on m records and on their population."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return z * sampling_deviation(self.scorer, self.public) / math.sqrt(m)

"""The errors of metrics of classes, estimated from the classes' public shares (zone: released).

Noise moves a mean by the same amount whatever the predictions are. Other scores divide by counts,
or count pairs, so the effect of noise depends on how many records of each class there are.
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

# Made-up records, and at least so many of each class.
_N, _OF_EACH_CLASS = 4096, 16


class Probabilities(ClassifierMixin, BaseEstimator):
    """A fitted classifier that takes its input for probabilities of the classes."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = np.array(classes)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities."""
        return X

    def predict(self, X: Any) -> Any:
        """Return the most probable class."""
        return self.classes_[X.argmax(axis=1)]


@dataclass(frozen=True, eq=False, repr=False)
class ShareErrors:
    """Errors of a metric for a candidate of middling quality, on classes of given shares.

    It knows the probabilities of records whose features are normal with deviation 1, and shifted by
    1 along the axis of their class: the AUC of two classes is 0.84.
    """

    scorer: PrivateScorer
    public: Predictions
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"m": (10, 10**6), "epsilon": (1e-3, 1e3)}
    tolerance: ClassVar[float] = 0.02
    guaranteed: ClassVar[bool] = False

    @classmethod
    def of(cls, scoring: Any, class_shares: Mapping[Any, float]) -> ShareErrors:
        """Return the errors for a scoring, and a dict with the share of each class."""
        if is_several(scoring):
            raise ValueError(f"a plan is for one score; found scoring={scoring!r}")
        if len(class_shares) < 2 or min(class_shares.values()) <= 0:
            raise ValueError(f"class_shares has two or more positive shares; found {class_shares}")
        classes = sorted(class_shares)
        shares = np.array([class_shares[label] for label in classes], dtype=float)
        shares /= shares.sum()
        code = np.repeat(
            np.arange(len(classes)), np.maximum(_OF_EACH_CLASS, shares * _N).astype(int)
        )
        features = np.random.default_rng(0).normal(np.eye(len(classes))[code])
        model, y = Probabilities(classes), np.array(classes)[code]
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
        """Return that of the statistic which ranks candidates, in steps."""
        return self.scorer.query.sensitivity(Units.of(m))

    def regret(self, steps: float, m: int) -> float:
        """Return a regret in steps of the statistic as one of the score, to first order.

        NaN where the statistic and the score have no such relation.
        """
        if not (self.scorer.is_mean or isinstance(self.scorer, ConfusionScore)):
            return math.nan
        return min(steps * self.scorer.line(Units.of(m))[1], self.score_range)

    def score_error(self, m: int, epsilon: float, confidence: float) -> float:
        """Return half the width of ``best_score_interval_`` on m such records."""
        units, scorer = Units.of(m), self.scorer.release(lambda _: self.public, m, epsilon)
        scale = scorer.counts.sensitivity(units) / epsilon
        width = expected_width(scorer, lambda _: self.public, units, scale).width
        return width / 2 if math.isfinite(width) else math.inf

    def sampling_error(self, m: int, confidence: float) -> float:
        """Return how far a score on m records is from that on their population."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return z * sampling_deviation(self.scorer, self.public) / math.sqrt(m)

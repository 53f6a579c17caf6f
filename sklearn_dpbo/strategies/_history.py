"""Everything that a search evaluated, in order (zone: boundary)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._evaluation.evaluator import Evaluation
from .._evaluation.public import PublicEvaluation
from .._privacy.sensitive import Sensitive
from .._space.space import Points
from ._base import Candidate

__all__ = ["History"]

Params = Sequence[dict[str, Any]]


@dataclass(eq=False)
class History:
    """Candidates explored and validated, in order; `fitted` has positions of validated ones."""

    points: Points
    candidates: list[Candidate] = field(default_factory=list)
    fitted: list[int] = field(default_factory=list)
    _statistics: list[Sensitive] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def statistics(self) -> Sensitive:
        """Statistics of the candidates in `fitted`; there must be at least one."""
        return reduce(Sensitive.followed_by, self._statistics)

    @property
    def public_scores(self) -> NDArray[np.float64]:
        """Scores within the training set; NaN where there is none."""
        return np.array([each.public_score for each in self.candidates], dtype=float)

    def add_explored(self, points: Points, params: Params, found: PublicEvaluation) -> None:
        """Record candidates that were scored within the training set."""
        self.points = Points.concatenate([self.points, points])
        for i, each in enumerate(params):
            score, time = float(found.scores[i]), float(found.fit_times[i])
            self.candidates.append(Candidate(each, False, score, time, found.fit_errors[i]))

    def score_again(self, positions: Sequence[int], others: Sequence[PublicEvaluation]) -> None:
        """Let explored candidates have the mean of their score and of those on other cuts."""
        for k, i in enumerate(positions):
            known = self.candidates[i]
            scores = [known.public_score, *(float(each.scores[k]) for each in others)]
            times = [known.fit_time, *(float(each.fit_times[k]) for each in others)]
            self.candidates[i] = replace(
                known, public_score=float(np.nanmean(scores)), fit_time=float(np.mean(times))
            )

    def add_validated(self, points: Points, params: Params, found: Evaluation) -> None:
        """Record candidates that were scored on the validation set."""
        self.fitted += (len(self) + found.fitted).tolist()
        self.points = Points.concatenate([self.points, points])
        self.candidates += [
            Candidate(each, fit_error=error)
            for each, error in zip(params, found.fit_errors, strict=True)
        ]
        if found.fitted.size:
            self._statistics.append(found.statistics.take(found.fitted))

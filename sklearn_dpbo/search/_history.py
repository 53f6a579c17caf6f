"""Everything that a search evaluated, in order (zone: boundary)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._explore import PublicFit
from ._space import Points
from ._strategy import Candidate

Params = Sequence[dict[str, Any]]


@dataclass(eq=False)
class History:
    """Candidates explored and validated, in order; `fitted` has positions of validated ones."""

    points: Points
    candidates: list[Candidate] = field(default_factory=list)
    fitted: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def public_scores(self) -> NDArray[np.float64]:
        """Scores within the training set; NaN where there is none."""
        return np.array([each.public_score for each in self.candidates], dtype=float)

    def add_explored(self, points: Points, params: Params, explored: Sequence[PublicFit]) -> None:
        """Record candidates that were scored within the training set."""
        self.points = Points.concatenate([self.points, points])
        for each, fit in zip(params, explored, strict=True):
            self.candidates.append(Candidate(each, False, fit.score, fit.seconds, fit.error))

    def score_again(self, positions: Sequence[int], others: Sequence[Sequence[PublicFit]]) -> None:
        """Let explored candidates have the mean of their score and of those on other cuts."""
        for k, i in enumerate(positions):
            known = self.candidates[i]
            scores = [known.public_score, *(each[k].score for each in others)]
            times = [known.fit_time, *(each[k].seconds for each in others)]
            self.candidates[i] = replace(
                known, public_score=float(np.nanmean(scores)), fit_time=float(np.mean(times))
            )

    def add_validated(self, points: Points, params: Params, errors: Sequence[str | None]) -> None:
        """Record candidates that are scored on the validation set, and why fits failed."""
        self.fitted += [len(self) + i for i, error in enumerate(errors) if error is None]
        self.points = Points.concatenate([self.points, points])
        self.candidates += [
            Candidate(each, fit_error=error) for each, error in zip(params, errors, strict=True)
        ]

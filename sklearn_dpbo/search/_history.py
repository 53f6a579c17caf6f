"""Candidates that a search evaluated, in order (zone: boundary)."""

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
    """Candidates explored and validated, in order.

    `fitted` has the positions of those that were fitted to be validated, without failures.
    """

    points: Points
    candidates: list[Candidate] = field(default_factory=list)
    fitted: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def public_scores(self) -> NDArray[np.float64]:
        """Scores within the training set; NaN where there is none."""
        return np.array([candidate.public_score for candidate in self.candidates], dtype=float)

    def add_explored(self, points: Points, params: Params, explored: Sequence[PublicFit]) -> None:
        """Record candidates that were scored within the training set."""
        self.points = Points.concatenate([self.points, points])
        for values, fit in zip(params, explored, strict=True):
            self.candidates.append(Candidate(values, False, fit.score, fit.seconds, fit.error))

    def average_with(self, positions: Sequence[int], splits: Sequence[Sequence[PublicFit]]) -> None:
        """Average scores of explored candidates with those on further splits.

        `splits` has, for each split, the fits of the candidates at `positions`.
        """
        for k, i in enumerate(positions):
            candidate = self.candidates[i]
            scores = [candidate.public_score, *(fits[k].score for fits in splits)]
            times = [candidate.fit_time, *(fits[k].seconds for fits in splits)]
            self.candidates[i] = replace(
                candidate, public_score=float(np.nanmean(scores)), fit_time=float(np.mean(times))
            )

    def add_validated(self, points: Points, params: Params, errors: Sequence[str | None]) -> None:
        """Record candidates to score on the validation set; `errors` say why fits failed."""
        self.fitted += [len(self) + i for i, error in enumerate(errors) if error is None]
        self.points = Points.concatenate([self.points, points])
        self.candidates += [
            Candidate(values, fit_error=error) for values, error in zip(params, errors, strict=True)
        ]

"""Everything that a search evaluated, in order (zone: boundary)."""

from __future__ import annotations

import numpy as np

from .._evaluation.evaluator import Evaluation
from .._evaluation.public import PublicEvaluation
from .._privacy.sensitive import Sensitive
from .._space.space import Candidates, Points, SearchSpace

__all__ = ["History"]


class History:
    """A record that grows: settings explored within the training set, and settings validated.

    Attributes
    ----------
    fit_times : list of float
        Of settings that were explored; NaN for what was validated.
    fit_errors : list of (str or None)
    public_scores : list of float
        NaN for what was validated, or failed.
    rows : list of int
        Where the validated candidates whose fit succeeded stand, in the order of `statistics`.
    """

    def __init__(self, space: SearchSpace):
        self._space = space
        self._points: list[Points] = []
        self.fit_times: list[float] = []
        self.fit_errors: list[str | None] = []
        self.public_scores: list[float] = []
        self.validated: list[bool] = []
        self.fitted: list[int] = []
        self._statistics: Sensitive | None = None

    def __len__(self) -> int:
        return len(self.fit_times)

    @property
    def points(self) -> Points:
        """All points, in order."""
        return Points.concatenate(self._points)

    @property
    def candidates(self) -> Candidates:
        """All settings, in order."""
        return self._space.candidates(self.points)

    @property
    def statistics(self) -> Sensitive:
        """Of the candidates in `rows`, of which there must be one."""
        if self._statistics is None:
            raise ValueError("no candidate has been fitted and validated")
        return self._statistics

    @property
    def seconds(self) -> float:
        """Time spent on fits within the training set so far."""
        return float(np.nansum(self.fit_times))

    def add_explored(self, points: Points, found: PublicEvaluation) -> None:
        """Record settings that were scored within the training set."""
        self._add(points, found, found.scores.tolist(), found.fit_times.tolist(), False)

    def add_validated(self, points: Points, found: Evaluation) -> None:
        """Record settings that were scored on the validation set."""
        first = len(self)
        nothing = [np.nan] * len(points)
        self._add(points, found, nothing, nothing, True)
        if found.fitted.size:
            new = found.statistics.take(found.fitted)
            self.fitted += (first + found.fitted).tolist()
            known = self._statistics
            self._statistics = new if known is None else known.followed_by(new)

    def _add(self, points: Points, found, public_scores, fit_times, validated: bool) -> None:
        self._points.append(points)
        self.fit_times += fit_times
        self.fit_errors += list(found.fit_errors)
        self.public_scores += public_scores
        self.validated += [validated] * len(points)

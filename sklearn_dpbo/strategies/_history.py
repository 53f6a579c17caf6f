"""Everything that a search evaluated, in order (zone: boundary)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._evaluation.evaluator import Evaluation
from .._evaluation.public import PublicEvaluation
from .._privacy.sensitive import Sensitive
from .._space.space import Candidates, Points
from ..evaluation._counted import Counted
from ._base import Release, Scores

__all__ = ["History"]


class History:
    """A record that grows: candidates explored within the training set, and candidates validated.

    Attributes
    ----------
    fit_times : list of float
        Of candidates that were explored; NaN for those validated.
    fit_errors : list of (str or None)
        Why a fit failed.
    public_scores : list of float
        NaN for candidates that were validated, or failed.
    validated : list of bool
        Whether each was scored on the validation set.
    fitted : list of int
        Positions of the validated candidates whose fit succeeded, in the order of `statistics`.
    """

    def __init__(self) -> None:
        self._candidates: list[Candidates] = []
        self.fit_times: list[float] = []
        self.fit_errors: list[str | None] = []
        self.public_scores: list[float] = []
        self.validated: list[bool] = []
        self.fitted: list[int] = []
        self._statistics: Sensitive | None = None

    def __len__(self) -> int:
        return len(self.fit_times)

    @property
    def candidates(self) -> Candidates:
        """All candidates, in order."""
        return Candidates.concatenate(self._candidates)

    @property
    def points(self) -> Points:
        """Where they lie."""
        return self.candidates.points

    @property
    def statistics(self) -> Sensitive:
        """Those of the candidates in `fitted`, of which there must be one."""
        if self._statistics is None:
            raise ValueError("no candidate has been fitted and validated")
        return self._statistics

    @property
    def n_validated(self) -> int:
        """How many candidates were scored on the validation set, or could not be fitted for it."""
        return sum(self.validated)

    @property
    def seconds(self) -> float:
        """Time spent on fits within the training set so far."""
        return float(np.nansum(self.fit_times))

    def add_explored(self, candidates: Candidates, found: PublicEvaluation) -> None:
        """Record candidates that were scored within the training set."""
        times, scores = found.fit_times.tolist(), found.scores.tolist()
        self._add(candidates, found.fit_errors, times, scores, validated=False)

    def score_again(self, positions: Sequence[int], others: Sequence[PublicEvaluation]) -> None:
        """Let explored candidates have the mean of their score and of those on other cuts.

        Parameters
        ----------
        positions : sequence of int
            Which candidates were scored again.
        others : sequence of PublicEvaluation
            What each repetition gave for them.
        """
        for k, i in enumerate(positions):
            scores = [self.public_scores[i], *(float(each.scores[k]) for each in others)]
            times = [self.fit_times[i], *(float(each.fit_times[k]) for each in others)]
            self.public_scores[i] = float(np.mean([s for s in scores if not np.isnan(s)]))
            self.fit_times[i] = float(np.mean(times))

    def add_validated(self, candidates: Candidates, found: Evaluation) -> None:
        """Record candidates that were scored on the validation set."""
        first = len(self)
        unknown = [np.nan] * len(candidates)
        self._add(candidates, found.fit_errors, unknown, unknown, validated=True)
        if found.fitted.size:
            new = found.statistics.take(found.fitted)
            self.fitted += (first + found.fitted).tolist()
            known = self._statistics
            self._statistics = new if known is None else known.followed_by(new)

    def release(
        self,
        best_index: int,
        scores: Scores,
        report: Counted | None = None,
        all_scores: dict[int, Scores] | None = None,
    ) -> Release:
        """Return what is public of this, with what was released of the candidate chosen.

        Parameters
        ----------
        best_index : int
            Position of the candidate chosen.
        scores : list of (float, tuple of float)
            Its scores with their intervals, that of the score that selects first.
        report, all_scores
            As in `Release`.
        """
        (score, interval), *others = scores
        return Release(
            self.candidates.params,
            np.array(self.fit_times),
            tuple(self.fit_errors),
            np.array(self.validated),
            np.array(self.public_scores),
            best_index,
            score,
            interval,
            others,
            report,
            all_scores,
        )

    def _add(
        self,
        candidates: Candidates,
        fit_errors: tuple[str | None, ...],
        fit_times: list[float],
        public_scores: list[float],
        *,
        validated: bool,
    ) -> None:
        self._candidates.append(candidates)
        self.fit_errors += fit_errors
        self.fit_times += fit_times
        self.public_scores += public_scores
        self.validated += [validated] * len(candidates)

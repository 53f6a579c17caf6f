"""Scores on a part of the training set, which cost no privacy (zone: public).

The validation set is not within reach of this module.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from sklearn.base import clone

from .._data.split import PublicSplit
from .broadcast import Broadcast
from .fit_cache import FitCache
from .fitting import announce, set_candidate, timed_fit
from .progress import Progress, as_they_finish

__all__ = ["PublicEvaluation", "PublicEvaluator"]


@dataclass(frozen=True)
class PublicEvaluation:
    """What exploring some candidates gave; all of it is public.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        NaN where the fit (or the score) failed.
    fit_times : ndarray of shape (n_candidates,), in seconds
    fit_errors : tuple of str or None, length n_candidates
    gains : list of (ndarray of shape (n_records,) or None)
        What each public record adds to the mean that is the score, if that was asked for.
    """

    scores: np.ndarray
    fit_times: np.ndarray
    fit_errors: tuple[str | None, ...]
    gains: list


class PublicScorer(Protocol):
    """A score on records that need no protection, as scikit-learn's scorers compute it."""

    def __call__(self, estimator, X, y) -> float:
        """Return the score of a fitted estimator."""

    def record_gains(self, estimator, X, y) -> np.ndarray:
        """Return what each record adds to the mean that is the score, shape (n_records,)."""


@dataclass(frozen=True)
class PublicEvaluator:
    """The public oracle: settings in, `PublicEvaluation` out.

    Parameters
    ----------
    estimator : estimator
    split : PublicSplit
    scorer : PublicScorer
        Prepared for the problem.
    error_score, n_jobs, pre_dispatch, verbose, memory, progress
        As in `Evaluator`.
    """

    estimator: object
    split: PublicSplit
    scorer: PublicScorer
    error_score: object
    n_jobs: int | None = None
    pre_dispatch: object = "2*n_jobs"
    verbose: int = 0
    memory: object = None
    progress: Progress = field(default_factory=Progress)

    def __call__(self, settings: tuple[dict, ...], *, by_record=False) -> PublicEvaluation:
        """Fit settings on one part of the training set, score them on the other, in parallel."""
        n = len(settings)
        outcomes: list = [None] * n
        what = "Exploring {} within the training set"
        listener = self.progress.candidates(settings, "candidate-exploration", what)
        tasks = [
            (self._task, setting, f"{i + 1}/{n}", self.verbose, by_record)
            for i, setting in enumerate(settings)
        ]
        finished = as_they_finish(_explore, tasks, self.n_jobs, self.pre_dispatch)
        with self._task.sent(), closing(finished) as found:
            for i, outcomes[i] in found:
                listener.finished(i, outcomes[i][1])
        times = np.array([time for time, _, _ in outcomes])
        errors = tuple(error for _, error, _ in outcomes)
        scores = np.array([np.mean(value) for _, _, value in outcomes], dtype=float)
        gains = [value if by_record and not error else None for _, error, value in outcomes]
        return PublicEvaluation(scores, times, errors, gains)

    @cached_property
    def _task(self) -> Broadcast:
        cache = FitCache.of(self.memory, self.split)
        return Broadcast((self.estimator, self.split, self.scorer, self.error_score, cache))


def _explore(task: Broadcast, setting: dict, position: str, verbose: int, by_record: bool):
    """Return (fit time, error or None, score or gains) of one candidate."""
    estimator, split, scorer, error_score, cache = task.value
    estimator = set_candidate(clone(estimator), setting)

    def score(fitted):
        measure = scorer.record_gains if by_record else scorer
        return measure(fitted, split.X_test, split.y_test)

    fit_time, error, value = timed_fit(estimator, split, error_score, score, cache.fit)
    announce(verbose, position, setting, error, fit_time)
    return fit_time, error, np.nan if error else value

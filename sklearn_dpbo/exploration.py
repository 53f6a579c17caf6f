"""Scores on a part of the training set, which cost no privacy (zone: public).

The validation set is not within reach of this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import clone

from .fit_cache import FitCache
from .fitting import announce, set_candidate, timed_fit
from .handover import Handover
from .holdout import PublicSplit
from .scorers import PrivateScorer

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


@dataclass(frozen=True)
class PublicEvaluator:
    """The public oracle: settings in, `PublicEvaluation` out.

    Parameters
    ----------
    estimator : estimator
    split : PublicSplit
    scorer : PrivateScorer
        Prepared for the problem; used here without privacy, on public records.
    error_score, n_jobs, pre_dispatch, verbose, memory
        As in `Evaluator`.
    """

    estimator: object
    split: PublicSplit
    scorer: PrivateScorer
    error_score: object
    n_jobs: int | None = None
    pre_dispatch: object = "2*n_jobs"
    verbose: int = 0
    memory: object = None

    def __call__(self, settings: tuple[dict, ...], *, by_record=False) -> PublicEvaluation:
        """Fit settings on one part of the training set, score them on the other, in parallel."""
        n = len(settings)
        if self.verbose > 0:
            print(f"Exploring {n} candidates within the training set")
        calls = (
            (setting, f"{i + 1}/{n}", self.verbose, by_record) for i, setting in enumerate(settings)
        )
        outcomes = self._task.run(_explore, calls, self.n_jobs, self.pre_dispatch)
        times, errors, found = zip(*outcomes, strict=True)
        gains = [f if by_record and e is None else None for f, e in zip(found, errors, strict=True)]
        scores = [np.mean(each) for each in found]
        return PublicEvaluation(np.array(scores, dtype=float), np.array(times), errors, gains)

    @cached_property
    def _task(self) -> Handover:
        cache = FitCache.of(self.memory, self.split)
        return Handover((self.estimator, self.split, self.scorer, self.error_score, cache))


def _explore(task: Handover, setting: dict, position: str, verbose: int, by_record: bool):
    """Return (fit time, error or None, score or gains) of one candidate."""
    estimator, split, scorer, error_score, cache = task.value
    estimator = set_candidate(clone(estimator), setting)

    def score(fitted):
        measure = scorer.record_gains if by_record else scorer
        return measure(fitted, split.X_test, split.y_test)

    fit_time, error, value = timed_fit(estimator, split, error_score, score, cache.fit)
    announce(verbose, position, setting, error, fit_time)
    return fit_time, error, np.nan if error else value

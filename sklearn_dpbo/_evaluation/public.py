"""Scores on a part of the training set, which cost no privacy (zone: public).

The validation set is not within reach of this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._data.split import PublicSplit
from .broadcast import Broadcast
from .fit_cache import FitCache
from .fitting import FitOptions, announce, timed_fit, without_autologging
from .progress import Progress, as_they_finish

__all__ = ["PublicEvaluation", "PublicEvaluator", "explore"]


@dataclass(frozen=True, eq=False)
class PublicEvaluation:
    """What exploring some candidates gave; all of it is public.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        NaN where the fit (or the score) failed.
    fit_times : ndarray of shape (n_candidates,)
        In seconds.
    fit_errors : tuple of str or None, length n_candidates
        Why a fit failed.
    gains : list of (ndarray of shape (n_records,) or None)
        What each public record adds to the mean that is the score, if that was asked for.
    """

    scores: NDArray[np.float64]
    fit_times: NDArray[np.float64]
    fit_errors: tuple[str | None, ...]
    gains: list[NDArray[np.float64] | None]


class PublicScorer(Protocol):
    """A score on records that need no protection, as scikit-learn's scorers compute it."""

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the score of a fitted estimator."""

    def record_gains(self, estimator: Any, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Return what each record adds to the mean that is the score, shape (n_records,)."""


@dataclass(frozen=True)
class PublicEvaluator:
    """The public oracle: candidates in, `PublicEvaluation` out.

    Parameters
    ----------
    options : FitOptions
        How candidates are fitted.
    split : PublicSplit
        The training set, cut in two.
    scorer : PublicScorer
        Prepared for the problem.
    progress : Progress
        Hears of candidates that finish.
    """

    options: FitOptions
    split: PublicSplit
    scorer: PublicScorer
    progress: Progress = field(default_factory=Progress)

    def __call__(
        self, candidate_params: tuple[dict[str, Any], ...], *, by_record: bool = False
    ) -> PublicEvaluation:
        """Fit candidates on one part of the training set, score them on the other, in parallel."""
        return explore([self], candidate_params, by_record=by_record)[0]

    def fitted(self, params: dict[str, Any]) -> Any:
        """Return a candidate fitted on one part of the training set; None if that fails.

        It is fitted in this process.
        """
        options, split = self.options, self.split
        cache = FitCache.of(options.memory, split.training)
        estimator = options.candidate(params)
        with without_autologging():
            return timed_fit(estimator, split.training, np.nan, lambda e: e, cache.find)[2]

    @cached_property
    def _task(self) -> Broadcast:
        cache = FitCache.of(self.options.memory, self.split.training)
        return Broadcast((self.options, self.split, self.scorer, cache))


def explore(
    oracles: Sequence[PublicEvaluator],
    candidate_params: tuple[dict[str, Any], ...],
    *,
    by_record: bool = False,
) -> list[PublicEvaluation]:
    """Score candidates on several cuts of the training set, all in parallel.

    Parameters
    ----------
    oracles : sequence of PublicEvaluator
        One for each cut; with the same options and progress.
    candidate_params : tuple of dict
        The candidates.
    by_record : bool, default=False
        Whether to return what each record adds.
    """
    n, options = len(candidate_params), oracles[0].options
    everything = candidate_params * len(oracles)
    outcomes: list[Any] = [None] * len(everything)
    what = "Exploring {} within the training set"
    listener = oracles[0].progress.candidates(
        everything, "candidate-exploration", what, may_stop=True
    )
    tasks = [
        (i, oracles[i // n]._task, params, f"{i + 1}/{len(everything)}", by_record)
        for i, params in enumerate(everything)
    ]
    first = oracles[0]._task
    finished = as_they_finish(
        _explore, tasks, options.n_jobs, options.pre_dispatch, first, limit=options.fit_timeout
    )
    with without_autologging(), ExitStack() as stack:
        for oracle in oracles:
            stack.enter_context(oracle._task.sent())
        found = stack.enter_context(closing(finished))
        for i, *outcomes[i] in found:
            listener.finished(i, outcomes[i][1])
    each = (outcomes[k * n : (k + 1) * n] for k in range(len(oracles)))
    return [_evaluation(part, by_record) for part in each]


def _evaluation(outcomes: list[Any], by_record: bool) -> PublicEvaluation:
    return PublicEvaluation(
        np.array([np.mean(value) for _, _, value in outcomes], dtype=float),
        np.array([time for time, _, _ in outcomes]),
        tuple(error for _, error, _ in outcomes),
        [value if by_record and not error else None for _, error, value in outcomes],
    )


def _explore(
    i: int, sent: Broadcast, params: dict[str, Any], position: str, by_record: bool
) -> tuple[int, float, str | None, Any]:
    """Return the candidate's number, its fit time, error or None, and score or gains."""
    options, split, scorer, cache = sent.value

    def score(fitted: Any) -> Any:
        measure = scorer.record_gains if by_record else scorer
        return measure(fitted, split.X_test, split.y_test)

    estimator = options.candidate(params)
    fit_time, error, value = timed_fit(
        estimator, split.training, options.error_score, score, cache.fit
    )
    announce(options.verbose, position, params, error, fit_time)
    return i, fit_time, error, np.nan if error else value

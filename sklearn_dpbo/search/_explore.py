"""Score candidates within the training set, which costs no privacy (zone: public).

The validation set is not within reach of what is fitted and scored here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.exceptions import FitFailedWarning

from ..metrics._response import Responses
from ..prediction.fitting import FitOptions, fit_all
from ..prediction.progress import Progress
from ..privacy.suppress_output import without_autologging
from ..privacy.warn import warn
from ..records.split import Training, split_training

# Methods of an estimator: of each tuple, the first that it has is called.
Asked: TypeAlias = tuple[tuple[str, ...], ...]


class PublicFit(NamedTuple):
    """Why a fit failed or None, its seconds, its result, and what it answered to the test rows."""

    error: str | None
    seconds: float
    result: Any
    answers: Responses | None

    @property
    def score(self) -> float:
        """The result, or its mean over records; NaN if the fit failed."""
        return np.nan if self.error else float(np.mean(self.result))


@dataclass(frozen=True, eq=False)
class PublicEvaluator:
    """Fits candidates on one part of the training set, and scores them on the other.

    `asked` are the methods whose answers to the test rows are kept.
    """

    options: FitOptions
    training: Training
    test: Training
    scorer: Any
    progress: Progress
    asked: Asked

    @classmethod
    def of(cls, candidates: Any, cv: Any, rng: np.random.Generator) -> PublicEvaluator:
        """Divide the training set of `Candidates`, by cv or at random."""
        options = candidates.options
        training, test = split_training(candidates.problem.training, options.estimator, cv, rng)
        asked = methods_asked(candidates)
        return cls(options, training, test, candidates.scorer, candidates.progress, asked)

    def __call__(
        self, candidate_params: tuple[dict[str, Any], ...], *, by_record: bool = False
    ) -> list[PublicFit]:
        """Fit and score candidates, in parallel."""
        return explore([self], candidate_params, by_record=by_record)[0]

    def scoring(self, by_record: bool) -> Callable[[Any], Any]:
        """Return what scores a fitted candidate; it has nothing but the test rows."""
        score = self.scorer.record_gains if by_record else self.scorer.for_public()
        return partial(_score, score, self.test, self.asked)


def methods_asked(candidates: Any) -> Asked:
    """Return methods whose answers to public rows say how scores rank, and how precise they are."""
    asked = {query.response_method for query in candidates.report}
    asked |= {s.response_method for s in candidates.scorers if not s.is_mean or s.learns_bounds}
    return tuple(sorted(asked))


def explore(
    evaluators: Sequence[PublicEvaluator],
    candidate_params: tuple[dict[str, Any], ...],
    *,
    by_record: bool = False,
) -> list[list[PublicFit]]:
    """Score candidates on several cuts of the training set, all in parallel.

    The results are scores, or what each record adds to the mean if that is asked for.
    """
    jobs = [
        (params, evaluator.training, evaluator.scoring(by_record))
        for evaluator in evaluators
        for params in candidate_params
    ]
    progress, options = evaluators[0].progress, evaluators[0].options
    # Batches of cheap fits come one after the other, and each would be handed over.
    options = replace(options, n_jobs=progress.n_jobs(len(jobs), options.n_jobs))
    progress.expect(len(jobs))
    explored: list[PublicFit] = []
    with without_autologging(), closing(fit_all(options, jobs)) as fits:
        for (params, _, _), fit in zip(jobs, fits, strict=True):
            progress.fitted(params, fit, "explored within the training set")
            explored.append(PublicFit(fit.error, fit.seconds, *(fit.result or (None, None))))
    n = len(candidate_params)
    return [explored[k * n : (k + 1) * n] for k in range(len(evaluators))]


def _score(
    score: Callable[..., Any], test: Training, asked: Asked, estimator: Any
) -> tuple[Any, Responses | None]:
    """Return the score of a fitted candidate, and what it answers."""
    answers = Responses.of(estimator, test.X, test.y, asked) if asked else None
    return score(estimator, test.X, test.y), answers


def time_limit(seconds: float | None) -> Callable[[], bool]:
    """Return what says whether so many seconds have passed since this call; never, if None.

    Ask it before the validation set is predicted only: how long that takes depends on records.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def report_failures(errors: tuple[str | None, ...]) -> None:
    """Warn of candidates that failed; ValueError if all did."""
    failed = [error for error in errors if error is not None]
    if not failed:
        return
    first = f"The first failed with {failed[0]}"
    if len(failed) == len(errors):
        raise ValueError(
            f"All {len(errors)} candidates failed on the training set; nothing was released and "
            f"no privacy was spent. {first}"
        )
    warn(
        f"{len(failed)} of {len(errors)} candidates failed on the training set and cannot be "
        f"chosen; cv_results_['fit_error'] says why. {first}",
        FitFailedWarning,
    )

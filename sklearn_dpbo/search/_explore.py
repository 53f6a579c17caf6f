"""Score candidates within the training set, which costs no privacy (zone: public).

Nothing that is fitted or scored here can reach the validation set.
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

# Tuples of names of methods; of each tuple, the first method that an estimator has is called.
Asked: TypeAlias = tuple[tuple[str, ...], ...]


class PublicFit(NamedTuple):
    """Result of a fit within the training set: a score, or gains of shape (n_test,).

    `error` says why the fit failed, or is None; `seconds` is how long it took; `answers` are
    responses to the test rows.
    """

    error: str | None
    seconds: float
    result: Any
    answers: Responses | None

    @property
    def score(self) -> float:
        """Mean of the result; NaN if the fit failed."""
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
        """Make a function that scores a fitted candidate on the test rows, which it holds."""
        score = self.scorer.record_gains if by_record else self.scorer.for_public()
        return partial(_score, score, self.test, self.asked)


def methods_asked(candidates: Any) -> Asked:
    """List methods whose answers to public rows are needed, for the scores and their precision."""
    asked = {query.response_method for query in candidates.report}
    asked |= {s.response_method for s in candidates.scorers if not s.is_mean or s.learns_bounds}
    return tuple(sorted(asked))


def explore(
    evaluators: Sequence[PublicEvaluator],
    candidate_params: tuple[dict[str, Any], ...],
    *,
    by_record: bool = False,
) -> list[list[PublicFit]]:
    """Score candidates on several splits of the training set, all in parallel.

    Returns a list of fits for each evaluator, in the order of candidates. With `by_record`, results
    are the gains of test rows in place of scores.
    """
    jobs = [
        (params, evaluator.training, evaluator.scoring(by_record))
        for evaluator in evaluators
        for params in candidate_params
    ]
    progress = evaluators[0].progress
    options = evaluators[0].options
    # Batches are small and many: for cheap fits, handing them to workers would take longer.
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
    """Score a fitted candidate; also return its answers to the methods asked."""
    answers = Responses.of(estimator, test.X, test.y, asked) if asked else None
    return score(estimator, test.X, test.y), answers


def time_limit(seconds: float | None) -> Callable[[], bool]:
    """Start a clock, and return a function that is True once `seconds` have passed.

    Call that function only before the validation set is predicted: how long predictions take may
    depend on records. None means no limit.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def report_failures(errors: tuple[str | None, ...]) -> None:
    """Warn of candidates that failed; raise ValueError if all did."""
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

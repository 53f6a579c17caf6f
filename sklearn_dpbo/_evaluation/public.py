"""Scores on a part of the training set, which cost no privacy (zone: public).

The validation set is not within reach of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.split import PublicSplit
from .fitting import Fit, FitOptions, fit_all, fit_one
from .progress import Progress
from .suppress_output import without_autologging

__all__ = ["PublicEvaluation", "PublicEvaluator", "explore"]


@dataclass(frozen=True, eq=False)
class PublicEvaluation:
    """What exploring some candidates gave; all of it is public.

    Scores are NaN where a fit failed; gains, if asked for, are what each record adds to the mean.
    """

    scores: NDArray[np.float64]
    fit_times: NDArray[np.float64]
    fit_errors: tuple[str | None, ...]
    gains: list[NDArray[np.float64] | None]

    @classmethod
    def of(cls, fits: Sequence[Fit], by_record: bool) -> PublicEvaluation:
        """Return fits of candidates, with their score or what each record adds to it."""
        return cls(
            np.array([np.nan if each.error else np.mean(each.result) for each in fits], float),
            np.array([each.seconds for each in fits]),
            tuple(each.error for each in fits),
            [each.result if by_record else None for each in fits],
        )


@dataclass(frozen=True, eq=False)
class PublicEvaluator:
    """The public oracle: candidates in, `PublicEvaluation` out; the scorer is prepared."""

    options: FitOptions
    split: PublicSplit
    scorer: Any
    progress: Progress = field(default_factory=Progress)

    def __call__(
        self, candidate_params: tuple[dict[str, Any], ...], *, by_record: bool = False
    ) -> PublicEvaluation:
        """Fit candidates on one part of the training set, score them on the other, in parallel."""
        return explore([self], candidate_params, by_record=by_record)[0]

    def fitted(self, params: dict[str, Any]) -> Any:
        """Return a candidate fitted on one part of the training set; None if that fails."""
        with without_autologging():
            estimator = self.options.candidate(params)
            return fit_one(estimator, self.split.training, np.nan, lambda fitted: fitted).result


def explore(
    oracles: Sequence[PublicEvaluator],
    candidate_params: tuple[dict[str, Any], ...],
    *,
    by_record: bool = False,
) -> list[PublicEvaluation]:
    """Score candidates on several cuts of the training set, all in parallel."""
    options, progress, n = oracles[0].options, oracles[0].progress, len(candidate_params)
    scores = [each.scorer.record_gains if by_record else each.scorer for each in oracles]
    jobs = (
        (params, each.split.training, partial(_score, score, each.split.X_test, each.split.y_test))
        for each, score in zip(oracles, scores, strict=True)
        for params in candidate_params
    )
    fits: list[Fit] = []
    with without_autologging(), closing(fit_all(options, jobs)) as found:
        for each in found:
            progress.fitted(candidate_params[len(fits) % n], each.error)
            fits.append(each)
    return [PublicEvaluation.of(fits[k * n : (k + 1) * n], by_record) for k in range(len(oracles))]


def _score(score: Callable[..., Any], X: Any, y: Any, estimator: Any) -> Any:
    return score(estimator, X, y)

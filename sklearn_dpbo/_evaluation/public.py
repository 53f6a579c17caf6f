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

from .._data.split import Training
from .fitting import Fit, FitOptions, fit_all, fit_one
from .progress import Progress
from .suppress_output import without_autologging

__all__ = ["PublicEvaluator", "explore"]


@dataclass(frozen=True, eq=False)
class PublicEvaluator:
    """The public oracle: candidates in, fits with scores out; the scorer is prepared."""

    options: FitOptions
    training: Training
    test: Training
    scorer: Any
    progress: Progress = field(default_factory=Progress)

    def __call__(
        self, candidate_params: tuple[dict[str, Any], ...], *, by_record: bool = False
    ) -> list[Fit]:
        """Fit candidates on one part of the training set, score them on the other, in parallel."""
        return explore([self], candidate_params, by_record=by_record)[0]

    def fitted(self, params: dict[str, Any]) -> Any:
        """Return a candidate fitted on one part of the training set; None if that fails."""
        with without_autologging():
            estimator = self.options.candidate(params)
            return fit_one(estimator, self.training, np.nan, lambda fitted: fitted).result


def explore(
    oracles: Sequence[PublicEvaluator],
    candidate_params: tuple[dict[str, Any], ...],
    *,
    by_record: bool = False,
) -> list[list[Fit]]:
    """Score candidates on several cuts of the training set, all in parallel.

    The results are scores, or what each record adds to the mean if that is asked for.
    """
    options, progress, n = oracles[0].options, oracles[0].progress, len(candidate_params)
    jobs = (
        (
            params,
            each.training,
            partial(_score, each.scorer.record_gains if by_record else each.scorer, each.test),
        )
        for each in oracles
        for params in candidate_params
    )
    fits: list[Fit] = []
    with without_autologging(), closing(fit_all(options, jobs)) as found:
        for each in found:
            progress.fitted(candidate_params[len(fits) % n], each.error)
            fits.append(each)
    return [fits[k * n : (k + 1) * n] for k in range(len(oracles))]


def _score(score: Callable[..., Any], test: Training, estimator: Any) -> Any:
    return score(estimator, test.X, test.y)

"""Fitted attributes of a federated search, from what sites released (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._sklearn.results import fitted_attributes
from ..report._report import PrivacyReport
from ..scoring._scorers import PrivateScorer, Score
from ..strategies._base import Candidate, Release
from ._plan import Plan

__all__ = ["Result"]


@dataclass(frozen=True, eq=False)
class Result:
    """What all sites released, added up.

    `scores`: score and interval of each finalist; `reports`, `votes`: by site; `failed`: candidates
    that could not be fitted at some site.
    """

    plan: Plan
    scorer: PrivateScorer
    best: int
    scores: dict[int, Score]
    reports: dict[str, PrivacyReport]
    votes: dict[str, int]
    failed: frozenset[int]

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes, but for the model."""
        failed = "could not be fitted at some site"
        candidates = tuple(
            Candidate(params, fit_error=failed if i in self.failed else None)
            for i, params in enumerate(self.plan.candidates)
        )
        several = {i: [found] for i, found in self.scores.items()} if len(self.scores) > 1 else None
        release = Release(candidates, self.best, [self.scores[self.best]], all_scores=several)
        fitted = fitted_attributes(release, [])
        if self.votes:
            fitted["cv_results_"]["votes"] = np.bincount(
                [*self.votes.values()], minlength=len(candidates)
            )
        return {
            **fitted,
            "votes_": self.votes,
            "finalists_": list(self.scores),
            "privacy_": self.reports,
            "scorer_": self.scorer,
            "multimetric_": False,
            "n_splits_": 1,
        }

"""What a site holds: its records, and what is counted of them before noise (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self, cast

import numpy as np

from .._data.split import Problem, hold_out
from .._data.units import Units
from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import report_failures
from .._privacy.sensitive import Sensitive
from ._plan import Plan

__all__ = ["Holding", "evaluate"]

# Candidates fitted within the training set to see how a good one predicts.
_N_LOOKED_AT = 3


class Holding:
    """The records of one site, with what counts candidates on them."""

    def __init__(self, plan: Plan, problem: Problem) -> None:
        scorer = plan.prepared(problem.training.y)
        self.plan, self.problem = plan, problem
        self.oracle = Evaluator(plan.options, problem, (scorer,))
        self.fitted: list[int] = []
        self._statistics: Sensitive | None = None

    @classmethod
    def of(
        cls, plan: Plan, X: Any, y: Any, records: tuple[Any, Any, Any], fit_params: dict[str, Any]
    ) -> Self:
        """Return the holding of a site with these records: X_val, y_val, groups_val."""
        X_val, y_val, groups_val = records
        problem = hold_out(
            plan.options.estimator,
            X,
            y,
            fit_params,
            cv=None,
            rng=np.random.RandomState(0),
            X_val=X_val,
            y_val=y_val,
            groups_val=groups_val,
            split_params={},
        )
        return cls(plan, problem)

    @property
    def units(self) -> Units:
        return self.problem.units

    @property
    def evaluated(self) -> bool:
        """Whether there are candidates that have been counted."""
        return bool(self.fitted)

    @property
    def statistics(self) -> Sensitive:
        """The statistic of each candidate in `fitted`."""
        return cast(Sensitive, self._statistics)

    def count(self) -> tuple[str | None, ...]:
        """Let all candidates predict the site's records; return why fits failed, or None."""
        evaluation = self.oracle(self.plan.candidates)
        self.fitted = evaluation.fitted.tolist()
        self._statistics = evaluation.statistics.take(evaluation.fitted)
        return evaluation.fit_errors

    def counts(self, candidates: Sequence[int]) -> Sensitive:
        """Return what the scores of these candidates are computed from, a row for each."""
        scorer = self.oracle.scorer
        if scorer.counts is scorer.query:
            return self.statistics.take([self.fitted.index(i) for i in candidates])
        chosen = (self.plan.candidates[i] for i in candidates)
        return reduce(
            Sensitive.followed_by, (self.oracle.counts(each, scorer.counts) for each in chosen)
        )

    def forget(self) -> None:
        """Forget what was counted; its noisy form has been released."""
        self._statistics = None


def evaluate(holdings: Sequence[Holding]) -> None:
    """Fit all candidates, once for all these holdings, and then count on each of them."""
    first, *others = sorted(holdings, key=lambda holding: -holding.units.m)
    _look_at_good_candidate(first, others)
    first.oracle.share_fits(first.plan.candidates, [other.oracle for other in others])
    errors = [holding.count() for holding in holdings]
    report_failures(errors[0])


def _look_at_good_candidate(first: Holding, others: Sequence[Holding]) -> None:
    """Let the score that selects know how good candidates predict, within the training set."""
    oracle, candidates = first.oracle, first.plan.candidates
    if not oracle.scorer.choice_uses_public:
        return
    public = oracle.public(None, np.random.default_rng(first.plan.seeds))
    places = np.unique(np.linspace(0, len(candidates) - 1, _N_LOOKED_AT).astype(int))
    few = tuple(candidates[i] for i in places)
    scores = [each.score for each in public(few)]
    if np.isnan(scores).all():
        return
    model = public.fitted(few[int(np.nanargmax(scores))])
    found = oracle.scorer.predictions(model, public.test.X, public.test.y)
    for holding in (first, *others):
        holding.oracle.select_at(found)

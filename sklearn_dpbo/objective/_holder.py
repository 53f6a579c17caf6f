"""A party that holds protected records and pays for what it tells of them (zone: boundary)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from .._data.split import hold_out
from .._data.tables import copied
from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import FitOptions, PublicEvaluator
from .._privacy.accounting import Budget, warn_of_weak_guarantee
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import noise_source
from ..ledger._budget import budget_on
from ..report._report import PrivacyReport, report_of_validation_set
from ..scoring._response import Predictions
from ..scoring._scorers import PrivateScorer
from ..search._results import clipping_in_words

__all__ = ["Holder"]


class Holder:
    """A party with a copy of its records, and one budget for all that it releases of them."""

    def _hold(
        self,
        data: tuple[Any, Any, Any, Any, Any],
        fit_params: dict[str, Any],
        prepare: Callable[[Any], PrivateScorer],
        options: FitOptions,
        rng: np.random.RandomState,
        *,
        epsilon: float,
        delta: float = 0.0,
        ledger: Any,
        what: str,
        mechanism: str,
        noise_random_state: Any,
        **facts: str,
    ) -> Budget:
        """Take X, y, X_val, y_val and groups_val, of which the last three are protected.

        `prepare` returns the scorer for training labels; `facts` are for the privacy report. Return
        the budget, which is charged to the ledger before the first draw.
        """
        X, y, X_val, y_val, groups_val = data
        if X_val is None:
            raise ValueError("X_val and y_val are the protected records; found None")
        given = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val, "split_params": {}}
        problem = hold_out(options.estimator, X, y, fit_params, cv=None, rng=rng, **given)
        # Later changes of the caller's arrays must have no effect.
        y_val = None if problem.y_val is None else problem.y_val.copy()
        problem = replace(problem, X_val=copied(problem.X_val), y_val=y_val)
        self._evaluator = Evaluator(options, problem, (prepare(problem.training.y),))
        self._units, self._seed, self._facts = problem.units, rng.randint(2**31 - 1), facts
        noise, unit = noise_source(noise_random_state, stacklevel=4), problem.units.name
        charge = {"what": what, "mechanism": mechanism, "estimator": options.estimator}
        budget = budget_on(ledger, epsilon, delta, unit=unit, **charge)
        warn_of_weak_guarantee(budget, problem.units.m, unit, stacklevel=4)
        self._mechanisms = Mechanisms(budget, noise)
        return budget

    @cached_property
    def _public(self) -> PublicEvaluator:
        return self._evaluator.public(None, np.random.default_rng(self._seed))

    def _own_predictions(self) -> Predictions | None:
        """Return what the estimator's own parameters predict within the training set, if they can.

        The score that selects is set to tell candidates like that one apart, where it needs this.
        """
        options = replace(self._evaluator.options, error_score=np.nan)
        (own,) = replace(self._public, options=options)(({},))
        if own.answers is None:  # other candidates may be fitted without an error
            return None
        found = own.answers(self._evaluator.scorer.response_method)
        if self._evaluator.scorer.choice_uses_public:
            self._evaluator.select_by(self._evaluator.scorer.choice(found))
        return found

    @property
    def privacy_(self) -> PrivacyReport:
        """The privacy report of what was released so far: print it."""
        oracle, released = self._evaluator, self._facts["released"]
        facts = self._facts | {"released": clipping_in_words(oracle.scorers) + released}
        return report_of_validation_set(oracle.problem, self._mechanisms, oracle.condition, **facts)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: it holds protected records, and "
            "a budget that must not be spent twice. Use it in the process that made it"
        )

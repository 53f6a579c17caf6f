"""A private search inside another private estimator (zone: released).

`PrivateThresholdClassifier` passes its validation set to an inner search, and reports what both
spend. `Inner` wraps the inner estimator, whether it is such a search or not: any other estimator
spends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .._data.split import Problem
from .._evaluation.fitting import fit
from .._privacy.rounding import round_up
from ..report._report import PrivacyReport
from .results import already_released

__all__ = ["Inner", "SpendsOnValidationSet"]


class SpendsOnValidationSet:
    """An estimator whose `fit` takes X_val, y_val and groups_val, and spends privacy on them."""

    epsilon: Any
    delta: Any
    ledger: Any
    refit: Any
    privacy_: PrivacyReport


@dataclass(frozen=True)
class Inner:
    """An estimator inside another, and what it does with the validation set.

    Parameters
    ----------
    estimator : estimator
        Gets the validation set only if it is a `SpendsOnValidationSet`.
    """

    estimator: Any

    @property
    def spends(self) -> bool:
        """Whether the estimator spends privacy on the validation set."""
        return isinstance(self.estimator, SpendsOnValidationSet)

    def with_ledger(self, ledger: Any) -> Inner:
        """Give the estimator this ledger if it spends and has none; return self."""
        if self.spends and self.estimator.ledger is None:
            self.estimator.set_params(ledger=ledger)
        return self

    def charges(self, ledger: Any) -> list[tuple[Any, tuple[Any, Any]]]:
        """Return what `fit` will spend, as (ledger, (epsilon, delta)).

        Parameters
        ----------
        ledger : PrivacyLedger or None
            Charged if the estimator has no ledger of its own.
        """
        if not self.spends:
            return []
        inner = self.estimator
        charged = ledger if inner.ledger is None else inner.ledger
        return [(charged, (inner.epsilon, inner.delta))]

    def fit(self, problem: Problem) -> Any:
        """Return the estimator, fitted on the training set."""
        training = problem.training
        if self.spends:
            validation = {
                "X_val": problem.X_val,
                "y_val": problem.y_val,
                "groups_val": problem.units.labels(),
            }
            training = replace(training, fit_params=training.fit_params | validation)
        return fit(self.estimator, training)

    def released(self) -> str:
        """Return what the estimator has released, in words; an empty string if nothing."""
        if not self.spends or not hasattr(self.estimator, "best_score_"):
            return ""
        return already_released(vars(self.estimator))

    def add_to(self, report: PrivacyReport) -> PrivacyReport:
        """Return the report of what was spent afterwards, with the estimator's spending added."""
        if not self.spends:
            return report
        inner = self.estimator.privacy_
        return replace(
            report,
            epsilon=round_up(Fraction(report.epsilon) + Fraction(inner.epsilon)),
            delta=inner.delta,
            assumption=inner.assumption,
            released=f"{report.released}; and of the search in estimator_: {inner.released}",
            spends=inner.spends + report.spends,
            secure=report.secure and inner.secure,
        )

"""A private search inside another private estimator (zone: released).

`PrivateThresholdClassifier` passes its validation set to an inner search, and reports what both
spend. `Inner` wraps the inner estimator, whether it is such a search or not: any other estimator
spends nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .._data.fit_parameters import public
from .._data.split import Problem
from .._evaluation.fitting import fit
from .._privacy.rounding import round_up
from ..exceptions import PrivacyWarning
from ..ledger._budget import require_ledger
from ..report._report import PrivacyReport
from .results import already_released

__all__ = ["Inner", "SpendsOnValidationSet", "refuse_excess"]


class SpendsOnValidationSet:
    """An estimator whose `fit` takes X_val, y_val and groups_val, and spends privacy on them."""

    epsilon: Any
    delta: Any
    ledger: Any
    refit: Any
    privacy_: PrivacyReport


@dataclass(frozen=True, eq=False)
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

    @property
    def model(self) -> Any:
        """What predicts, of a fitted estimator: of a search, its best estimator."""
        return self.estimator.best_estimator_ if self.spends else self.estimator

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
            # Its own `fit` looks for the marks that `fit` takes off here.
            given = {k: public(v) for k, v in training.fit_params.items()}
            training = replace(training, fit_params=given | validation)
        return fit(self.estimator, training)

    def released(self) -> str:
        """Return what the estimator has released, in words; an empty string if nothing."""
        if not self.spends or not hasattr(self.estimator, "privacy_"):
            return ""
        return already_released(vars(self.estimator))

    def warn_of_other_reports(self, stacklevel: int) -> None:
        """Warn of what a part of the estimator may have spent: on which records is not known."""
        estimator = self.estimator
        parts = estimator.get_params().values() if hasattr(estimator, "get_params") else ()
        if not self.spends and any(hasattr(part, "privacy_") for part in parts):
            warnings.warn(
                "A part of estimator_ was itself fitted with a privacy budget. If that was spent "
                "on the same records, add it up: privacy_ here reports the threshold alone.",
                PrivacyWarning,
                stacklevel=stacklevel,
            )

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
            receipts=inner.receipts + report.receipts,
        )


def refuse_excess(estimator: Any, epsilon: float, ledger: Any, unit: str) -> None:
    """Ask the ledgers for all that a threshold and what is before it will spend.

    To be called by `fit`, before anything is fitted.

    Parameters
    ----------
    estimator : estimator
        What is fitted before the threshold is chosen.
    epsilon : float
        Of the threshold.
    ledger : PrivacyLedger or None
        Of the threshold; and of the estimator, if it spends and has none.
    unit : str
        What is replaced in neighbouring data.

    Raises
    ------
    BudgetExceededError
        If a ledger does not allow it.
    """
    charges = [(ledger, (epsilon, 0.0)), *Inner(estimator).charges(ledger)]
    if ledger is None and any(charged is not None for charged, _ in charges):
        warnings.warn(
            "The search has a ledger and the threshold has none: what the threshold spends is "
            "not charged. Pass ledger= to both, or to the threshold classifier alone.",
            PrivacyWarning,
            stacklevel=3,
        )
    by_name: dict[Any, Any] = {}
    for charged, charge in charges:
        if charged is not None:
            require_ledger(charged)
            by_name.setdefault((charged.path, charged.dataset), (charged, []))[1].append(charge)
    for charged, together in by_name.values():
        charged.check(*together, what="the threshold, with any search before it,", unit=unit)

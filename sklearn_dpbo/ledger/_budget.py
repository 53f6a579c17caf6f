"""The budget of one fit, charged to a ledger before noise is generated (zone: boundary)."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Any

from .._privacy.accounting import Budget, budget_without_ledger
from .._privacy.rounding import round_down
from ._decimal import parse_decimal
from ._ledger import PrivacyLedger

__all__ = ["budget_on"]


def budget_on(
    ledger: PrivacyLedger | None,
    epsilon: float,
    delta: float = 0.0,
    *,
    what: str,
    mechanism: str,
    unit: str,
    assumption: str | None = None,
    estimator: Any = None,
) -> Budget:
    """Return the budget of one fit, which is charged to the ledger before the first draw."""
    if ledger is None:
        return budget_without_ledger(epsilon, delta)
    if not isinstance(ledger, PrivacyLedger):
        raise ValueError(
            f"ledger is a PrivacyLedger or None; found {ledger!r}. Open one: "
            "PrivacyLedger(path, name_of_the_data_set)"
        )
    ledger.check(epsilon, delta, what=what, assumption=assumption, unit=unit)
    charge = partial(
        ledger.charge, epsilon, delta, what=what, assumption=assumption, unit=unit,
        mechanism=mechanism, estimator=_class_name(estimator),
        # The first draw comes after predictions, whose duration depends on protected records.
        time=datetime.now(UTC),
    )  # fmt: skip
    # The ledger is charged 1/10 for 0.1, which is less than the float 0.1: round down.
    granted_epsilon = round_down(Fraction(parse_decimal("epsilon", epsilon)))
    granted_delta = round_down(Fraction(parse_decimal("delta", delta)))
    return Budget(granted_epsilon, granted_delta, before_first=lambda: [charge()])


def _class_name(estimator: Any) -> str:
    """Return the class of an estimator, and of the last step of a pipeline: "Pipeline, SVC"."""
    if estimator is None:
        return ""
    names, steps = [type(estimator).__name__], getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps:
        names.append(type(steps[-1][-1]).__name__)
    return ", ".join(names)

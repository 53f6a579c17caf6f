"""What a ledger allows the budget of one fit, and what charges it (zone: boundary)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from ..spending import Grant
from ._decimal import as_granted, parse_decimal


def grant(
    ledger: Any,
    epsilon: float,
    delta: float,
    *,
    what: str,
    mechanism: str,
    unit: str,
    assumption: str | None,
    estimator: Any,
    time: datetime | None,
) -> Grant:
    """Return what charges the ledger with these; an error if less is left."""
    ledger.check(epsilon, delta, what=what, assumption=assumption, unit=unit)
    charge = partial(
        ledger.charge, epsilon, delta, what=what, assumption=assumption, unit=unit,
        mechanism=mechanism, estimator=_class_name(estimator),
        # The first draw comes after predictions, whose duration depends on protected records.
        time=time or datetime.now(UTC),
    )  # fmt: skip
    granted = as_granted(parse_decimal("epsilon", epsilon))
    return Grant(granted, as_granted(parse_decimal("delta", delta)), charge)


def _class_name(estimator: Any) -> str:
    """Return the class of an estimator, and of the last step of a pipeline: "Pipeline, SVC"."""
    if estimator is None:
        return ""
    names, steps = [type(estimator).__name__], getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps:
        names.append(type(steps[-1][-1]).__name__)
    return ", ".join(names)

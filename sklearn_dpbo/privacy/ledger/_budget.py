"""Grants of a ledger to the budget of one fit (zone: boundary)."""

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
    """Check a loss against the ledger, or raise an error; return a grant, which can charge it."""
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
    """Name the class of an estimator, and that of a pipeline's last step: "Pipeline, SVC"."""
    if estimator is None:
        return ""
    name = type(estimator).__name__
    steps: Any = getattr(estimator, "steps", None)
    is_pipeline = isinstance(steps, list) and steps
    return f"{name}, {type(steps[-1][-1]).__name__}" if is_pipeline else name

"""The privacy report of a release from a validation set (zone: released)."""

from __future__ import annotations

from .._data.split import Problem
from .._privacy.mechanisms import Mechanisms
from ..report._report import PREDICTION_CONDITIONS, PrivacyReport

__all__ = ["validation_report"]


def validation_report(
    problem: Problem, mechanisms: Mechanisms, prediction: str, **texts: str | None
) -> PrivacyReport:
    """Return the privacy report of a release from a validation set, with these texts."""
    return PrivacyReport.of(
        mechanisms,
        unit=problem.units.name,
        m=problem.units.m,
        data="validation set",
        protected=problem.protected,
        condition=PREDICTION_CONDITIONS[prediction],
        **texts,
    )

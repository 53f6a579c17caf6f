"""Evaluations in secret, and what comes before them (zone: boundary)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...metrics._scorers import PrivateScorer
from ...prediction.session import Session
from ...privacy.checks import check_number
from ...privacy.sensitive import Secret
from ...search._explore import report_failures
from ...search._surrogate import Surrogate
from ._acquisition import ExpectedImprovement, UpperConfidenceBound


def require_mean(scorer: PrivateScorer, who: str) -> None:
    """Raise ValueError unless the score is a mean over records."""
    if not scorer.is_mean:
        raise ValueError(
            f"{who} needs a mean over records, and scoring={scorer.name!r} is not one. Use "
            "'accuracy' or 'neg_brier_score', for example, or strategy='worst_case'"
        )


def check_acquisition(acquisition: Any) -> None:
    """Raise ValueError unless it is None or of this package: it sees secret scores."""
    if type(acquisition) not in (type(None), ExpectedImprovement, UpperConfidenceBound):
        raise ValueError(
            "acquisition must be None, ExpectedImprovement() or UpperConfidenceBound(): it gets "
            f"secret scores, so other classes are refused; found {acquisition!r}"
        )
    if isinstance(acquisition, ExpectedImprovement):
        check_number("xi", acquisition.xi, "a number from 0 up", lambda x: x >= 0)
    if isinstance(acquisition, UpperConfidenceBound):
        check_number("kappa", acquisition.kappa, "a number from 0 up", lambda k: k >= 0)


def next_candidate(
    posterior: Surrogate, acquisition: ExpectedImprovement | UpperConfidenceBound
) -> int:
    """Return the position with the largest acquisition among those not evaluated."""
    picked = list(posterior.picked)
    value = np.array(acquisition(posterior.mean, posterior.std, posterior.mean[picked].max()))
    value[picked] = -np.inf
    return int(np.argmax(value))


def first_of_path(params: dict[str, Any], session: Session) -> Secret:
    """Evaluate the first candidate, which depends on no score and so is fitted in public."""
    report_failures(session.candidates.fit((params,)))
    statistics = session.compare([params], session.candidates.scorer.query)
    return statistics.then(_only)


def _only(statistics: np.ndarray) -> int:
    return int(statistics[0, 0])

"""Evaluations in secret, and what comes before them (zone: boundary)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._counting.evaluator import Evaluator
from ..._counting.fitting import fit, without_side_effects
from ..._privacy.checks import check_number
from ..._privacy.sensitive import Secret
from ..._privacy.suppress_output import drop_errors, hold_interrupts, suppress_output
from ...scoring import PrivateScorer
from ...strategies._explore import report_failures
from ...strategies._surrogate import Surrogate
from ._acquisition import ExpectedImprovement, UpperConfidenceBound

__all__ = ["check_acquisition", "evaluate_secretly", "first_of_path", "next_candidate"]
__all__ += ["require_mean"]


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
            "acquisition must be None, ExpectedImprovement() or UpperConfidenceBound(): it sees "
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


def first_of_path(params: dict[str, Any], oracle: Evaluator) -> Secret:
    """Return the first candidate's statistic; it depends on no score, so it is fitted in public."""
    report_failures(oracle.fit_candidates((params,)))
    statistics = oracle.compare([params], oracle.scorer.query)
    return statistics.then(lambda statistics: int(statistics[0, 0]))


@hold_interrupts()
def evaluate_secretly(params: dict[str, Any], oracle: Evaluator) -> int | None:
    """Return the raw statistic of a candidate that itself depends on protected records.

    To be called from within a `Secret`. It runs in this process, without output, and keeps no
    state; a failure is not reported, but gives None: all of that could tell the candidate.
    """
    make = oracle.make_model()
    with suppress_output(), drop_errors():
        estimator = without_side_effects(oracle.options.candidate(params))
        model = make(fit(estimator, oracle.problem.training))
        # Without its name, the table keeps nothing: to find what is kept takes less time.
        (statistic,) = replace(oracle.table, name="").statistics(model, oracle.scorer.query)
        return int(statistic)
    return None

"""The scores of the chosen candidate, released with noise (zone: boundary)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .._evaluation.evaluator import Evaluator
from .._privacy.accounting import Purpose
from .._privacy.mechanisms import Mechanisms
from .._privacy.noisy_counts import NoisyCounts
from .._privacy.rounding import round_down
from .._privacy.sensitive import Sensitive
from ..scoring._scorers import PrivateScorer
from ..scoring._statistics import Statistics
from ._base import score_and_interval

__all__ = ["release_scores"]


def release_scores(
    params: dict[str, Any],
    statistic: Sensitive,
    oracle: Evaluator,
    mechanisms: Mechanisms,
    public_model: Callable[[dict[str, Any]], tuple[Any, Any, Any]],
) -> list[tuple[float, tuple[float, float]]]:
    """Release all scores of one candidate, with what is left of the budget.

    Scores that are computed from the same counts share one release; each release gets the same
    part of epsilon.

    Parameters
    ----------
    params : dict
        The candidate chosen.
    statistic : Sensitive of shape (1, 1)
        Its statistic of the score that selected it.
    oracle : Evaluator
        Counts, on the validation set.
    mechanisms : Mechanisms
        By which they are released.
    public_model : callable
        Returns a candidate fitted within the training set, and X and y of records that it was not
        fitted on; called if a score needs public predictions.

    Returns
    -------
    released : list of (float, tuple of float)
        Each score, and where it lies without noise with probability 95 %.
    """
    units = oracle.problem.units
    scorers = list(oracle.scorers)
    if any(scorer.releases_at for scorer in scorers):
        model, left = public_model(params), mechanisms.budget.epsilon_left
        scorers = [_placed(s, model, units.m, left, len(scorers) > 1) for s in scorers]
    shared = _shared(scorers)
    noisy: list[NoisyCounts] = []
    for i, (counts, names) in enumerate(shared):
        table = statistic if counts is oracle.scorer else oracle.counts(params, counts)
        noisy.append(
            mechanisms.release_counts(
                table,
                round_down(Fraction(mechanisms.budget.epsilon_left) / (len(shared) - i)),
                purpose=Purpose.SCORE,
                detail=", ".join(names) if len(scorers) > 1 else "",
            )
        )
    kinds = [counts for counts, _ in shared]
    return [score_and_interval(s, units, noisy[kinds.index(s.counts)]) for s in scorers]


def _placed(
    scorer: PrivateScorer, model: tuple[Any, Any, Any], m: int, epsilon: float, shared: bool
) -> PrivateScorer:
    """Return a scorer with everything set that public predictions of the candidate say."""
    if not scorer.releases_at:
        return scorer
    return scorer.releasing_at(scorer.predictions(*model), m, epsilon, shared)


def _shared(scorers: list[PrivateScorer]) -> list[tuple[Statistics, list[str]]]:
    """Return what is to be released, each once, with the names of the scores computed from it."""
    shared: list[tuple[Statistics, list[str]]] = []
    for scorer in scorers:
        for counts, names in shared:
            if counts == scorer.counts:
                names.append(scorer.name)
                break
        else:
            shared.append((scorer.counts, [scorer.name]))
    return shared

"""The scores of the chosen candidate, released with noise (zone: boundary)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from .._evaluation.evaluator import Evaluator
from .._privacy.accounting import Purpose
from .._privacy.mechanisms import Mechanisms
from .._privacy.noisy_counts import NoisyCounts
from .._privacy.rounding import round_down
from .._privacy.sensitive import Sensitive
from ..evaluation._design import ClassifierDesign, Counted, RegressorDesign, design_of
from ..scoring._scorers import PrivateScorer
from ..scoring._statistics import Statistics
from ._base import score_and_interval

__all__ = ["release_scores"]

# Share of a report that no score follows from, of what is left for it and the scores.
_REPORT_SHARE = Fraction(1, 2)

# A candidate fitted within the training set, and X and y of records that it was not fitted on.
PublicModel: TypeAlias = tuple[Any, Any, Any]


def release_scores(
    params: dict[str, Any],
    statistic: Sensitive,
    oracle: Evaluator,
    mechanisms: Mechanisms,
    public_model: Callable[[dict[str, Any]], PublicModel],
) -> tuple[list[tuple[float, tuple[float, float]]], Counted | None]:
    """Release all scores of one candidate, and its report, with what is left of the budget.

    Scores that are computed from the same counts share one release; each release gets the same
    part of epsilon. Scores that follow from the report's counts are not released besides. If there
    are others, they get half of epsilon, and the report the other half.

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
        Returns a `PublicModel`; called if public predictions are needed.

    Returns
    -------
    released : list of (float, tuple of float)
        Each score, and where it lies without noise with probability 95 %.
    report : Counted or None
        What was counted for the report.
    """
    units, budget = oracle.problem.units, mechanisms.budget
    scorers, design = list(oracle.scorers), None
    parts: tuple[Statistics, ...] = ()
    if oracle.report or any(scorer.releases_at for scorer in scorers):
        model = public_model(params)
        scorers = [_placed(scorer, model, units.m, budget.epsilon_left) for scorer in scorers]
    if oracle.report:
        design = _design(params, oracle, model, budget.epsilon_left)
        scorers, parts = _following(scorers, design), design.parts
    shared = _shared(scorers)
    alone = [(counts, names) for counts, names in shared if counts not in parts]
    kept = Fraction(budget.epsilon_left) * (_REPORT_SHARE if parts and alone else bool(parts))

    def release(counts: Statistics, epsilon: Fraction, purpose: Purpose, detail: str) -> None:
        table = statistic if counts is oracle.scorer else oracle.counts(params, counts)
        found = mechanisms.release_counts(
            table, round_down(epsilon), purpose=purpose, detail=detail
        )
        noisy.append((counts, found))

    noisy: list[tuple[Statistics, NoisyCounts]] = []
    for i, (counts, names) in enumerate(alone):
        epsilon = (Fraction(budget.epsilon_left) - kept) / (len(alone) - i)
        release(counts, epsilon, Purpose.SCORE, ", ".join(names) if len(scorers) > 1 else "")
    for i, part in enumerate(parts):
        names = [name for counts, each in shared if counts == part for name in each]
        epsilon = Fraction(budget.epsilon_left) / (len(parts) - i)
        release(part, epsilon, Purpose.REPORT, ", also for ".join([part.what, *names]))

    def of(counts: Statistics) -> NoisyCounts:
        return next(found for kind, found in noisy if kind == counts)

    report = None if design is None else Counted(design, tuple(of(part) for part in parts))
    return [score_and_interval(scorer, units, of(scorer.counts)) for scorer in scorers], report


def _design(
    params: dict[str, Any], oracle: Evaluator, model: PublicModel, epsilon: float
) -> ClassifierDesign | RegressorDesign:
    """Return what the report counts, as a model says that knows all classes."""
    training, winner = oracle.problem.training, oracle.fitted(params)
    known, all_classes = (np.asarray(getattr(e, "classes_", ())) for e in (model[0], winner))
    if not np.array_equal(known, all_classes):
        model = (winner, training.X, training.y)
    positive = getattr(oracle.scorer, "positive", None)
    m = oracle.problem.units.m
    return design_of(*model, m=m, epsilon=epsilon, spread=False, pos_label=positive)


def _following(
    scorers: list[PrivateScorer], design: ClassifierDesign | RegressorDesign
) -> list[PrivateScorer]:
    """Return the scorers, computed from the design's counts where that is possible."""
    if not isinstance(design, ClassifierDesign) or design.confusion is not None:
        return scorers
    return [scorer.releasing_from(design.histogram) or scorer for scorer in scorers]


def _placed(scorer: PrivateScorer, model: PublicModel, m: int, epsilon: float) -> PrivateScorer:
    """Return a scorer with everything set that public predictions of the candidate say."""
    if not scorer.releases_at:
        return scorer
    return scorer.releasing_at(scorer.predictions(*model), m, epsilon)


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

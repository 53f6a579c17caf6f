"""The scores of the chosen candidate, or of all, released with noise (zone: boundary)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._data.units import Units
from .._evaluation.evaluator import Evaluator
from .._evaluation.public import PublicEvaluator
from .._evaluation.suppress_output import drop_errors, suppress_output
from .._privacy.accounting import SCORE
from .._privacy.mechanisms import Mechanisms, Price
from .._privacy.noisy_counts import NoisyCounts
from .._privacy.rounding import round_down
from .._privacy.sensitive import Sensitive
from ..evaluation._counted import Counted
from ..evaluation._design import Design, design_of
from ..scoring._queries import Query
from ..scoring._response import Responses
from ..scoring._scorers import PrivateScorer, Score, score_and_interval
from ._base import Scores

__all__ = ["CountedScores", "count_scores", "public_model", "rehearse", "release_all_scores"]

# A candidate fitted within the training set, and X and y of records that it was not fitted on.
PublicFit: TypeAlias = tuple[Any, Any, Any]


class _Part(NamedTuple):
    """One release: of these counts, with its part of epsilon in relation to the others'."""

    counts: Query
    weight: Fraction
    purpose: str
    detail: str


@dataclass(frozen=True, eq=False, repr=False)
class CountedScores:
    """All scores of one candidate, and its report, before noise.

    Made by `count_scores`.
    """

    scorers: list[PrivateScorer]
    design: Design | None
    parts: list[_Part]
    tables: list[Sensitive]

    def release(self, units: Units, mechanisms: Mechanisms) -> tuple[Scores, Counted | None]:
        """Release them with what is left of the budget.

        Parameters
        ----------
        units : Units
            Protected units; only their number, and whether they are groups, is used.
        mechanisms : Mechanisms
            By which they are released.

        Returns
        -------
        scores : list of (float, tuple of float)
            Each score, and where it lies without noise with probability 95 %.
        report : Counted or None
            What was counted for the report.
        """
        noisy: list[NoisyCounts] = []
        for i, (part, table) in enumerate(zip(self.parts, self.tables, strict=True)):
            share = part.weight / sum(other.weight for other in self.parts[i:])
            epsilon = round_down(Fraction(mechanisms.budget.epsilon_left) * share)
            purpose, detail = part.purpose, part.detail
            noisy.append(mechanisms.release_counts(table, epsilon, purpose=purpose, detail=detail))

        return _computed(self.scorers, self.design, self.parts, noisy, units)


def _computed(
    scorers: list[PrivateScorer],
    design: Design | None,
    parts: list[_Part],
    noisy: list[NoisyCounts],
    units: Units,
) -> tuple[Scores, Counted | None]:
    """Return what follows from the noisy counts of each part."""

    def of(counts: Query) -> NoisyCounts:
        return noisy[[part.counts for part in parts].index(counts)]

    scores = [score_and_interval(each, units, of(each.counts)) for each in scorers]
    return scores, None if design is None else Counted(design, tuple(map(of, design.parts)))


def count_scores(
    params: dict[str, Any],
    statistic: Sensitive,
    oracle: Evaluator,
    epsilon: float,
    public_model: Callable[[dict[str, Any]], PublicFit],
) -> CountedScores:
    """Count what all scores of one candidate, and its report, are computed from.

    Scores that are computed from the same counts share one release, and each release gets the same
    part of epsilon. Scores that follow from the report's counts are not released separately. If
    there are others, they get half of epsilon, and the report the other half.

    Parameters
    ----------
    params : dict
        The chosen candidate.
    statistic : Sensitive of shape (1, 1)
        Its statistic of the score that selected it.
    oracle : Evaluator
        Counts, on the validation set.
    epsilon : float
        For all releases together.
    public_model : callable
        Returns a `PublicFit`; called if public predictions are needed.
    """
    scorers, design = _prepared(params, oracle, public_model, epsilon)
    parts = _parts(scorers, () if design is None else design.parts)
    tables = [
        statistic if part.counts is oracle.scorer.query else oracle.counts(params, part.counts)
        for part in parts
    ]
    return CountedScores(scorers, design, parts, tables)


def rehearse(params: dict[str, Any], oracle: Evaluator, epsilon: float) -> None:
    """Compute all scores of made-up counts: what fails then is an error before anything is spent.

    Parameters
    ----------
    params : dict
        A candidate that was evaluated; any, if no score needs public predictions.
    oracle : Evaluator
        With the scores, and the public records of which counts are made up.
    epsilon : float
        Of the search.
    """
    scorers, design = _prepared(params, oracle, None, epsilon)
    parts = _parts(scorers, () if design is None else design.parts)
    y, units, n = oracle.companions.y, oracle.problem.units, len(oracle.companions)
    made_up = [
        NoisyCounts(counts.statistics(counts.lowest_values(y, n), y, Units(n)), scale=1.0)
        for counts in (part.counts for part in parts)
    ]
    _computed(scorers, design, parts, made_up, units)


def public_model(params: dict[str, Any], public: PublicEvaluator, oracle: Evaluator) -> PublicFit:
    """Return a candidate fitted within the training set, and X and y of other rows of it.

    If it cannot be fitted without these, as it was evaluated, and all rows.
    """
    estimator, split = public.fitted(params), public.split
    if estimator is not None:
        return estimator, split.X_test, split.y_test
    training = oracle.problem.training
    return oracle.fitted(params), training.X, training.y


def release_all_scores(
    candidates: dict[int, dict[str, Any]],
    oracle: Evaluator,
    mechanisms: Mechanisms,
    public_model: Callable[[dict[str, Any]], PublicFit],
) -> dict[int, Scores]:
    """Release the scores of all candidates, with what is left of the budget.

    Parameters
    ----------
    candidates : dict of int to dict
        The candidates that were evaluated, by number.
    oracle, public_model
        As in `count_scores`.
    mechanisms : Mechanisms
        By which they are released.

    Returns
    -------
    released : dict of int to list of (float, tuple of float)
        For each candidate, all scores with their intervals.
    """
    units, budget = oracle.problem.units, mechanisms.budget
    each = budget.epsilon_left / len(candidates)
    scorers = {
        i: _prepared(params, oracle, public_model, each)[0] for i, params in candidates.items()
    }
    groups = _alike(next(iter(scorers.values())))
    released: dict[int, dict[int, Score]] = {i: {} for i in candidates}
    for left, group in zip(range(len(groups), 0, -1), groups, strict=True):
        names = [oracle.scorers[k].name for k in group]
        tables = {i: oracle.counts(candidates[i], scorers[i][group[0]].counts) for i in candidates}
        share = (
            round_down(Fraction(each) / left) for each in (budget.epsilon_left, budget.delta_left)
        )
        release = mechanisms.answers(
            Price.of_counts(len(tables), *share),
            purpose="scores of all candidates",
            detail=", ".join(names) if len(oracle.scorers) > 1 else "",
        )
        for i, table in tables.items():
            of, noisy = scorers[i], release(table)
            released[i] |= {k: score_and_interval(of[k], units, noisy) for k in group}
    return {i: [scores[k] for k in sorted(scores)] for i, scores in released.items()}


def _parts(scorers: list[PrivateScorer], report: tuple[Query, ...]) -> list[_Part]:
    """Return the releases: scores that do not follow from the parts of a report, and these parts.

    The scores together have the same weight as the parts together.
    """
    shared = [
        (scorers[group[0]].counts, [scorers[k].name for k in group]) for group in _alike(scorers)
    ]
    alone = [(counts, names) for counts, names in shared if counts not in report]
    parts = []
    for counts, names in alone:
        detail = ", ".join(names) if len(scorers) > 1 else ""
        parts.append(_Part(counts, Fraction(1, len(alone)), SCORE, detail))
    for counts in report:
        names = [name for other, each in shared if other == counts for name in each]
        detail = ", also for ".join([counts.what, *names])
        parts.append(
            _Part(counts, Fraction(1, len(report)), "report of the chosen candidate", detail)
        )
    return parts


def _prepared(
    params: dict[str, Any],
    oracle: Evaluator,
    public_model: Callable[[dict[str, Any]], PublicFit] | None,
    epsilon: float,
) -> tuple[list[PrivateScorer], Design | None]:
    """Return scorers and design of the report, with all set that public predictions say."""
    scorers = list(oracle.scorers)
    if not oracle.report and not any(scorer.release_uses_public for scorer in scorers):
        return scorers, None
    asked = {query.response_method for query in oracle.report}
    asked |= {scorer.response_method for scorer in scorers if scorer.release_uses_public}
    public = _answers(params, oracle, public_model, asked)
    m, design = oracle.problem.units.m, None
    if oracle.report:
        positive = getattr(oracle.scorer, "positive", None)
        design = design_of(public, m=m, epsilon=epsilon, spread=False, pos_label=positive)
    given = design.parts if design else () if len(scorers) > 1 else None
    return [scorer.release(public, m, epsilon, given) for scorer in scorers], design


def _answers(
    params: dict[str, Any],
    oracle: Evaluator,
    public_model: Callable[[dict[str, Any]], PublicFit] | None,
    asked: set[tuple[str, ...]],
) -> Responses:
    """Return the responses of a model that knows all classes to public records.

    The user's code runs here after protected records have been predicted, which may have left
    traces in classes and modules. So all of it runs here, without output, and what it raises is not
    reported. If it fails, the evaluated model predicts the records it was fitted on; if that fails,
    too, or if there is no public model, its earlier responses to the companions are used.

    Raises
    ------
    ValueError
        If that fails as well, which it did not before. The text is always the same.
    """
    training = oracle.problem.training
    known = np.asarray(() if (found := oracle.classes(params)) is None else found)
    finders: list[Callable[[], Responses]] = [lambda: oracle.remembered(params)]
    if public_model is not None:
        finders = [
            lambda: Responses.of(*public_model(params), asked),
            lambda: Responses.of(oracle.fitted(params), training.X, training.y, asked),
            *finders,
        ]
    for find in finders:
        with suppress_output(), drop_errors():
            responses = find()
            classes = () if responses.classes is None else responses.classes
            if np.array_equal(np.asarray(classes), known):
                return responses
    raise ValueError("the candidate chosen cannot predict its training records any more")


def _alike(scorers: list[PrivateScorer]) -> list[list[int]]:
    """Return the positions of scores, those together that are computed from the same counts."""
    groups: list[list[int]] = []
    for k, scorer in enumerate(scorers):
        for group in groups:
            if scorers[group[0]].counts == scorer.counts:
                group.append(k)
                break
        else:
            groups.append([k])
    return groups

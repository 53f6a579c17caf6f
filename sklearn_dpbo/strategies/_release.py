"""The scores of the chosen candidate, or of all, released with noise (zone: boundary)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._data.units import Units
from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import PublicEvaluator
from .._evaluation.suppress_output import drop_errors, suppress_output
from .._privacy.accounting import SCORE
from .._privacy.mechanisms import COUNTS, Mechanisms, Price
from .._privacy.noisy_counts import NoisyCounts
from .._privacy.rounding import round_down
from .._privacy.sensitive import Sensitive
from ..evaluation._base import Evaluation
from ..evaluation._design import design_of
from ..scoring._histogram import n_bins
from ..scoring._precision import Width, expected_width
from ..scoring._queries import Query
from ..scoring._response import Responses
from ..scoring._scorers import PrivateScorer, Score, score_and_interval
from ._base import Scores

__all__ = [
    "UnreleasedScores",
    "count_scores",
    "expected_widths",
    "public_model",
    "rehearse",
    "release_all_scores",
]

# A candidate fitted within the training set, and X and y of records that it was not fitted on.
PublicFit: TypeAlias = tuple[Any, Any, Any]
# Returns the responses of a candidate to public records, by these methods; None if there are none.
Answers: TypeAlias = Callable[[Iterable[tuple[str, ...]]], Any]
# Returns the evaluation for units and a privacy report.
Report: TypeAlias = Callable[..., Any]


class _Part(NamedTuple):
    """One release: of these counts, with its part of epsilon in relation to the others'."""

    counts: Query
    weight: Fraction
    purpose: str
    detail: str


@dataclass(frozen=True, eq=False, repr=False)
class UnreleasedScores:
    """All scores of one candidate, and its report, before noise; made by `count_scores`."""

    scorers: list[PrivateScorer]
    design: Evaluation | None
    parts: list[_Part]
    tables: list[Sensitive]

    def release(self, units: Units, mechanisms: Mechanisms) -> tuple[Scores, Report | None]:
        """Release scores, and the report's evaluation, with what the budget has left."""
        noisy: list[NoisyCounts] = []
        for i, (part, table) in enumerate(zip(self.parts, self.tables, strict=True)):
            share = part.weight / sum(other.weight for other in self.parts[i:])
            epsilon = round_down(Fraction(mechanisms.budget.epsilon_left) * share)
            purpose, detail = part.purpose, part.detail
            noisy.append(mechanisms.release_counts(table, epsilon, purpose=purpose, detail=detail))
        return self.computed(noisy, units)

    def computed(self, noisy: list[NoisyCounts], units: Units) -> tuple[Scores, Report | None]:
        """Return what follows from the noisy counts of each part."""

        def of(counts: Query) -> NoisyCounts:
            return noisy[[part.counts for part in self.parts].index(counts)]

        scores = [score_and_interval(each, units, of(each.counts)) for each in self.scorers]
        if self.design is None:
            return scores, None
        return scores, partial(self.design._released, tuple(map(of, self.design._parts)))


def count_scores(
    params: dict[str, Any],
    statistic: Sensitive,
    oracle: Evaluator,
    epsilon: float,
    public_model: Callable[[dict[str, Any]], PublicFit],
) -> UnreleasedScores:
    """Count what all scores of one candidate, with this statistic, and its report come from.

    Scores of the same counts share one release; those of the report's counts need none. Scores and
    report get half of epsilon each, and their releases equal parts. `public_model` is called if
    public predictions are needed.
    """
    answers = partial(_answers, params, oracle, public_model, epsilon)
    scorers, design = _scorers_and_design(oracle, answers, epsilon)
    parts = _parts(scorers, () if design is None else design._parts)
    tables = [
        statistic if part.counts is oracle.scorer.query else oracle.counts(params, part.counts)
        for part in parts
    ]
    return UnreleasedScores(scorers, design, parts, tables)


def rehearse(params: dict[str, Any], oracle: Evaluator, epsilon: float) -> None:
    """Compute all scores of made-up counts: what fails then is an error before anything is spent.

    The candidate was evaluated; it may be any if no score needs public predictions.
    """
    answers = partial(_answers, params, oracle, None, epsilon)
    scorers, design = _scorers_and_design(oracle, answers, epsilon)
    parts = _parts(scorers, () if design is None else design._parts)
    y, units, n = oracle.companions.y, oracle.problem.units, len(oracle.companions)
    made_up = [
        NoisyCounts(counts.statistics(counts.lowest_values(y, n), y, Units(n)), scale=1.0)
        for counts in (part.counts for part in parts)
    ]
    UnreleasedScores(scorers, design, parts, []).computed(made_up, units)


def expected_widths(
    oracle: Evaluator, public: Responses | None, epsilon: float, delta: float = 0.0, n: int = 1
) -> list[Callable[[], Width]]:
    """Return what computes the width to expect of each score, if n candidates' are released.

    `public` are responses of a candidate to public records; means alone need none.
    """
    with warnings.catch_warnings():  # what a design warns of, it will warn of when it is used
        warnings.simplefilter("ignore", UserWarning)
        scorers, design = _scorers_and_design(oracle, lambda _: public, epsilon / n)
    parts, units = _parts(scorers, () if design is None else design._parts), oracle.problem.units
    whole = sum(part.weight for part in parts)
    widths: list[Callable[[], Width]] = []
    for scorer in scorers:
        weight = next(part.weight for part in parts if part.counts == scorer.counts) / whole
        price = Price.shared(n, float(epsilon * weight), float(delta * weight), COUNTS)
        scale = price.scale(scorer.counts.sensitivity(units))
        widths.append(partial(expected_width, scorer, public, units, scale, price.gaussian))
    return widths


def public_model(params: dict[str, Any], public: PublicEvaluator, oracle: Evaluator) -> PublicFit:
    """Return a candidate fitted within the training set, and X and y of other rows of it.

    If it cannot be fitted without these, as it was evaluated, and all rows.
    """
    estimator = public.fitted(params)
    if estimator is not None:
        return estimator, public.test.X, public.test.y
    training = oracle.problem.training
    return oracle.fitted(params), training.X, training.y


def release_all_scores(
    candidates: dict[int, dict[str, Any]],
    oracle: Evaluator,
    mechanisms: Mechanisms,
    public_model: Callable[[dict[str, Any]], PublicFit],
) -> dict[int, Scores]:
    """Release all scores of evaluated candidates, by number, with what the budget has left."""
    units, budget = oracle.problem.units, mechanisms.budget
    each = budget.epsilon_left / len(candidates)
    scorers = {
        i: _scorers_and_design(oracle, partial(_answers, params, oracle, public_model, each), each)[
            0
        ]
        for i, params in candidates.items()
    }
    shared = _distinct(next(iter(scorers.values())))
    released: dict[int, dict[int, Score]] = {i: {} for i in candidates}
    for left, (_, group) in zip(range(len(shared), 0, -1), shared, strict=True):
        tables = {i: oracle.counts(candidates[i], scorers[i][group[0]].counts) for i in candidates}
        epsilon, delta = (
            round_down(Fraction(each) / left) for each in (budget.epsilon_left, budget.delta_left)
        )
        release = mechanisms.answers(
            Price.shared(len(tables), epsilon, delta, COUNTS),
            purpose="scores of all candidates",
            detail=_names(oracle.scorers, group),
        )
        for i, table in tables.items():
            of, noisy = scorers[i], release(table)
            released[i] |= {k: score_and_interval(of[k], units, noisy) for k in group}
    return {i: [scores[k] for k in sorted(scores)] for i, scores in released.items()}


def _parts(scorers: list[PrivateScorer], report: tuple[Query, ...]) -> list[_Part]:
    """Return the releases: scores that do not follow from the report's parts, and these parts.

    If there are both, all the scores have the same weight as the parts together.
    """
    shared = _distinct(scorers)
    alone = [(counts, group) for counts, group in shared if counts not in report]
    parts = [
        _Part(counts, Fraction(1, len(alone)), SCORE, _names(scorers, group))
        for counts, group in alone
    ]
    for counts in report:
        names = [scorers[k].name for other, group in shared if other == counts for k in group]
        detail = ", also for ".join([counts.what, *names])
        parts.append(
            _Part(counts, Fraction(1, len(report)), "report of the chosen candidate", detail)
        )
    return parts


def _distinct(scorers: list[PrivateScorer]) -> list[tuple[Query, list[int]]]:
    """Return what is counted for scores, each once, with the positions of its scores."""
    counted: list[Query] = []
    for scorer in scorers:
        if scorer.counts not in counted:
            counted.append(scorer.counts)
    return [
        (counts, [k for k, scorer in enumerate(scorers) if scorer.counts == counts])
        for counts in counted
    ]


def _names(scorers: Sequence[PrivateScorer], group: list[int]) -> str:
    return ", ".join(scorers[k].name for k in group) if len(scorers) > 1 else ""


def _scorers_and_design(
    oracle: Evaluator, answers: Answers, epsilon: float
) -> tuple[list[PrivateScorer], Evaluation | None]:
    """Return scorers and design of the report, with all set that public predictions say."""
    scorers = list(oracle.scorers)
    if not oracle.report and not any(scorer.release_uses_public for scorer in scorers):
        return scorers, None
    asked = {query.response_method for query in oracle.report}
    asked |= {scorer.response_method for scorer in scorers if scorer.release_uses_public}
    public = answers(asked)
    m, design = oracle.problem.units.m, None
    if oracle.report:
        positive = getattr(oracle.scorer, "positive", None)
        design = design_of(public, m=m, epsilon=epsilon, pos_label=positive)
    given = design._parts if design else () if len(scorers) > 1 else None
    return [scorer.release(public, m, epsilon, given) for scorer in scorers], design


def _answers(
    params: dict[str, Any],
    oracle: Evaluator,
    public_model: Callable[[dict[str, Any]], PublicFit] | None,
    epsilon: float,
    asked: Iterable[tuple[str, ...]],
) -> Responses:
    """Return the responses of a model that knows all classes to public records.

    A model of so few scores that each has a bin, such as a small tree, predicts the records it was
    fitted on: bins then separate its own scores, which those of another fit would not. Protected
    predictions may have left traces in classes and modules: so the user's code runs without output,
    and its errors are not reported. If the public model fails, the evaluated one predicts these
    records, too; if that fails, what it answered to the companions at first is used.
    """
    training, first = oracle.problem.training, oracle.model(params).answers
    if public_model is None:
        return first
    K = len(_classes(first))
    most_scores = n_bins(oracle.problem.units.m, epsilon / (2 * K if K > 2 else 1))

    def answers(model: Callable[[], PublicFit]) -> Responses | None:
        with suppress_output(), drop_errors():
            found = Responses.of(*model(), asked)
            if np.array_equal(_classes(found), _classes(first)):
                return found
        return None

    own = answers(lambda: (oracle.fitted(params), training.X, training.y))
    return own or first


def _classes(responses: Responses) -> Any:
    return np.asarray(() if responses.classes is None else responses.classes)

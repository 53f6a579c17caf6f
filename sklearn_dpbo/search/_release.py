"""The scores of the chosen candidate, or of all, released with noise (zone: boundary)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ..metrics._precision import Width, expected_width
from ..metrics._queries import Query
from ..metrics._released import ReleasedScore
from ..metrics._response import Responses
from ..metrics._scorers import PrivateScorer
from ..metrics._unknown import unknown_hint
from ..metrics.evaluations._base import Evaluation
from ..metrics.evaluations._design import evaluation_of
from ..prediction.candidates import Candidates
from ..prediction.session import Session
from ..privacy.accounting import SCORE
from ..privacy.mechanisms import COUNTS, Price
from ..privacy.noisy_counts import NoisyCounts
from ..privacy.sensitive import Sensitive
from ..privacy.spending import Part
from ..records.public_rows import spread_rows
from ..records.split import Training
from ..records.subgroups import Subgroups
from ..records.tables import take_rows
from ._strategy import Scores

# Largest number of training rows that a candidate answers.
_MOST_ROWS = 4_096
# Makes the evaluation, from units and a privacy report.
Report: TypeAlias = Callable[..., Any]


class _Part(NamedTuple):
    """A release of counts; its share of epsilon is `weight` by the sum of all weights."""

    counts: Query
    weight: Fraction
    purpose: str
    detail: str


class Released(NamedTuple):
    """The scores of one candidate, or of all, as `Release` has them.

    `unknown` is a warning of records with unknown labels, or "".
    """

    scores: Scores
    report: Report | None = None
    scorers: tuple[PrivateScorer, ...] = ()
    hints: tuple[str, ...] = ()
    all_scores: Mapping[int, Scores] | None = None
    unknown: str = ""

    @property
    def shown(self) -> dict[str, Any]:
        """Arguments of `Release`, with `unknown` as the first of the hints."""
        arguments = self._replace(hints=tuple(filter(None, (self.unknown, *self.hints))))._asdict()
        del arguments["unknown"]
        return arguments


@dataclass(frozen=True, eq=False)
class Design:
    """The public design of the release of a candidate's scores, and of its evaluation.

    `epsilon` is that of all scores together. The `evaluation` needs answers to `queries`. Called
    with a fitted candidate, before anything protected is predicted, a design returns the one
    adapted to this candidate's answers to training rows (`Model.design`).
    """

    scorers: tuple[PrivateScorer, ...]
    queries: tuple[Query, ...]
    m: int
    epsilon: float
    subgroups: Subgroups | None = None
    evaluation: Evaluation | None = None

    @classmethod
    def of(cls, candidates: Candidates, epsilon: float) -> Design:
        """Make the design before a candidate is fitted."""
        problem = candidates.problem
        return cls(
            candidates.scorers, candidates.report, problem.units.m, epsilon, problem.subgroups
        )

    @classmethod
    def of_model(cls, candidates: Candidates, params: dict[str, Any]) -> Design:
        """Make the design for a fitted candidate."""
        adapted: Design | None = candidates.model(params).design
        if adapted is None:
            return cls.of(candidates, math.nan)
        # None stands for a scorer that did not adapt; `Candidates.asked` compares by identity.
        pairs = zip(adapted.scorers, candidates.scorers, strict=True)
        return replace(adapted, scorers=tuple(new or scorer for new, scorer in pairs))

    @property
    def asked(self) -> set[tuple[str, ...]]:
        """Methods of a candidate whose answers to training rows the design depends on."""
        asked = {query.response_method for query in self.queries}
        return asked | {s.response_method for s in self.scorers if s.release_uses_public}

    def __call__(self, estimator: Any, training: Training) -> Design | None:
        """Adapt to a fitted candidate's answers to training rows, spread over their labels.

        None if the design depends on no answers; a scorer that did not adapt becomes None.
        """
        if not self.asked:
            return None
        rows = spread_rows(training.X, training.y, _MOST_ROWS)
        X = take_rows(training.X, rows)
        y = take_rows(training.y, rows)
        adapted = self.by_answers(Responses.of(estimator, X, y, self.asked))
        pairs = zip(adapted.scorers, self.scorers, strict=True)
        scorers: Any = tuple(None if new is scorer else new for new, scorer in pairs)
        return replace(adapted, scorers=scorers, queries=())

    def by_answers(self, public: Responses) -> Design:
        """Adapt to a candidate's answers to public rows."""
        evaluation = None
        if self.queries:
            positive = getattr(self.scorers[0], "positive", None)
            options: dict[str, Any] = {"m": self.m, "epsilon": self.epsilon, "pos_label": positive}
            evaluation = evaluation_of(public, subgroups=self.subgroups, **options)
        # Counts that are released anyway, from which scores may follow; None for a single score.
        counted = evaluation._parts if evaluation else () if len(self.scorers) > 1 else None
        m = self.m // (self.subgroups.n if self.subgroups else 1)
        scorers = tuple(scorer.release(public, m, self.epsilon, counted) for scorer in self.scorers)
        return replace(self, scorers=scorers, evaluation=evaluation)

    @property
    def parts(self) -> list[_Part]:
        """The releases: counts of the evaluation, and of scores that do not follow from these.

        If there are both, all the scores have the same weight as the evaluation.
        """
        report = self.evaluation._parts if self.evaluation else ()
        shared = _distinct(self.scorers)
        alone = [(counts, group) for counts, group in shared if counts not in report]
        parts = [
            _Part(counts, Fraction(1, len(alone)), SCORE, _names(self.scorers, group))
            for counts, group in alone
        ]
        whole = sum(counts.weight for counts in report)
        for counts in report:
            names = [
                self.scorers[k].name
                for score_counts, group in shared
                if score_counts == counts
                for k in group
            ]
            detail = ", also for ".join([counts.what, *names])
            share = Fraction(counts.weight, whole)
            parts.append(_Part(counts, share, "evaluation of the chosen candidate", detail))
        return parts


def release_scores(
    params: dict[str, Any],
    statistic: Sensitive,
    session: Session,
    n_compared: float | None = None,
) -> Released:
    """Release all scores of one candidate, and the counts of its evaluation.

    `statistic` is the one that the candidate was chosen by; it is released if it has the counts of
    a score. Scores of the same counts share one release; those that follow from the evaluation need
    none. Scores and evaluation get half of the remaining epsilon each; the former is divided
    evenly, the latter by the weights of the evaluation's parts. The candidate is the best of
    `n_compared`: see `population_interval`.
    """
    candidates = session.candidates
    design = Design.of_model(candidates, params)
    scorers = design.scorers
    evaluation = design.evaluation
    parts = design.parts
    units = session.units
    tables = [
        statistic
        if candidates.scorer.query.counts_as(part.counts, units)
        else session.counts(params, part.counts)
        for part in parts
    ]
    pairs = zip(tables, parts, strict=True)
    noisy = session.release_each([Part(table, *part[1:]) for table, part in pairs])

    def released(counts: Query) -> NoisyCounts:
        return noisy[[part.counts for part in parts].index(counts)]

    scores = [
        ReleasedScore(scorer, released(scorer.counts), units, n_compared, selects=k == 0)
        for k, scorer in enumerate(scorers)
    ]
    unknown = _first(unknown_hint(part.counts, released(part.counts), units) for part in parts)
    if evaluation is None:
        return Released(scores, None, scorers, unknown=unknown)
    counts = tuple(map(released, evaluation._parts))
    report = partial(evaluation._released, counts, n_compared=n_compared or 1)
    hint = evaluation._labels_hint()
    hints = (hint,) if hint else ()
    return Released(scores, report, scorers, hints, unknown=unknown)


def expected_widths(
    candidates: Candidates,
    public: Responses | None,
    epsilon: float,
    delta: float = 0.0,
    n: int = 1,
) -> list[Callable[[], Width]]:
    """Make functions that compute the expected width of each score's interval.

    The scores of n candidates share epsilon and delta. `public` are responses of a candidate to
    public records; scores that are means do not need them.
    """
    design = Design.of(candidates, epsilon / n)
    design = design.by_answers(public) if design.asked and public else replace(design, queries=())
    scorers = design.scorers
    parts = design.parts
    units = candidates.problem.units
    whole = sum(part.weight for part in parts)
    widths: list[Callable[[], Width]] = []
    for scorer in scorers:
        weight = next(part.weight for part in parts if part.counts == scorer.counts) / whole
        price = Price.shared(n, float(epsilon * weight), float(delta * weight), COUNTS)
        scale = price.scale(scorer.counts.sensitivity(units))
        widths.append(partial(expected_width, scorer, public, units, scale, price.gaussian))
    return widths


def release_all_scores(
    candidates: dict[int, dict[str, Any]],
    best: int,
    session: Session,
) -> Released:
    """Release all scores of all candidates with the remaining budget.

    `candidates` has the parameters of evaluated ones by position; `best` is that of the chosen one.
    """
    units = session.units
    selecting = session.candidates
    scorers = {i: Design.of_model(selecting, params).scorers for i, params in candidates.items()}
    shared = _distinct(next(iter(scorers.values())))
    released: dict[int, dict[int, ReleasedScore]] = {i: {} for i in candidates}
    unknown: list[str] = []
    for n_left, (_, group) in zip(range(len(shared), 0, -1), shared, strict=True):
        tables = {i: session.counts(candidates[i], scorers[i][group[0]].counts) for i in candidates}
        epsilon = session.share(Fraction(1, n_left))
        delta = session.share_of_delta(Fraction(1, n_left))
        release = session.answers(
            Price.shared(len(tables), epsilon, delta, COUNTS),
            purpose="scores of all candidates",
            detail=_names(selecting.scorers, group),
        )
        for i, table in tables.items():
            noisy = release(table)
            # Intervals for the population allow for the choice: they are known for the best alone.
            n_compared = len(candidates) if i == best else None
            for k in group:
                scorer = scorers[i][k]
                released[i][k] = ReleasedScore(scorer, noisy, units, n_compared, k == 0)
            if i == best:
                unknown.append(unknown_hint(scorers[i][group[0]].counts, noisy, units))
    all_scores = {i: [scores[k] for k in sorted(scores)] for i, scores in released.items()}
    return Released(all_scores[best], all_scores=all_scores, unknown=_first(unknown))


def _first(hints: Iterable[str]) -> str:
    """Return the first text that is not empty; "" if all are."""
    return next(filter(None, hints), "")


def _distinct(scorers: Sequence[PrivateScorer]) -> list[tuple[Query, list[int]]]:
    """List the different counts of scores, each with the positions of its scores."""
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

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
from ..privacy.sensitive import Sensitive
from ..privacy.spending import Part
from ..records.public_rows import spread_rows
from ..records.split import Training
from ..records.subgroups import Subgroups
from ..records.tables import take_rows
from ._strategy import Scores

# Largest number of training rows that a candidate predicts for its design.
_MOST_ROWS = 4_096
# Makes the evaluation, from units and a privacy report; see `Release.report`.
Report: TypeAlias = Callable[..., Any]


class _Planned(NamedTuple):
    """A planned release of the counts of a query.

    Its share of epsilon is `weight` divided by the sum of the weights of all planned releases.
    """

    query: Query
    weight: Fraction
    purpose: str
    detail: str


class Released(NamedTuple):
    """The scores of the chosen candidate, or of all: fields that `Release` has, too.

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
        """Arguments of `Release`, with `unknown` (unless it is "") as the first of the hints."""
        hints = tuple(filter(None, (self.unknown, *self.hints)))
        arguments = self._replace(hints=hints)._asdict()
        del arguments["unknown"]
        return arguments


@dataclass(frozen=True, eq=False)
class Design:
    """Which counts will be released for the scores of one candidate, and for its evaluation.

    A design is public. It is made before anything is fitted. Some scores, and all evaluations,
    count differently for each candidate: bins, for example, have edges that suit its predictions
    for training rows. So a search calls the design with each candidate, right after its fit and
    before anything protected is predicted. That returns the candidate's own design, which
    `Model.design` keeps.

    Parameters
    ----------
    scorers : tuple of PrivateScorer
        The scores to release.
    queries : tuple of Query
        Queries of an evaluation, which need the same methods of a candidate as the evaluation does;
        empty if none is released.
    m : int
        Number of protected units.
    epsilon : float
        Epsilon of all scores and the evaluation together.
    subgroups : Subgroups or None, default=None
        Subgroups of the evaluation.
    evaluation : Evaluation or None, default=None
        The evaluation to release; set once the design is adapted to a candidate.
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
        """Return the design of a fitted candidate, adapted to it if that is needed."""
        adapted: Design | None = candidates.model(params).design
        if adapted is None:
            return cls.of(candidates, math.nan)  # nothing is adapted, so epsilon is not used
        # A design may come from a worker, as a pickle; None stands in it for each scorer that is
        # the same for all candidates. Put the search's own scorer there, not a copy: `counts_as`
        # sees that the choice has counted a user's gain only if it is the same object.
        pairs = zip(adapted.scorers, candidates.scorers, strict=True)
        return replace(adapted, scorers=tuple(new or scorer for new, scorer in pairs))

    @property
    def asked(self) -> set[tuple[str, ...]]:
        """Methods of a candidate whose predictions for training rows the design depends on."""
        asked = {query.response_method for query in self.queries}
        return asked | {s.response_method for s in self.scorers if s.release_uses_public}

    def __call__(self, estimator: Any, training: Training) -> Design | None:
        """Return the design for a fitted candidate, by its predictions for some training rows.

        These rows are spread over the labels. Return None if the design is the same for all
        candidates. Otherwise None stands in it for each scorer that is; see `of_model`.
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
        """Adapt to a candidate's predictions for public rows."""
        evaluation = None
        if self.queries:
            positive = getattr(self.scorers[0], "positive", None)
            options: dict[str, Any] = {"m": self.m, "epsilon": self.epsilon, "pos_label": positive}
            evaluation = evaluation_of(public, subgroups=self.subgroups, **options)
        # Queries that are released anyway, from which scores may follow. Without an evaluation
        # there are none; () says that other scores may share counts, None that there are no others.
        given: tuple[Query, ...] | None = None
        if evaluation is not None:
            given = evaluation._parts
        elif len(self.scorers) > 1:
            given = ()
        m = self.m // (self.subgroups.n if self.subgroups else 1)
        scorers = tuple(scorer.release(public, m, self.epsilon, given) for scorer in self.scorers)
        return replace(self, scorers=scorers, evaluation=evaluation)

    @property
    def planned(self) -> list[_Planned]:
        """The releases: queries of the evaluation, and of scores that do not follow from these.

        If there are both, all these scores together have the same weight as the evaluation.
        """
        evaluated = self.evaluation._parts if self.evaluation else ()
        groups = _by_query(self.scorers)
        alone = [(query, group) for query, group in groups if query not in evaluated]
        planned = [
            _Planned(query, Fraction(1, len(alone)), SCORE, _names(self.scorers, group))
            for query, group in alone
        ]
        whole = sum(query.weight for query in evaluated)
        for query in evaluated:
            names = [self.scorers[k].name for same, group in groups if same == query for k in group]
            detail = ", also for ".join([query.what, *names])
            weight = Fraction(query.weight, whole)
            planned.append(_Planned(query, weight, "evaluation of the chosen candidate", detail))
        return planned


def release_scores(
    params: dict[str, Any],
    statistic: Sensitive,
    session: Session,
    n_compared: float,
) -> Released:
    """Release all scores of one candidate, and the counts of its evaluation if there is one.

    All remaining epsilon is spent. Scores that follow from the evaluation's counts need no release
    of their own, and other scores of the same counts share one. If there are such others and an
    evaluation, half of epsilon is for these scores, divided evenly among their releases, and half
    for the evaluation, divided by the weights of its queries. Otherwise either gets all of it.

    `statistic` is the one by which the candidate was chosen: it is not counted again if a score is
    computed from it. The candidate is the best of `n_compared`, see `population_interval`.
    """
    candidates = session.candidates
    design = Design.of_model(candidates, params)
    scorers = design.scorers
    evaluation = design.evaluation
    planned = design.planned
    units = session.units
    tables = [
        statistic
        if candidates.scorer.query.counts_as(release.query, units)
        else session.counts(params, release.query)
        for release in planned
    ]
    pairs = zip(tables, planned, strict=True)
    released = session.release_each([Part(table, *release[1:]) for table, release in pairs])
    noisy = {release.query: counts for release, counts in zip(planned, released, strict=True)}
    scores = [
        ReleasedScore(scorer, noisy[scorer.counts], units, n_compared, selects=k == 0)
        for k, scorer in enumerate(scorers)
    ]
    unknown = _first(unknown_hint(query, counts, units) for query, counts in noisy.items())
    if evaluation is None:
        return Released(scores, None, scorers, unknown=unknown)
    evaluated = tuple(noisy[query] for query in evaluation._parts)
    report = partial(evaluation._released, evaluated, n_compared=n_compared)
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
    if design.asked and public:
        design = design.by_answers(public)
    planned = design.planned
    units = candidates.problem.units
    whole = sum(release.weight for release in planned)
    widths: list[Callable[[], Width]] = []
    for scorer in design.scorers:
        share = next(r.weight for r in planned if r.query == scorer.counts) / whole
        price = Price.shared(n, float(epsilon * share), float(delta * share), COUNTS)
        scale = price.scale(scorer.counts.sensitivity(units))
        widths.append(partial(expected_width, scorer, public, units, scale, price.gaussian))
    return widths


def release_all_scores(
    candidates: dict[int, dict[str, Any]],
    best: int,
    session: Session,
) -> Released:
    """Release all scores of all candidates with the remaining budget.

    `candidates` has the parameters of validated ones by position; `best` is that of the chosen one.
    """
    units = session.units
    searched = session.candidates
    scorers = {i: Design.of_model(searched, params).scorers for i, params in candidates.items()}
    # Which scores share counts depends on the metrics, m and epsilon alone, so it is the same for
    # all candidates. What is counted is not: each candidate has bins of its own.
    groups = [group for _, group in _by_query(next(iter(scorers.values())))]
    released: dict[int, dict[int, ReleasedScore]] = {i: {} for i in candidates}
    unknown: list[str] = []
    for n_left, group in zip(range(len(groups), 0, -1), groups, strict=True):
        queries = {i: scorers[i][group[0]].counts for i in candidates}
        tables = {i: session.counts(candidates[i], queries[i]) for i in candidates}
        epsilon = session.share(Fraction(1, n_left))
        delta = session.share_of_delta(Fraction(1, n_left))
        release = session.answers(
            Price.shared(len(tables), epsilon, delta, COUNTS),
            purpose="scores of all candidates",
            detail=_names(searched.scorers, group),
        )
        for i, table in tables.items():
            noisy = release(table)
            # Only the chosen candidate is the best of a known number. For the others None stands
            # here, and their intervals for the population are NaN.
            n_compared = len(candidates) if i == best else None
            for k in group:
                scorer = scorers[i][k]
                released[i][k] = ReleasedScore(scorer, noisy, units, n_compared, k == 0)
            if i == best:
                unknown.append(unknown_hint(queries[i], noisy, units))
    all_scores = {i: [scores[k] for k in sorted(scores)] for i, scores in released.items()}
    return Released(all_scores[best], all_scores=all_scores, unknown=_first(unknown))


def _first(hints: Iterable[str]) -> str:
    """Return the first text that is not empty; "" if all are."""
    return next(filter(None, hints), "")


def _by_query(scorers: Sequence[PrivateScorer]) -> list[tuple[Query, list[int]]]:
    """List the different queries that scores are computed from, each with its scores' positions."""
    queries: list[Query] = []
    for scorer in scorers:
        if scorer.counts not in queries:
            queries.append(scorer.counts)
    return [
        (query, [k for k, scorer in enumerate(scorers) if scorer.counts == query])
        for query in queries
    ]


def _names(scorers: Sequence[PrivateScorer], group: list[int]) -> str:
    """Name the scores at these positions, for the privacy report; "" if there is one score only."""
    return ", ".join(scorers[k].name for k in group) if len(scorers) > 1 else ""

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

# Training rows that a candidate answers, at most.
_MOST_ROWS = 4_096
# Returns the evaluation for units and a privacy report.
Report: TypeAlias = Callable[..., Any]


class _Part(NamedTuple):
    """One release: of these counts, with its part of epsilon in relation to the others'."""

    counts: Query
    weight: Fraction
    purpose: str
    detail: str


class Released(NamedTuple):
    """What `Release` has of the scores of one candidate, or of all.

    `unknown` says how many records have unknown labels.
    """

    scores: Scores
    report: Report | None = None
    scorers: tuple[PrivateScorer, ...] = ()
    hints: tuple[str, ...] = ()
    all_scores: Mapping[int, Scores] | None = None
    unknown: str = ""

    @property
    def shown(self) -> dict[str, Any]:
        """What `Release` has of it."""
        own = self._replace(hints=tuple(filter(None, (self.unknown, *self.hints))))._asdict()
        del own["unknown"]
        return own


@dataclass(frozen=True, eq=False)
class Design:
    """How the scores of a candidate, and its report, are released: fixed in public.

    The report is an `evaluation`, for which `queries` are answered; `epsilon` is that of all
    scores. Called with a fitted candidate, before anything protected is predicted, it returns the
    design that fits what this candidate answers to training rows (`Model.design`).
    """

    scorers: tuple[PrivateScorer, ...]
    queries: tuple[Query, ...]
    m: int
    epsilon: float
    subgroups: Subgroups | None = None
    evaluation: Evaluation | None = None

    @classmethod
    def of(cls, candidates: Candidates, epsilon: float) -> Design:
        """Return the design by what is known before a candidate is fitted."""
        problem = candidates.problem
        own = candidates.scorers, candidates.report
        return cls(*own, problem.units.m, epsilon, problem.subgroups)

    @classmethod
    def of_model(cls, candidates: Candidates, params: dict[str, Any]) -> Design:
        """Return the design for a fitted candidate."""
        adapted: Design | None = candidates.model(params).design
        if adapted is None:
            return cls.of(candidates, math.nan)
        # Those that the fit left as they were are known by identity: see `Candidates.asked`.
        same = zip(adapted.scorers, candidates.scorers, strict=True)
        return replace(adapted, scorers=tuple(own or scorer for own, scorer in same))

    @property
    def asked(self) -> set[tuple[str, ...]]:
        """The methods of a candidate whose answers matter; empty if none do."""
        asked = {query.response_method for query in self.queries}
        return asked | {s.response_method for s in self.scorers if s.release_uses_public}

    def __call__(self, estimator: Any, training: Training) -> Design | None:
        """Let a fitted candidate answer training rows, spread over their labels."""
        if not self.asked:
            return None
        rows = spread_rows(training.X, training.y, _MOST_ROWS)
        X, y = take_rows(training.X, rows), take_rows(training.y, rows)
        adapted = self.by_answers(Responses.of(estimator, X, y, self.asked))
        pairs = zip(adapted.scorers, self.scorers, strict=True)
        scorers: Any = tuple(None if own is each else own for own, each in pairs)
        return replace(adapted, scorers=scorers, queries=())

    def by_answers(self, public: Responses) -> Design:
        """Return the design for these answers of a candidate."""
        evaluation = None
        if self.queries:
            positive = getattr(self.scorers[0], "positive", None)
            own: dict[str, Any] = {"m": self.m, "epsilon": self.epsilon, "pos_label": positive}
            evaluation = evaluation_of(public, subgroups=self.subgroups, **own)
        given = evaluation._parts if evaluation else () if len(self.scorers) > 1 else None
        m = self.m // (self.subgroups.n if self.subgroups else 1)
        scorers = tuple(each.release(public, m, self.epsilon, given) for each in self.scorers)
        return replace(self, scorers=scorers, evaluation=evaluation)

    @property
    def parts(self) -> list[_Part]:
        """The releases: scores that do not follow from the report's parts, and these parts.

        If there are both, all the scores have the same weight as the parts together.
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
                self.scorers[k].name for other, group in shared if other == counts for k in group
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
    """Release all scores of one candidate, with this statistic, and what its report comes from.

    Scores of the same counts share one release; those of the report's counts need none. Scores and
    report get half of what is left of epsilon each. Of the former, releases get equal parts, of the
    latter parts by their weights. It is the best of `n_compared`, see
    `population_interval`.
    """
    own = session.candidates
    design = Design.of_model(own, params)
    scorers, evaluation, parts, units = (
        design.scorers,
        design.evaluation,
        design.parts,
        session.units,
    )
    tables = [
        statistic
        if own.scorer.query.counts_as(part.counts, units)
        else session.counts(params, part.counts)
        for part in parts
    ]
    each = zip(tables, parts, strict=True)
    noisy = session.release_each([Part(table, *part[1:]) for table, part in each])

    def of(counts: Query) -> NoisyCounts:
        return noisy[[part.counts for part in parts].index(counts)]

    scores = [
        ReleasedScore(scorer, of(scorer.counts), units, n_compared, selects=k == 0)
        for k, scorer in enumerate(scorers)
    ]
    unknown = _first(unknown_hint(part.counts, of(part.counts), units) for part in parts)
    if evaluation is None:
        return Released(scores, None, scorers, unknown=unknown)
    counts = tuple(map(of, evaluation._parts))
    report = partial(evaluation._released, counts, n_compared=n_compared or 1)
    hint = evaluation._labels_hint()
    hints = (hint,) * bool(hint)
    return Released(scores, report, scorers, hints, unknown=unknown)


def expected_widths(
    candidates: Candidates,
    public: Responses | None,
    epsilon: float,
    delta: float = 0.0,
    n: int = 1,
) -> list[Callable[[], Width]]:
    """Return what computes the width to expect of each score, if n candidates' are released.

    `public` are responses of a candidate to public records; means alone need none.
    """
    design = Design.of(candidates, epsilon / n)
    design = design.by_answers(public) if design.asked and public else replace(design, queries=())
    scorers, parts, units = design.scorers, design.parts, candidates.problem.units
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
    """Release all scores of evaluated candidates, by number, with what the budget has left."""
    own, units = session.candidates, session.units
    scorers = {i: Design.of_model(own, params).scorers for i, params in candidates.items()}
    shared = _distinct(next(iter(scorers.values())))
    released: dict[int, dict[int, ReleasedScore]] = {i: {} for i in candidates}
    unknown: list[str] = []
    for left, (_, group) in zip(range(len(shared), 0, -1), shared, strict=True):
        tables = {i: session.counts(candidates[i], scorers[i][group[0]].counts) for i in candidates}
        epsilon, delta = (
            session.share(Fraction(1, left)),
            session.share_of_delta(Fraction(1, left)),
        )
        release = session.answers(
            Price.shared(len(tables), epsilon, delta, COUNTS),
            purpose="scores of all candidates",
            detail=_names(own.scorers, group),
        )
        for i, table in tables.items():
            noisy = release(table)
            # Only of the best one, an interval for the population is known in spite of the choice.
            n_compared = len(candidates) if i == best else None
            for k in group:
                scorer = scorers[i][k]
                released[i][k] = ReleasedScore(scorer, noisy, units, n_compared, k == 0)
            if i == best:
                unknown.append(unknown_hint(scorers[i][group[0]].counts, noisy, units))
    all_scores = {i: [scores[k] for k in sorted(scores)] for i, scores in released.items()}
    return Released(all_scores[best], all_scores=all_scores, unknown=_first(unknown))


def _first(hints: Iterable[str]) -> str:
    """Return the first text that says something."""
    return next(filter(None, hints), "")


def _distinct(scorers: Sequence[PrivateScorer]) -> list[tuple[Query, list[int]]]:
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

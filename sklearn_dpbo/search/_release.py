"""The scores of the chosen candidate, or of all, released with noise (zone: boundary)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ..metrics._population import luck_of, population_interval
from ..metrics._precision import Width, expected_width
from ..metrics._queries import Query
from ..metrics._response import Responses
from ..metrics._scorers import PrivateScorer, Score, score_and_interval
from ..metrics._unknown import unknown_hint
from ..metrics.evaluations._base import Evaluation
from ..metrics.evaluations._design import design_of
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

__all__ = [
    "Designer",
    "ReleaseDesign",
    "Released",
    "expected_widths",
    "release_all_scores",
    "release_scores",
]

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
    populations: list[tuple[float, float] | None]
    report: Report | None = None
    scorers: tuple[PrivateScorer, ...] = ()
    hints: tuple[str, ...] = ()
    all_scores: dict[int, Scores] | None = None
    unknown: str = ""

    @property
    def shown(self) -> dict[str, Any]:
        """What `Release` has of it."""
        own = self._replace(hints=tuple(filter(None, (self.unknown, *self.hints))))._asdict()
        del own["unknown"]
        return own


@dataclass(frozen=True, eq=False)
class ReleaseDesign:
    """How the scores of one candidate, and its report, will be released: fixed in public.

    A scorer is None if it is released as it was prepared.
    """

    scorers: tuple[PrivateScorer | None, ...]
    evaluation: Evaluation | None


@dataclass(frozen=True, eq=False)
class Designer:
    """Returns the `ReleaseDesign` of a fitted candidate, by its answers to training rows.

    `report` is what these are asked for; `epsilon` is that of all its scores. It runs where the
    candidate is fitted, before anything protected is predicted.
    """

    scorers: tuple[PrivateScorer, ...]
    report: tuple[Query, ...]
    m: int
    epsilon: float
    subgroups: Subgroups | None = None

    @classmethod
    def of(cls, candidates: Candidates, epsilon: float) -> Designer | None:
        """Return the designer for what is evaluated; None if public answers change nothing."""
        scorers, report = candidates.scorers, candidates.report
        if not report and not any(scorer.release_uses_public for scorer in scorers):
            return None
        problem = candidates.problem
        return cls(scorers, report, problem.units.m, epsilon, problem.subgroups)

    def __call__(self, estimator: Any, training: Training) -> ReleaseDesign:
        """Let a fitted candidate answer training rows, spread over their labels."""
        rows = spread_rows(training.X, training.y, _MOST_ROWS)
        X, y = take_rows(training.X, rows), take_rows(training.y, rows)
        asked = {query.response_method for query in self.report}
        asked |= {each.response_method for each in self.scorers if each.release_uses_public}
        return self.by_answers(Responses.of(estimator, X, y, asked))

    def by_answers(self, public: Responses) -> ReleaseDesign:
        """Return the design for these answers of a candidate."""
        design = None
        if self.report:
            positive = getattr(self.scorers[0], "positive", None)
            own: dict[str, Any] = {"m": self.m, "epsilon": self.epsilon, "pos_label": positive}
            design = design_of(public, subgroups=self.subgroups, **own)
        given = design._parts if design else () if len(self.scorers) > 1 else None
        m = self.m // (self.subgroups.n if self.subgroups else 1)
        released = [each.release(public, m, self.epsilon, given) for each in self.scorers]
        pairs = zip(released, self.scorers, strict=True)
        return ReleaseDesign(tuple(None if own is each else own for own, each in pairs), design)


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
    scorers, evaluation = _designed(own, own.model(params).design)
    parts, units = _parts(scorers, evaluation), session.units
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

    scores = [score_and_interval(each, units, of(each.counts)) for each in scorers]
    populations = [
        population_interval(each, units, of(each.counts), n_compared, selects=k == 0)
        for k, each in enumerate(scorers)
    ]
    unknown = _first(unknown_hint(part.counts, of(part.counts), units) for part in parts)
    if evaluation is None:
        return Released(scores, populations, None, tuple(scorers), unknown=unknown)
    counts, luck = tuple(map(of, evaluation._parts)), luck_of(n_compared or 1)
    report = partial(evaluation._released, counts, luck=luck)
    hint = evaluation._labels_hint()
    hints = (hint,) * bool(hint)
    return Released(scores, populations, report, tuple(scorers), hints, unknown=unknown)


def _designed(
    candidates: Candidates, design: ReleaseDesign | None
) -> tuple[list[PrivateScorer], Evaluation | None]:
    """Return scorers and evaluation as a design says."""
    if design is None:
        return list(candidates.scorers), None
    pairs = zip(design.scorers, candidates.scorers, strict=True)
    return [own or scorer for own, scorer in pairs], design.evaluation


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
    designer = Designer.of(candidates, epsilon / n)
    own = designer.by_answers(public) if designer and public else None
    scorers, evaluation = _designed(candidates, own)
    parts, units = _parts(scorers, evaluation), candidates.problem.units
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
    scorers = {i: _designed(own, own.model(params).design)[0] for i, params in candidates.items()}
    shared = _distinct(next(iter(scorers.values())))
    released: dict[int, dict[int, Score]] = {i: {} for i in candidates}
    populations: dict[int, tuple[float, float] | None] = {}
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
            of, noisy = scorers[i], release(table)
            released[i] |= {k: score_and_interval(of[k], units, noisy) for k in group}
            if i == best:
                n = len(candidates)
                unknown.append(unknown_hint(of[group[0]].counts, noisy, units))
                populations |= {
                    k: population_interval(of[k], units, noisy, n, selects=k == 0) for k in group
                }
    all_scores = {i: [scores[k] for k in sorted(scores)] for i, scores in released.items()}
    intervals = [populations[k] for k in sorted(populations)]
    return Released(all_scores[best], intervals, all_scores=all_scores, unknown=_first(unknown))


def _first(hints: Iterable[str]) -> str:
    """Return the first text that says something."""
    return next(filter(None, hints), "")


def _parts(scorers: list[PrivateScorer], evaluation: Evaluation | None) -> list[_Part]:
    """Return the releases: scores that do not follow from the report's parts, and these parts.

    If there are both, all the scores have the same weight as the parts together.
    """
    report = evaluation._parts if evaluation else ()
    shared = _distinct(scorers)
    alone = [(counts, group) for counts, group in shared if counts not in report]
    parts = [
        _Part(counts, Fraction(1, len(alone)), SCORE, _names(scorers, group))
        for counts, group in alone
    ]
    whole = sum(counts.weight for counts in report)
    for counts in report:
        names = [scorers[k].name for other, group in shared if other == counts for k in group]
        detail = ", also for ".join([counts.what, *names])
        share = Fraction(counts.weight, whole)
        parts.append(_Part(counts, share, "evaluation of the chosen candidate", detail))
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

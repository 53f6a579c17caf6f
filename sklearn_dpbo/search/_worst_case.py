"""The worst-case strategy: explore, validate, choose, release scores (zone: boundary)."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ..metrics._queries import Query
from ..prediction.session import Session
from ..privacy.accounting import CHOICE
from ..privacy.float_errors import ignore_float_errors
from ..privacy.sensitive import Sensitive
from ._choice import PreparedChoice, prepare_choice
from ._explore import report_failures
from ._guidance import Guidance
from ._history import History
from ._release import Released, release_all_scores, release_scores
from ._strategy import Release, Strategy, Task
from ._utility import (
    constant_hints,
    likely_regret,
    noise_hints,
    released_hints,
    shift_hints,
    warn_of_low_utility,
)

_GUIDANCE = ("none", "public")
_PUBLIC_SCORES = ("auto", "all", "none")


class WorstCase(Strategy):
    """The default strategy: epsilon-DP for one replaced record or group, on listed conditions.

    With ``release="all"`` and a delta above 0 it is (epsilon, delta)-DP. The documentation's page
    "The guarantee" lists the conditions: six, and two on rounding. Beyond these, nothing is assumed
    about the records, the scores or the surrogate model.

    Candidates are fitted on the training set and *validated*: scored on the validation set. One is
    chosen by permute-and-flip, and its score is released with discrete Laplace noise. All points of
    a space are validated if there are at most `n_iter`. Otherwise *guidance* decides which are:

    * ``"none"``: a scrambled Sobol sequence.
    * ``"public"``: a third of the `n_iter` evaluations explore *within the training set*. Models
      are fitted on four fifths of it and scored on the rest, and Bayesian optimisation of those
      scores proposes what to try next. The other evaluations validate candidates: the best explored
      ones (half of the validated ones, at most), others with high upper confidence bounds, and a
      quarter that fill the space, as the training set may mislead. If the noise of the choice is
      large, fewer are validated: one for each 30 units of epsilon m, where m is the number of
      validation records (or groups), but at least 8. The best explored ones are scored on four more
      splits of the training set instead, unless `public_cv` is set. This guidance does not use the
      validation set, so it costs no privacy. It pays where spaces have many parameters or records
      are few; elsewhere random candidates do about as well. With fewer than 8 evaluations it is the
      same as ``"none"``.

    The estimator's own parameters are validated, too, if they lie in the space and `initial_points`
    leaves room for them among `n_iter`.

    Parameters
    ----------
    guidance : {"public", "none"}, default="public"
        How candidates are found, as above.
    score_share : float, default=0.4
        Share of epsilon, in [0, 1), that pays for released scores: several metrics divide it. The
        rest pays for the choice. With ``release="evaluation"``, half of the share is for the
        evaluation, or all of it if the scores follow from the evaluation's counts. With 0 all of
        epsilon pays for the choice, and no score is released. A single candidate needs no choice,
        so that all of epsilon pays for its scores.
    batch_size : int, default=8
        Candidates explored before the surrogate is fitted again. The result depends on it, but not
        on `n_jobs`.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How to split the training set for the exploration; must make one split. None holds out a
        fifth of its rows.
    public_scores : {"auto", "all", "none"}, default="auto"
        For searches that explore nothing: with ``guidance="none"``, or if all points of the space
        are validated. Some of the candidates can then get public scores, too: they are also fitted
        on a part of the training set and scored on the rest (see `public_cv`), which takes fits
        beside the `n_iter` ones. "all" is all of the candidates, 32 at most; "none" is none. "auto"
        is one in six (32 at most) if all metrics are means over records of gains with known bounds,
        such as "accuracy", and no evaluation is released; otherwise it is "all", because the
        predictions of these fits are needed: they show how other metrics rank candidates, where
        losses are clipped, and how wide intervals will be. An estimator with a ledger gets no such
        fits, as they would be charged.

        If all candidates have public scores, these decide where the noise of the choice is larger
        than the differences between candidates (see `prior_weight`); a warning says so. If any has
        one, a warning says if the released score contradicts it, as it does if labels are joined to
        the wrong rows.
    initial_points : list of dict, default=None
        Candidates to try first. Each must lie in the search space; all are scored on the validation
        set.
    prior_weight : float, default=None
        Weight w of public scores: the choice is made by validation score + w times public score.
        This helps where the noise is large, and costs no privacy, because public scores are the
        same whatever the validation set is. 0 leaves them out. They are used only if those of all
        validated candidates are known. If some were explored, they are for all candidates what the
        surrogate predicts (its posterior means). None is a weight of ``min(2, 150 / (epsilon m))``;
        or of ``(b / s)^2``, if that is more, where the scale b of the choice's noise is larger than
        the standard deviation s of the public scores. (m is the number of validation records or
        groups; for metrics that are not means of gains, the range of the statistic that ranks
        candidates, divided by its sensitivity.)

    Notes
    -----
    The choice gets ``epsilon_select = (1 - score_share) epsilon``, and scores get ``epsilon_score =
    score_share epsilon``. Let n candidates be validated, on m units (records or groups), and let
    the only metric be the mean of gains in [a, b]. Then the chosen candidate is within
    ``2 (b - a) / (m epsilon_select) (ln n + t)`` of the best one's validation score with a
    probability of at least ``1 - e^-t``, and the error of the released score exceeds
    ``(b - a) t / (m epsilon_score)`` with a probability of at most ``e^-t`` (up to one grid step).
    If public scores take part in the choice, the first bound holds for the sum of validation score
    and w times public score. The proofs are in the documentation, "The guarantee"; measurements of
    each guidance are in "Benchmarks".
    """

    releases = ("best", "evaluation", "all")
    takes_timeout = True

    def __init__(
        self,
        guidance: str = "public",
        score_share: float = 0.4,
        batch_size: int = 8,
        public_cv: Any = None,
        public_scores: str = "auto",
        initial_points: Any = None,
        prior_weight: float | None = None,
    ) -> None:
        self.guidance = guidance
        self.score_share = score_share
        self.batch_size = batch_size
        self.public_cv = public_cv
        self.public_scores = public_scores
        self.initial_points = initial_points
        self.prior_weight = prior_weight

    def check(self, epsilon: float, delta: float) -> None:
        """Raise ValueError if a parameter makes no sense."""
        if self.guidance not in _GUIDANCE:
            raise ValueError(f"guidance must be one of {_GUIDANCE}; found {self.guidance!r}")
        if self.public_scores not in _PUBLIC_SCORES:
            raise ValueError(
                f"public_scores must be one of {_PUBLIC_SCORES}; found {self.public_scores!r}"
            )
        self._check("score_share", "in [0, 1)", lambda v: 0 <= v < 1)
        self._check("batch_size", "1 or more", lambda v: v >= 1, Integral)
        self._check("prior_weight", "a number from 0 up", lambda v: v >= 0, optional=True)
        start = self.initial_points
        if start is not None and not (
            isinstance(start, list | tuple) and all(isinstance(params, Mapping) for params in start)
        ):
            raise ValueError(
                "initial_points must be a list of dicts, such as [search.best_params_] of another "
                f"search; found {type(start).__name__}"
            )

    @property
    def releases_score(self) -> bool:
        return self.score_share > 0

    def run(self, task: Task) -> Release:
        """Find and fit candidates, choose one, and release it."""
        guidance = Guidance(self, task)
        history = guidance.run()
        report_failures(tuple(candidate.fit_error for candidate in history.candidates))
        return self._released(guidance, history, task.session)

    @ignore_float_errors()
    def _released(self, guidance: Guidance, history: History, session: Session) -> Release:
        """Choose a fitted candidate, and release it and its scores; no model is fitted."""
        evaluated = tuple(history.candidates)
        choice = self._choose(guidance, history, session)
        counts = choice.prepared.counts
        unknown = choice.prepared.unknown
        if not self.releases_score:
            only_hint = (unknown,) if unknown else ()
            return Release(evaluated, choice.best, choice_counts=counts, hints=only_hint)
        released = _scores(choice, session)
        unknown = released.unknown or unknown
        hints = _hints(choice, released, guidance, session, labels_known=not unknown)
        shown = released._replace(hints=hints, unknown=unknown).shown
        return Release(evaluated, choice.best, choice_counts=counts, **shown)

    def _choose(self, guidance: Guidance, history: History, session: Session) -> _Choice:
        """Choose one of the fitted candidates, for the share of epsilon that is not for scores."""
        scorer = session.candidates.scorer
        units = session.units
        epsilon = session.all_but(self.score_share)
        validated = {i: history.candidates[i].params for i in history.fitted}
        n = len(validated)
        if n > 1:
            # A weight of 1 or more: public scores count at least as much as validation scores.
            decides = guidance.prior(scorer, epsilon).weight >= 1
            scores = guidance.public_scores
            warn_of_low_utility(noise_hints(scorer, units, scores, epsilon=epsilon, prior=decides))

        def count(query: Query) -> Sensitive:
            return session.counts(validated[guidance.good], query)

        prepared = prepare_choice(scorer, n, units, epsilon, count, session)
        prior = guidance.prior(prepared.scorer, prepared.epsilon)
        statistics = session.compare(list(validated.values()), prepared.scorer.query)
        chosen = session.select(
            statistics.plus(prior.added), prepared.epsilon, purpose=CHOICE, detail=prior.in_words
        )
        # The prior may have preferred a worse candidate, by at most the range of what it adds.
        preferred = float(np.ptp(prior.added)) * prepared.scorer.line(units)[1]
        regret = preferred + likely_regret(prepared.scorer, units, n, prepared.epsilon)
        best = history.fitted[chosen]
        return _Choice(best, statistics.take(chosen), validated, prepared, regret)


class _Choice(NamedTuple):
    """The chosen candidate: its position `best` among all evaluated ones, and its `statistic`.

    It was chosen by the query in `prepared` from those `validated`, whose parameters this lists by
    position. `regret` is a likely bound on how much worse it is than the best of them, in units of
    the score (`likely_regret`).
    """

    best: int
    statistic: Sensitive
    validated: dict[int, dict[str, Any]]
    prepared: PreparedChoice
    regret: float


def _scores(choice: _Choice, session: Session) -> Released:
    """Release the scores of the chosen candidate, or those of all validated ones."""
    best = choice.best
    n = len(choice.validated)
    if session.candidates.releases_all:
        return release_all_scores(choice.validated, best, session)
    return release_scores(choice.validated[best], choice.statistic, session, n)


def _hints(
    choice: _Choice, released: Released, guidance: Guidance, session: Session, *, labels_known: bool
) -> tuple[str, ...]:
    """Return texts of warnings that the released scores call for.

    If not all labels are known (`labels_known`), these explain odd scores: nothing is said of them.
    """
    candidates = session.candidates
    scores = [score.score for score in released.scores]
    hints: tuple[str, ...] = released.hints
    if not guidance.warned:  # before the release, of wide intervals
        compares = len(choice.validated) > 1
        hints += released_hints(candidates, scores, guidance.public_scores, compares=compares)
    if labels_known:
        selecting = (released.scorers or candidates.scorers)[0]
        inside = guidance.inside(choice.best, selecting)
        hints += shift_hints(candidates, scores[0], inside, choice.regret) or constant_hints(
            candidates, scores
        )
    return hints

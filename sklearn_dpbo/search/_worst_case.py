"""The worst-case strategy: explore, validate, choose, release scores (zone: boundary)."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from ..privacy.accounting import CHOICE
from ..privacy.float_errors import ignore_float_errors
from ._choice import prepare_choice
from ._explore import report_failures
from ._guidance import Guidance
from ._history import History
from ._release import release_all_scores, release_scores
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
    """Pure epsilon-DP for one replaced record or group, if the guarantee's six conditions hold.

    The documentation's page "The guarantee" names them. None is about scores or records.

    Candidates are scored on the validation set. One is chosen by permute-and-flip, and its score
    is released with discrete Laplace noise. If the space has more than `n_iter` points, *guidance*
    decides which candidates are scored:

    * ``"none"``: a scrambled Sobol sequence.
    * ``"public"``: a third of the evaluations explore *within the training set*. Models are fitted
      on four fifths of it and scored on the rest, and Bayesian optimisation of those scores
      proposes what to try next. Then the best candidates, others with high upper confidence
      bounds, and a quarter that fill the space for safety, are fitted on the whole training set
      and scored on the validation set. If the noise of the choice is large (epsilon m below 30
      times the number of candidates), fewer are validated; the best explored ones are scored on
      four more splits of the training set instead. This guidance does not use the validation set,
      so it costs no privacy. It pays where spaces have many parameters or records are few;
      elsewhere random candidates do about as well.

    The estimator's own parameters are always among the candidates if they lie in the space.

    Parameters
    ----------
    guidance : {"public", "none"}, default="public"
        How candidates are found, as above.
    score_share : float, default=0.4
        Share of epsilon, in [0, 1), for the released score, or for all of several scores together.
        With ``release="evaluation"``, the evaluation gets half of it, or all of it if the scores
        follow from its counts. With 0 all of epsilon pays for the choice, and no score is released.
    batch_size : int, default=8
        Candidates evaluated before the surrogate is fitted again. The result depends on it, but not
        on `n_jobs`.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How to split the training set for the exploration; must make one split. None holds out a
        fifth of its rows.
    public_scores : {"auto", "all", "none"}, default="auto"
        Which of the candidates that are validated are scored within the training set as well, if
        none are explored: by a fit on a part of it (see `public_cv`), beside the `n_iter` fits.
        "all" (32 at most), one in six, or none. "auto" is one in six for a mean over records of
        gains with known bounds, such as "accuracy", and "all" for other scores: how these rank
        candidates, or where losses are clipped, is learnt from what candidates predict there. With
        "all", public scores decide where the noise of the choice is larger than the differences
        between candidates; and a warning says so. With any, a warning says if the released score
        contradicts them, as it does if labels are joined to the wrong rows.
    initial_points : list of dict, default=None
        Candidates to try first. Each must lie in the search space; all are scored on the validation
        set.
    prior_weight : float, default=None
        The choice is made by the validation score plus this times the public score (its posterior
        mean), so that public scores help where the noise is large; 0 leaves them out. None is
        ``min(2, 150 / (epsilon m))`` or, where the scale b of the choice's noise is larger than the
        standard deviation s of public scores, ``(b / s)^2`` if that is more. This costs no privacy,
        because public scores are the same whatever the validation set is. They are used if those
        of all candidates are known.

    Notes
    -----
    With n candidates and m units whose gains lie in [a, b], the chosen candidate is within
    ``2 (b - a) / (m epsilon_select) (ln n + t)`` of the best one's validation score with
    probability ``1 - e^-t``, and the error of the released score exceeds
    ``(b - a) t / (m epsilon_score)`` with probability ``e^-t`` (up to one grid step). With a prior,
    the first bound holds for the sum of validation score and prior. The proofs are in the
    documentation, "The guarantee"; measurements of each guidance are in "Benchmarks".
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
        return self._released(guidance, history, task)

    @ignore_float_errors()
    def _released(self, guidance: Guidance, history: History, task: Task) -> Release:
        """Choose a fitted candidate, and release it and its scores; no model is fitted."""
        session = task.session
        candidates = task.candidates
        evaluated = tuple(history.candidates)
        public_scores = guidance.public_scores
        epsilon = session.all_but(self.score_share)
        units = session.units
        scorer = candidates.scorer
        if len(history.fitted) > 1:
            decides = guidance.prior(scorer, epsilon).weight >= 1
            warn_of_low_utility(
                noise_hints(scorer, units, public_scores, epsilon=epsilon, prior=decides)
            )
        validated = {i: evaluated[i].params for i in history.fitted}
        n = len(validated)
        ranked = prepare_choice(
            scorer,
            n,
            units,
            epsilon,
            lambda query: session.counts(validated[guidance.good], query),
            session,
        )
        prior = guidance.prior(ranked.scorer, ranked.epsilon)
        statistics = session.compare(list(validated.values()), ranked.scorer.query)
        chosen = session.select(
            statistics.plus(prior.added), ranked.epsilon, purpose=CHOICE, detail=prior.in_words
        )
        best = history.fitted[chosen]
        if not self.releases_score:
            unknown_hints = (ranked.unknown,) if ranked.unknown else ()
            return Release(evaluated, best, choice_counts=ranked.counts, hints=unknown_hints)
        if candidates.releases_all:
            released = release_all_scores(validated, best, session)
        else:
            statistic = statistics.take(chosen)
            released = release_scores(validated[best], statistic, session, n)
        scores = [score.score for score in released.scores]
        hints: tuple[str, ...] = released.hints
        if not guidance.warned:
            hints += released_hints(candidates, scores, public_scores, compares=n > 1)
        unknown = released.unknown or ranked.unknown
        inside = guidance.inside(best, (released.scorers or candidates.scorers)[0])
        # The prior may have preferred a worse candidate, by at most the range of what it adds.
        preferred = float(np.ptp(prior.added)) * ranked.scorer.line(units)[1]
        regret = preferred + likely_regret(ranked.scorer, units, n, ranked.epsilon)
        if not unknown:
            hints += shift_hints(candidates, scores[0], inside, regret) or constant_hints(
                candidates, scores
            )
        shown = released._replace(hints=hints, unknown=unknown).shown
        return Release(evaluated, best, choice_counts=ranked.counts, **shown)

"""Find the candidates that the worst-case strategy evaluates (zone: boundary)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import FitFailedWarning

from ..metrics._queries import Query
from ..metrics._response import Responses
from ..metrics._scorers import PrivateScorer
from ..privacy.warn import warn
from ..records.tables import dense, n_rows
from ._explore import (
    PublicEvaluator,
    PublicFit,
    explore,
    methods_asked,
    report_failures,
    time_limit,
)
from ._history import History
from ._proposals import Domain, PublicModel, choose_batch, validation_batch
from ._release import Design
from ._space import Points
from ._strategy import Task
from ._surrogate import single_threaded
from ._utility import (
    Inside,
    clipping_hints,
    scale_of_choice,
    warn_of_low_utility,
    warn_of_wide_intervals,
)

# Guidance needs at least this many evaluations,
_FEWEST = 8
# and this many scores within the training set.
_LEAST_EXPLORED = 3
# Share of the evaluations that explore.
_PUBLIC_SHARE = 1 / 3
# Of these, the share that fills the space first, and the largest number that does.
_INITIAL_SHARE = 0.5
_MOST_INITIAL = 16
# Points that fill the space, at which the surrogate is evaluated, as at those around the best.
_POOL = 1024
# If none are explored, some of the candidates to validate are scored within the training set, too:
# at most this many,
_MOST_SAMPLED = 32
# and one in this many if the score needs no public predictions to rank candidates.
_ONE_IN = 6
# Where the noise of the choice is large, one candidate is validated for this many units of
# epsilon m (in general: epsilon times the range of the statistic in units of its sensitivity).
_UNITS_PER_CANDIDATE = 30
# The remaining fits score the best explored candidates on this many other splits.
_N_OTHER_SPLITS = 4
# The default weight of public scores in the choice: this divided by epsilon m, up to a limit; more
# where the noise of the choice is larger than the differences between candidates.
_PRIOR_UNITS = 150
_LARGEST_PRIOR = 2.0
# Less than this is added to a statistic, so that sums fit into 64 bits.
_MOST_OF_PRIOR = 2.0**62


class Prior(NamedTuple):
    """Integers added to the statistics of candidates, shape (n_candidates,): public scores.

    `weight` is the weight of public scores, in relation to validation scores.
    """

    added: NDArray[np.int64]
    weight: float

    @property
    def in_words(self) -> str:
        """Words for the privacy report; "" without a prior."""
        if not self.weight:
            return ""
        return f", by validation score plus {self.weight:.2g} times the public one"


class Guidance:
    """Finds and fits candidates for `WorstCase`, by its options; `history` has all of them."""

    def __init__(self, options: Any, task: Task) -> None:
        space = task.space
        n_iter = task.n_iter
        rng = task.rng
        self._options = options
        self._space = space
        self._candidates = task.candidates
        self._n_iter = n_iter
        self._rng = rng
        self._session = task.session
        self._timeout = task.timeout
        self.history = History(space.none)
        #: Candidates to validate that are scored within the training set, too.
        self._sample = space.none
        self._sample_scores: list[float] = []
        #: The best score within the training set, and answers of this candidate to public rows.
        self._best_score = -math.inf
        self._best_answers: Responses | None = None
        #: Answers of candidates, in the order of `public_scores`; None if a fit failed.
        self._answers: list[Responses | None] = []
        self._model: PublicModel | None = None
        self._n_left = n_iter
        self._kind = "none" if n_iter < _FEWEST else options.guidance
        if self._kind != "none":
            self._pool = space.fill(max(_POOL, n_iter + 1), rng)
        # A space of at most n_iter points is evaluated completely.
        if self._kind == "none" or len(self._pool) <= n_iter:
            self._kind = "none"
            self._pool = space.fill(n_iter, rng)
        elif len(self._pool) == space.n_points:
            # The points are in grid order, and the first ones do not fill the space.
            self._pool = Domain.of(space, [space.fill(n_iter, rng), self._pool]).points
        whole = len(self._pool) < n_iter or space.n_points <= n_iter
        defaults = {} if whole else self._candidates.options.estimator.get_params(deep=True)
        start = [space.none, *map(space.locate, options.initial_points or ())]
        if len(start) > n_iter + 1:
            raise ValueError(
                f"initial_points has {len(start) - 1} candidates, more than n_iter={n_iter}: "
                "increase n_iter, or leave some out"
            )
        #: Validated first: initial_points, then the estimator's own parameters.
        start_points = Domain.of(space, [*start, space.own_points(defaults)]).points
        self._start = start_points.take(slice(n_iter))

    def run(self) -> History:
        """Fit n_iter candidates, or all of a smaller space; raise ValueError if all fits fail."""
        if self._kind == "public":
            self._explore()
        if self._timeout is not None and not len(self.history):
            raise ValueError(
                f"timeout={self._timeout!r} ends the exploration within the training set, and this "
                "search explores nothing (a whole grid, guidance='none', or few fits): leave it out"
            )
        points = validation_batch(
            self._space, self._model, self._start, self._pool, self._n_left, self._rng
        )
        if not len(self.history):
            self._score_sample(points)
        candidates = self._candidates
        params = self._space.params(points)
        share = self._options.score_share if len(params) > 1 else 1.0
        n = len(params) if candidates.releases_all else 1
        self._prepare_scorers(share / n)
        candidates.design = None
        if self._options.releases_score:
            candidates.design = Design.of(candidates, share * self._session.epsilon / n)
            self.warned = warn_of_wide_intervals(self._session, self.responses, share, n)
            if self.responses is not None:
                warn_of_low_utility(clipping_hints(self._session, self._known_answers, share, n))
        # Called here, so that warnings point to the user's call of fit.
        self.history.add_validated(points, params, candidates.fit(params))
        if not self.history.fitted:
            report_failures(tuple(c.fit_error for c in self.history.candidates if c.validated))
        return self.history

    def _prepare_scorers(self, share: float) -> None:
        """Prepare scorers by answers of candidates to public rows.

        `share` of epsilon is for the scores of one candidate.
        """
        candidates = self._candidates
        session = self._session
        first, *other_scorers = candidates.scorers
        if self._best_answers is not None and first.choice_uses_public:
            first = first.choice(self._best_answers(first.response_method))
        m = session.units.m
        y = session.training.y
        # Epsilon times m, of the choice and of each score.
        choice_units = session.all_but(self._options.score_share) * m
        score_units = max(share * session.epsilon / len(candidates.scorers) * m, 1.0)

        def bounded(scorer: PrivateScorer) -> PrivateScorer:
            if not scorer.learns_bounds:
                return scorer
            public = [answers(scorer.response_method) for answers in self._known_answers]
            return scorer.with_bounds(y, public, choice_units, score_units)

        candidates.select_by(*map(bounded, (first, *other_scorers)))

    @property
    def _known_answers(self) -> list[Responses]:
        return [answers for answers in self._answers if answers is not None]

    @property
    def responses(self) -> Responses | None:
        """Answers of a good candidate to rows that it was not fitted on.

        None if no candidate was scored in public, or if the part it was fitted on lacks a class.
        """
        answers = self._best_answers
        if answers is None or answers.classes is None:
            return answers
        has_all_classes = np.array_equal(
            answers.classes, np.unique(dense(self._session.training.y))
        )
        return answers if has_all_classes else None

    def public_score(self, chosen: int, scores: Sequence[float] | None = None) -> float:
        """Return a candidate's score within the training set; NaN if there is none."""
        keys = self._scored.identities()
        scores = self.public_scores if scores is None else scores
        same = [score for key, score in zip(keys, scores, strict=True) if key == keys[chosen]]
        return next((score for score in same if not math.isnan(score)), math.nan)

    def inside(self, chosen: int, scorer: PrivateScorer) -> Inside:
        """Return public scores with losses clipped as in the released score, to compare with it."""
        scores = self.public_scores
        if scorer.learns_bounds:
            n_explored = len(self._answers) - len(self._sample)
            for i, answers in enumerate(self._answers):
                if answers is not None:
                    public = answers(scorer.response_method)
                    is_finite = math.isfinite(scorer.of_scikit_learn(public))
                    position = i if i < n_explored else i - n_explored + len(self.history)
                    scores[position] = scorer.exact(public) if is_finite else math.nan
        return Inside(scores, self.public_score(chosen, scores), self.n_public, self.responses)

    @property
    def n_public(self) -> int:
        """Number of rows that each public score was computed on; 0 without public scores."""
        return n_rows(self._public.test.X) if np.isfinite(self.public_scores).any() else 0

    @property
    def good(self) -> int:
        """Position of the validated candidate with the best public score, or of the first."""
        scores = {i: self.public_score(i) for i in self.history.fitted}
        return max(scores, key=lambda i: -math.inf if math.isnan(scores[i]) else scores[i])

    @property
    def _scored(self) -> Points:
        """The points of `public_scores`."""
        return Points.concatenate([self.history.points, self._sample])

    # ------------------------------------------------------------ public scores in the choice
    @property
    def _units_of_epsilon(self) -> float:
        """Epsilon m for a mean of gains; for other scores, epsilon * range / sensitivity."""
        query: Query = self._candidates.scorer.query
        units = self._session.units
        epsilon = self._session.epsilon
        return epsilon * query.largest(units) / query.sensitivity(units)

    def prior(self, scorer: PrivateScorer, epsilon: float) -> Prior:
        """Convert public scores to statistics of this scorer, for a choice at this epsilon."""
        units = self._session.units
        mean = self._public_means
        weight = self._options.prior_weight
        _, slope = scorer.line(units)
        largest = scorer.query.largest(units)
        if mean is None or weight == 0 or not slope > 0:
            return Prior(np.zeros(len(self.history.fitted), dtype=np.int64), 0.0)
        if weight is None:
            weight = min(_LARGEST_PRIOR, _PRIOR_UNITS / self._units_of_epsilon)
            noise = scale_of_choice(scorer, units, epsilon)
            spread = float(np.std(mean))
            if noise > spread > 1e-12 * scorer.score_range:
                weight = max(weight, (noise / spread) ** 2)
        share = np.clip((mean - mean.max()) / slope / largest, -1.0, 0.0)
        added = np.rint(share * min(weight * largest, _MOST_OF_PRIOR)).astype(np.int64)
        return Prior(added, float(weight))

    @property
    @single_threaded
    def _public_means(self) -> NDArray[np.float64] | None:
        """Public scores of validated candidates, shape (n_fitted,); None unless all are known."""
        if self._model is not None:
            return self._model.mean(self.history.points.take(self.history.fitted))
        scores = np.array([self.public_score(i) for i in self.history.fitted])
        return scores if np.isfinite(scores).all() else None

    # ------------------------------------------------------------ within the training set
    @cached_property
    def _public(self) -> PublicEvaluator:
        return PublicEvaluator.of(self._candidates, self._options.public_cv, self._rng)

    @property
    def public_scores(self) -> list[float]:
        """Scores of candidates within the training set; NaN where there is none."""
        return [*self.history.public_scores.tolist(), *self._sample_scores]

    def _score_sample(self, points: Points) -> None:
        """Score some of the candidates to validate, evenly spaced, within the training set."""
        params = self._candidates.options.estimator.get_params(deep=True)
        ledgers = [value for name, value in params.items() if name.split("__")[-1] == "ledger"]
        spends = any(ledger is not None for ledger in ledgers)
        if spends or self._options.public_scores == "none":
            return
        few = self._options.public_scores == "auto" and not methods_asked(self._candidates)
        n = min(len(points) // _ONE_IN if few else len(points), _MOST_SAMPLED)
        if n == 0:
            return
        self._sample = points.take(np.linspace(0, len(points) - 1, n).astype(int))
        fits = self._scored_in_public(self._space.params(self._sample))
        self._sample_scores = [fit.score for fit in fits]
        if errors := [fit.error for fit in fits if fit.error is not None]:
            warn(
                f"{len(errors)} of {len(fits)} candidates that were fitted on a part of the "
                "training set cannot be fitted or scored there. Validation records that cannot "
                "be predicted count as wrong, without a message: let the estimator take values "
                "that it has not seen, as OneHotEncoder(handle_unknown='ignore') does. The "
                f"first failed with {errors[0]}",
                FitFailedWarning,
            )

    def _scored_in_public(self, params: tuple[dict[str, Any], ...]) -> list[PublicFit]:
        """Score candidates within the training set, and keep the answers of the best of all."""
        fits = self._public(params)
        self._answers += [fit.answers for fit in fits]
        for fit in fits:
            if fit.score > self._best_score:
                self._best_score = fit.score
                self._best_answers = fit.answers
        return fits

    def _explore(self) -> None:
        """Explore within the training set, and decide how many candidates to validate."""
        # Leave room to validate all of `_start`.
        fewest = max(1, len(self._start))
        n = min(math.ceil(_PUBLIC_SHARE * self._n_iter), self._n_iter - fewest)
        if n < _LEAST_EXPLORED:
            return
        self._candidates.before_fits()  # or the clock would tell of protected records
        is_late = time_limit(self._timeout)
        cut_short = False
        points = self._first_explored(n)
        history = self.history
        while len(points):
            params = self._space.params(points)
            history.add_explored(points, params, self._scored_in_public(params))
            if np.isnan(history.public_scores).all():
                break
            self._model = self._learn()
            if cut_short := is_late():
                break
            points = self._promising(self._model, min(self._options.batch_size, n - len(history)))
        self._n_left -= n if cut_short else len(history)
        if self._model is not None and self._options.public_cv is None:
            self._score_again(self._model, fewest, is_late())

    def _first_explored(self, n: int) -> Points:
        """Return the first points to explore: those to start with, n / 2 at most, and fillers."""
        start = self._start.take(slice(n // 2))
        filled = min(math.ceil(_INITIAL_SHARE * n), _MOST_INITIAL)
        points = Domain.of(self._space, [start, self._pool]).points
        return points.take(slice(max(len(start), filled)))

    @single_threaded
    def _learn(self) -> PublicModel:
        return PublicModel.learn(self._space, self.history.points, self.history.public_scores)

    @single_threaded
    def _promising(self, model: PublicModel, n: int) -> Points:
        if n == 0:
            return self._space.none
        domain = model.domain([self._pool], self._rng)
        posterior = model.on(domain, len(model.points) + n)
        chosen = choose_batch(posterior, n, domain.find(self.history.points))
        return domain.points.take(np.array(chosen, dtype=int))

    def _score_again(self, model: PublicModel, fewest: int, is_late: bool) -> None:
        """Score the best explored candidates on more splits, and validate fewer, if noise is large.

        If `is_late`, only validate fewer.
        """
        enough = max(fewest, _FEWEST, self._units_of_epsilon / _UNITS_PER_CANDIDATE)
        n_fits = self._n_left - math.ceil(min(enough, self._n_left))
        if is_late:
            self._n_left -= n_fits // _N_OTHER_SPLITS * _N_OTHER_SPLITS
            return
        n_succeeded = int(np.isfinite(self.history.public_scores).sum())
        if n := min(n_fits // _N_OTHER_SPLITS, n_succeeded):
            explored = self.history.points.identities()
            positions = [explored.index(key) for key in model.best(n).identities()]
            evaluators = [
                PublicEvaluator.of(self._candidates, None, self._rng)
                for _ in range(_N_OTHER_SPLITS)
            ]
            params = tuple(self.history.candidates[i].params for i in positions)
            self.history.average_with(positions, explore(evaluators, params))
            self._model = self._learn()
            self._n_left -= n * _N_OTHER_SPLITS

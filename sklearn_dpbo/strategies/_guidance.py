"""Which candidates the worst-case strategy evaluates, and in which order (zone: boundary)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import report_failures
from .._evaluation.public import PublicEvaluator
from .._gp.threads import single_threaded
from .._privacy.mechanisms import Mechanisms
from .._privacy.rounding import round_down
from .._space.space import Points, SearchSpace
from ..acquisition import UpperConfidenceBound
from ._explore import Explorer
from ._history import History
from ._private import DrawPlan, NoisyScores, PrivateGuide, fixed_prior, residual_prior
from ._proposals import Domain, PublicModel, validation_batch
from ._release import public_model, rehearse
from ._warm_start import Start

if TYPE_CHECKING:
    from ._worst_case import WorstCase

__all__ = ["Guidance"]

# With fewer evaluations than this there is nothing to learn from.
_FEWEST = 8
# Nor with fewer scores within the training set.
_LEAST_EXPLORED = 3
# Points that fill the space and that the surrogate is asked about, beside those around the best.
_POOL = 1024
# Candidates fitted beforehand to measure the time of a fit, with a timeout and no exploration.
_N_TIMED = 4
# Candidates fitted within the training set, if none are explored, to see how a good one predicts.
_N_LOOKED_AT = 3
# Where the noise of the choice is large, one candidate is validated for this many units of
# epsilon m (in general: epsilon times the range of the statistic in units of its sensitivity); the
# fits that are left score the best explored candidates on this many other cuts.
_UNITS_PER_CANDIDATE, _N_OTHER_CUTS = 30, 4
# The weight of public scores in the choice, if it is not given: this by epsilon m, up to a limit.
_PRIOR_UNITS, _LARGEST_PRIOR = 150, 2.0
# What is added then is less than this, so that sums fit into 64 bits.
_MOST_OF_PRIOR = 2.0**62
# Standard deviation of scores over the space, as a share of their range, if nothing is public.
_SCORE_STD = 0.1


class Guidance:
    """One guided sequence of evaluations.

    Parameters
    ----------
    strategy : WorstCase
        Its parameters.
    space, oracle, n_iter, rng, mechanisms
        As in `Strategy.run`.
    """

    def __init__(
        self,
        strategy: WorstCase,
        space: SearchSpace,
        oracle: Evaluator,
        n_iter: int,
        rng: np.random.Generator,
        mechanisms: Mechanisms,
    ) -> None:
        self._strategy, self._space, self._oracle = strategy, space, oracle
        self._n_iter, self._rng, self._mechanisms = n_iter, rng, mechanisms
        self._history = History()
        self._scores_of_few: list[float] = []
        self._model: PublicModel | None = None
        self._n_left = n_iter
        self._kind = "none" if n_iter < _FEWEST else strategy.guidance
        if self._kind != "none":
            self._pool = space.fill(max(_POOL, n_iter + 1), rng)
        # A space of no more points is evaluated whole: there is nothing to choose.
        if self._kind == "none" or len(self._pool) <= n_iter:
            self._kind, self._pool = "none", space.fill(n_iter, rng)
        elif len(self._pool) == space.n_points:  # in the order of the grid, which fills nothing
            self._pool = Domain.of(space, [space.fill(n_iter, rng), self._pool]).points
        self._whole = len(self._pool) < n_iter or space.n_points <= n_iter
        own = {} if self._whole else oracle.options.estimator.get_params(deep=True)
        self._start = Start.of(space, strategy.initial_points, own, n_iter, oracle.scorer)

    def run(self) -> History:
        """Evaluate n_iter candidates, or as many as timeout, patience and callbacks allow.

        Raises
        ------
        ValueError
            If none of them can be fitted.
        """
        if self._kind in ("public", "both"):
            self._explore()
        if self._strategy.timeout is not None:
            self._shorten(self._affordable(self._strategy.timeout))
        if self._oracle.scorer.choice_uses_public:
            self._look_at_good_candidate()
        if self._oracle.report or any(
            scorer.release_uses_public for scorer in self._oracle.scorers
        ):
            _ = self._public  # refuses a public_cv that makes no split before anything is spent
        for points in self._batches():
            candidates, first = self._space.candidates(points), not self._history.fitted
            self._history.add_validated(candidates, self._oracle(candidates.params))
            if first and self._history.fitted:
                params = self._history.candidates.params[self._history.fitted[0]]
                rehearse(params, self._oracle, self._mechanisms.budget.epsilon)
        if not self._history.fitted:
            errors, validated = self._history.fit_errors, self._history.validated
            report_failures(tuple(np.array(errors)[validated]))
        return self._history

    def _shorten(self, n: int) -> None:
        """Validate n candidates; if they are fewer than the whole space, such as fill it."""
        if self._whole and n < len(self._pool):
            warnings.warn(
                f"timeout leaves time for {n:,} of the {len(self._pool):,} candidates",
                UserWarning,
                stacklevel=5,
            )
            self._pool = self._space.fill(n, self._rng)
        self._n_left = n

    def _batches(self) -> Iterator[Points]:
        """Yield the points to validate next; a batch may depend on the results of earlier ones."""
        plan = self._plan_draws() if self._kind in ("private", "both") else None
        n_guided = 0 if plan is None else plan.n_evaluations
        if points := self._without_draws(self._model, self._n_left - n_guided):
            yield points
        if plan is not None:
            yield from self._drawn(plan)

    @property
    def _units_of_epsilon(self) -> float:
        """Epsilon m for a mean of gains; for other scores, what this stands for."""
        scorer, units = self._oracle.scorer, self._oracle.problem.units
        return self._mechanisms.budget.epsilon * scorer.largest(units) / scorer.sensitivity(units)

    @single_threaded
    def prior(self) -> NDArray[np.int64]:
        """Return what public scores add to the statistics of the candidates that are compared.

        That is the posterior mean, less that of the best of them, in units of the statistic; 0 if
        nothing was learnt within the training set.
        """
        points, weight = self._history.points.take(self._history.fitted), self._prior_weight
        units = self._oracle.problem.units
        (_, slope), largest = self._oracle.scorer.line(units), self._oracle.scorer.largest(units)
        if self._model is None or weight == 0 or not slope > 0:
            return np.zeros(len(points), dtype=np.int64)
        mean = self._model.mean(points)
        share = np.clip((mean - mean.max()) / slope / largest, -1.0, 0.0)
        prior: NDArray[np.int64]
        prior = np.rint(share * min(weight * largest, _MOST_OF_PRIOR)).astype(np.int64)
        return prior

    @property
    def prior_in_words(self) -> str:
        """What the report says of it."""
        weight = self._prior_weight
        return f", by validation score plus {weight:.2g} times the public one" * (weight > 0)

    @property
    def _prior_weight(self) -> float:
        """Of public scores in the choice."""
        given = self._strategy.prior_weight
        if self._model is None or given == 0:
            return 0.0
        default = min(_LARGEST_PRIOR, _PRIOR_UNITS / self._units_of_epsilon)
        return default if given is None else float(given)

    # ------------------------------------------------------------ public
    @cached_property
    def _public(self) -> PublicEvaluator:
        return self._oracle.public(self._strategy.public_cv, self._rng)

    def public_model(self, params: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return a candidate fitted within the training set, and X and y of other rows of it."""
        return public_model(params, self._public, self._oracle)

    def _look_at_good_candidate(self) -> None:
        """Let the score that selects know how good candidates predict, within the training set.

        The best of those explored is taken or, if there are none, of a few.
        """
        if len(self._history):
            candidates = self._history.candidates.params
        else:
            candidates = self._few()
            self._scores_of_few = self._public(candidates).scores.tolist()
        scores = np.array(self.public_scores)
        if not np.isnan(scores).all():
            model = self.public_model(candidates[int(np.nanargmax(scores))])
            self._oracle.select_at(self._oracle.scorer.predictions(*model))

    @property
    def public_scores(self) -> list[float]:
        """Scores of candidates within the training set; NaN where there is none."""
        return [*self._history.public_scores, *self._scores_of_few]

    def _few(self) -> tuple[dict[str, Any], ...]:
        places = np.unique(np.linspace(0, len(self._pool) - 1, _N_LOOKED_AT).astype(int))
        return self._space.candidates(self._pool.take(places)).params

    def _affordable(self, timeout: float) -> int:
        """Return how many more fits the timeout allows, at the pace of public ones.

        Decided before the validation set is used: times of later fits are not public.
        """
        strategy = self._strategy
        times: Any = self._history.fit_times
        if not times:
            first = self._space.candidates(self._pool.take(slice(_N_TIMED))).params
            times = self._public(first).fit_times
        seconds, left = timeout - self._history.seconds, self._n_left
        fits = min(seconds / max(float(np.mean(times)), 1e-9), left)  # before int: may be inf
        return min(max(int(strategy.batch_size), len(self._start.points), int(fits)), left)

    def _explore(self) -> None:
        """Explore within the training set, and decide how many candidates are validated then."""
        # There is room to validate every point to start with.
        fewest = max(1, len(self._start.points))
        n = math.ceil(self._strategy.public_share * self._n_iter)
        n = min(n, self._n_iter - fewest)
        if n < _LEAST_EXPLORED:
            return
        explorer = self._explorer()
        self._model = explorer.run(self._history, n)
        self._n_left -= len(self._history)
        if explorer.stopped:  # the rest of the search is as much shorter
            self._n_left = math.ceil((self._n_iter - n) * len(self._history) / n)
            self._n_left = max(fewest, self._n_left)
        # A cut of the user's own, or a limit of time, leaves no room for other cuts.
        if self._strategy.public_cv is None and self._strategy.timeout is None:
            self._score_again(explorer, fewest)

    def _score_again(self, explorer: Explorer, fewest: int) -> None:
        """Where noise is large, score the best explored candidates again and validate fewer."""
        if self._model is None:
            return
        enough = max(fewest, _FEWEST, self._units_of_epsilon / _UNITS_PER_CANDIDATE)
        n_fits = self._n_left - math.ceil(min(enough, self._n_left))
        n_succeeded = int(np.isfinite(self._history.public_scores).sum())
        if n_again := min(n_fits // _N_OTHER_CUTS, n_succeeded):
            others = [self._oracle.public(None, self._rng) for _ in range(_N_OTHER_CUTS)]
            self._model = explorer.score_again(self._history, self._model, others, n_again)
            self._n_left -= n_again * _N_OTHER_CUTS

    def _explorer(self) -> Explorer:
        strategy = self._strategy
        return Explorer(
            self._space,
            self._public,
            self._start,
            acquisition=strategy.acquisition or UpperConfidenceBound(strategy.kappa),
            shape=strategy.kernel,
            pool=self._pool,
            batch_size=strategy.batch_size,
            patience=strategy.patience,
            tol=strategy.tol,
            timeout=None if strategy.timeout is None else strategy.timeout * strategy.public_share,
            rng=self._rng,
        )

    def _without_draws(self, model: PublicModel | None, n: int) -> Points:
        """Return n points to validate that depend on no validation score."""
        strategy, space = self._strategy, self._space
        return validation_batch(
            space,
            model,
            self._start.points,
            self._pool,
            n,
            kappa=strategy.kappa,
            fill_share=strategy.fill_share,
            rng=self._rng,
        )

    # ------------------------------------------------------------ private
    def _plan_draws(self) -> DrawPlan | None:
        strategy, problem, scorer = self._strategy, self._oracle.problem, self._oracle.scorer
        step = scorer.sensitivity(problem.units) / scorer.largest(problem.units)
        budget = self._mechanisms.budget
        return DrawPlan.of(
            self._n_left,
            strategy.batch_size,
            round_down(Fraction(budget.epsilon) * Fraction(strategy.guidance_share)),
            budget.delta,
            step,
            learns=self._model is None,
            n_given=len(self._start.points),
        )

    def _drawn(self, plan: DrawPlan) -> Iterator[Points]:
        """Yield round after round of points that are drawn, and of others around them."""
        guide = self._guide(plan)
        for size, n_draws in plan.rounds:
            # If nothing could be fitted yet, there are no scores to draw by.
            if not self._history.fitted:
                break
            yield guide.propose(self._history, size, n_draws)
        missing = self._n_left - self._history.n_validated
        if missing and not self._history.fitted:
            yield self._without_draws(None, self._n_left).take(slice(-missing, None))

    @single_threaded
    def _guide(self, plan: DrawPlan) -> PrivateGuide:
        strategy, scorer, noisy_scores = self._strategy, self._oracle.scorer, None
        model = self._model
        if model is None:
            units = self._oracle.problem.units
            std = _SCORE_STD * scorer.line(units)[1] * scorer.largest(units)
            prior = partial(fixed_prior, PublicModel.ignorant(self._space, strategy.kernel, std))
            if plan.epsilon_each_score > 0:
                noisy_scores = NoisyScores(
                    plan.epsilon_each_score, strategy.kernel, self._mechanisms
                )
        else:
            prior = partial(residual_prior, model)
        return PrivateGuide(
            self._space,
            scorer,
            self._oracle.problem.units,
            prior=prior,
            center=None if model is None else model.best(),
            pool=self._pool,
            select=self._mechanisms.selections(
                plan.draws, purpose="which candidates to evaluate next"
            ),
            acquisition=UpperConfidenceBound(strategy.kappa),
            noisy_scores=noisy_scores,
            rng=self._rng,
        )

"""Which settings the worst-case strategy evaluates, and in which order (zone: boundary)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from .._evaluation.evaluator import Evaluator
from .._gp.threads import single_threaded
from .._privacy.accounting import Budget
from .._privacy.mechanisms import Selections
from .._privacy.noise import Noise
from .._privacy.rounding import round_down
from .._space.space import Points, SearchSpace
from ..acquisition import UpperConfidenceBound
from ._explore import Explorer
from ._history import History
from ._private import NoisyScores, Plan, PrivateGuide, fixed_prior, residual_prior
from ._proposals import Domain, PublicModel, choose_batch

__all__ = ["Guidance"]

# With fewer evaluations than this there is nothing to learn from.
_FEWEST = 8
# Nor with fewer scores within the training set.
_LEAST_EXPLORED = 3
# Points that fill the space and that the surrogate is asked about, beside those around the best.
_POOL = 1024
# Settings fitted beforehand to see how long it takes, if there is a timeout and no exploration.
_PROBES = 4
# Standard deviation of scores over the space, as a share of their range, if nothing is public.
_SCORE_STD = 0.1


class Guidance:
    """One guided sequence of evaluations.

    Parameters
    ----------
    strategy : WorstCase
        Its parameters.
    space, oracle, n_iter, rng, budget, noise
        As in `Strategy.run`.
    """

    def __init__(
        self,
        strategy,
        space: SearchSpace,
        oracle: Evaluator,
        n_iter: int,
        rng: np.random.Generator,
        budget: Budget,
        noise: Noise,
    ):
        self._strategy, self._space, self._oracle = strategy, space, oracle
        self._n_iter, self._rng, self._budget, self._noise = n_iter, rng, budget, noise
        self._history = History(space)
        self._start = self._initial_points()
        self._kind = "none" if n_iter < _FEWEST else strategy.guidance
        if self._kind != "none":
            self._pool = space.fill(max(_POOL, n_iter + 1), rng)
        # A space of no more points is evaluated whole: there is nothing to choose.
        if self._kind == "none" or len(self._pool) <= n_iter:
            self._kind, self._pool = "none", space.fill(n_iter, rng)

    def run(self) -> History:
        """Evaluate n_iter settings, or as many as the timeout allows."""
        model = self._explore() if self._kind in ("public", "both") else None
        if self._strategy.timeout is not None:
            self._n_iter = len(self._history) + self._affordable()
        plan = self._plan(model) if self._kind in ("private", "both") else None
        n_guided = 0 if plan is None else plan.n_evaluations
        self._validate(self._without_draws(model, self._left - n_guided))
        if plan is not None:
            self._follow(plan, model)
        return self._history

    @property
    def _left(self) -> int:
        return self._n_iter - len(self._history)

    def _initial_points(self) -> Points:
        """Return the points of the settings to try first."""
        settings = list(self._strategy.initial_points or ())
        points = [self._space.locate(setting) for setting in settings]
        nothing = self._space.fill(0, self._rng)
        different = Domain.of(self._space, [nothing, *points]).points
        if len(different) > self._n_iter:
            raise ValueError(
                f"initial_points has {len(different)} settings; n_iter={self._n_iter} evaluations "
                "do not reach for them"
            )
        return different

    # ------------------------------------------------------------ public
    def _affordable(self) -> int:
        """Return how many of the fits left the timeout allows, at the pace of public ones.

        Settled before the validation set is touched: times of later fits are not public.
        """
        strategy = self._strategy
        times: list[float] | np.ndarray = self._history.fit_times
        if not times:
            first = self._space.candidates(self._pool.take(slice(_PROBES))).params
            times = self._oracle.public(strategy.public_cv, self._rng)(first).fit_times
        seconds = strategy.timeout - self._history.seconds
        fits = min(seconds / max(float(np.mean(times)), 1e-9), self._left)  # before int: may be inf
        return min(max(strategy.batch_size, len(self._start), int(fits)), self._left)

    def _explore(self) -> PublicModel | None:
        strategy = self._strategy
        n = math.ceil(strategy.public_share * self._n_iter)
        n = min(n, self._n_iter - max(1, len(self._start)))  # which are all to be validated
        if n < _LEAST_EXPLORED:
            return None
        explorer = Explorer(
            self._space,
            self._oracle.public(strategy.public_cv, self._rng),
            acquisition=strategy.acquisition or UpperConfidenceBound(strategy.kappa),
            shape=strategy.kernel,
            pool=self._pool,
            batch_size=strategy.batch_size,
            patience=strategy.patience,
            timeout=None if strategy.timeout is None else strategy.timeout * strategy.public_share,
            rng=self._rng,
        )
        # The settings to try first are validated whatever exploring says of them.
        return explorer.run(self._history, self._start.take(slice(n // 2)), n)

    @single_threaded
    def _without_draws(self, model: PublicModel | None, n: int) -> Points:
        """Return n points to validate: those to try first, promising ones, and fillers."""
        if model is None:
            return Domain.of(self._space, [self._start, self._pool]).points.take(slice(n))
        domain = model.domain([self._start, self._pool], self._rng)
        chosen = domain.find(self._start)[:n]
        n_promising = n - len(chosen) - int(self._strategy.fill_share * n)
        if n_promising > 0:
            posterior = model.on(domain, len(model.points) + n)
            bound = UpperConfidenceBound(self._strategy.kappa)
            chosen += choose_batch(posterior, bound, n_promising, chosen)
        # Points that were not looked at in any way come first.
        seen = {*chosen, *domain.find(model.points)}
        fillers = sorted(set(domain.find(self._pool)) - set(chosen), key=lambda i: (i in seen, i))
        return domain.points.take(np.array(chosen + fillers[: n - len(chosen)], dtype=int))

    def _validate(self, points: Points) -> None:
        if len(points):
            self._history.add_validated(points, self._oracle(self._space.candidates(points).params))

    # ------------------------------------------------------------ private
    def _plan(self, model: PublicModel | None) -> Plan | None:
        strategy, problem, scorer = self._strategy, self._oracle.problem, self._oracle.scorer
        step = scorer.sensitivity(problem.units)[0] * scorer.line(problem.units)[1]
        return Plan.of(
            self._left,
            strategy.batch_size,
            round_down(Fraction(self._budget.epsilon) * Fraction(strategy.guidance_share)),
            self._budget.delta,
            step / (scorer.bounds[1] - scorer.bounds[0]),
            learns=model is None,
            n_given=len(self._start),
        )

    def _follow(self, plan: Plan, model: PublicModel | None) -> None:
        """Evaluate round after round of drawn settings, and of others around them."""
        guide = self._guide(plan, model)
        for size, n_draws in plan.rounds:
            # If nothing could be fitted yet, there are no scores to draw by.
            if not self._history.fitted:
                break
            points = guide.propose(self._history, size, n_draws)
            self._validate(points)
        missing = self._left
        if missing and not self._history.fitted:
            self._validate(self._without_draws(None, self._n_iter).take(slice(-missing, None)))

    @single_threaded
    def _guide(self, plan: Plan, model: PublicModel | None) -> PrivateGuide:
        strategy, scorer, noisy_scores = self._strategy, self._oracle.scorer, None
        paid: dict = {"budget": self._budget, "noise": self._noise}
        if model is None:
            std = _SCORE_STD * (scorer.bounds[1] - scorer.bounds[0])
            prior = partial(fixed_prior, PublicModel.ignorant(self._space, strategy.kernel, std))
            if plan.epsilon_each_score > 0:
                noisy_scores = NoisyScores(plan.epsilon_each_score, strategy.kernel, **paid)
        else:
            prior = partial(residual_prior, model)
        return PrivateGuide(
            self._space,
            scorer,
            self._oracle.problem.units,
            prior=prior,
            center=None if model is None else model.best(),
            pool=self._pool,
            select=Selections(plan.draws, **paid, release="where to look next"),
            acquisition=UpperConfidenceBound(strategy.kappa),
            noisy_scores=noisy_scores,
            rng=self._rng,
        )

"""Bayesian optimisation of public scores, within the training set (zone: public)."""

from __future__ import annotations

import math

import numpy as np

from .._evaluation.public import PublicEvaluator, explore
from .._gp.threads import single_threaded
from .._space.space import Points, SearchSpace
from ._history import History
from ._proposals import Acquisition, Domain, PublicModel, choose_batch
from ._warm_start import Start

__all__ = ["Explorer"]

# Share of the exploration that fills the space before anything is modelled.
_INITIAL_SHARE = 0.5


class Explorer:
    """Finds candidates that do well on a part of the training set.

    Parameters
    ----------
    space : SearchSpace
        What is searched.
    oracle : PublicEvaluator
        Scores candidates.
    start : Start
        Where to begin.
    acquisition : callable
        See `sklearn_dpbo.acquisition`.
    shape : str
        Of the kernel.
    pool : Points
        Points that fill the space.
    batch_size : int
        Candidates between two updates of the surrogate.
    patience : int or None
        Batches without a better score after which to stop.
    tol : float
        How much a score must improve to count as better.
    timeout : float or None
        Seconds of fits after which no further batch begins.
    rng : numpy.random.Generator
        Samples points around the best one.

    Attributes
    ----------
    stopped : bool
        Whether patience or a callback ended the exploration early.
    """

    def __init__(
        self,
        space: SearchSpace,
        oracle: PublicEvaluator,
        start: Start,
        *,
        acquisition: Acquisition,
        shape: str,
        pool: Points,
        batch_size: int,
        patience: int | None,
        tol: float,
        timeout: float | None,
        rng: np.random.Generator,
    ) -> None:
        self._space, self._oracle, self._start = space, oracle, start
        self._acquisition, self._shape, self._pool = acquisition, shape, pool
        self._batch_size, self._rng = batch_size, rng
        self._patience, self._tol = math.inf if patience is None else patience, tol
        self._timeout = math.inf if timeout is None else timeout
        self.stopped = False

    def run(self, history: History, n: int) -> PublicModel | None:
        """Explore n candidates; return the model learned, or None if all failed."""
        self._begin(history, self._initial(n))
        best, without_news = -math.inf, 0
        while (known := np.isfinite(history.public_scores)).any():
            top = np.array(history.public_scores)[known].max()
            without_news = 0 if top > best + self._tol else without_news + 1
            best = max(best, top)
            self.stopped = without_news >= self._patience
            if self.stopped or len(history) >= n or history.seconds >= self._timeout:
                return self._learn(history)
            batch = self._next(history, min(self._batch_size, n - len(history)))
            if not len(batch):
                return self._learn(history)
            self._evaluate(history, batch)
        return None

    def score_again(
        self, history: History, model: PublicModel, others: list[PublicEvaluator], n: int
    ) -> PublicModel:
        """Score the n best explored candidates on other splits, too; return the model learned then.

        Parameters
        ----------
        history : History
            The explored candidates.
        model : PublicModel
            Learned from them.
        others : list of PublicEvaluator
            With other splits of the training set.
        n : int
            Number of candidates to score again.
        """
        explored = history.points.identities()
        best = [key for key in model.best(len(model.points)).identities() if key in explored]
        positions = [explored.index(key) for key in best[:n]]
        candidates = history.candidates.take(positions)
        history.score_again(positions, explore(others, candidates.params))
        return self._learn(history)

    def _initial(self, n: int) -> Points:
        """Return what to explore first: half of where to start, and points that fill the space.

        After an earlier search the space need not be filled again.
        """
        start = self._start.points.take(slice(n // 2))
        filled = 0 if len(self._start.scores) else math.ceil(_INITIAL_SHARE * n)
        n_initial = max(len(start), filled)
        return Domain.of(self._space, [start, self._pool]).points.take(slice(n_initial))

    def _begin(self, history: History, points: Points) -> None:
        """Explore these points, if there is time for all of them."""
        size = len(points) if math.isinf(self._timeout) else self._batch_size
        for i in range(0, len(points), max(1, size)):
            if history.seconds < self._timeout:
                self._evaluate(history, points.take(slice(i, i + size)))

    @single_threaded
    def _learn(self, history: History) -> PublicModel:
        scores = np.array(history.public_scores)
        earlier = self._start.level(history.points, scores)
        points = Points.concatenate([history.points, self._start.explored])
        return PublicModel.learn(
            self._space, points, np.concatenate([scores, earlier]), self._shape
        )

    @single_threaded
    def _next(self, history: History, n: int) -> Points:
        model = self._learn(history)
        domain = model.domain([self._pool], self._rng)
        posterior = model.on(domain, len(model.points) + n)
        chosen = choose_batch(posterior, self._acquisition, n, domain.find(history.points))
        return domain.points.take(np.array(chosen, dtype=int))

    def _evaluate(self, history: History, points: Points) -> None:
        candidates = self._space.candidates(points)
        history.add_explored(candidates, self._oracle(candidates.params))

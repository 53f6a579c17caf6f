"""Bayesian optimisation of public scores, within the training set (zone: public)."""

from __future__ import annotations

import math

import numpy as np

from .._evaluation.public import PublicEvaluator
from .._gp.threads import single_threaded
from .._space.space import Points, SearchSpace
from ._history import History
from ._proposals import Acquisition, Domain, PublicModel, choose_batch

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
    timeout : float or None
        Seconds of fits after which no further batch is begun.
    rng : numpy.random.Generator
        Draws points around the best one.
    """

    def __init__(
        self,
        space: SearchSpace,
        oracle: PublicEvaluator,
        *,
        acquisition: Acquisition,
        shape: str,
        pool: Points,
        batch_size: int,
        patience: int | None,
        timeout: float | None,
        rng: np.random.Generator,
    ) -> None:
        self._space, self._oracle = space, oracle
        self._acquisition, self._shape, self._pool = acquisition, shape, pool
        self._batch_size, self._patience, self._rng = batch_size, patience, rng
        self._timeout = math.inf if timeout is None else timeout

    def run(self, history: History, start: Points, n: int) -> PublicModel | None:
        """Explore n candidates, `start` first; return what was learnt, or None if all failed."""
        n_initial = max(len(start), math.ceil(_INITIAL_SHARE * n))
        initial = Domain.of(self._space, [start, self._pool.take(slice(n_initial))]).points
        self._evaluate(history, initial.take(slice(n_initial)))
        best, without_news = -math.inf, 0
        while len(history) < n and history.seconds < self._timeout:
            scores = np.array(history.public_scores)
            if np.isnan(scores).all():
                return None
            if self._patience is not None:
                without_news = 0 if np.nanmax(scores) > best else without_news + 1
                best = max(best, np.nanmax(scores))
                if without_news >= self._patience:
                    break
            batch = self._next(history, min(self._batch_size, n - len(history)))
            if not len(batch):
                break
            self._evaluate(history, batch)
        if np.isnan(history.public_scores).all():
            return None
        return self._learn(history)

    @single_threaded
    def _learn(self, history: History) -> PublicModel:
        scores = np.array(history.public_scores)
        return PublicModel.learn(self._space, history.points, scores, self._shape)

    @single_threaded
    def _next(self, history: History, n: int) -> Points:
        model = self._learn(history)
        domain = model.domain([self._pool], self._rng)
        posterior = model.on(domain, len(history) + n)
        chosen = choose_batch(posterior, self._acquisition, n, domain.find(history.points))
        return domain.points.take(np.array(chosen, dtype=int))

    def _evaluate(self, history: History, points: Points) -> None:
        candidates = self._space.candidates(points)
        history.add_explored(candidates, self._oracle(candidates.params))

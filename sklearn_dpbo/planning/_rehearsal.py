"""`WorstCase` on public data: one path, many draws of choice and score (zone: boundary).

Exact scores are computed beside what is released: for simulations only.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._data.split import Problem
from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import report_failures
from .._privacy.accounting import Budget, Purpose
from .._privacy.mechanisms import Mechanisms
from .._privacy.sensitive import Sensitive
from .._space.space import SearchSpace
from ..scoring._scorers import PrivateScorer
from ..scoring._statistics import Predictions, Statistics
from ..strategies._base import Release
from ..strategies._guidance import Guidance
from ..strategies._release import release_scores
from ..strategies._worst_case import WorstCase
from ._bounds import UtilityBounds

__all__ = ["Draw", "Rehearsal"]

# Regret, error of the released score, and the half-width of its interval; whether the interval has
# the exact score in it.
Draw = tuple[float, float, float, bool]


class Rehearsal(WorstCase):
    """`WorstCase`, with choice and release repeated; `draws` has what came of it.

    Made by `of`. Guidance, choice and release are those of a search.
    """

    bounds: UtilityBounds
    n_draws: int
    draws: list[Draw]
    n_candidates: int
    scorer: PrivateScorer

    @classmethod
    def of(cls, strategy: WorstCase, bounds: UtilityBounds, n_draws: int) -> Rehearsal:
        """Return a rehearsal of a strategy.

        Parameters
        ----------
        strategy : WorstCase
            Its parameters.
        bounds : UtilityBounds
            Refuses scores that it is not about.
        n_draws : int
            How often the choice is made, and a score released.
        """
        rehearsal = cls(**strategy.get_params(deep=False))
        rehearsal.bounds, rehearsal.n_draws = bounds, n_draws
        return rehearsal

    def run(
        self,
        space: SearchSpace,
        oracle: Evaluator,
        *,
        n_iter: int,
        rng: np.random.Generator,
        mechanisms: Mechanisms,
    ) -> Release:
        """Guide and evaluate once; select and release many times."""
        if len(oracle.scorers) > 1:
            raise ValueError("the plan is for one score, and scoring has several: pass one of them")
        self.bounds.check_scorer(oracle.scorer)
        guidance = Guidance(self, space, oracle, n_iter, rng, mechanisms)
        history = guidance.run()
        if not history.fitted:
            report_failures(tuple(np.array(history.fit_errors)[history.validated]))
        params = [history.candidates.params[i] for i in history.fitted]
        exact, once = _exact_scores(oracle, params), _OnceForEach(oracle, guidance)
        self.scorer, self.n_candidates, self.draws = oracle.scorer, len(params), []
        for _ in range(self.n_draws):
            fresh = Mechanisms(_as_spent(mechanisms.budget), mechanisms.noise)
            chosen, score, interval = self._draw(history.statistics, params, once, fresh)
            self.draws.append(_compared(exact, chosen, score, interval))
        for loss in fresh.budget.losses[len(mechanisms.budget.losses) :]:
            mechanisms.budget.charge(loss)  # of the last draw, which the search reports
        return Release(
            history.candidates,
            np.array(history.fit_times),
            tuple(history.fit_errors),
            np.array(history.validated),
            np.array(history.public_scores),
            history.fitted[chosen],
            score,
            interval,
        )

    def _draw(
        self,
        statistics: Sensitive,
        params: list[dict[str, Any]],
        once: _OnceForEach,
        mechanisms: Mechanisms,
    ) -> tuple[int, float, tuple[float, float]]:
        """Return which candidate is chosen, and its score with an interval: as `WorstCase.run`."""
        chosen = mechanisms.select(
            statistics,
            mechanisms.budget.epsilon_beside(self.score_share),
            purpose=Purpose.CANDIDATE,
        )
        ((score, interval),), _ = release_scores(
            params[chosen],
            statistics.take(chosen),
            cast(Evaluator, once),
            mechanisms,
            once.public_model,
        )
        return chosen, score, interval


def _as_spent(budget: Budget) -> Budget:
    """Return a budget of the same size, with the same losses."""
    copy = Budget(budget.epsilon, budget.delta)
    for loss in budget.losses:
        copy.charge(loss)
    return copy


def _exact_scores(oracle: Evaluator, all_params: list[dict[str, Any]]) -> NDArray[np.float64]:
    """Return scores as scikit-learn computes them, on records that are public here."""
    problem, scorer = oracle.problem, oracle.scorer
    return np.array(
        [scorer(oracle.fitted(params), problem.X_val, problem.y_val) for params in all_params]
    )


def _compared(
    exact: NDArray[np.float64], chosen: int, score: float, interval: tuple[float, float]
) -> Draw:
    low, high = interval
    rounding = 1e-9 * max(1.0, abs(exact[chosen]))
    inside = bool(low - rounding <= exact[chosen] <= high + rounding)
    regret, error = exact.max() - exact[chosen], abs(score - exact[chosen])
    return float(regret), float(error), (high - low) / 2, inside


class _OnceForEach:
    """An oracle that counts, and prepares the score for release, once for each candidate."""

    def __init__(self, oracle: Evaluator, guidance: Guidance) -> None:
        self._oracle, self._guidance = oracle, guidance
        self.problem: Problem = oracle.problem
        self.scorers = (_PlacedOnce(oracle.scorer),)
        self.report = ()
        self._counts: dict[int, Sensitive] = {}
        self._models: dict[int, tuple[Any, Any, Any]] = {}

    @property
    def scorer(self) -> _PlacedOnce:
        return self.scorers[0]

    def counts(self, params: dict[str, Any], counts: Statistics) -> Sensitive:
        if id(params) not in self._counts:
            self._counts[id(params)] = self._oracle.counts(params, counts)
        return self._counts[id(params)]

    def public_model(self, params: dict[str, Any]) -> tuple[Any, Any, Any]:
        if id(params) not in self._models:
            self._models[id(params)] = self._guidance.public_model(params)
        return self._models[id(params)]


class _PlacedOnce:
    """A score that looks at the public predictions of each fitted model once."""

    def __init__(self, scorer: PrivateScorer) -> None:
        self._scorer = scorer
        self._predictions: dict[int, Predictions] = {}
        self._placed: dict[int, PrivateScorer] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scorer, name)

    def predictions(self, estimator: Any, X: Any, y: Any) -> Predictions:
        if id(estimator) not in self._predictions:
            self._predictions[id(estimator)] = self._scorer.predictions(estimator, X, y)
        return self._predictions[id(estimator)]

    def releasing_at(
        self, public: Predictions, m: int, epsilon: float, shared: bool
    ) -> PrivateScorer:
        if id(public) not in self._placed:
            self._placed[id(public)] = self._scorer.releasing_at(public, m, epsilon, shared)
        return self._placed[id(public)]

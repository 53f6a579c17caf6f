"""`WorstCase` on public data: one path, many draws of choice and score (zone: boundary).

Exact scores are computed beside what is released: for simulations only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._evaluation.evaluator import Evaluator
from .._privacy.accounting import CHOICE, Budget
from .._privacy.mechanisms import Mechanisms
from .._space.space import SearchSpace
from ..scoring._scorers import PrivateScorer, Score
from ..strategies._base import Release
from ..strategies._guidance import Guidance
from ..strategies._release import UnreleasedScores, count_scores
from ..strategies._worst_case import WorstCase
from ._bounds import UtilityBounds

__all__ = ["Draw", "Rehearsal"]

# Regret, error of the released score, half-width of its interval, and whether the interval contains
# the exact score.
Draw = tuple[float, float, float, bool]


class Rehearsal(WorstCase):
    """`WorstCase`, with choice and release repeated; `draws` has the outcomes."""

    bounds: UtilityBounds
    n_draws: int
    draws: list[Draw]
    n_candidates: int
    scorer: PrivateScorer

    @classmethod
    def of(cls, strategy: WorstCase, bounds: UtilityBounds, n_draws: int) -> Rehearsal:
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
            raise ValueError("the plan is for one metric; scoring has several: pass one of them")
        self.bounds.check_scorer(oracle.scorer)
        guidance = Guidance(self, space, oracle, n_iter, rng, mechanisms)
        history = guidance.run()
        params = [history.candidates[i].params for i in history.fitted]
        exact, counted = _exact_scores(oracle, params), dict[int, UnreleasedScores]()
        self.scorer, self.n_candidates, self.draws = oracle.scorer, len(params), []
        statistics = history.statistics.plus(guidance.prior())
        for _ in range(self.n_draws):
            fresh = Mechanisms(_as_spent(mechanisms.budget), mechanisms.noise)
            epsilon = fresh.budget.epsilon_beside(self.score_share)
            chosen = fresh.select(statistics, epsilon, purpose=CHOICE)
            if chosen not in counted:
                statistic, left = history.statistics.take(chosen), fresh.budget.epsilon_left
                counted[chosen] = count_scores(
                    params[chosen], statistic, oracle, left, guidance.public_model
                )
            scores, _ = counted[chosen].release(oracle.problem.units, fresh)
            self.draws.append(_compared(exact, chosen, scores[0]))
        for loss in fresh.budget.losses[len(mechanisms.budget.losses) :]:
            mechanisms.budget.charge(loss)  # of the last draw, which the search reports
        return Release(tuple(history.candidates), history.fitted[chosen], scores)


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


def _compared(exact: NDArray[np.float64], chosen: int, released: Score) -> Draw:
    score, (low, high) = released
    rounding = 1e-9 * max(1.0, abs(exact[chosen]))
    inside = bool(low - rounding <= exact[chosen] <= high + rounding)
    regret, error = exact.max() - exact[chosen], abs(score - exact[chosen])
    return float(regret), float(error), (high - low) / 2, inside

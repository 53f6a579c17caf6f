"""The worst-case strategy: evaluate, select, release a score (zone: boundary)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..mechanisms import release_counts, select
from ..privacy import round_down
from ._base import Release, Strategy

__all__ = ["WorstCase"]

_CONFIDENCE = 0.95


class WorstCase(Strategy):
    """Pure epsilon-DP with no assumption about estimator, scores or data.

    All candidates of a space-filling design are evaluated; one is chosen by permute-and-flip
    at ``epsilon_select = (1 - score_share) epsilon``; its score is released with discrete
    Laplace noise at ``epsilon_score = score_share epsilon``. With one candidate there is nothing
    to choose, and the score gets all of epsilon.

    Parameters
    ----------
    score_share : float, default=0.4
        Share of epsilon, strictly between 0 and 1, that the released score is given.

    Notes
    -----
    With n candidates and m units whose gains lie in [a, b], the setting chosen is within
    ``2 (b - a) / (m epsilon_select) (ln n + t)`` of the best one's validation score with
    probability ``1 - e^-t``, and the error of the released score exceeds
    ``(b - a) t / (m epsilon_score)`` with probability ``e^-t`` (up to one grid step). Proofs in
    the documentation, "The guarantee".
    """

    def __init__(self, score_share=0.4):
        self.score_share = score_share

    def check(self) -> None:
        """Raise ValueError if score_share is no share."""
        if not (isinstance(self.score_share, int | float) and 0 < self.score_share < 1):
            raise ValueError(
                f"score_share lies strictly between 0 and 1; found {self.score_share!r}"
            )

    def run(self, space, oracle, *, n_iter, rng, budget, noise) -> Release:
        """Evaluate the design, select, release."""
        candidates = space.design(n_iter, rng)
        evaluation = oracle(candidates.params)
        fitted = evaluation.fitted
        statistics = evaluation.statistics.rows(fitted)

        total = Fraction(budget.epsilon_left)
        epsilon_select = round_down(total * (1 - Fraction(self.score_share)))
        chosen = select(
            statistics.column(0),
            epsilon_select,
            budget=budget,
            noise=noise,
            release="choice of the setting",
        )
        noisy = release_counts(
            statistics.rows(chosen),
            budget.epsilon_left,
            budget=budget,
            noise=noise,
            release="score of the chosen setting",
        )
        scorer, units = oracle.scorer, oracle.problem.units
        confidence = 1 - (1 - _CONFIDENCE) / len(noisy)  # union bound
        low, high = np.transpose([count.interval(confidence) for count in noisy]).tolist()
        return Release(
            candidates,
            evaluation.fit_times,
            evaluation.fit_errors,
            int(fitted[chosen]),
            scorer.value([count.count for count in noisy], units),
            scorer.interval(low, high, units),
        )

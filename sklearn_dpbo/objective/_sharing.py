"""How an objective shares its budget between its calls and the choice at the end (zone: public)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import stats

from .._privacy.mechanisms import COUNTS, Price
from .._privacy.rounding import round_down

__all__ = ["Sharing", "error_of_noisy_max"]

# Share of epsilon for `best` if it selects by a draw of its own; and of that, for the score.
_BEST_SHARE, _SCORE_SHARE = 0.7, 0.4
# Points at which the error of a noisy maximum is computed.
_QUANTILES, _GAPS = 2_000, 100


@dataclass(frozen=True)
class Sharing:
    """How (epsilon, delta) is shared.

    `calls`: cost and noise of all calls together; `epsilon_choice`: for a choice by a draw of its
    own; 0 if the best is the one with the largest noisy score.
    """

    calls: Price
    epsilon_choice: float

    @classmethod
    def of(
        cls, n_calls: int, epsilon: float, delta: float, best_share: float | None, *, is_mean: bool
    ) -> Sharing:
        if best_share is None:
            kept, none = (cls._with(n_calls, epsilon, delta, share) for share in (_BEST_SHARE, 0.0))
            return none if is_mean and none.error <= kept.error else kept
        return cls._with(n_calls, epsilon, delta, best_share)

    @classmethod
    def _with(cls, n_calls: int, epsilon: float, delta: float, best_share: float) -> Sharing:
        best = Fraction(epsilon) * Fraction(best_share)
        for_calls = round_down(Fraction(epsilon) - best)
        return cls(
            Price.shared(n_calls, for_calls, delta, COUNTS),
            round_down(best * (1 - Fraction(_SCORE_SHARE))),
        )

    @property
    def error(self) -> float:
        """Largest possible expected loss of the choice, in units of what one record can change."""
        n = self.calls.n
        if self.epsilon_choice > 0:
            # Permute-and-flip is the largest of scores with exponential noise.
            return error_of_noisy_max(n, stats.expon(scale=2 / self.epsilon_choice))
        if self.calls.concentrated:
            return error_of_noisy_max(n, stats.norm(scale=self.calls.spread))
        return error_of_noisy_max(n, stats.laplace(scale=n / self.calls.epsilon))


def error_of_noisy_max(n: int, noise: stats.rv_frozen) -> float:
    """Return the largest expected loss of choosing the largest of n numbers with noise.

    All but the best are worse by the same gap, the worst one.
    """
    of_best = noise.ppf((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    width = noise.ppf(1 - 0.01 / n) - noise.ppf(0.01)
    gaps = np.linspace(0, width, _GAPS)
    missed = 1 - noise.cdf(of_best + gaps[:, None]) ** (n - 1)
    return float((gaps * missed.mean(axis=1)).max())

"""Bounds on the errors of a private choice and of a released score (zone: released).

They are those of Theorems 1 to 4 in the documentation, "What noise costs". They are computed from
public facts or from what a search released, so they cost no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from statistics import NormalDist
from typing import Any, ClassVar, cast

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils.validation import check_is_fitted

from .._params import check_number
from .._privacy.accounting import CHOICE, SCORE
from .._privacy.noisy_counts import NoisyCounts
from ..scoring._make import selecting_scorer
from ..scoring._queries import MeanOf

__all__ = ["GRID_STEPS", "UtilityBounds", "tail_of_choice", "utility_of"]

# `sklearn_dpbo.scoring` rounds gains to this many steps between the lowest and the highest.
GRID_STEPS = 2**20
_HALVINGS = 100


def tail_of_choice(n: int, t: float) -> float:
    """Return the largest probability that permute-and-flip misses the best of n by t or more.

    It is ``1 - (1 - (1 - p)^n) / (n p)`` with ``p = e^-t`` (Theorem 1).
    """
    p = math.exp(-t)
    if n * p < 1e-3:  # the first terms of the series, because the formula would cancel
        terms, term = 0.0, -1.0
        for j in range(1, 5):
            term *= -(n - j) * p / j
            terms += term / (j + 1)
        return terms
    missed = 1.0 if p == 1.0 else -math.expm1(n * math.log1p(-p))
    return max(0.0, 1 - missed / (n * p))


@lru_cache(maxsize=1024)
def _quantile_of_choice(n: int, failure: float) -> float:
    """Return the least t with ``tail_of_choice(n, t) <= failure``, rounded up."""
    if tail_of_choice(n, 0.0) <= failure:
        return 0.0
    low, high = 0.0, math.log(n) - math.log(failure)  # Lemma 1: the tail is at most n e^-t
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if tail_of_choice(n, middle) <= failure:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=1024)
def _mean_of_choice(n: int) -> float:
    """Return the largest expected regret of permute-and-flip, in units of the noise scale."""
    if n == 1:
        return 0.0
    end = math.log(n) + 5
    found = minimize_scalar(
        lambda t: -t * tail_of_choice(n, t), bounds=(0.0, end), options={"xatol": 1e-10}
    )
    return -float(found.fun)


@dataclass(frozen=True)
class UtilityBounds:
    """Guaranteed errors of a search with `WorstCase`: each holds with probability `confidence`.

    Parameters
    ----------
    m : int
        Number of units (records, or groups) of the validation set, 1 or more.
    n_candidates : int
        Number of candidates that are validated, 1 or more.
    epsilon : float
        Privacy loss of the whole search, 1e-9 or more.
    score_share : float, default=0.4
        Share of epsilon for the released score, as in `WorstCase`; in (0, 1).
    guidance_share : float, default=0.0
        Share of epsilon for private guidance, taken from the choice; in [0, 1 - score_share).
    confidence : float, default=0.95
        Probability of each guarantee, in [0.5, 1 - 1e-9].
    score_range : float, default=1.0
        Highest minus lowest gain, b - a.
    counts : bool, default=True
        Whether each gain is either the lowest or the highest, as for the accuracy of single
        records. Otherwise gains are rounded to 2^20 steps, and the rounding error is added.
    """

    m: int
    n_candidates: int
    epsilon: float
    score_share: float = 0.4
    guidance_share: float = 0.0
    confidence: float = 0.95
    score_range: float = 1.0
    counts: bool = True
    # Whether the errors are those of theorems.
    guaranteed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value in (("m", self.m), ("n_candidates", self.n_candidates)):
            check_number(name, value, "a whole number from 1 up", lambda n: n >= 1, Integral)
        check_number("epsilon", self.epsilon, "a number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("score_share", self.score_share, "in (0, 1)", lambda s: 0 < s < 1)
        check_number(
            "guidance_share",
            self.guidance_share,
            "in [0, 1 - score_share)",
            lambda s: 0 <= s < 1 - self.score_share,
        )
        check_number(
            "confidence", self.confidence, "in [0.5, 1 - 1e-9]", lambda c: 0.5 <= c <= 1 - 1e-9
        )
        check_number("score_range", self.score_range, "a positive number", lambda r: r > 0)
        if not isinstance(self.counts, bool):
            raise ValueError(f"counts is True or False; found {self.counts!r}")

    @property
    def epsilon_select(self) -> float:
        """Privacy loss of the choice."""
        return self.epsilon * (1 - self.score_share - self.guidance_share)

    @property
    def epsilon_score(self) -> float:
        """Privacy loss of the score; it also gets the choice's share if there is no choice."""
        share = 1 - self.guidance_share if self.n_candidates == 1 else self.score_share
        return self.epsilon * share

    @property
    def regret(self) -> float:
        """Bound on the score of the best candidate minus that of the chosen one (Theorem 1).

        Both are scores on the validation set, without noise.
        """
        t = _quantile_of_choice(self.n_candidates, 1 - self.confidence)
        steps = max(0, math.ceil(t * self._choice_scale) - 1)
        return self._as_score(steps, 2 if self.n_candidates > 1 else 0)

    @property
    def expected_regret(self) -> float:
        """Bound on the mean of that difference (Theorem 2)."""
        steps = _mean_of_choice(self.n_candidates) * self._choice_scale
        return self._as_score(steps, 2 if self.n_candidates > 1 else 0)

    @property
    def score_error(self) -> float:
        """Bound on the distance of the released score from the exact one (Theorem 3)."""
        noise = NoisyCounts((0,), self._steps / self.epsilon_score)
        return self._as_score(noise.interval(self.confidence)[0][1], 1)

    @property
    def sampling_error(self) -> float:
        """Bound on the distance of one candidate's score from its score on the population.

        It holds for m independent units, whatever the score (Hoeffding, Theorem 4), and is the same
        with and without privacy.
        """
        error = self.score_range * math.sqrt(math.log(2 / (1 - self.confidence)) / (2 * self.m))
        return min(error, self.score_range)

    @property
    def binomial_error(self) -> float:
        """Sampling error by the normal approximation, for a score halfway between a and b."""
        z = NormalDist().inv_cdf((1 + self.confidence) / 2)
        return min(z * self.score_range / (2 * math.sqrt(self.m)), self.score_range)

    @property
    def _steps(self) -> int:
        return 1 if self.counts else GRID_STEPS

    @property
    def _choice_scale(self) -> float:
        return 2 * self._steps / self.epsilon_select

    def _as_score(self, steps: float, n_rounded: int) -> float:
        """Return an error in steps of the sum over units as an error of the score."""
        rounding = 0.0 if self.counts else n_rounded / GRID_STEPS
        share = steps / (self._steps * self.m) + rounding
        return self.score_range * min(share, 1.0)


def utility_of(search: Any, confidence: float = 0.95) -> UtilityBounds:
    """Return the guaranteed errors of a fitted search, from what it released."""
    check_is_fitted(search, "privacy_")
    report, scorer = search.privacy_, selecting_scorer(search)
    if report.assumption is not None:
        raise ValueError(
            "the theorems cover strategy='worst_case' only; the guarantee of this search rests on "
            "an assumption. See sklearn_dpbo.papers.kusner2015.bounds"
        )
    if report.data == "table":
        raise ValueError(
            "a search on one table compares models on a part of it, and their number may be "
            'secret. For its errors, use plan_search(..., protect="all")'
        )
    if len(getattr(search, "best_scores_", ())) > 1:
        raise ValueError(
            "scoring has several metrics, which share the epsilon for scores. Use UtilityBounds "
            "for one of them, with the score_share that privacy_ shows"
        )
    if not scorer.is_mean:
        raise ValueError(
            f"scoring={scorer.name!r} is not a mean over records, and the theorems cover only "
            "these. See best_score_interval_, or plan_search(scoring=...) with public predictions"
        )
    spent = {loss.purpose: loss.epsilon for loss in report.spends}
    results = search.cv_results_
    fitted = [error is None for error in results["fit_error"]]
    score, choice = spent[SCORE], spent.get(CHOICE, 0.0)
    used = (score + choice) / report.epsilon
    a, b = scorer.bounds
    return UtilityBounds(
        report.m,
        int(np.sum(results["validated"] & fitted)),
        report.epsilon,
        score / report.epsilon if choice else used / 2,  # without a choice, any share will do
        guidance_share=max(0.0, 1 - used),
        confidence=confidence,
        score_range=b - a,
        counts=cast(MeanOf, scorer.query).counts and report.unit != "group",
    )

"""What a planned search guarantees (zone: released)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

from .._privacy.checks import check_number
from ..report._card import in_lines
from ._bounds import MeanErrors, mean_of_choice, quantile_of_choice
from ._shares import ShareErrors

__all__ = ["MAX_CANDIDATES", "SearchPlan"]

# The search for an answer stops here.
MAX_CANDIDATES = 10**6


@dataclass(frozen=True, repr=False)
class SearchPlan:
    """Numbers of a planned search and its errors, made by `plan_search`.

    Parameters
    ----------
    m : int
        Number of units (records, or groups) that models are compared on.
    n_iter : int
        Number of candidates, all of them counted as validated.
    epsilon : float
        Privacy loss of the whole search.
    errors : MeanErrors or ShareErrors
        How noise affects the metric: by theorems for a mean, else estimated from class shares.
    score_share : float, default=0.4
        Share of epsilon for the released score.
    confidence : float, default=0.95
        Probability of each guarantee.
    target_regret, target_score_error : float or None, default=None
        The largest errors asked for, in units of the score.
    solved_for : {"m", "n_iter", "epsilon", "nothing"}, default="nothing"
        Which of the numbers is the answer.
    """

    m: int
    n_iter: int
    epsilon: float
    errors: MeanErrors | ShareErrors
    score_share: float = 0.4
    confidence: float = 0.95
    target_regret: float | None = None
    target_score_error: float | None = None
    solved_for: str = "nothing"

    def __post_init__(self) -> None:
        for name, value in (("m", self.m), ("n_iter", self.n_iter)):
            check_number(name, value, "a whole number from 1 up", lambda n: n >= 1, Integral)
        check_number("epsilon", self.epsilon, "a finite number from 1e-9 up", lambda e: e >= 1e-9)
        check_number("score_share", self.score_share, "in (0, 1)", lambda s: 0 < s < 1)
        ends = "in [0.5, 1 - 1e-9]"
        check_number("confidence", self.confidence, ends, lambda c: 0.5 <= c <= 1 - 1e-9)

    @property
    def epsilon_select(self) -> float:
        """Privacy loss of the choice."""
        return self.epsilon * (1 - self.score_share)

    @property
    def epsilon_score(self) -> float:
        """Privacy loss of the score; it also gets the choice's share if there is no choice."""
        return self.epsilon * (1 if self.n_iter == 1 else self.score_share)

    @property
    def regret(self) -> float:
        """Bound on the score of the best candidate minus that of the chosen one (Theorem 1).

        Both are scores on the validation set, without noise.
        """
        return self._regret(quantile_of_choice(self.n_iter, 1 - self.confidence), True)

    @property
    def expected_regret(self) -> float:
        """Bound on the mean of that difference (Theorem 2)."""
        return self._regret(mean_of_choice(self.n_iter), False)

    @cached_property
    def score_error(self) -> float:
        """Bound on the distance of the released score from the exact one (Theorem 3).

        With `scoring`, an estimate of half the width of ``best_score_interval_``.
        """
        return self.errors.score_error(self.m, self.epsilon_score, self.confidence)

    @property
    def sampling_error(self) -> float:
        """How far one candidate's score is from that on the population, about.

        It is the same with and without privacy.
        """
        return self.errors.sampling_error(self.m, self.confidence)

    @property
    def targets(self) -> dict[str, float]:
        """The targets that were given, by the name of the error."""
        given = {"regret": self.target_regret, "score_error": self.target_score_error}
        return {error: target for error, target in given.items() if target is not None}

    @property
    def meets_targets(self) -> bool:
        """Whether no error exceeds its target."""
        return all(getattr(self, error) <= target for error, target in self.targets.items())

    def _regret(self, t: float, in_integers: bool) -> float:
        """Return a regret of t noise scales, or the largest integer below, as one of the score."""
        steps = t * 2 * self.errors.sensitivity(self.m) / self.epsilon_select
        if in_integers:
            steps = max(0, math.ceil(steps) - 1)
        return self.errors.regret(steps, self.m) if self.n_iter > 1 else 0.0

    def __repr__(self) -> str:
        regret, mean, error, sampling = (
            three_digits(getattr(self, name))
            for name in ("regret", "expected_regret", "score_error", "sampling_error")
        )
        p, proven = f"with probability {self.confidence:.6g}", self.errors.guaranteed
        choice = (
            f"the chosen candidate's validation score is within {regret} of the best one's {p}, "
            f"and {mean} below it on average ({'Theorems 1 and 2' if proven else 'to first order'})"
        )
        score = f"the released score is within {error} of the exact one "
        score += f"{p} (Theorem 3)" if proven else "(an estimate, half of a 95 % interval)"
        sampled = f"a score is within about {sampling} of that on the population {p}, beside this"
        targets = ", ".join(f"{name} <= {target:g}" for name, target in self.targets.items())
        rows = [
            ("Solved for", [f"{self.solved_for} (targets: {targets or 'none'})"]),
            ("Choice", [choice if self.regret == self.regret else "no bound is known"]),
            ("Score", [score]),
            ("Sampling", [sampled]),
        ]
        title = (
            f"Plan: {self.m:,} validation records (or groups), at most {self.n_iter:,} candidates, "
            f"epsilon = {three_digits(self.epsilon)}"
        )
        return in_lines(title, rows)


def three_digits(x: float) -> str:
    """Write a number with three digits, rounded up."""
    if not x > 0:
        return f"{x:g}"
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return f"{math.ceil(x / unit * (1 - 1e-12)) * unit:.4g}"

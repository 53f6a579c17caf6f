"""Plan a search: compute its errors, or what is needed for target errors (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, cast

from ..privacy.checks import check_number
from ..privacy.report._card import in_lines
from ..search._utility import mean_of_choice
from ._bounds import MeanErrors, least, quantile_of_choice
from ._shares import ShareErrors

# Largest number of candidates that a plan answers.
_MOST_CANDIDATES = 10**6


@dataclass(frozen=True, repr=False)
class SearchPlan:
    """Numbers of a planned search and its errors, made by `plan_search`.

    Parameters
    ----------
    m : int
        Number of units (records, or groups) on which models are compared.
    n_iter : int
        Number of candidates, all of which count as validated.
    epsilon : float
        Privacy loss of the whole search.
    errors : MeanErrors or ShareErrors
        Effect of noise on the metric: by theorems for a mean, else estimated from class shares.
    score_share : float, default=0.4
        Share of epsilon for the released score.
    confidence : float, default=0.95
        Probability of each guarantee.
    target_regret, target_score_error : float or None, default=None
        Largest errors that are acceptable, in units of the score.
    solved_for : {"m", "n_iter", "epsilon", "nothing"}, default="nothing"
        Name of the number that is the answer.
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
        interval = "in [0.5, 1 - 1e-9]"
        check_number("confidence", self.confidence, interval, lambda c: 0.5 <= c <= 1 - 1e-9)

    @property
    def epsilon_select(self) -> float:
        """Privacy loss of the choice."""
        return self.epsilon * (1 - self.score_share)

    @property
    def epsilon_score(self) -> float:
        """Privacy loss of the score; with one candidate, which needs no choice, all of epsilon."""
        return self.epsilon * (1 if self.n_iter == 1 else self.score_share)

    @property
    def regret(self) -> float:
        """Bound on the score of the best candidate minus that of the chosen one (Theorem 1).

        Both are scores on the validation set, without noise.
        """
        return self._regret(quantile_of_choice(self.n_iter, 1 - self.confidence), True)

    @property
    def expected_regret(self) -> float:
        """Bound on the expected difference of these scores (Theorem 2)."""
        return self._regret(mean_of_choice(self.n_iter), False)

    @cached_property
    def score_error(self) -> float:
        """Bound on the distance of the released score from the exact one (Theorem 3).

        With `scoring`, an estimate of half the width of ``best_score_interval_``.
        """
        return self.errors.score_error(self.m, self.epsilon_score, self.confidence)

    @property
    def sampling_error(self) -> float:
        """Approximate difference between a candidate's score and that on the population.

        It is the same with and without privacy.
        """
        return self.errors.sampling_error(self.m, self.confidence)

    @property
    def targets(self) -> dict[str, float]:
        """Targets that are not None, by the name of the error."""
        targets = {"regret": self.target_regret, "score_error": self.target_score_error}
        return {error: target for error, target in targets.items() if target is not None}

    @property
    def meets_targets(self) -> bool:
        """True if no error exceeds its target."""
        return all(getattr(self, error) <= target for error, target in self.targets.items())

    def _regret(self, t: float, in_integers: bool) -> float:
        """Convert a regret of t noise scales to one of the score.

        With `in_integers`, it is below t noise scales and a whole number of steps.
        """
        steps = t * 2 * self.errors.sensitivity(self.m) / self.epsilon_select
        if in_integers:
            steps = max(0, math.ceil(steps) - 1)
        return self.errors.regret(steps, self.m) if self.n_iter > 1 else 0.0

    def __repr__(self) -> str:
        regret, mean, error, sampling = (
            three_digits(getattr(self, name))
            for name in ("regret", "expected_regret", "score_error", "sampling_error")
        )
        p = f"with probability {self.confidence:.6g}"
        proven = self.errors.guaranteed
        choice = (
            f"the chosen candidate's validation score is within {regret} of the best one's {p}, "
            f"and {mean} below it on average ({'Theorems 1 and 2' if proven else 'to first order'})"
        )
        score = f"the released score is within {error} of the exact one "
        score += f"{p} (Theorem 3)" if proven else "(an estimate, half of a 95 % interval)"
        sampled = f"in addition, a score is within about {sampling} of that on the population {p}"
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


def plan_search(
    m: int | None = None,
    n_iter: int | None = 64,
    epsilon: float | None = None,
    *,
    target_regret: float | None = None,
    target_score_error: float | None = None,
    score_range: float = 1.0,
    counts: bool = True,
    scoring: Any = None,
    class_shares: Mapping[Any, float] | None = None,
    score_share: float = 0.4,
    confidence: float = 0.95,
) -> SearchPlan:
    """Find the number of records, the epsilon, or the number of candidates that a search needs.

    Pass two of m, n_iter and epsilon, and None for the one to find. Pass all three to see the
    errors of such a search.

    *Means over records*, such as accuracy. The answer is exact: the theorems guarantee the targets
    for it, but not for a smaller m, a smaller epsilon or a larger n_iter. If targets cannot be
    reached, a ValueError says why.

    *Other metrics of classes*, such as F1 and AUC. The effect of noise depends on the number of
    records of each class, so pass ``scoring`` and ``class_shares``. The answer is an estimate, for
    a classifier of medium quality (two classes: an AUC of 0.84), m up to 1,000,000 and epsilon in
    [0.001, 1000].

    Parameters
    ----------
    m : int or None, default=None
        Number of privacy units of the validation set: records, or groups with ``groups_val``.
    n_iter : int or None, default=64
        Number of candidates. All are counted as validated; with ``guidance="public"`` a search
        validates fewer, and the errors are smaller.
    epsilon : float or None, default=None
        Privacy loss of the whole search. An answer of 1e-9, the smallest, means 1e-9 or less.
    target_regret : float or None, default=None
        Largest acceptable difference between the validation score of the best candidate and that of
        the chosen one.
    target_score_error : float or None, default=None
        Largest acceptable difference between the released score and the exact one. With `scoring`,
        half the largest acceptable width of ``best_score_interval_`` (95 %).
    score_range : float, default=1.0
        Highest minus lowest gain, b - a, of the scorer's ``bounds``. Not used with `scoring`.
    counts : bool, default=True
        Whether each gain is either the lowest or the highest, as for the accuracy of single
        records. Use False for groups and for all other means: their gains are rounded, and the
        rounding error is added. Not used with `scoring`.
    scoring : str, PrivateScorer or None, default=None
        The metric, as in the search; None is any mean of gains.
    class_shares : dict or None, default=None
        Share of records of each class, from public knowledge: ``{0: 0.9, 1: 0.1}``. Do not count
        the protected records. Required with `scoring`.
    score_share : float, default=0.4
        Share of epsilon for the score, as in `WorstCase`; in (0, 1).
    confidence : float, default=0.95
        Probability of each guarantee, in [0.5, 1 - 1e-9]. Both hold together with probability
        2 confidence - 1.

    Returns
    -------
    plan : SearchPlan
        Print it to see the errors.

    Examples
    --------
    >>> from sklearn_dpbo import plan_search
    >>> plan = plan_search(n_iter=64, epsilon=1.0, target_regret=0.01)
    >>> plan.m
    2100
    >>> shares = {0: 0.75, 1: 0.25}
    >>> plan_search(epsilon=1.0, target_score_error=0.02, scoring="f1", class_shares=shares).m
    2000
    """
    numbers = {"m": m, "n_iter": n_iter, "epsilon": epsilon}
    missing = [name for name, number in numbers.items() if number is None]
    if len(missing) > 1:
        raise ValueError(f"{' and '.join(missing)} missing: pass all but the one to find")
    errors: MeanErrors | ShareErrors = MeanErrors(score_range, counts)
    if (scoring is None) != (class_shares is None) or (scoring is not None and score_range != 1):
        raise ValueError(
            "pass scoring and class_shares, such as {0: 0.9, 1: 0.1}, together; score_range is for "
            "plans without them"
        )
    if class_shares is not None:
        errors = ShareErrors.of(scoring, class_shares)
    plan = SearchPlan(
        1 if m is None else m,
        2 if n_iter is None else n_iter,
        1.0 if epsilon is None else epsilon,
        errors,
        score_share,
        confidence,
        target_regret,
        target_score_error,
        missing[0] if missing else "nothing",
    )
    _check_target("target_regret", target_regret, errors.score_range)
    _check_target("target_score_error", target_score_error, errors.most)
    if target_regret is not None and (plan.n_iter == 1 or math.isnan(plan.regret)):
        raise ValueError(
            "target_regret cannot be used with one candidate, which needs no choice, or for areas "
            "and roots, for which no bound on the regret is known. Use target_score_error"
        )
    if missing and not plan.targets:
        raise ValueError("pass target_regret, target_score_error, or both; found neither")
    return _solved(plan) if missing else plan


def _check_target(name: str, target: Any, largest_error: float) -> None:
    """Raise ValueError for a target that every search meets, or that no search can meet."""
    in_range = f"above 0 and below {largest_error:g}"
    check_number(name, target, in_range, lambda t: 0 < t < largest_error, optional=True)


def _solved(plan: SearchPlan) -> SearchPlan:
    """Find the smallest m or epsilon, or the largest n_iter, that meets the targets."""
    name = plan.solved_for
    ends = {**plan.errors.ranges, "n_iter": (2, _MOST_CANDIDATES)}[name]

    def with_number(number: float) -> SearchPlan:
        return replace(plan, **{name: number})  # type: ignore[arg-type]

    best = with_number(ends[0] if name == "n_iter" else ends[1])
    if not best.meets_targets:
        reached = " and ".join(
            f"{error}={getattr(best, error):.3g} (target: {target:g})"
            for error, target in plan.targets.items()
        )
        raise ValueError(
            f"out of reach: even with {name}={getattr(best, name):,g} a search has {reached}. "
            "Increase m, epsilon or the targets"
        )
    if name == "n_iter":
        too_many = least(lambda n: not with_number(n).meets_targets, *ends)
        return with_number(_MOST_CANDIDATES if too_many is None else too_many - 1)
    number = least(lambda x: with_number(x).meets_targets, *ends, plan.errors.tolerance)
    return with_number(cast(float, number))

"""Find the smallest search that meets given targets (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._params import check_number
from ._bounds import GRID_STEPS
from ._plan import MAX_CANDIDATES, SearchPlan

__all__ = ["plan_search"]

# Answers beyond these are no plans.
_MAX_RECORDS = 10**12
_MIN_EPSILON, _MAX_EPSILON = 1e-9, 1e9


def plan_search(
    m: int | None = None,
    n_iter: int | None = 64,
    epsilon: float | None = None,
    *,
    target_regret: float | None = None,
    target_score_error: float | None = None,
    score_range: float = 1.0,
    score_share: float = 0.4,
    guidance_share: float = 0.0,
    confidence: float = 0.95,
    counts: bool = True,
) -> SearchPlan:
    """Find the number of records, the epsilon, or the number of candidates that a search needs.

    Give two of m, n_iter and epsilon, and None for the one to find. The answer is exact: the
    theorems guarantee the targets with it, but not with a smaller m, a smaller epsilon or a larger
    n_iter. It is computed from these numbers alone, so it costs no privacy.

    Parameters
    ----------
    m : int or None, default=None
        Number of units of the validation set: records, or groups with ``groups_val``.
    n_iter : int or None, default=64
        Number of candidates. All are counted as validated; with ``guidance="public"`` a search
        validates fewer, and the errors are smaller.
    epsilon : float or None, default=None
        Privacy loss of the whole search. An answer of 1e-9, the least that a search takes, stands
        for that and less.
    target_regret : float or None, default=None
        How much lower than the best candidate's the chosen one's validation score may be.
    target_score_error : float or None, default=None
        How far the released score may be from the chosen candidate's.
    score_range : float, default=1.0
        Highest minus lowest gain, b - a, of the scorer's ``bounds``.
    score_share : float, default=0.4
        Share of epsilon for the score, as in `WorstCase`; in (0, 1).
    guidance_share : float, default=0.0
        Share of epsilon for private draws, as in `WorstCase` with ``guidance="private"`` or
        ``"both"``; in [0, 1 - score_share).
    confidence : float, default=0.95
        Probability of each guarantee, in [0.5, 1 - 1e-9]. Both hold together with probability
        2 confidence - 1.
    counts : bool, default=True
        Whether a unit's gain is the lowest or the highest and nothing in between, as for the
        accuracy of single records. Use False for groups and for all other scores: their gains are
        rounded, and the error of rounding is added.

    Returns
    -------
    plan : SearchPlan
        Print it for the guaranteed errors; see also its `table`, `plot` and `simulate`.

    Raises
    ------
    ValueError
        If there is not exactly one number to find and at least one target; if a parameter is out
        of its range; or if the targets cannot be reached, with the reason.

    Notes
    -----
    The theorems are about means of gains in [a, b] and ``strategy="worst_case"``. They do not
    cover scores that are ratios ("roc_auc").

    Examples
    --------
    >>> from sklearn_dpbo import plan_search
    >>> plan = plan_search(n_iter=64, epsilon=1.0, target_regret=0.01)
    >>> plan.m
    2100
    """
    missing = _missing(
        {"m": m, "n_iter": n_iter, "epsilon": epsilon},
        has_target=target_regret is not None or target_score_error is not None,
    )
    plan = SearchPlan(
        1 if m is None else m,
        2 if n_iter is None else n_iter,
        1.0 if epsilon is None else epsilon,
        score_share,
        guidance_share,
        confidence,
        score_range,
        counts,
        target_regret,
        target_score_error,
        solved_for=missing,
    )
    _check_targets(plan)
    return {"m": _solve_m, "n_iter": _solve_n_iter, "epsilon": _solve_epsilon}[missing](plan)


def _missing(given: dict[str, float | None], *, has_target: bool) -> str:
    """Return the name of the number to find."""
    missing = [name for name, value in given.items() if value is None]
    if not missing:
        what = "over-determined" if has_target else "nothing to solve for"
        raise ValueError(
            f"{what}: m, n_iter and epsilon are all given. Give None for the one to find; for the "
            "errors that given numbers guarantee, use sklearn_dpbo.planning.UtilityBounds"
        )
    if len(missing) > 1:
        raise ValueError(
            f"one number can be found at a time; found {' and '.join(missing)} missing. Give all "
            "but one of m, n_iter and epsilon"
        )
    if not has_target:
        raise ValueError("give target_regret, target_score_error, or both; found neither")
    return missing[0]


def _check_targets(plan: SearchPlan) -> None:
    """Raise ValueError for targets that any search meets, or none."""
    largest = plan.score_range
    for name, n_rounded in (("target_regret", 2), ("target_score_error", 1)):
        target = getattr(plan, name)
        check_number(
            name,
            target,
            f"above 0 and below score_range={largest:g}",
            lambda t: 0 < t < largest,
            optional=True,
        )
        rounding = n_rounded * largest / GRID_STEPS
        if target is not None and not plan.counts and target < rounding:
            raise ValueError(
                f"{name}={target!r} is out of reach: gains are rounded to steps of score_range / "
                f"2^20, and the error of rounding alone is up to {rounding:.3g}. Use a larger "
                "target"
            )
    if plan.target_regret is not None and plan.n_candidates == 1:
        raise ValueError("with one candidate there is no choice: leave out target_regret")


def _solve_m(plan: SearchPlan) -> SearchPlan:
    high = 1
    while not _meets_targets(plan, m=high):
        if high >= _MAX_RECORDS:
            raise ValueError(
                f"out of reach: {_targets_text(plan)} would take more than {_MAX_RECORDS:,} "
                f"records at epsilon={plan.epsilon:g}. Increase epsilon or the targets"
            )
        high *= 2
    return replace(plan, m=_first(lambda m: _meets_targets(plan, m=m), high // 2, high))


def _solve_n_iter(plan: SearchPlan) -> SearchPlan:
    if not plan.meets_targets:
        target = plan.target_score_error
        why = f"even two candidates have a regret of up to {plan.regret:.3g}"
        if target is not None and plan.score_error > target:
            why = (
                f"the released score is off by up to {plan.score_error:.3g}, however many "
                "candidates there are"
            )
        raise ValueError(
            f"out of reach: {_targets_text(plan)}. With m={plan.m:,} and epsilon={plan.epsilon:g}, "
            f"{why}. Increase m or epsilon"
        )
    if _meets_targets(plan, n_candidates=MAX_CANDIDATES):
        return replace(plan, n_candidates=MAX_CANDIDATES)
    too_many = _first(
        lambda n: not _meets_targets(plan, n_candidates=n), plan.n_candidates, MAX_CANDIDATES
    )
    return replace(plan, n_candidates=too_many - 1)


def _solve_epsilon(plan: SearchPlan) -> SearchPlan:
    low, high = _MIN_EPSILON, _MAX_EPSILON
    if not _meets_targets(plan, epsilon=high):
        raise ValueError(
            f"out of reach: {_targets_text(plan)} would take more than epsilon={high:g} with "
            f"m={plan.m:,}. Increase m or the targets"
        )
    if _meets_targets(plan, epsilon=low):
        return replace(plan, epsilon=low)
    while low < (middle := math.sqrt(low) * math.sqrt(high)) < high:
        low, high = (low, middle) if _meets_targets(plan, epsilon=middle) else (middle, high)
    # The geometric mean is rounded, so a few floats may be left between the two.
    while (middle := math.nextafter(low, high)) < high:
        low, high = (low, middle) if _meets_targets(plan, epsilon=middle) else (middle, high)
    return replace(plan, epsilon=high)


def _meets_targets(plan: SearchPlan, **changes: Any) -> bool:
    return replace(plan, **changes).meets_targets


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first integer in (low, high] from which this holds."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _targets_text(plan: SearchPlan) -> str:
    return " and ".join(
        f"{name}={getattr(plan, name):g}"
        for name in ("target_regret", "target_score_error")
        if getattr(plan, name) is not None
    )

"""Find the smallest search that meets given targets (zone: released)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

from .._params import check_number
from ._bounds import GRID_STEPS
from ._one_table_plan import plan_one_table
from ._pilot import Pilot
from ._pilot_plan import PilotPlan
from ._plan import MAX_CANDIDATES, SearchPlan

__all__ = ["plan_search"]


def plan_search(
    m: int | None = None,
    n_iter: int | None = 64,
    epsilon: float | None = None,
    *,
    target_regret: float | None = None,
    target_score_error: float | None = None,
    target_interval: float | None = None,
    score_range: float = 1.0,
    score_share: float = 0.4,
    guidance_share: float = 0.0,
    confidence: float = 0.95,
    counts: bool = True,
    scoring: Any = None,
    estimator: Any = None,
    X: Any = None,
    y: Any = None,
    protect: str = "validation",
    delta: float = 0.0,
    strategy: Any = None,
) -> SearchPlan:
    """Find the number of records, the epsilon, or the number of candidates that a search needs.

    Give two of m, n_iter and epsilon, and None for the one to find. Give all three to see the
    errors of a search with these.

    *Means over records*, such as accuracy. The answer is exact: the theorems guarantee the targets
    with it, but not with a smaller m, a smaller epsilon or a larger n_iter. ValueError says why
    targets cannot be reached.

    *All other metrics*, such as F1 and AUC. How noise affects them depends on the predictions. So
    pass ``scoring``, a fitted pilot model and public records. The answer is an estimate for a
    candidate that predicts as the pilot does, to within 2 %, for m up to 1,000,000 and epsilon in
    [0.001, 1000].

    *One table*, ``protect="all"``. Pass m, epsilon, delta and an estimator that trains privately.
    The plan tells how many models are fitted, how private each fit is, and how far off the choice
    and the score may be.

    Parameters
    ----------
    m : int or None, default=None
        Number of privacy units of the validation set: records, or groups with ``groups_val``. With
        ``protect="all"``, that of the whole table.
    n_iter : int or None, default=64
        Number of candidates. All are counted as validated; with ``guidance="public"`` a search
        validates fewer, and the errors are smaller.
    epsilon : float or None, default=None
        Privacy loss of the whole search. An answer of 1e-9, the smallest, means 1e-9 or less.
    target_regret : float or None, default=None
        How much lower the validation score of the chosen candidate may be than that of the best.
    target_score_error : float or None, default=None
        How far the released score may be from the exact one. Without `scoring`.
    target_interval : float or None, default=None
        Half the width that ``best_score_interval_`` (95 %) may have: 0.02 means +-0.02. With
        `scoring`.
    score_range : float, default=1.0
        Highest minus lowest gain, b - a, of the scorer's ``bounds``. Without `scoring`.
    score_share : float, default=0.4
        Share of epsilon for the score, as in `WorstCase`; in (0, 1).
    guidance_share : float, default=0.0
        Share of epsilon for private guidance, as in `WorstCase`; in [0, 1 - score_share).
    confidence : float, default=0.95
        Probability of each guarantee, in [0.5, 1 - 1e-9]. Both hold together with probability
        2 confidence - 1.
    counts : bool, default=True
        Whether each gain is either the lowest or the highest, as for the accuracy of single
        records. Use False for groups and for all other scores: their gains are rounded, and the
        rounding error is added. Without `scoring`.
    scoring : str, PrivateScorer or None, default=None
        The metric, as in the search; None is any mean of gains.
    estimator : estimator or None, default=None
        With `scoring`, the pilot: a fitted model about as good as those to come. With
        ``protect="all"``, an estimator that trains privately, not fitted.
    X, y : array-like or None, default=None
        Public records like those to be protected, on which the pilot was not fitted, and their
        targets. Never pass the protected records. With `scoring`.
    protect : {"validation", "all"}, default="validation"
        As in the search. With "all" nothing is solved for, and there are no targets.
    delta : float, default=0.0
        As in the search. With ``protect="all"``.
    strategy : OneTable or None, default=None
        As in the search; it sets the number of fits, for example. None is ``OneTable()``. With
        ``protect="all"``, where it replaces score_share.

    Returns
    -------
    plan : SearchPlan
        Print it to see the errors; see also its `table` and `plot`.

    Examples
    --------
    >>> from sklearn_dpbo import plan_search
    >>> plan = plan_search(n_iter=64, epsilon=1.0, target_regret=0.01)
    >>> plan.m
    2100
    """
    if protect == "all":
        _refuse(
            'with protect="all", which takes m, n_iter, epsilon, delta, estimator and strategy',
            target_regret=target_regret,
            target_score_error=target_score_error,
            target_interval=target_interval,
            score_share=None if score_share == 0.4 else score_share,
            guidance_share=guidance_share or None,
            scoring=scoring,
            X=X,
            y=y,
        )
        sizes = (n_iter, confidence, score_range, counts)
        return plan_one_table(m, epsilon, delta, estimator, strategy, *sizes)
    if protect != "validation":
        raise ValueError(f'protect is "validation" or "all"; found {protect!r}')
    _refuse('without protect="all"', delta=delta or None, strategy=strategy)
    missing = _missing(
        {"m": m, "n_iter": n_iter, "epsilon": epsilon},
        has_target=(target_regret, target_score_error, target_interval) != (None, None, None),
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
    if scoring is None:
        _refuse("without scoring=", target_interval=target_interval, estimator=estimator, X=X, y=y)
    else:
        plan = _with_pilot(plan, target_interval, scoring, estimator, X, y)
    _check_targets(plan)
    solve = {"m": _solve_m, "n_iter": _solve_n_iter, "epsilon": _solve_epsilon}.get(missing)
    return plan if solve is None else solve(plan)


def _missing(given: dict[str, float | None], *, has_target: bool) -> str:
    """Return which number is to be found, or "nothing" if all are given."""
    missing = [name for name, value in given.items() if value is None]
    if not missing:
        return "nothing"
    if len(missing) > 1:
        raise ValueError(
            f"a plan finds one number at a time; {' and '.join(missing)} are missing. Give all but "
            "one of m, n_iter and epsilon"
        )
    if not has_target:
        raise ValueError(
            "give target_regret, an error of the score (target_interval with scoring=, else "
            "target_score_error), or both; found neither"
        )
    return missing[0]


def _with_pilot(
    plan: SearchPlan, target_interval: float | None, scoring: Any, estimator: Any, X: Any, y: Any
) -> PilotPlan:
    """Return the same plan for a score whose errors are estimated from public predictions."""
    missing = [name for name, value in (("estimator", estimator), ("X", X)) if value is None]
    if missing:
        raise ValueError(
            f"a plan for scoring={scoring!r} needs the predictions of a pilot: pass estimator=, a "
            "fitted model, and X= and y=, public records that it was not fitted on; found no "
            f"{' and no '.join(missing)}"
        )
    given = {f.name: getattr(plan, f.name) for f in fields(SearchPlan)}
    default = {f.name: f.default for f in fields(SearchPlan)}
    own = ("target_score_error", "score_range", "counts")
    _refuse(
        f"with scoring={scoring!r}, for whose error there is target_interval=",
        **{name: given[name] if given[name] != default[name] else None for name in own},
    )
    return PilotPlan(
        **given, target_interval=target_interval, pilot=Pilot.of(scoring, estimator, X, y)
    )


def _refuse(when: str, **given: Any) -> None:
    """Raise ValueError if one of these parameters was given."""
    found = [name for name, value in given.items() if value is not None]
    if found:
        raise ValueError(f"{' and '.join(found)}: not {when}")


def _check_targets(plan: SearchPlan) -> None:
    """Raise ValueError for targets that any search meets, or none."""
    if isinstance(plan, PilotPlan):
        _check_pilot_targets(plan)
    else:
        _check_exact_targets(plan)
    if plan.target_regret is not None and plan.n_candidates == 1:
        raise ValueError("with one candidate there is no choice: leave out target_regret")


def _check_pilot_targets(plan: PilotPlan) -> None:
    scorer = plan.pilot.scorer
    low, high = scorer.bounds
    for name, largest in (("target_regret", high - low), ("target_interval", (high - low) / 2)):
        below = f"above 0 and below {largest:g}"
        holds = partial(_lies_between, largest)
        check_number(name, getattr(plan, name), below, holds, optional=True)
    if plan.target_regret is not None and plan.pilot.score_per_step(plan.m) is None:
        raise ValueError(
            f"target_regret: for scoring={scorer!r} no bound on the regret is known. Use "
            "target_interval"
        )


def _lies_between(largest: float, target: float) -> bool:
    return 0 < target < largest


def _check_exact_targets(plan: SearchPlan) -> None:
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


def _solve_m(plan: SearchPlan) -> SearchPlan:
    """Return a plan that meets the targets with twice the records, too: estimates fluctuate."""
    high, most = plan.range_of_m
    if _meets_targets(plan, m=high):
        return replace(plan, m=high)
    while not (_meets_targets(plan, m=high) and _meets_targets(plan, m=2 * high)):
        if high >= most:
            raise ValueError(
                f"out of reach: {_targets_text(plan)} would take more than {most:,} "
                f"records at epsilon={plan.epsilon:g}. Increase epsilon or the targets"
            )
        high *= 2
    found = _first(lambda m: _meets_targets(plan, m=m), high // 2, high, plan.tolerance)
    return replace(plan, m=found)


def _solve_n_iter(plan: SearchPlan) -> SearchPlan:
    if not plan.meets_targets:
        why = f"even two candidates have a regret of up to {plan.regret:.3g}"
        if not replace(plan, target_regret=None).meets_targets:
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
    low, high = plan.range_of_epsilon
    if not _meets_targets(plan, epsilon=high):
        raise ValueError(
            f"out of reach: {_targets_text(plan)} would take more than epsilon={high:g} with "
            f"m={plan.m:,}. Increase m or the targets"
        )
    if _meets_targets(plan, epsilon=low):
        return replace(plan, epsilon=low)
    while low < (middle := math.sqrt(low) * math.sqrt(high)) < high:
        if high <= low * (1 + plan.tolerance):
            return replace(plan, epsilon=high)
        low, high = (low, middle) if _meets_targets(plan, epsilon=middle) else (middle, high)
    # The geometric mean is rounded, so a few floats may be left between the two.
    while (middle := math.nextafter(low, high)) < high:
        low, high = (low, middle) if _meets_targets(plan, epsilon=middle) else (middle, high)
    return replace(plan, epsilon=high)


def _meets_targets(plan: SearchPlan, **changes: Any) -> bool:
    return replace(plan, **changes).meets_targets


def _first(holds: Callable[[int], bool], low: int, high: int, tolerance: float = 0.0) -> int:
    """Return the first integer in (low, high] from which this holds, or one larger by tolerance."""
    while high - low > max(1, tolerance * low):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _targets_text(plan: SearchPlan) -> str:
    return " and ".join(
        f"{name}={getattr(plan, name):g}"
        for name in plan.errors_of_targets
        if getattr(plan, name) is not None
    )

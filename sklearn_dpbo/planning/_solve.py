"""Find the smallest search that meets given targets (zone: released)."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, cast

import numpy as np

from .._privacy.accounting import Budget
from .._privacy.checks import check_number
from .._privacy.runs import Repeated
from ..learners._private_training import private_training
from ..strategies._one_table import OneTable
from ._bounds import MeanErrors, least
from ._pilot import PilotErrors
from ._plan import MAX_CANDIDATES, SearchPlan

__all__ = ["plan_search"]

# The parameters that plans take: all of them, and those of each kind.
_ALWAYS = ("m", "n_iter", "epsilon", "confidence", "protect")
_TAKEN = {
    "a mean": ("target_regret", "target_score_error", "score_range", "counts", "score_share"),
    "scoring=": (
        *("scoring", "estimator", "X", "y"),
        *("target_regret", "target_interval", "score_share"),
    ),
    'protect="all"': ("delta", "estimator", "strategy", "score_range", "counts"),
}


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
    given = locals()
    if protect not in ("validation", "all"):
        raise ValueError(f'protect is "validation" or "all"; found {protect!r}')
    kind = 'protect="all"' if protect == "all" else "a mean" if scoring is None else "scoring="
    _check_taken(kind, given)
    missing = [name for name in ("m", "n_iter", "epsilon") if given[name] is None]
    if len(missing) > (protect != "all"):
        raise ValueError(
            f"{' and '.join(missing)} missing: give m, n_iter and epsilon, all but the one to "
            'find; with protect="all" nothing is solved for'
        )
    if protect == "all":
        errors = MeanErrors(score_range, counts)
        return _plan_one_table(m, n_iter, epsilon, delta, estimator, strategy, confidence, errors)
    plan = SearchPlan(
        1 if m is None else m,
        2 if n_iter is None else n_iter,
        1.0 if epsilon is None else epsilon,
        MeanErrors(score_range, counts)
        if scoring is None
        else PilotErrors.of(scoring, estimator, X, y),
        score_share,
        confidence,
        target_regret,
        target_score_error if scoring is None else target_interval,
        missing[0] if missing else "nothing",
    )
    _check_targets(plan)
    return _solved(plan) if missing else plan


def _check_taken(kind: str, given: dict[str, Any]) -> None:
    """Raise ValueError for parameters that a plan of this kind does not take."""
    for name, parameter in inspect.signature(plan_search).parameters.items():
        value, default = given[name], parameter.default
        if name in _ALWAYS + _TAKEN[kind] or value is default:
            continue
        if not np.isscalar(value) or value != default:
            raise ValueError(f"a plan of {kind} takes {', '.join(_TAKEN[kind])}; found {name}")


def _check_targets(plan: SearchPlan) -> None:
    """Raise ValueError for targets that any search meets, or none."""
    largest, score, half = plan.errors.score_range, "target_score_error", 1.0
    if not plan.errors.guaranteed:
        score, half = "target_interval", 0.5
    for name, target, end in (
        ("target_regret", plan.target_regret, largest),
        (score, plan.target_score_error, half * largest),
    ):
        in_range = f"above 0 and below {end:g}"
        check_number(name, target, in_range, lambda t, end=end: 0 < t < end, optional=True)  # type: ignore[misc]
    if plan.target_regret is not None and plan.n_iter == 1:
        raise ValueError("with one candidate there is no choice: leave out target_regret")
    if plan.target_regret is not None and np.isnan(plan.regret):
        raise ValueError(
            "target_regret: for this scoring no bound on the regret is known. Use target_interval"
        )
    if plan.solved_for != "nothing" and not plan.targets:
        raise ValueError(f"give target_regret, {score}, or both; found neither")


def _solved(plan: SearchPlan) -> SearchPlan:
    """Return the plan with the smallest m or epsilon, or the largest n_iter, that will do."""
    name = plan.solved_for
    ends = {**plan.errors.ranges, "n_iter": (2, MAX_CANDIDATES)}[name]

    def at(number: float) -> SearchPlan:
        return replace(plan, **{name: number})  # type: ignore[arg-type]

    best = at(ends[0] if name == "n_iter" else ends[1])
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
        too_many = least(lambda n: not at(n).meets_targets, *ends)
        return at(MAX_CANDIDATES if too_many is None else too_many - 1)
    return at(cast(float, least(lambda x: at(x).meets_targets, *ends, plan.errors.tolerance)))


def _plan_one_table(
    n: Any,
    n_iter: Any,
    epsilon: Any,
    delta: float,
    estimator: Any,
    strategy: Any,
    confidence: float,
    errors: MeanErrors,
) -> SearchPlan:
    """Return what a search does with a table of n units."""
    check_number("delta", delta, "in [0, 1)", lambda d: 0 <= d < 1)
    if estimator is None:
        raise ValueError("pass estimator=, one that trains privately; found None")
    strategy = OneTable() if strategy is None else strategy
    if not isinstance(strategy, OneTable):
        raise ValueError(f'protect="all" takes strategy=OneTable(...); found {strategy!r}')
    plan = SearchPlan(n, n_iter, epsilon, errors, confidence=confidence, n=n)
    budget = Budget(epsilon, delta)
    strategy.check(budget)
    training, m = private_training(estimator), strategy.n_val(n, epsilon)
    if not 0 < m < n:
        raise ValueError(f"{n} records cannot be split into two parts: one would be empty")
    runs, fit_epsilon, fit_delta = strategy.runs(training, n_iter, n, budget)
    return replace(
        plan,
        m=m,
        n_iter=round(runs.mean) if isinstance(runs, Repeated) else runs.n,
        score_share=strategy.score_share,
        fits=f"{runs.number} of {type(estimator).__name__} on {n - m:,} records, each with "
        f"epsilon = {fit_epsilon:.3g}, delta = {fit_delta:.3g}; together epsilon = {epsilon:g}, "
        f"delta = {delta:g}. Choice and score are on the other {m:,}",
        fit_epsilon=fit_epsilon,
        fit_delta=fit_delta,
    )

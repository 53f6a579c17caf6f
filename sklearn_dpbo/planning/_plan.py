"""Plan a search: how many records, how much epsilon, how many candidates (zone: released)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from numbers import Real

from .._params import check_number
from ._bounds import FINE, UtilityBounds
from ._simulation import Simulation, simulate

__all__ = ["SearchPlan", "plan_search"]

# Answers beyond these are no plans.
_MOST_RECORDS = 10**12
_MOST_CANDIDATES = 10**6
_LEAST_EPSILON, _MOST_EPSILON = 1e-9, 1e9
_GRID = (0.25, 0.5, 1, 2, 4)


@dataclass(frozen=True)
class SearchPlan(UtilityBounds):
    """Numbers of a planned search, and what is guaranteed with them; made by `plan_search`.

    Parameters
    ----------
    m, n_candidates : int
        These and the next as in `sklearn_dpbo.planning.UtilityBounds`.
    epsilon, score_share, guidance_share, confidence, score_range : float
    counts : bool
    target_regret, target_score_error : float or None
        What was asked for.
    solved_for : {"m", "n_iter", "epsilon"}
        Which of the numbers is the answer.
    """

    target_regret: float | None = None
    target_score_error: float | None = None
    solved_for: str = "m"

    @property
    def n_iter(self) -> int:
        """The candidates that were planned for, all of them counted as validated."""
        return self.n_candidates

    @property
    def meets_targets(self) -> bool:
        """Whether both guarantees are as close as was asked for."""
        return all(
            target is None or error <= target
            for error, target in (
                (self.regret, self.target_regret),
                (self.score_error, self.target_score_error),
            )
        )

    def table(self, *, epsilon=None, m=None) -> list[dict]:
        """Return what is guaranteed over a grid, as ``pandas.DataFrame`` takes it.

        Parameters
        ----------
        epsilon : float or iterable of float, default=None
            None is from a quarter to four times the plan's.
        m : int or iterable of int, default=None
            The same.

        Returns
        -------
        rows : list of dict
            m, epsilon, regret, expected_regret, score_error, sampling_error, meets_targets.
        """
        ms = [max(1, round(g * self.m)) for g in _GRID] if m is None else _listed(m)
        epsilons = [g * self.epsilon for g in _GRID] if epsilon is None else _listed(epsilon)
        names = ("m", "epsilon", "regret", "expected_regret", "score_error", "sampling_error")
        plans = [replace(self, m=m, epsilon=e) for m in dict.fromkeys(ms) for e in epsilons]
        return [{name: getattr(plan, name) for name in (*names, "meets_targets")} for plan in plans]

    def plot(self, ax=None, **kwargs):
        """Draw both guarantees as functions of epsilon, with the plan on them.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        **kwargs : dict
            As `sklearn_dpbo.plotting.PrivacyUtilityDisplay.plot` takes them.

        Returns
        -------
        display : PrivacyUtilityDisplay
        """
        from ..plotting._utility import PrivacyUtilityDisplay

        return PrivacyUtilityDisplay.from_bounds(self, ax=ax, **kwargs)

    def simulate(self, search, X, y, n_runs=100, random_state=None, n_jobs=None) -> Simulation:
        """Run the planned search many times, with fresh noise, on *public* data of yours.

        The data given are treated as public: exact scores are computed and errors returned. Never
        pass the records that are to be protected. m of them, drawn at random, are validated on (as
        single records: groups are not simulated), the rest are trained on.

        Parameters
        ----------
        search : PrivateBayesSearchCV
            With `WorstCase`; m, epsilon, n_iter and the shares of epsilon are the plan's. It is
            not changed, and its ledger is not charged.
        X : array-like of shape (n_samples, n_features)
            More than m rows.
        y : array-like of shape (n_samples,)
        n_runs : int, default=100
        random_state : int, RandomState instance or None, default=None
            For everything, noise included: nothing is protected here.
        n_jobs : int or None, default=None

        Returns
        -------
        simulation : Simulation
            ``regret`` and ``score_error`` of each run; print it for a summary.

        Raises
        ------
        ValueError
            If there are too few records, or the search does not match the plan.
        """
        return simulate(
            self,
            search,
            X,
            y,
            n_iter=self.n_iter,
            n_runs=n_runs,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    def __str__(self) -> str:
        lines = [
            f"Plan: {self.m:,} validation records (or groups), at most {self.n_iter:,} candidates, "
            f"epsilon = {_up(self.epsilon)}"
        ]
        for heading, text in self._lines():
            lines += textwrap.wrap(
                text, 100, initial_indent=f"  {heading:<12}", subsequent_indent=" " * 14
            )
        return "\n".join(lines)

    def _lines(self) -> list[tuple[str, str]]:
        p = f"with probability {self.confidence:.6g}"
        asked = [
            "" if target is None else f"; asked for: {target:g}"
            for target in (self.target_regret, self.target_score_error)
        ]
        larger = self.binomial_error > max(self.regret, self.score_error)
        return [
            ("Solved for", _SOLVED[self.solved_for]),
            (
                "Choice",
                f"the chosen candidate's validation score is within {_up(self.regret)} of the best "
                f"one's {p} (Theorem 1{asked[0]}), and at most {_up(self.expected_regret)} below "
                "it on average (Theorem 2)",
            ),
            (
                "Score",
                f"the released score is within {_up(self.score_error)} of the chosen candidate's "
                f"{p} (Theorem 3{asked[1]})",
            ),
            ("Both", f"hold together with probability {2 * self.confidence - 1:.6g}"),
            (
                "Sampling",
                f"the score of one candidate on {self.m:,} records is within "
                f"{_up(self.binomial_error)} of that on their population {p} (binomial, at a score "
                f"halfway), within {_up(self.sampling_error)} whatever the scores (Theorem 4). It "
                "is not in the figures above, comes on top of them, with privacy or without, and "
                f"is {'more' if larger else 'less'} than they are",
            ),
            (
                "Not in it",
                "how good the candidates are, and scores that are ratios, such as roc_auc. Privacy "
                "itself rests on none of this. With groups_val, m counts groups (and counts=False)",
            ),
        ]


_SOLVED = {
    "m": "m: the smallest number of records, or groups, that gives what was asked for",
    "epsilon": "epsilon: the smallest that gives what was asked for",
    "n_iter": "n_iter: the largest number of candidates that gives what was asked for "
    f"({_MOST_CANDIDATES:,} stands for that many and more)",
}


def _up(x: float) -> str:
    """Write a number with three digits, rounded up."""
    if x <= 0:
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
    score_share: float = 0.4,
    guidance_share: float = 0.0,
    confidence: float = 0.95,
    counts: bool = True,
) -> SearchPlan:
    """Find the number of records, the epsilon, or the number of candidates that a search needs.

    Of m, n_iter and epsilon, leave out (None) the one that is to be found. The answer is exact:
    the guarantees hold with it, and with a smaller m, a smaller epsilon or a larger n_iter they do
    not follow from the theorems. Nothing is looked at but these numbers, so nothing is spent.

    Parameters
    ----------
    m : int or None, default=None
        Units of the validation set: records, or groups with ``groups_val``.
    n_iter : int or None, default=64
        Candidates. All are counted as validated; with ``guidance="public"`` some of a search's
        n_iter are not, which is on the safe side.
    epsilon : float or None, default=None
        Of the whole search. 1e-9, the least that a search takes, stands for that and less.
    target_regret : float or None, default=None
        How much lower than the best candidate's the chosen one's validation score may be.
    target_score_error : float or None, default=None
        How far the released score may be from the chosen candidate's.
    score_range : float, default=1.0
        Highest less lowest gain, b - a, of the scorer's ``bounds``.
    score_share : float, default=0.4
        Share of epsilon for the score, as in `WorstCase`.
    guidance_share : float, default=0.0
        Share of epsilon for private draws: `WorstCase`'s with ``guidance="private"`` or "both".
    confidence : float, default=0.95
        Probability of each guarantee. Both hold together with probability 2 confidence - 1.
    counts : bool, default=True
        Whether a unit gains all or nothing, as with the accuracy of single records. False for
        groups and all scores with gains in between: they are rounded, which is taken into account.

    Returns
    -------
    plan : SearchPlan
        Print it; `table`, `plot` and `simulate` say more.

    Raises
    ------
    ValueError
        If there is not exactly one number to find and at least one target; if a number makes no
        sense; or if the targets cannot be reached, with the reason.

    Notes
    -----
    The theorems are about means of gains in [a, b] and ``strategy="worst_case"``. They say nothing
    of scores that are ratios ("roc_auc").

    Examples
    --------
    >>> from sklearn_dpbo import plan_search
    >>> plan = plan_search(n_iter=64, epsilon=1.0, target_regret=0.01)
    >>> plan.m
    2100
    """
    given: dict = {"m": m, "n_iter": n_iter, "epsilon": epsilon}
    targets = {"target_regret": target_regret, "target_score_error": target_score_error}
    missing = _missing(given, targets)
    start = {"m": 1, "n_iter": 2, "epsilon": 1.0}[missing]
    given[missing] = start
    plan = SearchPlan(
        given["m"],
        given["n_iter"],
        given["epsilon"],
        score_share,
        guidance_share,
        confidence,
        score_range,
        counts,
        **targets,
        solved_for=missing,
    )
    _refuse_hopeless(plan)
    return {"m": _records, "n_iter": _candidates, "epsilon": _epsilon}[missing](plan)


def _missing(given: dict, targets: dict) -> str:
    """Return which number is to be found."""
    missing = [name for name, value in given.items() if value is None]
    asked = [f"{name}={value!r}" for name, value in targets.items() if value is not None]
    if not missing:
        what = "over-determined" if asked else "nothing to solve for"
        raise ValueError(
            f"{what}: m, n_iter and epsilon are all given. Give None for the one to find; to "
            "see what given numbers promise, use sklearn_dpbo.planning.UtilityBounds"
        )
    if len(missing) > 1:
        raise ValueError(
            f"one number can be found at a time; found {' and '.join(missing)} missing. Give all "
            "but one of m, n_iter and epsilon"
        )
    if not asked:
        raise ValueError("give target_regret, target_score_error, or both; found neither")
    return missing[0]


def _refuse_hopeless(plan: SearchPlan) -> None:
    """Raise ValueError for targets that nothing reaches, or everything."""
    range_ = plan.score_range
    for name, n_rounded in (("target_regret", 2), ("target_score_error", 1)):
        target = getattr(plan, name)
        if target is None:
            continue
        check_number(
            name, target, f"above 0 and below score_range={range_:g}", lambda t: 0 < t < range_
        )
        if not plan.counts and target < (least := n_rounded * range_ / FINE):
            raise ValueError(
                f"{name}={target!r} is out of reach: gains are rounded to steps of score_range / "
                f"2^20, which alone may do {least:.3g}. Ask for more than that"
            )
    if plan.target_regret is not None and plan.n_candidates == 1:
        raise ValueError("with one candidate there is no choice: leave out target_regret")


def _records(plan: SearchPlan) -> SearchPlan:
    def with_m(m):
        return replace(plan, m=m)

    high = 1
    while not with_m(high).meets_targets:
        if high >= _MOST_RECORDS:
            raise ValueError(
                f"out of reach: {_asked(plan)} would take more than {_MOST_RECORDS:,} records at "
                f"epsilon={plan.epsilon:g}. Increase epsilon or the targets"
            )
        high *= 2
    return with_m(_first(lambda m: with_m(m).meets_targets, high // 2, high))


def _candidates(plan: SearchPlan) -> SearchPlan:
    def with_n(n):
        return replace(plan, n_candidates=n)

    if not plan.meets_targets:
        score = plan.target_score_error
        why = f"even two candidates have a regret of up to {plan.regret:.3g}"
        if score is not None and plan.score_error > score:
            why = (
                f"the released score is off by up to {plan.score_error:.3g}, however many "
                "candidates there are"
            )
        raise ValueError(
            f"out of reach: {_asked(plan)}. With m={plan.m:,} and epsilon={plan.epsilon:g}, {why}. "
            "Increase m or epsilon"
        )
    if with_n(_MOST_CANDIDATES).meets_targets:
        return with_n(_MOST_CANDIDATES)
    return with_n(_first(lambda n: not with_n(n).meets_targets, 2, _MOST_CANDIDATES) - 1)


def _epsilon(plan: SearchPlan) -> SearchPlan:
    def met(epsilon):
        return replace(plan, epsilon=epsilon).meets_targets

    low, high = _LEAST_EPSILON, _MOST_EPSILON
    if not met(high):
        raise ValueError(
            f"out of reach: {_asked(plan)} would take more than epsilon={high:g} with m={plan.m:,}"
        )
    if met(low):
        return replace(plan, epsilon=low)
    while low < (middle := math.sqrt(low) * math.sqrt(high)) < high:
        low, high = (low, middle) if met(middle) else (middle, high)
    # What rounding of the geometric mean leaves between the two: single floats.
    while math.nextafter(low, high) < high:
        middle = math.nextafter(low, high)
        low, high = (low, middle) if met(middle) else (middle, high)
    return replace(plan, epsilon=high)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first integer in (low, high] from which this holds."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _asked(plan: SearchPlan) -> str:
    targets = [f.name for f in fields(plan) if f.name.startswith("target")]
    return " and ".join(
        f"{name}={getattr(plan, name):g}" for name in targets if getattr(plan, name) is not None
    )


def _listed(numbers) -> list:
    return [numbers] if isinstance(numbers, Real) else list(numbers)

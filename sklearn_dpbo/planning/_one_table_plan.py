"""Plans for searches that protect every record of one table (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from .._params import check_number
from .._privacy.accounting import Budget
from .._privacy.runs import Repeated, Runs
from ..learners._private_training import private_training
from ..strategies._one_table import OneTable
from ._plan import SearchPlan, three_digits

__all__ = ["OneTablePlan", "plan_one_table"]


@dataclass(frozen=True, kw_only=True)
class OneTablePlan(SearchPlan):
    """A plan for ``protect="all"``, made by `plan_search`.

    Models are fitted on the first part of a table, and compared on the second. The errors are those
    of Theorems 1 to 4 on the second part, of which m is the number of units, for `n_candidates`
    models. Other parameters are those of `SearchPlan`.

    Parameters
    ----------
    n : int
        Number of units of the whole table.
    delta : float
        All that is released is (epsilon, delta)-private together.
    estimator : str
        Name of the estimator.
    runs : Runs
        How many models are fitted.
    fit_epsilon, fit_delta : float
        Each of them is (fit_epsilon, fit_delta)-private.
    """

    n: int
    delta: float
    estimator: str
    runs: Runs
    fit_epsilon: float
    fit_delta: float

    @property
    def epsilon_score(self) -> float:
        """Privacy loss of the score: no more with one model, as their number may be secret."""
        return self.epsilon * self.score_share

    @property
    def _title(self) -> str:
        head = f"Plan: a table of {self.n:,} records (or groups), all of which are protected, "
        return f"{head}epsilon = {three_digits(self.epsilon)}"

    def _lines(self) -> list[tuple[str, str]]:
        p = f"with probability {self.confidence:.6g}"
        each = f"epsilon = {self.fit_epsilon:.3g}, delta = {self.fit_delta:.3g}"
        if_so_many = f" if {self.n_iter:,} are fitted," if isinstance(self.runs, Repeated) else ""
        return [
            (
                "Fits",
                f"{self.runs.number} of {self.estimator} on {self.n - self.m:,} records, each with "
                f"{each}; together epsilon = {self.epsilon:g}, delta = {self.delta:g}",
            ),
            (
                "Choice",
                f"on the other {self.m:,} records:{if_so_many} the chosen model's score is within "
                f"{three_digits(self.regret)} of the best one's {p} (Theorem 1), and at most "
                f"{three_digits(self.expected_regret)} below it on average (Theorem 2)",
            ),
            (
                "Score",
                f"the released score is within {three_digits(self.score_error)} of the chosen "
                f"model's {p} (Theorem 3)",
            ),
            (
                "Sampling",
                f"the score of one model on {self.m:,} records is within "
                f"{three_digits(self.binomial_error)} of its score on their population {p} "
                "(binomial, for a score halfway between the bounds)",
            ),
            (
                "Not covered",
                "the quality of models fitted with so much noise, and metrics that are not means "
                "over records. The privacy guarantee does not depend on the plan. With groups, "
                "both numbers are of groups (use counts=False)",
            ),
        ]


def plan_one_table(
    n: Any,
    epsilon: Any,
    delta: float,
    estimator: Any,
    strategy: Any,
    n_iter: Any,
    confidence: float,
    score_range: float,
    counts: bool,
) -> OneTablePlan:
    """Return what a search does with a table of n units."""
    check_number(
        "m", n, "the number of records of the table, 2 or more", lambda n: n >= 2, Integral
    )
    check_number("epsilon", epsilon, "a number from 1e-9 up", lambda e: e >= 1e-9)
    check_number("delta", delta, "in [0, 1)", lambda d: 0 <= d < 1)
    check_number("n_iter", n_iter, "a whole number from 1 up", lambda n: n >= 1, Integral)
    if estimator is None:
        raise ValueError("pass estimator=, one that trains privately; found None")
    strategy = OneTable() if strategy is None else strategy
    if not isinstance(strategy, OneTable):
        raise ValueError(f'protect="all" takes strategy=OneTable(...); found {strategy!r}')
    strategy.check(Budget(epsilon, delta))
    training = private_training(estimator)
    m = strategy.n_val(n, epsilon)
    if not 0 < m < n:
        raise ValueError(f"{n} records cannot be split into two parts: one would be empty")
    runs, fit_epsilon, fit_delta = strategy.runs(training, n_iter, n, Budget(epsilon, delta))
    return OneTablePlan(
        m=m,
        n_candidates=round(runs.mean) if isinstance(runs, Repeated) else runs.n,
        epsilon=epsilon,
        score_share=strategy.score_share,
        confidence=confidence,
        score_range=score_range,
        counts=counts,
        n=n,
        delta=delta,
        estimator=type(estimator).__name__,
        runs=runs,
        fit_epsilon=fit_epsilon,
        fit_delta=fit_delta,
    )

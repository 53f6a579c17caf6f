"""A trusted coordinator: integers of all sites are added, and drawn from once (zone: boundary)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from .._privacy.accounting import CHOICE, SCORE, Budget
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import Noise
from .._privacy.sensitive import Sensitive
from ..scoring._scorers import score_and_interval
from ._holding import Holding, evaluate
from ._plan import Plan, together
from ._reports import Spent, site_report
from ._result import Result

__all__ = ["budget_of_all", "choose_together"]


def budget_of_all(budgets: Sequence[Budget]) -> Budget:
    """Return a budget that charges every site's ledger before its first draw, or draws nothing."""

    def charge_all() -> None:
        for budget in budgets:
            budget.reserve()

    return Budget(min(budget.epsilon for budget in budgets), before_first=charge_all)


def choose_together(
    plan: Plan, holdings: Mapping[str, Holding], budget: Budget, noise: Noise
) -> Result:
    """Choose a candidate by the sum of all sites' integers, and release its score."""
    several = list(holdings.values())
    units = together(several[0].oracle.scorer, [holding.units for holding in several])
    evaluate(several)
    scorer, fitted = several[0].oracle.scorer, several[0].fitted
    mechanisms = Mechanisms(budget, noise)
    most = scorer.query.sensitivity(units) * units.m
    chosen = mechanisms.select(
        _sum([holding.statistics for holding in several], most),
        budget.epsilon_beside(plan.score_share),
        purpose=CHOICE,
    )
    best = fitted[chosen]
    most = scorer.counts.sensitivity(units) * units.m
    table = _sum([holding.counts([best]) for holding in several], most)
    noisy = mechanisms.release_counts(table, budget.epsilon_left, purpose=SCORE)
    score, spent = score_and_interval(scorer, units, noisy), Spent.of(mechanisms)
    reports = {
        name: site_report(plan, name, holding.units, spent) for name, holding in holdings.items()
    }
    failed = frozenset(range(len(plan.candidates))) - {*fitted}
    return Result(plan, scorer, best, {best: score}, reports, {}, failed)


def _sum(several: Sequence[Sensitive], largest: int) -> Sensitive:
    """Return the sums of what each site counted; a unit adds no more than the sensitivity."""
    return reduce(lambda total, other: total.pooled(other, largest=largest), several)

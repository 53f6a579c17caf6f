"""Which charges fit a budget together (zone: public).

The theorem and its proof: the page "How a ledger keeps its promise" of the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from .._privacy.rounding import round_down, round_up
from .._privacy.zcdp import delta_of_zcdp
from ..exceptions import BudgetExceededError
from ._cross_validation import surfacing
from ._entries import Loss, Opening, Totals

__all__ = ["concentrated", "format_budget", "format_loss", "refuse_excess", "refuse_other_unit"]


def refuse_excess(opening: Opening, spent: Totals, losses: Iterable[Loss], what: str) -> None:
    """Raise BudgetExceededError if these losses do not fit the budget beside what is spent."""
    asked = Totals()
    for loss in losses:
        asked = asked.plus(loss)
        if opening.worst_case_only and loss.assumption is not None:
            raise BudgetExceededError(
                f"{what} depends on an assumption ({loss.assumption}), but the ledger of "
                f"{opening.dataset!r} accepts worst-case losses only. Nothing was charged"
            )
    epsilon_left, delta_left = opening.epsilon - spent.epsilon, opening.delta / 2 - spent.delta
    fits = asked.epsilon <= epsilon_left or concentrated(
        *opening.budget[:2], spent.squares + asked.squares
    )
    if asked.delta > delta_left or not fits:
        left = max(epsilon_left, Fraction(0)), max(delta_left, Fraction(0))
        error = BudgetExceededError(
            f"{what} asks for {format_loss(*asked[:2])}; the ledger of {opening.dataset!r} has "
            f"spent {format_loss(*spent[:2])} of {format_budget(*opening.budget[:2])}, and has "
            f"left {format_loss(*left)}. Nothing was charged"
        )
        raise surfacing(error)


def concentrated(E: Fraction, D: Fraction, squares: Fraction) -> bool:
    """Whether charges fit (E, D / 2) by zCDP; False in doubt of a rounding error."""
    rho = squares / 2
    if D == 0 or rho > 2**1000:  # more than any budget allows, and close to the largest float
        return False
    delta = delta_of_zcdp(round_up(rho) * (1 + 1e-12), round_down(E))
    return delta * (1 + 1e-9) <= round_down(D / 2)


def refuse_other_unit(opening: Opening, unit: str | None, what: str) -> None:
    """Raise BudgetExceededError unless a loss per this unit bounds the loss per unit of the ledger.

    A loss per group is one per record, and that is one per moved row; not the other way round.
    """
    counted = opening.unit
    moved = counted.startswith("row within ")
    if unit in (None, "group", counted) or (unit == "record" and moved):
        return
    if unit == "record":
        advice = (
            "Pass the groups that the records belong to (if each has one record: "
            "groups_val=np.arange(len(X_val)))"
        )
    else:
        advice = f"Begin a ledger with unit={unit!r} for such releases"
    raise BudgetExceededError(
        f"{what} has a loss per {unit}; the ledger of {opening.dataset!r} adds up losses per "
        f"{counted}. {advice}. Nothing was charged"
    )


def format_loss(epsilon: Fraction, delta: Fraction) -> str:
    return f"epsilon={float(epsilon):g}, delta={float(delta):g}"


def format_budget(epsilon: Fraction, delta: Fraction, worst_case_only: bool = False) -> str:
    halves = (
        " (one half for charges, one for composition: a ledger takes twice the sum of the deltas)"
    ) * (delta > 0)
    return format_loss(epsilon, delta) + halves + ", worst case only" * worst_case_only

"""Which charges fit a budget together (zone: public).

The theorem and its proof: the page "How a ledger keeps its promise" of the documentation.
"""

from __future__ import annotations

from fractions import Fraction

from .._privacy.rounding import round_down, round_up
from .._privacy.zcdp import delta_of_zcdp
from ..exceptions import BudgetExceededError
from ._entries import Loss, Opening, Totals

__all__ = ["concentrated", "format_budget", "format_loss", "refuse_excess", "refuse_other_unit"]


def refuse_excess(opening: Opening, spent: Totals, loss: Loss, what: str) -> None:
    """Raise BudgetExceededError if a loss does not fit the budget beside what is spent."""
    ledger, who = f"the ledger of {opening.dataset!r}", loss.who
    after, asked = spent.plus(loss), format_loss(loss.epsilon, loss.delta)
    if opening.worst_case_only and loss.assumption is not None:
        raise _refusal(
            f"{what} depends on an assumption ({loss.assumption}), but {ledger} accepts worst-case "
            "losses only"
        )
    if opening.share and who not in opening.share:
        raise _refusal(
            f"{ledger} is shared by {', '.join(map(repr, opening.share))}; {who!r} has no share of "
            "it. Open it with who= and one of these names"
        )
    if opening.share and after.shares[who] > opening.share[who]:
        raise _refusal(
            f"{what} asks for {asked}; {who!r} has spent epsilon={float(spent.shares[who]):g} of a "
            f"share of epsilon={float(opening.share[who]):g} in {ledger}"
        )
    fits = after.epsilon <= opening.epsilon or concentrated(
        opening.epsilon, opening.delta, after.squares
    )
    if after.delta > opening.delta / 2 or not fits:
        left = (opening.epsilon - spent.epsilon, opening.delta / 2 - spent.delta)
        budget = format_budget(opening.epsilon, opening.delta, opening.worst_case_only)
        raise _refusal(
            f"{what} asks for {asked}; {ledger} has spent {format_loss(*spent[:2])} of {budget}, "
            f"and has left {format_loss(*(max(float(x), 0.0) for x in left))}"
        )


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
    if unit in (None, "group", counted) or (unit == "record" and counted.startswith("row within ")):
        return
    if unit == "record":
        advice = (
            "Pass the groups that the records belong to (if every record is a different "
            f"{counted}, number them)"
        )
    else:
        advice = f"Begin a ledger with unit={unit!r} for such releases"
    raise _refusal(
        f"{what} has a loss per {unit}; the ledger of {opening.dataset!r} adds up losses per "
        f"{counted}. {advice}"
    )


def _refusal(reason: str) -> BudgetExceededError:
    return BudgetExceededError(f"{reason}. Nothing was charged")


def format_loss(epsilon: Fraction | float, delta: Fraction | float) -> str:
    return f"epsilon={float(epsilon):g}, delta={float(delta):g}"


def format_budget(epsilon: Fraction | float, delta: Fraction | float, worst_case_only: bool) -> str:
    halves = (
        " (one half for charges, one for composition: a ledger takes twice the sum of the deltas)"
    )
    return (
        format_loss(epsilon, delta) + halves * (delta > 0) + ", worst case only" * worst_case_only
    )

"""Rules for the charges that fit a budget together (zone: public).

The theorem and its proof: the page "How a ledger keeps its promise" of the documentation.
"""

from __future__ import annotations

from decimal import Decimal

from ...exceptions import BudgetExceededError
from ._decimal import EXACT
from ._entries import Loss, Opening, Totals

# Assumption about the parts of a ledger, in words.
DISJOINT = "by the owner's word, no unit is in two parts, nor replaced by one of another part"


def refuse_excess(opening: Opening, spent: Totals, loss: Loss, what: str) -> None:
    """Raise BudgetExceededError if a loss, with what is spent, exceeds the budget or a share."""
    ledger = f"the ledger of {opening.dataset!r}"
    who = loss.who
    request = f"{what} asks for {format_loss(loss.epsilon, loss.delta)}"
    total = spent.plus(loss)
    epsilon, delta = total.lost(loss.parts)
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
    if opening.share and total.shares[who] > opening.share[who]:
        raise _refusal(
            f"{request}; {who!r} has spent epsilon={float(spent.shares[who]):g} of a "
            f"share of epsilon={float(opening.share[who]):g} in {ledger}"
        )
    if epsilon > opening.epsilon or delta > opening.delta:
        lost_epsilon, lost_delta = spent.lost(loss.parts)
        epsilon_left = EXACT.subtract(opening.epsilon, lost_epsilon)
        delta_left = EXACT.subtract(opening.delta, lost_delta)
        budget = format_budget(opening.epsilon, opening.delta, opening.worst_case_only)
        parts = f" for {' and '.join(map(repr, loss.parts))}" if loss.parts else ""
        raise _refusal(
            f"{request}{parts}; {ledger} has spent {format_loss(lost_epsilon, lost_delta)} of "
            f"{budget}, and has left {format_loss(epsilon_left, delta_left)}{parts}"
        )


def refuse_other_unit(opening: Opening, unit: str | None, what: str) -> None:
    """Raise BudgetExceededError unless a loss per this unit bounds the loss per unit of the ledger.

    A loss per group also bounds the loss per record, which bounds that per moved row; the converse
    does not hold.
    """
    counted = opening.unit
    if unit in (None, "group", counted) or (unit == "record" and counted.startswith("row within ")):
        return
    advice = f"Begin a ledger with unit={unit!r} for such releases"
    if unit == "record":
        advice = (
            "Pass the groups that the records belong to (if every record is a different "
            f"{counted}, number them)"
        )
    raise _refusal(
        f"{what} has a loss per {unit}; the ledger of {opening.dataset!r} adds up losses per "
        f"{counted}. {advice}"
    )


def _refusal(reason: str) -> BudgetExceededError:
    return BudgetExceededError(f"{reason}. Nothing was charged")


def format_loss(epsilon: Decimal | float, delta: Decimal | float) -> str:
    return f"epsilon={float(epsilon):g}, delta={float(delta):g}"


def format_budget(epsilon: Decimal | float, delta: Decimal | float, worst_case_only: bool) -> str:
    worst_case = ", worst case only" if worst_case_only else ""
    return f"{format_loss(epsilon, delta)}{worst_case}"

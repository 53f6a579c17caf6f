"""The privacy report of a site, from what it released (zone: released)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from .._data.units import Units
from .._privacy.accounting import PrivacyLoss, Receipt
from .._privacy.mechanisms import Mechanisms
from ..papers.kharkovskii2020._offers import MessageError
from ..report._report import PREDICTION_CONDITIONS, TRAINING_NOT_PROTECTED, PrivacyReport
from ._plan import Plan

__all__ = ["Spent", "site_report"]

_NOT_PROTECTED = (
    TRAINING_NOT_PROTECTED.format("best_estimator_")
    + "; and records of the same person at another site, where they are paid for again"
)
_RELEASED = {
    "nobody": "the site's vote and its counts of the finalists",
    "coordinator": "best_params_, best_index_, best_score_, best_score_interval_",
}


@dataclass(frozen=True)
class Spent:
    """What a site spent on a search, by which charges, and where its noise came from."""

    epsilon: float
    losses: tuple[PrivacyLoss, ...]
    noise: str
    secure: bool
    receipts: tuple[Receipt, ...]

    @classmethod
    def of(cls, mechanisms: Mechanisms) -> Self:
        budget, noise = mechanisms.budget, mechanisms.noise
        return cls(budget.epsilon, budget.losses, noise.description, noise.secure, budget.receipts)

    def to_message(self) -> dict[str, Any]:
        losses = [{**asdict(loss), "purpose": str(loss.purpose)} for loss in self.losses]
        return {
            "epsilon": self.epsilon, "spent": losses, "noise": self.noise, "secure": self.secure,
            "ledger": [receipt._asdict() for receipt in self.receipts],
        }  # fmt: skip

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Self:
        try:
            losses = tuple(PrivacyLoss(**loss) for loss in message["spent"])
            receipts = tuple(Receipt(**receipt) for receipt in message.get("ledger", ()))
            noise, secure = str(message["noise"]), message["secure"] is True
            return cls(float(message["epsilon"]), losses, noise, secure, receipts)
        except (KeyError, TypeError, ValueError) as error:
            raise MessageError(f"the message lacks what was spent: {error!r:.200}") from None


def site_report(plan: Plan, name: str, units: Units, spent: Spent) -> PrivacyReport:
    """Return what one site protected, and what it spent."""
    return PrivacyReport(
        title=f"Differentially private federated search: the site {name!r}",
        epsilon=spent.epsilon,
        delta=0.0,
        unit=units.name,
        m=units.m,
        data="validation set",
        protected=f"the records of the site {name!r}",
        not_protected=_NOT_PROTECTED,
        assumption=None,
        condition=PREDICTION_CONDITIONS[plan.options.prediction],
        released=_RELEASED[plan.trust],
        spends=spent.losses,
        noise=spent.noise,
        secure=spent.secure,
        receipts=spent.receipts,
    )

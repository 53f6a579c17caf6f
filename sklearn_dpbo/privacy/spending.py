"""Open a budget, and spend it: the one way of entry points to mechanisms (zone: boundary).

A budget is opened before anything protected is looked at (`Spending.begin`), and charged to its
ledger before the first draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple, Self

from ..exceptions import BudgetExceededError
from .accounting import (
    Budget,
    PrivacyLoss,
    budget_without_ledger,
    warn_of_weak_guarantee,
)
from .mechanisms import Mechanisms
from .noise import noise_source
from .noisy_counts import NoisyCounts
from .receipt import Receipt
from .rounding import round_down
from .sensitive import Sensitive


class Grant(NamedTuple):
    """What a ledger allows a budget, and what charges it there."""

    epsilon: float
    delta: float
    charge: Callable[[], Receipt]


class Ledger:
    """What budgets are charged to."""

    def _grant(self, epsilon: float, delta: float, **charge: Any) -> Grant:
        """Return what charges this; an error if less is left. `charge` is what the entry says."""
        raise NotImplementedError


class Part(NamedTuple):
    """A table of counts to release, with its weight beside the others', and what it is called."""

    counts: Sensitive
    weight: Fraction | int
    purpose: str
    detail: str = ""


class Spent(NamedTuple):
    """What a report says of a budget and its noise."""

    epsilon: float
    delta: float
    spends: tuple[PrivacyLoss, ...]
    noise: str
    secure: bool
    receipts: tuple[Receipt, ...]


class Spending(Mechanisms):
    """The mechanisms, with a budget that is charged to a ledger before the first draw.

    Each method that returns something released charges first and draws then; if the charge fails,
    nothing is drawn. Shares of epsilon are exact, and rounded down once.
    """

    _divided = False

    @classmethod
    def begin(
        cls,
        ledger: Any,
        epsilon: float,
        delta: float = 0.0,
        *,
        what: str,
        mechanism: str,
        unit: str,
        assumption: str | None = None,
        estimator: Any = None,
        time: datetime | None = None,
    ) -> Self:
        """Open a budget; call this before anything protected is looked at.

        The charge will bear the time of this call, or a `time` before, which no protected record
        can move. Raises an error if the ledger has less left, and ImportError without the noise
        library.
        """
        noise = noise_source()
        if ledger is None:
            return cls(budget_without_ledger(epsilon, delta), noise)
        if not isinstance(ledger, Ledger):
            raise ValueError(
                f"ledger is a PrivacyLedger or None; found {ledger!r}. Open one: "
                "PrivacyLedger(path, name_of_the_data_set)"
            )
        granted = ledger._grant(
            epsilon, delta, what=what, mechanism=mechanism, unit=unit, assumption=assumption,
            estimator=estimator, time=time,
        )  # fmt: skip
        charge = granted.charge
        return cls(Budget(granted.epsilon, granted.delta, lambda: [charge()]), noise)

    def of_other_records(self) -> Spending:
        """Return as much to spend on other records of the data set, which pay for themselves.

        The caller vouches that no unit has records in both, so that the ledger is charged once: by
        the first part, before anything of the other is released. There is one other part.
        """
        if self._divided:
            raise BudgetExceededError("there is a budget of the other records already")
        self._divided = True
        return Spending(Budget(self.epsilon, before_first=self._require_charged), self._samplers)

    def _require_charged(self) -> None:
        if not self._budget.reserved:
            raise BudgetExceededError("the first part of the records has to be charged first")

    def warn_if_weak(self, m: int, unit: str) -> None:
        """Warn if the budget promises little to each of m units."""
        warn_of_weak_guarantee(self._budget, m, unit)

    # ------------------------------------------------------------ what there is, and shares of it
    @property
    def epsilon(self) -> float:
        """The whole epsilon, as the ledger counts it."""
        return self._budget.epsilon

    @property
    def delta(self) -> float:
        """The whole delta, likewise."""
        return self._budget.delta

    def share(self, share: Fraction | float = 1) -> float:
        """Return this share of what is left of epsilon."""
        return round_down(Fraction(self._budget.epsilon_left) * Fraction(share))

    def share_of_delta(self, share: Fraction | float = 1) -> float:
        """Return this share of what is left of delta."""
        return round_down(Fraction(self._budget.delta_left) * Fraction(share))

    def all_but(self, share: float) -> float:
        """Return what is left of epsilon less this share of the whole, which is kept for later."""
        kept = Fraction(self.epsilon) * Fraction(share)
        return round_down(Fraction(self._budget.epsilon_left) - kept)

    # ------------------------------------------------------------ charge, then draw
    def release(
        self, counts: Sensitive, epsilon: float | None = None, **record: Any
    ) -> NoisyCounts:
        """Release counts with discrete Laplace noise; without epsilon, for all that is left."""
        cost = self._budget.epsilon_left if epsilon is None else epsilon
        return self.release_counts(counts, cost, **record)

    def release_each(self, parts: Sequence[Part]) -> list[NoisyCounts]:
        """Release several tables, which share all that is left of epsilon by their weights."""
        noisy = []
        for i, (counts, weight, purpose, detail) in enumerate(parts):
            epsilon = self.share(Fraction(weight) / sum(Fraction(p.weight) for p in parts[i:]))
            noisy.append(self.release_counts(counts, epsilon, purpose=purpose, detail=detail))
        return noisy

    # ------------------------------------------------------------ what was released
    @property
    def spent(self) -> Spent:
        """What was released so far, and how."""
        budget, noise = self._budget, self._samplers
        return Spent(
            budget.epsilon, budget.spent[1], budget.losses, noise.description, noise.secure,
            budget.receipts,
        )  # fmt: skip

"""Budgets of entry points, through which alone they reach mechanisms (zone: boundary).

A budget is opened before any access to protected records (`Spending.begin`), and charged to its
ledger before the first draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple, Self

from ..exceptions import BudgetExceededError
from .accounting import Budget, PrivacyLoss, budget_without_ledger, warn_of_weak_guarantee
from .mechanisms import Mechanisms
from .noise import noise_source
from .noisy_counts import NoisyCounts
from .receipt import Receipt
from .rounding import round_down
from .sensitive import Sensitive


class Grant(NamedTuple):
    """Epsilon and delta that a ledger allows a budget, and the function that charges them there."""

    epsilon: float
    delta: float
    charge: Callable[[], Receipt]


class Ledger:
    """Interface of ledgers, to which budgets are charged."""

    def _grant(self, epsilon: float, delta: float, **charge: Any) -> Grant:
        """Return a grant, or raise an error if less is left; `charge` has fields of its entry."""
        raise NotImplementedError


class Part(NamedTuple):
    """Table of counts to release, with its weight when several share epsilon."""

    counts: Sensitive
    weight: Fraction | int
    purpose: str
    detail: str = ""


class Spent(NamedTuple):
    """Facts of a budget and its noise, for a report."""

    epsilon: float
    delta: float
    spends: tuple[PrivacyLoss, ...]
    noise: str
    secure: bool
    receipts: tuple[Receipt, ...]


class Spending(Mechanisms):
    """Mechanisms with a budget that is charged to a ledger before the first draw.

    Each method that releases something charges first and draws then; if the charge fails, nothing
    is drawn. Shares of epsilon are computed exactly, and rounded down once.
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
        """Open a budget; call this before any access to protected records.

        The charge will have the time of this call, or an earlier `time`, so that it does not depend
        on protected records. Raises an error if less is left in the ledger, and ImportError if the
        noise library is missing.
        """
        noise = noise_source()
        if ledger is None:
            return cls(budget_without_ledger(epsilon, delta), noise)
        if not isinstance(ledger, Ledger):
            raise ValueError(
                f"ledger is a PrivacyLedger or None; found {ledger!r}. Open one: "
                "PrivacyLedger(path, name_of_the_data_set)"
            )
        grant = ledger._grant(
            epsilon, delta, what=what, mechanism=mechanism, unit=unit, assumption=assumption,
            estimator=estimator, time=time,
        )  # fmt: skip
        return cls(Budget(grant.epsilon, grant.delta, lambda: [grant.charge()]), noise)

    def of_other_records(self) -> Spending:
        """Return a budget of the same epsilon for other records of the data set, once.

        The caller vouches that no unit has records in both parts (parallel composition). So the
        ledger is charged only once, by the first part, before anything of the other is released.
        """
        if self._divided:
            raise BudgetExceededError("the budget of the other records exists already")
        self._divided = True
        return Spending(Budget(self.epsilon, before_first=self._require_charged), self._samplers)

    def _require_charged(self) -> None:
        if not self._budget.reserved:
            raise BudgetExceededError("the first part of the records must be charged first")

    def warn_if_weak(self, m: int, unit: str) -> None:
        """Warn if the guarantee for each of m units is weak."""
        warn_of_weak_guarantee(self._budget, m, unit)

    # ------------------------------------------------------------ epsilon and delta, and shares
    @property
    def epsilon(self) -> float:
        """The whole epsilon, as the ledger counts it."""
        return self._budget.epsilon

    @property
    def delta(self) -> float:
        """The whole delta, as the ledger counts it."""
        return self._budget.delta

    def share(self, share: Fraction | float = 1) -> float:
        """Return a share of the remaining epsilon."""
        return round_down(Fraction(self._budget.epsilon_left) * Fraction(share))

    def share_of_delta(self, share: Fraction | float = 1) -> float:
        """Return a share of the remaining delta."""
        return round_down(Fraction(self._budget.delta_left) * Fraction(share))

    def all_but(self, share: float) -> float:
        """Return the remaining epsilon minus a share of the whole, which is kept for later."""
        kept = Fraction(self.epsilon) * Fraction(share)
        return round_down(Fraction(self._budget.epsilon_left) - kept)

    # ------------------------------------------------------------ charge, then draw
    def release(
        self, counts: Sensitive, epsilon: float | None = None, **record: Any
    ) -> NoisyCounts:
        """Release counts with discrete Laplace noise, by default for all remaining epsilon."""
        cost = self._budget.epsilon_left if epsilon is None else epsilon
        return self.release_counts(counts, cost, **record)

    def release_each(self, parts: Sequence[Part]) -> list[NoisyCounts]:
        """Release several tables, which share all remaining epsilon by their weights."""
        noisy = []
        for i, (counts, weight, purpose, detail) in enumerate(parts):
            epsilon = self.share(Fraction(weight) / sum(Fraction(p.weight) for p in parts[i:]))
            noisy.append(self.release_counts(counts, epsilon, purpose=purpose, detail=detail))
        return noisy

    # ------------------------------------------------------------ facts for reports
    @property
    def spent(self) -> Spent:
        """Losses, noise and receipts of all releases so far."""
        budget = self._budget
        noise = self._samplers
        return Spent(
            budget.epsilon, budget.spent[1], budget.losses, noise.description, noise.secure,
            budget.receipts,
        )  # fmt: skip

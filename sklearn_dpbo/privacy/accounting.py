"""Privacy losses, and the budget that they are charged to (zone: boundary)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from threading import RLock

from ..exceptions import BudgetExceededError, PrivacyWarning
from .receipt import Receipt
from .rounding import round_down
from .warn import warn

# Purposes that identify parts of a budget, as privacy reports name them.
TRAINING = "training of models"
CHOICE = "choice of the candidate"
SCORE = "score of the chosen candidate"
# A larger epsilon is hardly any privacy.
_LARGEST = 10
# Epsilon and delta of each fit of this process that spent its budget without a ledger.
_fits: list[tuple[float, float]] = []
_counting: ContextVar[bool] = ContextVar("counting", default=True)


@dataclass(frozen=True)
class PrivacyLoss:
    """The cost of one release.

    Parameters
    ----------
    epsilon, delta : float
        The release is (epsilon, delta)-differentially private with respect to one unit.
    purpose : str
        What was released, in words.
    mechanism : str
        How it was released, in words.
    assumption : str or None
        What the loss rests on besides the sensitivity; None for a worst-case guarantee.
    detail : str, default=""
        Which of several releases of the same purpose, such as the name of the score.
    """

    epsilon: float
    delta: float
    purpose: str
    mechanism: str
    assumption: str | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0 and 0 <= self.delta < 1):
            raise ValueError(
                "a loss has a positive epsilon, and a delta in [0, 1); "
                f"found {self.epsilon!r}, {self.delta!r}"
            )

    @property
    def release(self) -> str:
        """The purpose, with the detail, in words."""
        return f"{self.purpose}, {self.detail}" if self.detail else self.purpose


class Budget:
    """A budget of (epsilon, delta), in exact sums: a release is charged before its noise is drawn.

    `before_first` is called before the first charge is recorded, and returns `receipts` of ledgers,
    or None; if it raises, nothing is charged.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        before_first: Callable[[], Iterable[Receipt] | None] | None = None,
    ) -> None:
        self.epsilon, self.delta = float(epsilon), float(delta)
        self._before_first = before_first
        self._losses: list[PrivacyLoss] = []
        self._process, self._lock = os.getpid(), RLock()
        self.reserved = False
        self.receipts: tuple[Receipt, ...] = ()

    @property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        """The charges made so far, in order."""
        return tuple(self._losses)

    @property
    def spent(self) -> tuple[float, float]:
        """The sums of the charges made so far: (epsilon, delta)."""
        return sum(loss.epsilon for loss in self._losses), sum(loss.delta for loss in self._losses)

    def _left(self) -> tuple[Fraction, Fraction]:
        """Return the budget minus the sum of the charges, exactly (basic composition)."""
        epsilon = Fraction(self.epsilon) - sum(Fraction(loss.epsilon) for loss in self._losses)
        delta = Fraction(self.delta) - sum(Fraction(loss.delta) for loss in self._losses)
        return epsilon, delta

    @property
    def epsilon_left(self) -> float:
        """The rest of epsilon, rounded down."""
        return round_down(self._left()[0])

    @property
    def delta_left(self) -> float:
        """The rest of delta, rounded down."""
        return round_down(self._left()[1])

    def require_own_process(self) -> None:
        """Raise BudgetExceededError in a forked process: its copy of the budget does not count."""
        if os.getpid() != self._process:
            raise BudgetExceededError(
                "a forked process has only a copy of the budget, which its maker may spend, too. "
                "Nothing was released: do it there, or make another budget here"
            )

    def charge(self, loss: PrivacyLoss) -> None:
        """Record a loss, or raise BudgetExceededError: nothing may be released then."""
        self.require_own_process()
        with self._lock:
            self._require(loss)
            if not self.reserved and self._before_first is not None:
                self.receipts = tuple(self._before_first() or ())
            self.reserved = True
            self._require(loss)  # a handler of signals may have released something meanwhile
            self._losses.append(loss)

    def _require(self, loss: PrivacyLoss) -> None:
        """Raise BudgetExceededError if less is left."""
        epsilon, delta = self._left()
        if Fraction(loss.epsilon) > epsilon or Fraction(loss.delta) > delta:
            raise BudgetExceededError(
                f"{loss.release} asks for epsilon={loss.epsilon:g}, delta={loss.delta:g}, but only "
                f"epsilon={float(epsilon):g}, delta={float(delta):g} is left of the budget "
                f"(epsilon={self.epsilon:g}, delta={self.delta:g}). Nothing was released."
            )


def budget_without_ledger(epsilon: float, delta: float = 0.0) -> Budget:
    """Return the budget of a fit that no ledger adds up; warn unless it is the process's first.

    It counts once it is charged. The warning comes before that, as predictions, whose duration
    depends on protected records, come in between.
    """
    if not _counting.get():
        return Budget(epsilon, delta)
    if earlier := tuple(_fits):
        sums = (f"{math.fsum(loss):g}" for loss in zip(*earlier, (epsilon, delta), strict=True))
        together = "epsilon = {}, delta = {}".format(*sums).removesuffix(", delta = 0")
        warn(
            f"fit number {len(earlier) + 1} on protected records in this process: without a "
            f"ledger nothing adds them up; together they have {together} for a record that is in "
            "all of them. Pass a PrivacyLedger as ledger=",
            PrivacyWarning,
        )
    return Budget(epsilon, delta, partial(_count, epsilon, delta))


def _count(epsilon: float, delta: float) -> None:
    _fits.append((epsilon, delta))


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not count fits in this thread meanwhile: the budget of what makes them covers them."""
    token = _counting.set(False)
    try:
        yield
    finally:
        _counting.reset(token)


def weak_because(epsilon: float, delta: float, m: int) -> str:
    """Say why a guarantee for each of m units promises little; "" if it promises enough."""
    reasons = [f"epsilon > {_LARGEST}"] * (epsilon > _LARGEST)
    reasons += [f"delta >= 1/{m:,}"] * (delta * m >= 1)
    return " and ".join(reasons)


def warn_of_weak_guarantee(budget: Budget, m: int, unit: str) -> None:
    """Warn of a budget that promises little to each of m units, before it is spent."""
    if reasons := weak_because(budget.epsilon, budget.delta, m):
        warn(
            f"epsilon={budget.epsilon:g} and delta={budget.delta:g} promise little to each of "
            f"{m:,} {unit}s, as {reasons}: the result may depend on one {unit} almost without "
            f"limit. Use an epsilon of about 1, and a delta of 0 or far below 1/{m:,}",
            PrivacyWarning,
        )

"""Privacy losses, and the budget to which they are charged (zone: boundary)."""

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
# Warn of a larger epsilon, which gives hardly any privacy.
_LARGEST = 10
# Epsilon and delta of each fit of this process that spent a budget without a ledger.
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
        Assumption of the loss, besides the sensitivity; None for a worst-case guarantee.
    detail : str, default=""
        Distinguishes releases of the same purpose, such as the name of the score.
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
                "a loss must have a positive epsilon, and a delta in [0, 1); "
                f"found {self.epsilon!r}, {self.delta!r}"
            )

    @property
    def release(self) -> str:
        """The purpose, with the detail, in words."""
        return f"{self.purpose}, {self.detail}" if self.detail else self.purpose


class Budget:
    """Budget of (epsilon, delta); a release is charged before its noise is drawn.

    Sums of charges are exact. ``before_first()`` is called before the first charge is recorded. It
    returns `receipts` of ledgers, or None; if it raises an error, nothing is charged.
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
        self._process = os.getpid()
        self._lock = RLock()
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
        """Epsilon that is not spent yet, rounded down."""
        return round_down(self._left()[0])

    @property
    def delta_left(self) -> float:
        """Delta that is not spent yet, rounded down."""
        return round_down(self._left()[1])

    def require_own_process(self) -> None:
        """Raise BudgetExceededError in a forked process, which has only a copy of the budget."""
        if os.getpid() != self._process:
            raise BudgetExceededError(
                "a forked process has only a copy of the budget, which its parent may also spend. "
                "Nothing was released: release in the parent, or make another budget here"
            )

    def charge(self, loss: PrivacyLoss) -> None:
        """Record a loss; if too little is left, raise BudgetExceededError: then release nothing."""
        self.require_own_process()
        with self._lock:
            self._require(loss)
            if not self.reserved and self._before_first is not None:
                self.receipts = tuple(self._before_first() or ())
            self.reserved = True
            self._require(loss)  # a signal handler may have released something in between
            self._losses.append(loss)

    def _require(self, loss: PrivacyLoss) -> None:
        """Raise BudgetExceededError if less than this loss is left."""
        epsilon, delta = self._left()
        if Fraction(loss.epsilon) > epsilon or Fraction(loss.delta) > delta:
            raise BudgetExceededError(
                f"{loss.release} asks for epsilon={loss.epsilon:g}, delta={loss.delta:g}, but only "
                f"epsilon={float(epsilon):g}, delta={float(delta):g} is left of the budget "
                f"(epsilon={self.epsilon:g}, delta={self.delta:g}). Nothing was released."
            )


def budget_without_ledger(epsilon: float, delta: float = 0.0) -> Budget:
    """Return the budget of a fit without a ledger; warn unless it is the first of this process.

    A fit counts once it is charged. The warning is issued now, since the time until the charge
    includes predictions, whose duration depends on protected records.
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
    """Do not count fits in this thread inside the context, as a larger budget covers them."""
    token = _counting.set(False)
    try:
        yield
    finally:
        _counting.reset(token)


def weak_because(epsilon: float, delta: float, m: int) -> str:
    """Return, in words, why a guarantee for each of m units is weak; "" if it is not."""
    large_epsilon = f"epsilon > {_LARGEST}" if epsilon > _LARGEST else ""
    large_delta = f"delta >= 1/{m:,}" if delta * m >= 1 else ""
    return " and ".join(filter(None, (large_epsilon, large_delta)))


def warn_of_weak_guarantee(budget: Budget, m: int, unit: str) -> None:
    """Warn, before it is spent, of a budget whose guarantee for each of m units is weak."""
    if reasons := weak_because(budget.epsilon, budget.delta, m):
        warn(
            f"epsilon={budget.epsilon:g} and delta={budget.delta:g} promise little to each of "
            f"{m:,} {unit}s, as {reasons}: the result may depend on one {unit} almost without "
            f"limit. Use an epsilon of about 1, and a delta of 0 or far below 1/{m:,}",
            PrivacyWarning,
        )

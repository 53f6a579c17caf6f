"""The rows of a ledger: what they hold, how they are chained, their sums (zone: public)."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from fractions import Fraction
from functools import lru_cache, reduce
from typing import NamedTuple

from .._privacy.rounding import round_down, round_up
from .._privacy.zcdp import delta_of_zcdp
from ..exceptions import LedgerError

__all__ = ["Entry", "concentrated", "entries_of", "link", "plain", "sums_of", "total"]

_LOSSES = ("epsilon", "delta")
# A long history has few different numbers, and reading one takes microseconds.
_number = lru_cache(4096)(Fraction)


class Entry(NamedTuple):
    """One charge.

    Parameters
    ----------
    number : int
        1 for the first on this data set.
    time : str
        When, in UTC (ISO 8601).
    what, mechanism : str
    epsilon, delta : Fraction
    assumption : str or None
        What the loss rests on; None for a worst-case guarantee.
    """

    number: int
    time: str
    what: str
    mechanism: str
    epsilon: Fraction
    delta: Fraction
    assumption: str | None

    def row(self) -> dict:
        """Return it with epsilon and delta as floats, for a table."""
        return self._asdict() | {"epsilon": float(self.epsilon), "delta": float(self.delta)}


def link(previous: str, row) -> str:
    """Return the hash of a row and of all rows before it."""
    return hashlib.sha256(json.dumps([previous, *row]).encode()).hexdigest()


def entries_of(rows, budget, head: str) -> list[Entry]:
    """Return the charges in these rows, or raise LedgerError if they are not those that were made.

    That a chain fits is not enough: whoever may add rows can carry it on with a loss below 0.
    """
    name = budget[0]
    try:
        if reduce(link, rows, link("", budget)) != head:
            raise ValueError
        entries = [
            Entry(number, time, what, mechanism, _number(epsilon), _number(delta), assumption)
            for number, time, what, mechanism, epsilon, delta, assumption in rows
        ]
        if not all(e.epsilon.numerator > 0 and e.delta.numerator >= 0 for e in entries):
            raise ValueError
    except (TypeError, ValueError, ZeroDivisionError):
        raise LedgerError(f"the ledger of {name!r} has been damaged or tampered with") from None
    return entries


def plain(text) -> str | None:
    """Return text that can be stored, anywhere."""
    return None if text is None else str(text).encode("utf-8", "replace").decode().replace("\0", "")


def total(numbers) -> Fraction:
    """Return the sum, exactly. Few denominators occur, so most of it is of integers."""
    numerators: defaultdict[int, int] = defaultdict(int)
    for x in numbers:
        numerators[x.denominator] += x.numerator
    return sum((Fraction(n, d) for d, n in numerators.items()), Fraction(0))


def sums_of(entries: list[Entry]) -> dict[str, float]:
    """Return the sums of all charges, and of those among them that rest on assumptions."""
    assumed = [entry for entry in entries if entry.assumption is not None]
    sums = {name: total(getattr(e, name) for e in entries) for name in _LOSSES}
    sums |= {f"{name}_on_assumptions": total(getattr(e, name) for e in assumed) for name in _LOSSES}
    return {name: float(value) for name, value in sums.items()}


def concentrated(E: Fraction, D: Fraction, epsilons: list[Fraction]) -> bool:
    """Whether charges are within (E, D / 2) by zCDP, rounded against them."""
    rho = total(e * e for e in epsilons) / 2
    if D == 0 or rho > 2**1000:  # which is beyond any budget, and next to what floats hold
        return False
    return delta_of_zcdp(round_up(rho) * (1 + 1e-12), round_down(E)) * (1 + 1e-9) <= round_down(
        D / 2
    )

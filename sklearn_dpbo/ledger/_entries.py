"""The entries of a ledger: their contents, hash chain and sums (zone: public)."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from .._privacy.rounding import round_down, round_up
from .._privacy.zcdp import delta_of_zcdp
from ..exceptions import LedgerError

__all__ = [
    "Entry",
    "chain_hash",
    "concentrated",
    "exact_sum",
    "storable_text",
    "sum_losses",
    "verified_entries",
]

_LOSSES = ("epsilon", "delta")
# Cached because parsing takes microseconds and a long history has few different numbers.
_parse_fraction = lru_cache(4096)(Fraction)


class Entry(NamedTuple):
    """One charge.

    Parameters
    ----------
    number : int
        Position of the charge on this data set, from 1.
    time : str
        Time of the charge in UTC, in ISO 8601 format.
    what : str
        What was released.
    mechanism : str
        The mechanism that released it.
    epsilon, delta : Fraction
        The privacy loss, per unit.
    assumption : str or None
        The assumption that the loss depends on; None for a worst-case guarantee.
    """

    number: int
    time: str
    what: str
    mechanism: str
    epsilon: Fraction
    delta: Fraction
    assumption: str | None

    def row(self) -> dict[str, Any]:
        """Return the entry as a row of a table, with epsilon and delta as floats."""
        return self._asdict() | {"epsilon": float(self.epsilon), "delta": float(self.delta)}


def chain_hash(previous: str, row: Iterable[object]) -> str:
    """Return the hash of a row and of the hash before it, and so of all rows up to this one."""
    return hashlib.sha256(json.dumps([previous, *row]).encode()).hexdigest()


def verified_entries(
    rows: Iterable[Sequence[Any]], budget: Sequence[Any], head: str
) -> list[Entry]:
    """Return the charges in these rows, or raise LedgerError if the rows were changed.

    A correct hash chain is not enough: anyone who may add rows can extend the chain with a
    negative loss, so the losses are checked too.

    Parameters
    ----------
    rows : iterable of tuple
        Fields of each `Entry` as stored, in order of their numbers.
    budget : sequence
        Name of the data set, epsilon, delta and worst_case_only, as stored.
    head : str
        The stored hash of the budget and all rows.
    """
    name = budget[0]
    try:
        if reduce(chain_hash, rows, chain_hash("", budget)) != head:
            raise ValueError
        entries = [
            Entry(
                number,
                time,
                what,
                mechanism,
                _parse_fraction(epsilon),
                _parse_fraction(delta),
                assumption,
            )
            for number, time, what, mechanism, epsilon, delta, assumption in rows
        ]
        if not all(e.epsilon.numerator > 0 and e.delta.numerator >= 0 for e in entries):
            raise ValueError
    except (TypeError, ValueError, ZeroDivisionError):
        raise LedgerError(f"the ledger of {name!r} has been damaged or tampered with") from None
    return entries


def storable_text(text: object) -> str | None:
    """Return text without what SQLite or PostgreSQL cannot store: surrogates and NUL."""
    return None if text is None else str(text).encode("utf-8", "replace").decode().replace("\0", "")


def exact_sum(numbers: Iterable[Fraction]) -> Fraction:
    """Return the exact sum. It adds numerators by denominator, as there are few of these."""
    numerators: defaultdict[int, int] = defaultdict(int)
    for x in numbers:
        numerators[x.denominator] += x.numerator
    return sum((Fraction(n, d) for d, n in numerators.items()), Fraction(0))


def sum_losses(entries: list[Entry]) -> dict[str, float]:
    """Return the sums of epsilon and delta, over all charges and over those on assumptions."""
    assumed = [entry for entry in entries if entry.assumption is not None]
    sums = {name: exact_sum(getattr(e, name) for e in entries) for name in _LOSSES}
    sums |= {
        f"{name}_on_assumptions": exact_sum(getattr(e, name) for e in assumed) for name in _LOSSES
    }
    return {name: float(value) for name, value in sums.items()}


def concentrated(E: Fraction, D: Fraction, epsilons: list[Fraction]) -> bool:
    """Whether charges with these epsilons fit (E, D / 2) by zero-concentrated privacy (zCDP).

    Rounding errors can only make the answer False.

    Parameters
    ----------
    E, D : Fraction
        Epsilon and delta of the budget.
    epsilons : list of Fraction
        Epsilon of each charge.
    """
    rho = exact_sum(e * e for e in epsilons) / 2
    if D == 0 or rho > 2**1000:  # more than any budget allows, and close to the largest float
        return False
    return delta_of_zcdp(round_up(rho) * (1 + 1e-12), round_down(E)) * (1 + 1e-9) <= round_down(
        D / 2
    )

"""The charges of ledgers of earlier versions, as lines (zone: public).

These ledgers were tables: `datasets` had the budgets and the hash of each ledger's chain, `charges`
a row for each charge.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import reduce
from typing import Any

from ._entries import DamagedError, Entry, Loss, Opening

__all__ = ["converted_lines"]


def converted_lines(
    budget: Sequence[Any], head: str, rows: Iterable[Sequence[Any]], unit: str
) -> list[str]:
    """Return the lines of a ledger that was kept in tables."""
    name, epsilon, delta, worst_case_only = budget
    damaged = DamagedError(f"the ledger of {name!r} has been damaged or tampered with")
    rows, now = list(rows), datetime.now(UTC).isoformat(timespec="seconds")
    try:
        if reduce(_chain_hash, rows, _chain_hash("", budget)) != head:
            raise damaged
        opening = Opening(secrets.token_hex(16), name, unit, Fraction(epsilon), Fraction(delta),
                          bool(worst_case_only), now)  # fmt: skip
        lines = [opening.line()]
        last: Opening | Entry = Opening.parse(lines[0])
        for number, time, what, mechanism, epsilon, delta, assumption in rows:
            loss = Loss(Fraction(epsilon), Fraction(delta), assumption)
            if loss.epsilon <= 0 or loss.delta < 0 or number != len(lines):
                raise damaged
            texts = {"what": what, "mechanism": mechanism, "estimator": "", "purpose": ""}
            last = Entry.after(last, loss, time, **texts)
            lines.append(last.line())
    except (TypeError, ValueError, ZeroDivisionError):
        raise damaged from None
    return lines


def _chain_hash(previous: str, row: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps([previous, *row]).encode()).hexdigest()

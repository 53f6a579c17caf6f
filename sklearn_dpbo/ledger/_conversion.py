"""Conversion of ledgers of format 1, which earlier versions kept in two tables (zone: boundary).

A table `datasets` had the budgets and the hash of each ledger's chain, a table `charges` one row
for each charge.
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

from . import _server as server
from ._connection import ServerError
from ._entries import DamagedError, Entry, Loss, Opening

__all__ = ["convert_server", "converted_lines"]

# Of earlier versions: one for all ledgers of a database.
_LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(1146110543, 0)"
_SELECT_COMMENT = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"


def convert_server(url: str, unit: str = "record") -> dict[str, int]:
    """Convert all ledgers of a database in one transaction, after verifying their chains.

    The old tables stay, as ``datasets_format_1`` and ``charges_format_1``. Rights to the new ones
    have to be granted anew.

    Parameters
    ----------
    url : str
        URL of the database, with the role that owns the tables.
    unit : str, default="record"
        What one protected unit is, which earlier versions did not store.

    Returns
    -------
    counts : dict of str to int
        How many charges the ledger of each data set has.

    Raises
    ------
    OSError
        If the tables do not have format 1, a chain does not hold, or the server fails. Nothing has
        changed then, unless the message says that this is not known.
    """
    with server.transaction(url) as connection:
        server.lock(connection, "")
        connection.execute(_LOCK)
        comment = connection.execute(_SELECT_COMMENT, (server.SCHEMA,))
        if comment != [(server.COMMENT.format(1),)]:
            raise ServerError("the database has no ledgers of format 1")
        for table in ("datasets", "charges"):
            sql = f"ALTER TABLE {server.SCHEMA}.{table} RENAME TO {table}_format_1"
            connection.execute(sql)
        server.create_tables(connection)
        counts = {}
        for *budget, head in connection.execute(
            "SELECT name, epsilon, delta, worst_case_only, head "
            f"FROM {server.SCHEMA}.datasets_format_1 ORDER BY name"
        ):
            rows = connection.execute(
                "SELECT number, time, what, mechanism, epsilon, delta, assumption "
                f"FROM {server.SCHEMA}.charges_format_1 WHERE dataset = %s ORDER BY number",
                budget[:1],
            )
            server.insert(connection, budget[0], converted_lines(budget, head, rows, unit))
            counts[budget[0]] = len(rows)
    return counts


def converted_lines(
    budget: Sequence[Any], head: str, rows: Iterable[Sequence[Any]], unit: str
) -> list[str]:
    """Return the lines of a ledger of format 1.

    Parameters
    ----------
    budget : sequence
        Name of the data set, epsilon, delta and worst_case_only, as stored.
    head : str
        The stored hash of the budget and all rows.
    rows : iterable of tuple
        Number, time, what, mechanism, epsilon, delta and assumption of each charge, as stored, in
        order of their numbers.
    unit : str
        What one protected unit is.

    Raises
    ------
    DamagedError
        If the rows were changed.
    """
    name, epsilon, delta, worst_case_only = budget
    damaged = DamagedError(f"the ledger of {name!r} has been damaged or tampered with")
    rows = list(rows)
    if reduce(_chain_hash, rows, _chain_hash("", budget)) != head:
        raise damaged
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        opening = Opening(secrets.token_hex(16), name, unit, Fraction(epsilon), Fraction(delta),
                          bool(worst_case_only), now)  # fmt: skip
        lines = [opening.line()]
        last: Opening | Entry = Opening.parse(lines[0])
        for _, time, what, mechanism, epsilon, delta, assumption in rows:
            loss = Loss(Fraction(epsilon), Fraction(delta), assumption)
            if loss.epsilon <= 0 or loss.delta < 0:
                raise damaged
            texts = {"what": what, "mechanism": mechanism, "estimator": "", "purpose": ""}
            last = Entry.after(last, loss, time, **texts)
            lines.append(last.line())
    except (TypeError, ValueError, ZeroDivisionError):
        raise damaged from None
    return lines


def _chain_hash(previous: str, row: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps([previous, *row]).encode()).hexdigest()

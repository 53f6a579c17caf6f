"""Conversion of the ledgers that earlier versions kept on a server (zone: boundary)."""

from __future__ import annotations

from ..exceptions import LedgerError
from . import _server as server
from ._connection import Connection, ServerError
from ._old_entries import converted_lines
from ._places import checked_name, checked_place

__all__ = ["convert_server"]

# Of earlier versions: one for all ledgers of a database.
_LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(1146110543, 0)"
_SELECT_COMMENT = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"
_SELECT_DATASETS = f"""
SELECT name, epsilon, delta, worst_case_only, head FROM {server.SCHEMA}.datasets_format_1
ORDER BY name
"""
_SELECT_CHARGES = f"""
SELECT number, time, what, mechanism, epsilon, delta, assumption
FROM {server.SCHEMA}.charges_format_1 WHERE dataset = %s ORDER BY number
"""


def convert_server(url: str, unit: str = "record") -> dict[str, int]:
    """Convert all ledgers of a database in one transaction, after verifying their chains.

    The old tables stay, as ``datasets_format_1`` and ``charges_format_1``. Grant rights anew.
    """
    url, unit = checked_place(url), checked_name("unit", unit)
    try:
        with server.transaction(url) as connection:
            _rename_tables(connection)
            server.create_tables(connection)
            counts = {}
            for name, *budget, head in connection.execute(_SELECT_DATASETS):
                rows = connection.execute(_SELECT_CHARGES, (name,))
                lines = converted_lines((name, *budget), head, rows, unit)
                server.insert(connection, name, lines)
                counts[name] = len(rows)
    except (OSError, UnicodeError) as error:
        raise LedgerError(f"{url} cannot be converted: {error}") from None
    return counts


def _rename_tables(connection: Connection) -> None:
    """Rename the old tables when nobody uses them; raise ServerError if there are none."""
    server.lock(connection, "")
    connection.execute(_LOCK)
    comment = connection.execute(_SELECT_COMMENT, (server.SCHEMA,))
    if comment != [(server.COMMENT.format(1),)]:
        raise ServerError("it has no ledgers of earlier versions")
    for table in ("datasets", "charges"):
        connection.execute(f"ALTER TABLE {server.SCHEMA}.{table} RENAME TO {table}_format_1")

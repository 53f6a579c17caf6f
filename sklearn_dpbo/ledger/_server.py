"""Tables on a PostgreSQL server with exclusive transactions (zone: boundary).

Each transaction opens its own connection and changes settings for itself only, so that no pooler
passes on changed settings. It holds an advisory lock of the data set from before it reads the
first charge until it ends. If that lock does not exclude others, the primary key, which includes
the number of the charge, still prevents two charges with the same number.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from ._connection import TIMEOUT, ServerError, connected
from ._file import Execute

__all__ = ["checked_url", "create_if_missing", "is_url", "lock_key", "transaction"]

_SCHEMA = "sklearn_dpbo_ledger"
_TABLES = ("charges", "datasets")
# This comment marks the schema as a ledger; dumps of the database keep it.
_SCHEMA_COMMENT = "privacy ledger of sklearn_dpbo, format 1"
# An advisory lock until the end of the transaction needs no rights.
_LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(%s::bigint)"
# These settings override the defaults of the role and the database. READ COMMITTED lets the
# statements after the lock see the charges that were committed while waiting for it.
_BEGIN = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL synchronous_commit = on;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = {timeout};
SET LOCAL statement_timeout = {longer};
SET LOCAL idle_in_transaction_session_timeout = {timeout}
"""
_SELECT_SERVER_STATE = """
SELECT current_setting('fsync'), current_setting('full_page_writes'),
    pg_is_in_recovery(), current_setting('transaction_read_only')
"""
_SELECT_TABLES = """
SELECT obj_description(s.oid, 'pg_namespace'), t.relname, t.relkind::text, t.relpersistence::text,
    t.relhasrules OR t.relhastriggers OR t.relrowsecurity
FROM pg_namespace s LEFT JOIN pg_class t ON t.relnamespace = s.oid AND t.relname = ANY(?)
WHERE s.nspname = ? ORDER BY t.relname
"""


def is_url(place: str) -> bool:
    """Whether this is a URL of any scheme, and not the path of a file."""
    return re.match(r"[a-z][a-z0-9+.-]+:/", place, re.IGNORECASE) is not None


def checked_url(url: str) -> str:
    """Return the URL of a PostgreSQL database if it contains no password.

    Raises
    ------
    ValueError
        If it contains one, or is another URL. The message does not show the URL.
    """
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("the URL of a ledger begins with postgresql:// or postgres://")
    decoded = unquote(url)
    user = url.partition("//")[2].rpartition("@")[0]
    if ":" in user or re.search(r"[?&][^=]*(password|secret|scram)[^=]*=", decoded, re.IGNORECASE):
        raise ValueError(
            "the URL of a ledger must not contain a password (nor a ':' before an '@'), because it "
            "is shown and pickled with estimators. Keep the password in ~/.pgpass, in a service "
            "file or in the environment variable PGPASSWORD, or use a client certificate"
        )
    return url


def create_if_missing(url: str, statements: tuple[str, ...]) -> None:
    """Create the schema with these tables, unless the schema exists.

    Parameters
    ----------
    url : str
        URL of the database.
    statements : tuple of str
        SQL statements that create the tables, as `transaction` takes them.
    """
    with _open_transaction(url, "") as execute:
        if execute(_SELECT_TABLES, (list(_TABLES), _SCHEMA)):
            return
        execute(f"CREATE SCHEMA {_SCHEMA}")
        execute(f"COMMENT ON SCHEMA {_SCHEMA} IS '{_SCHEMA_COMMENT}'")
        for statement in statements:
            execute(statement)


@contextlib.contextmanager
def transaction(url: str, dataset: str) -> Iterator[Execute]:
    """Yield a function that runs SQL; commit durably at the end, or roll back on an exception.

    The SQL is SQLite's: ``?`` stands for a value, and the tables are in the schema ``main``.

    Parameters
    ----------
    url : str
        URL of the database.
    dataset : str
        The data set whose ledger no other transaction is to use meanwhile.

    Raises
    ------
    ServerError, OSError, UnicodeError
        If the server or the tables are not available within a minute, or could lose a charge.
    ImportError
        If psycopg is not installed.
    """
    with _open_transaction(url, dataset) as execute:
        _refuse_unsafe_tables(execute)
        yield execute


@contextlib.contextmanager
def _open_transaction(url: str, dataset: str) -> Iterator[Execute]:
    """Do what `transaction` does, without a check of the tables."""
    with connected(url) as connection:

        def execute(sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
            sql = sql.replace("main.", f"{_SCHEMA}.").replace("?", "%s")
            return connection.execute(sql, values)

        try:
            timeout = int(1000 * TIMEOUT)
            connection.execute(_BEGIN.format(timeout=timeout, longer=timeout + 1000))
            _refuse_unsafe_server(*execute(_SELECT_SERVER_STATE)[0])
            connection.execute(_LOCK, (lock_key(dataset),))
            yield execute
        except BaseException:
            with contextlib.suppress(ServerError):
                connection.execute("ROLLBACK")
            raise
        connection.commit()


def lock_key(dataset: str) -> int:
    """Return the key of the data set's advisory lock; no name gives that of the schema."""
    digest = hashlib.sha256(f"sklearn_dpbo ledger {dataset}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _refuse_unsafe_server(
    fsync: str, full_page_writes: str, in_recovery: bool, read_only: str
) -> None:
    for name, value in (("fsync", fsync), ("full_page_writes", full_page_writes)):
        if value != "on":
            raise ServerError(
                f"the server runs with {name} = {value}, so a crash can lose charges; turn it on"
            )
    if in_recovery:
        raise ServerError("the server is a replica (in recovery); give the URL of the primary")
    if read_only != "off":
        raise ServerError(
            "transactions on the server are read-only (default_transaction_read_only)"
        )


def _refuse_unsafe_tables(execute: Execute) -> None:
    found = execute(_SELECT_TABLES, (list(_TABLES), _SCHEMA))
    if not found:
        raise ServerError(
            f"there is no schema {_SCHEMA} in the database; pass epsilon= to create a new ledger"
        )
    if found[0][0] != _SCHEMA_COMMENT:
        raise ServerError(f"the schema {_SCHEMA} was not created by this package")
    if tuple(row[1] for row in found) != _TABLES:
        raise ServerError(
            f"tables of {_SCHEMA} are missing; restore them from a backup (new ones are not "
            "created in their place)"
        )
    for _, name, kind, persistence, altered in found:
        if (kind, persistence) != ("r", "p"):
            raise ServerError(f"{_SCHEMA}.{name} is not an ordinary logged table")
        if altered:
            raise ServerError(f"{_SCHEMA}.{name} has triggers, rules or row security")

"""Tables on a PostgreSQL server that one transaction at a time has to itself (zone: boundary).

Each transaction has a connection of its own, and sets what it relies on for itself alone: nothing
is left for a fork to inherit or a pooler to mix up. It holds a lock of the database from before
its first look at a charge until it has ended. Should that fail, tables whose key is the number of
the charge do not take a second charge of the same number.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from ._file import alone

__all__ = ["ServerError", "checked_url", "create", "is_url", "transaction"]

# Seconds to wait for others; for the server to let us in; for it to stop a lost client's waiting.
_PATIENCE = 60.0
_CONNECT = 10
_SCHEMA = "sklearn_dpbo_ledger"
_TABLES = ("charges", "datasets")
# Whose schema it is: a comment, which a dump keeps.
_MARK = "privacy ledger of sklearn_dpbo, format 1"
# "DPBO"; locks that are held to the end of a transaction need no rights.
_LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(1146110543, 0)"
# A dead server is noticed after half a minute.
_CONNECTION = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "UTF8",
    "connect_timeout": _CONNECT,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
}
# Each statement must see what was committed before it (the charges are read with the lock held),
# whatever the role's defaults are.
_BEGIN = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL synchronous_commit = on;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = {patience};
SET LOCAL statement_timeout = {twice};
SET LOCAL idle_in_transaction_session_timeout = {patience}
"""
_SERVER = """
SELECT current_setting('fsync'), current_setting('full_page_writes'),
    pg_is_in_recovery(), current_setting('transaction_read_only')
"""
_FOUND = """
SELECT obj_description(s.oid, 'pg_namespace'), t.relname, t.relkind::text, t.relpersistence::text,
    t.relhasrules OR t.relhastriggers OR t.relrowsecurity
FROM pg_namespace s LEFT JOIN pg_class t ON t.relnamespace = s.oid AND t.relname = ANY(?)
WHERE s.nspname = ? ORDER BY t.relname
"""


class ServerError(OSError):
    """The server cannot be reached, refuses, or is not one to keep a ledger on."""


def is_url(place: str) -> bool:
    """Whether this is meant as a URL, of whatever kind, and not as a file."""
    return re.match(r"[a-z][a-z0-9+.-]+:/", place, re.IGNORECASE) is not None


def checked_url(url: str) -> str:
    """Return a URL that may be shown to anyone, or raise ValueError without showing it."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("the URL of a ledger begins with postgresql:// or postgres://")
    plain = unquote(url)
    user = url.partition("//")[2].rpartition("@")[0]
    if ":" in user or re.search(r"[?&][^=]*(password|secret|scram)[^=]*=", plain, re.IGNORECASE):
        raise ValueError(
            "the URL of a ledger holds no password (nor a ':' before an '@'): it is shown and "
            "pickled with estimators. Keep the password in ~/.pgpass, in a service file or in the "
            "environment variable PGPASSWORD, or use a client certificate"
        )
    return url


def create(url: str, statements: tuple[str, ...]) -> None:
    """Make the schema, with these tables, unless there is one of that name."""
    with _begun(url) as execute:
        if execute(_FOUND, (list(_TABLES), _SCHEMA)):
            return
        execute(f"CREATE SCHEMA {_SCHEMA}")
        execute(f"COMMENT ON SCHEMA {_SCHEMA} IS '{_MARK}'")
        for statement in statements:
            execute(statement)


@contextlib.contextmanager
def transaction(url: str) -> Iterator[Callable]:
    """Yield a function that runs SQL; commit durably at the end, or leave all as it was.

    The SQL is SQLite's: ``?`` for values, and the tables are in the schema ``main``.

    Raises
    ------
    ServerError, OSError, UnicodeError
        If the server or the tables are not to be had in time, or not such that a charge lasts.
    ImportError
        If psycopg is not installed.
    """
    with _begun(url) as execute:
        _refuse_tables(execute)
        yield execute


@contextlib.contextmanager
def _begun(url: str) -> Iterator[Callable]:
    psycopg = _driver()
    try:
        with alone(), contextlib.closing(psycopg.connect(url, **_CONNECTION)) as connection:

            def execute(sql, values=()):
                sql = sql.replace("main.", f"{_SCHEMA}.").replace("?", "%s")
                cursor = connection.execute(sql, values or None)
                return cursor.fetchall() if cursor.description else []

            try:
                patience = int(1000 * _PATIENCE)
                connection.execute(_BEGIN.format(patience=patience, twice=2 * patience))
                _refuse_server(*execute(_SERVER)[0])
                execute(_LOCK)
                yield execute
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            _commit(connection)
    except psycopg.Error as error:
        raise ServerError(_first_line(error)) from None


def _commit(connection) -> None:
    """Commit, and take anything but a plain success for a failure."""
    psycopg, warnings = _driver(), []
    connection.add_notice_handler(lambda diagnostic: warnings.append(diagnostic.message_primary))
    try:
        with _cancelled_if_late(connection):
            done = connection.execute("COMMIT").statusmessage
    except psycopg.Error as error:
        warnings.append(_first_line(error))
    # A warning: no transaction was open, or a standby has not confirmed it.
    if warnings or done != "COMMIT":
        raise ServerError(
            f"whether the change was made is not known ({'; '.join(warnings) or done}); if it "
            "was, it counts as spent"
        )


@contextlib.contextmanager
def _cancelled_if_late(connection) -> Iterator[None]:
    """No setting bounds how long a commit waits for a synchronous standby."""

    def cancel():
        with contextlib.suppress(_driver().Error):
            connection.cancel_safe(timeout=_CONNECT)

    timer = threading.Timer(_PATIENCE, cancel)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _refuse_server(fsync: str, full_page_writes: str, in_recovery: bool, read_only: str) -> None:
    for name, value in (("fsync", fsync), ("full_page_writes", full_page_writes)):
        if value != "on":
            raise ServerError(f"the server runs with {name} = {value}, so a crash loses charges")
    if in_recovery:
        raise ServerError("the server is a replica (in recovery); name the primary")
    if read_only != "off":
        raise ServerError("its transactions are read-only")


def _refuse_tables(execute: Callable) -> None:
    found = execute(_FOUND, (list(_TABLES), _SCHEMA))
    if not found:
        raise ServerError(f"there is no schema {_SCHEMA} in the database, hence no ledger")
    if found[0][0] != _MARK:
        raise ServerError(f"the schema {_SCHEMA} is not one that this package made")
    if tuple(row[1] for row in found) != _TABLES:
        raise ServerError(f"tables of {_SCHEMA} are missing, and a ledger is not begun anew")
    for _, name, kind, persistence, altered in found:
        if (kind, persistence) != ("r", "p"):
            raise ServerError(f"{_SCHEMA}.{name} is not an ordinary table that is logged")
        if altered:
            raise ServerError(f"{_SCHEMA}.{name} has triggers, rules or row security")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _driver():
    """Import psycopg, which only those need who keep a ledger on a server."""
    try:
        import psycopg
    except ImportError as error:
        raise ImportError(
            'a ledger on a PostgreSQL server needs psycopg: pip install "sklearn_dpbo[postgresql]"'
        ) from error
    return psycopg

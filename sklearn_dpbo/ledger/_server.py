"""Tables on a PostgreSQL server with exclusive transactions (zone: boundary).

Each transaction opens its own connection and changes settings for itself only, so that no fork
inherits a connection and no pooler passes on changed settings. It holds an advisory lock from
before it reads the first charge until it ends. If that lock does not exclude others, the primary
key, which includes the number of the charge, still prevents two charges with the same number.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any
from urllib.parse import unquote

__all__ = ["ServerError", "ServerStore", "checked_url", "is_url"]

# Runs one SQL statement with values for its "?"; returns all rows of the result.
Execute = Callable[..., list[tuple[Any, ...]]]

# Seconds to wait for a lock, a commit or the client's next statement, and for a connection.
_TIMEOUT = 60.0
_CONNECT_TIMEOUT = 10
_SCHEMA = "sklearn_dpbo_ledger"
_TABLES = ("datasets", "entries")
_CREATE_TABLES = (
    "CREATE TABLE main.datasets (name TEXT PRIMARY KEY)",
    "CREATE TABLE main.entries (dataset TEXT NOT NULL REFERENCES main.datasets (name), "
    "number INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (dataset, number))",
)
# This comment marks the schema as a ledger; dumps of the database keep it.
_SCHEMA_COMMENT = "privacy ledger of sklearn_dpbo, format 2"
# The key is "DPBO" in ASCII. An advisory lock until the end of the transaction needs no rights.
_LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(1146110543, 0)"
# The keepalives detect a dead server after half a minute.
_CONNECTION_OPTIONS = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "UTF8",
    "connect_timeout": _CONNECT_TIMEOUT,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
}
# These settings override the defaults of the role and the database. READ COMMITTED lets the
# statements after the lock see the charges that were committed while waiting for it.
_BEGIN = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL synchronous_commit = on;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = {timeout};
SET LOCAL statement_timeout = {statement_timeout};
SET LOCAL idle_in_transaction_session_timeout = {timeout}
"""
_SELECT_SERVER_STATE = """
SELECT current_setting('fsync'), current_setting('full_page_writes'),
    pg_is_in_recovery(), current_setting('transaction_read_only')
"""
_SELECT_TABLES = """
SELECT obj_description(s.oid, 'pg_namespace'), t.relname, t.relkind::text, t.relpersistence::text,
    t.relhasrules OR t.relrowsecurity
        OR EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = t.oid AND NOT g.tgisinternal)
FROM pg_namespace s LEFT JOIN pg_class t ON t.relnamespace = s.oid AND t.relname = ANY(?)
WHERE s.nspname = ? ORDER BY t.relname
"""


class ServerError(OSError):
    """The server cannot be reached, reports an error, or cannot keep a ledger safely."""


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


class ServerStore:
    """The ledger of one data set on a server.

    Parameters
    ----------
    url : str
        URL of the database.
    dataset : str
        Name of the data set.
    """

    def __init__(self, url: str, dataset: str) -> None:
        self.url, self.dataset = url, dataset

    def create(self, lines: list[str]) -> None:
        """Create the ledger with these lines, and the schema, unless there are some."""
        with _open_transaction(self.url) as execute:
            if not execute(_SELECT_TABLES, (list(_TABLES), _SCHEMA)):
                execute(f"CREATE SCHEMA {_SCHEMA}")
                execute(f"COMMENT ON SCHEMA {_SCHEMA} IS '{_SCHEMA_COMMENT}'")
                for statement in _CREATE_TABLES:
                    execute(statement)
            _refuse_unsafe_tables(execute)
            known = execute("SELECT 1 FROM main.datasets WHERE name = ?", (self.dataset,))
            if not known:
                execute("INSERT INTO main.datasets VALUES (?)", (self.dataset,))
                ServerBook(execute, self.dataset).append(lines)

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[ServerBook]:
        """Lock the ledger, and yield its lines."""
        with _open_transaction(self.url) as execute:
            _refuse_unsafe_tables(execute)
            yield ServerBook(execute, self.dataset)


class ServerBook:
    """The lines of one ledger, in a transaction that runs SQL.

    Parameters
    ----------
    execute : callable
        Runs one SQL statement.
    dataset : str
        Name of the data set.
    """

    def __init__(self, execute: Execute, dataset: str) -> None:
        self._execute, self._dataset = execute, dataset

    def first(self) -> str:
        """Return the first line, which is the opening."""
        return self._line("ASC")

    def last(self) -> tuple[str, list[str]]:
        """Return the last line; a server keeps no pieces of lines."""
        return self._line("DESC"), []

    def lines(self) -> Iterator[str]:
        """Yield all lines, in order."""
        sql = "SELECT line FROM main.entries WHERE dataset = ? ORDER BY number"
        for (line,) in self._execute(sql, (self._dataset,)):
            yield line

    def append(self, lines: list[str]) -> None:
        """Add lines, which are durable when the transaction has ended."""
        sql = "SELECT coalesce(max(number), -1) FROM main.entries WHERE dataset = ?"
        ((last,),) = self._execute(sql, (self._dataset,))
        for number, line in enumerate(lines, last + 1):
            values = (self._dataset, number, line)
            self._execute("INSERT INTO main.entries VALUES (?, ?, ?)", values)

    def _line(self, order: str) -> str:
        sql = f"SELECT line FROM main.entries WHERE dataset = ? ORDER BY number {order} LIMIT 1"
        if not (found := self._execute(sql, (self._dataset,))):
            raise ServerError(
                f"there is no ledger of {self._dataset!r} in the database; to begin one pass "
                "epsilon= and create=True"
            )
        return str(found[0][0])


@contextlib.contextmanager
def _open_transaction(url: str) -> Iterator[Execute]:
    """Yield a function that runs SQL; commit durably at the end, or roll back on an exception.

    The SQL is SQLite's: ``?`` stands for a value, and the tables are in the schema ``main``.

    Raises
    ------
    ServerError, OSError, UnicodeError
        If the server is not available within a minute, or could lose a charge.
    ImportError
        If psycopg is not installed.
    """
    psycopg = _import_psycopg()
    try:
        with contextlib.closing(psycopg.connect(url, **_CONNECTION_OPTIONS)) as connection:

            def execute(sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
                sql = sql.replace("main.", f"{_SCHEMA}.").replace("?", "%s")
                cursor = connection.execute(sql, values or None)
                return cursor.fetchall() if cursor.description else []

            try:
                timeout = int(1000 * _TIMEOUT)
                connection.execute(_BEGIN.format(timeout=timeout, statement_timeout=2 * timeout))
                _refuse_unsafe_server(*execute(_SELECT_SERVER_STATE)[0])
                execute(_LOCK)
                yield execute
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            _commit(connection)
    except psycopg.Error as error:
        raise ServerError(_first_line(error)) from None


def _commit(connection: Any) -> None:
    """Commit; treat warnings as errors.

    The server warns if no transaction was open, or if a standby has not confirmed the commit.
    """
    psycopg = _import_psycopg()
    warnings: list[str] = []
    connection.add_notice_handler(lambda diagnostic: warnings.append(diagnostic.message_primary))
    try:
        with _cancel_after_timeout(connection):
            status = connection.execute("COMMIT").statusmessage
    except psycopg.Error as error:
        warnings.append(_first_line(error))
    if warnings or status != "COMMIT":
        raise ServerError(
            f"whether the change was made is not known ({'; '.join(warnings) or status}); if it "
            "was, it counts as spent"
        )


@contextlib.contextmanager
def _cancel_after_timeout(connection: Any) -> Iterator[None]:
    """Cancel a commit that takes too long: no setting limits the wait for a standby."""

    def cancel() -> None:
        with contextlib.suppress(_import_psycopg().Error):
            connection.cancel_safe(timeout=_CONNECT_TIMEOUT)

    timer = threading.Timer(_TIMEOUT, cancel)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


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
            f"there is no schema {_SCHEMA} in the database; pass epsilon= and create=True"
            " to begin a ledger"
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


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _import_psycopg() -> ModuleType:
    """Return psycopg, an optional dependency that only ledgers on a server need."""
    try:
        import psycopg
    except ImportError as error:
        raise ImportError(
            'a ledger on a PostgreSQL server needs psycopg: pip install "sklearn_dpbo[postgresql]"'
        ) from error
    return psycopg

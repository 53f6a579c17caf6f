"""Ledgers in tables on a PostgreSQL server (zone: boundary).

A line is a row. Its columns repeat the totals as numbers, and the server itself enforces that
they are those of the row before plus a loss above 0: whoever may add rows can spend, but give
nothing back, whatever the line says. Each transaction opens its own connection and changes
settings for itself only, so that no pooler passes on changed settings. It holds an advisory lock
of the data set; if that lock does not exclude others, the primary key, which includes the number
of the charge, still prevents two charges with the same number.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ._entries import DamagedError, Entry

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]


SCHEMA = "sklearn_dpbo_ledger"
# Each line 0 refers to a data set, so that without the right to add these nobody can begin another
# ledger. Each further line refers to the line before it, with totals that are less by its loss.
# PostgreSQL's numbers are exact, and null, infinity and NaN have no row before them.
_CREATE_TABLES = f"""
CREATE TABLE {SCHEMA}.datasets (name text PRIMARY KEY);
CREATE TABLE {SCHEMA}.entries (
    dataset text NOT NULL REFERENCES {SCHEMA}.datasets (name),
    number integer NOT NULL,
    line text NOT NULL,
    epsilon numeric NOT NULL,
    delta numeric NOT NULL,
    epsilon_total numeric NOT NULL,
    delta_total numeric NOT NULL,
    previous_number integer GENERATED ALWAYS AS (nullif(number, 0) - 1) STORED,
    previous_epsilon numeric GENERATED ALWAYS AS (epsilon_total - epsilon) STORED,
    previous_delta numeric GENERATED ALWAYS AS (delta_total - delta) STORED,
    PRIMARY KEY (dataset, number),
    UNIQUE (dataset, number, epsilon_total, delta_total),
    FOREIGN KEY (dataset, previous_number, previous_epsilon, previous_delta)
        REFERENCES {SCHEMA}.entries (dataset, number, epsilon_total, delta_total),
    CHECK (CASE WHEN number = 0
        THEN (epsilon, delta, epsilon_total, delta_total) = (0, 0, 0, 0)
        ELSE number > 0 AND epsilon > 0 AND delta >= 0 END)
)
"""
_SELECT_ENDS = f"""
(SELECT number, line, epsilon_total, delta_total FROM {SCHEMA}.entries
    WHERE dataset = %s AND number = 0)
UNION ALL
(SELECT number, line, epsilon_total, delta_total FROM {SCHEMA}.entries
    WHERE dataset = %s ORDER BY number DESC LIMIT 1)
ORDER BY number
"""
_SELECT_LINES = f"SELECT line FROM {SCHEMA}.entries WHERE dataset = %s ORDER BY number"
_INSERT_OPENING = f"INSERT INTO {SCHEMA}.entries VALUES (%s, 0, %s, 0, 0, 0, 0)"
_INSERT_CHARGE = f"""
INSERT INTO {SCHEMA}.entries
SELECT dataset, number + 1, %s, loss.epsilon, loss.delta, epsilon_total + loss.epsilon,
    delta_total + loss.delta
FROM {SCHEMA}.entries, (VALUES (%s::numeric, %s::numeric)) AS loss (epsilon, delta)
WHERE dataset = %s AND number = %s
RETURNING number
"""
# An advisory lock until the end of the transaction needs no rights.
_LOCK = "SELECT pg_catalog.pg_advisory_xact_lock{}(%s::bigint)"
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
# Seconds that the server may take for a statement or to get the lock.
TIMEOUT = 60.0
# The keepalives detect a host that is gone after half a minute.
_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "UTF8",
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
}


class ServerError(OSError):
    """The server cannot be reached, or reports an error."""


def is_url(place: str) -> bool:
    """Return True for a URL of any scheme, False for the path of a file."""
    return re.match(r"[a-z][a-z0-9+.-]+:/", place, re.IGNORECASE) is not None


def checked_url(url: str) -> str:
    """Return the URL of a PostgreSQL database; ValueError if it is not one, or has a password."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("the URL of a ledger must begin with postgresql:// or postgres://")
    decoded = unquote(url)
    user = url.partition("//")[2].rpartition("@")[0]
    if ":" in user or re.search(r"[?&][^=]*(password|secret|scram)[^=]*=", decoded, re.IGNORECASE):
        raise ValueError(
            "the URL of a ledger must not contain a password (nor a ':' before an '@'), because it "
            "is shown and pickled with estimators. Keep the password in ~/.pgpass, in a service "
            "file or in the environment variable PGPASSWORD, or use a client certificate"
        )
    return url


def create(url: str, dataset: str, line: str) -> None:
    """Create the ledger with its first line, and the schema, unless they exist."""
    with transaction(url, write=True) as connection:
        _lock(connection, "")  # the lock of the schema, not of a data set
        if not _has_schema(connection):
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
            connection.execute(_CREATE_TABLES)
        if not _exists(connection, dataset):
            connection.execute(f"INSERT INTO {SCHEMA}.datasets VALUES (%s)", (dataset,))
            connection.execute(_INSERT_OPENING, (dataset, line))


def _exists(connection: Connection, dataset: str) -> bool:
    sql = f"SELECT 1 FROM {SCHEMA}.entries WHERE dataset = %s AND number = 0"
    return connection.execute(sql, (dataset,)).fetchone() is not None


def _has_schema(connection: Connection) -> bool:
    """Return True if the schema exists; tables that are missing in it are not created again."""
    sql = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
    return connection.execute(sql, (SCHEMA,)).fetchone() is not None


class ServerBook:
    """Lines of one ledger, in a transaction that has locked it."""

    def __init__(self, connection: Connection, dataset: str) -> None:
        self._connection = connection
        self._dataset = dataset
        self._ends = []
        if _has_schema(connection):
            self._ends = connection.execute(_SELECT_ENDS, (dataset, dataset)).fetchall()
        if not self._ends:
            raise ServerError(
                f"there is no ledger of {dataset!r} in the database; to create one, pass epsilon= "
                "and create=True"
            )

    @classmethod
    @contextlib.contextmanager
    def locked(cls, url: str, dataset: str, write: bool) -> Iterator[ServerBook]:
        """Lock the ledger: against all others to write, against writers to read."""
        with transaction(url, write=write) as connection:
            _lock(connection, dataset, shared=not write)
            yield cls(connection, dataset)

    def first(self) -> str:
        return str(self._ends[0][1])

    def last(self) -> str:
        number, line, *totals = self._ends[-1]
        if number > 0:
            _refuse_less(number, line, totals)
        return str(line)

    def lines(self) -> Iterator[str]:
        rows = self._connection.execute(_SELECT_LINES, (self._dataset,))
        return (str(line) for (line,) in rows)

    def append(self, line: str) -> None:
        """Add a line. It is durable once the transaction has ended."""
        entry = Entry.parse(line)
        values = (line, entry.epsilon, entry.delta, self._dataset, entry.number - 1)
        if self._connection.execute(_INSERT_CHARGE, values).fetchone() != (entry.number,):
            raise ServerError(f"there is no line before that of charge {entry.number}")


def _refuse_less(number: int, line: str, totals: list[Any]) -> None:
    """Raise DamagedError if a line states another number or less than the server's totals."""
    entry = Entry.parse(line)
    stated = entry.totals
    if entry.number != number or stated.epsilon < totals[0] or stated.delta < totals[1]:
        raise DamagedError(f"the line of charge {number} does not state what was charged")


@contextlib.contextmanager
def transaction(url: str, *, write: bool = False) -> Iterator[Connection]:
    """Yield a connection in a transaction; commit durably at the end, roll back on an exception."""
    try:
        import psycopg
    except ImportError as error:  # only ledgers on a server need it
        raise ImportError(
            'a ledger on a PostgreSQL server needs psycopg: pip install "sklearn_dpbo[postgresql]"'
        ) from error

    try:
        with contextlib.closing(psycopg.connect(url, **_OPTIONS)) as connection:
            timeout = int(1000 * TIMEOUT)
            connection.execute(_BEGIN.format(timeout=timeout, longer=timeout + 1000))
            yield connection
            if write and (status := connection.execute("COMMIT").statusmessage) != "COMMIT":
                raise ServerError(f"the server answers {status!r} to a commit")
    except psycopg.Error as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise ServerError(text) from None


def _lock(connection: Connection, dataset: str, *, shared: bool = False) -> None:
    # Two names with the same key wait for each other, which does no harm.
    digest = hashlib.sha256(f"sklearn_dpbo ledger {dataset}".encode()).digest()
    key = int.from_bytes(digest[:8], "big", signed=True)
    connection.execute(_LOCK.format("_shared" if shared else ""), (key,))

"""A connection to a PostgreSQL server with time limits for all waits (zone: boundary).

The client keeps the time, because the server may fall silent: it connects in a thread, which it
leaves behind if that takes too long, and another thread shuts the socket if an answer does not
come. After a fork the child's copy of a connection is replaced by the null device, so that the
parent's session is not affected.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from types import ModuleType
from typing import Any

__all__ = ["GRACE", "TIMEOUT", "Connection", "ServerError", "connected"]

# Seconds that the server may take for a statement or a commit, and that any network and host may
# take to connect; and seconds after which the client stops waiting for the server's own error.
TIMEOUT = 60.0
GRACE = 10.0
# The keepalives detect a dead server after half a minute.
_OPTIONS = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "UTF8",
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
}


class ServerError(OSError):
    """The server cannot be reached, reports an error, or cannot keep a ledger safely."""


class Connection:
    """A connection (`raw`) whose socket is shut if a statement is not answered in time."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._closed = threading.Event()
        self._deadline = time.monotonic() + TIMEOUT + GRACE
        self._is_silent = False
        self._pid = os.getpid()
        # A copy of the descriptor stays valid if psycopg closes its own. Family and type do not
        # matter for what is done with it.
        self._socket = socket.fromfd(raw.fileno(), socket.AF_INET, socket.SOCK_STREAM)
        _open.add(self)
        _start(self._shut_if_silent)

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with values for its ``%s``; return all rows of the result."""
        cursor = self._answer(sql, values)
        return cursor.fetchall() if cursor.description else []

    def commit(self) -> None:
        """Commit; treat warnings as errors: no transaction was open, or no standby confirmed.

        No setting limits the wait for a standby: it is cancelled after ``TIMEOUT`` seconds.
        """
        found: list[str] = []
        self._raw.add_notice_handler(lambda diagnostic: found.append(diagnostic.message_primary))
        answered = threading.Event()
        _start(lambda: self._cancel_if_slow(answered))
        try:
            if (status := self._answer("COMMIT").statusmessage) != "COMMIT":
                found.append(status)
        except ServerError as error:
            found.append(str(error))
        finally:
            answered.set()
        if found:
            raise ServerError(
                f"whether the change was made is not known ({'; '.join(found)}); if it was, it "
                "counts as spent"
            )

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._closed.set()
        self._socket.close()
        with contextlib.suppress(_import_psycopg().Error):
            self._raw.close()

    def abandon(self) -> None:
        """In a child: replace what was inherited, and leave the parent's session alone."""
        self._closed = threading.Event()  # its lock may have been held when the process forked
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, self._socket.fileno())
        with contextlib.suppress(_import_psycopg().Error):  # psycopg has closed its own
            os.dup2(null, self._raw.fileno())
        os.close(null)

    def _answer(self, sql: str, values: Sequence[object] = ()) -> Any:
        if os.getpid() != self._pid:
            raise ServerError("the transaction belongs to the process that this one is a fork of")
        self._deadline = time.monotonic() + TIMEOUT + GRACE
        try:
            return self._raw.execute(sql, values or None)
        except _import_psycopg().Error as error:
            silence = f"the server has not answered for {TIMEOUT + GRACE:g} seconds"
            raise ServerError(silence if self._is_silent else _first_line(error)) from None

    def _shut_if_silent(self) -> None:
        while not self._closed.wait(max(0.0, self._deadline - time.monotonic())):
            if time.monotonic() >= self._deadline:
                self._is_silent = True
                with contextlib.suppress(OSError):  # closed or broken meanwhile
                    self._socket.shutdown(socket.SHUT_RDWR)
                return

    def _cancel_if_slow(self, answered: threading.Event) -> None:
        if not answered.wait(TIMEOUT):
            with contextlib.suppress(_import_psycopg().Error):
                self._raw.cancel_safe(timeout=GRACE)


_open: weakref.WeakSet[Connection] = weakref.WeakSet()


def _abandon_all() -> None:
    for connection in list(_open):
        if not connection._closed.is_set():
            connection.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


@contextlib.contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Connect to the database, and close the connection at the end."""
    with contextlib.closing(Connection(_connect(url))) as connection:
        yield connection


def _connect(url: str) -> Any:
    psycopg = _import_psycopg()
    result: Future[Any] = Future()

    def connect() -> None:
        try:
            raw = psycopg.connect(url, **_OPTIONS)
        except BaseException as error:
            if result.set_running_or_notify_cancel():
                result.set_exception(error)
            return
        if result.set_running_or_notify_cancel():
            result.set_result(raw)
        else:  # the caller gave up
            raw.close()

    _start(connect)
    try:
        wait([result], TIMEOUT)
        if result.cancel():
            raise ServerError(f"no connection within {TIMEOUT:g} seconds")
        return result.result()
    except psycopg.Error as error:
        raise ServerError(_first_line(error)) from None
    except BaseException:  # Ctrl-C: close what may have been opened
        result.add_done_callback(_close_result)
        result.cancel()
        raise


def _close_result(result: Future[Any]) -> None:
    if not result.cancelled() and result.exception() is None:
        result.result().close()


def _start(target: Callable[[], None]) -> None:
    try:
        threading.Thread(target=target, daemon=True, name="sklearn_dpbo ledger").start()
    except RuntimeError as error:  # too many threads, or the interpreter is shutting down
        raise ServerError(str(error)) from None


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

"""A database file with exclusive transactions (zone: boundary).

SQLite's own locks are not enough here. They belong to a process, which loses them when any of its
threads closes the file (after a copy or backup), and they depend on the name of the file, of which
there can be two. Each transaction therefore first locks the file itself. The journal is a rollback
journal, so that after a commit all data are in the database file: a write-ahead log cannot be
moved into it while another process is reading.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system: only SQLite's locks are used
    _HAS_FLOCK = False
else:
    _HAS_FLOCK = True

__all__ = ["Execute", "create_if_missing", "transaction"]

# Runs one SQL statement with values for its "?"; returns all rows of the result.
Execute = Callable[..., list[tuple[Any, ...]]]

# Seconds to wait for a lock, and between attempts.
_LOCK_TIMEOUT = 60.0
_RETRY_INTERVAL = 0.005
# SQLite's application_id marks the file as a ledger: "DPBO" in ASCII.
_APPLICATION_ID = 0x4450424F
# Size of SQLite's header in bytes: no database is smaller.
_HEADER_SIZE = 100

# One transaction at a time in this process. It is also held during a fork: otherwise a child could
# inherit the locks of a transaction that never ends there.
_here = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_here.acquire, after_in_parent=_here.release, after_in_child=_here.release
    )


@contextlib.contextmanager
def _process_lock() -> Iterator[None]:
    """Prevent other threads of this process from using a ledger and from forking.

    Raises
    ------
    TimeoutError
        If another thread holds the lock for more than a minute.
    """
    if not _here.acquire(timeout=_LOCK_TIMEOUT):
        raise TimeoutError("another thread has had the ledger for too long")
    try:
        yield
    finally:
        _here.release()


def create_if_missing(path: str, statements: tuple[str, ...]) -> None:
    """Create the database with these tables, unless the file exists.

    It is created under a temporary name and then linked, so that no other process ever finds an
    incomplete database.

    Parameters
    ----------
    path : str
        Path of the file.
    statements : tuple of str
        SQL statements that create the tables.
    """
    if os.path.lexists(path):
        return
    folder = os.path.dirname(path)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".ledger")
    os.close(descriptor)
    try:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            for statement in (
                "PRAGMA synchronous = EXTRA",
                f"PRAGMA application_id = {_APPLICATION_ID}",
                *statements,
            ):
                connection.execute(statement)
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
    _sync_folder(folder)


@contextlib.contextmanager
def transaction(path: str, dataset: str) -> Iterator[Execute]:
    """Yield a function that runs SQL; commit durably at the end, or roll back on an exception.

    Parameters
    ----------
    path : str
        Path of the file.
    dataset : str
        Ignored: a transaction locks the whole file.

    Raises
    ------
    OSError, sqlite3.Error, UnicodeError
        If the file is missing, not a ledger, damaged, or locked by others for more than a minute.
    """
    with _process_lock(), _file_lock(path), contextlib.closing(_connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _refuse_damage(connection)
            yield lambda sql, values=(): connection.execute(sql, values).fetchall()
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _connect(path: str) -> sqlite3.Connection:
    # Not "rwc": a lost ledger must not be replaced by an empty one.
    uri = f"{Path(path).as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_LOCK_TIMEOUT, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        if connection.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
            raise sqlite3.OperationalError("another program has changed the journal mode")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_damage(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION_ID,):
        raise sqlite3.DatabaseError("the file is not a ledger")
    if (found := connection.execute("PRAGMA integrity_check(1)").fetchone()) != ("ok",):
        raise sqlite3.DatabaseError(f"the file has been damaged: {found[0]}")


@contextlib.contextmanager
def _file_lock(path: str) -> Iterator[None]:
    """Lock the file itself, independently of its name; closing it releases the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        raise FileNotFoundError("no such file; pass epsilon= to create a new ledger") from None
    try:
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise TimeoutError("another process has had the ledger for too long: locked")
            time.sleep(_RETRY_INTERVAL)
        _refuse_other_names(descriptor)
        if os.fstat(descriptor).st_size < _HEADER_SIZE:
            raise OSError(
                "the file is empty or cut off; restore it from a backup (a new ledger is not "
                "created in its place)"
            )
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    if not _HAS_FLOCK:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refuse_other_names(descriptor: int) -> None:
    """Refuse hard links: SQLite looks for the journal of a crash under one name only."""
    deadline = time.monotonic() + 2  # `create_if_missing` briefly has two names
    while os.fstat(descriptor).st_nlink > 1:
        if time.monotonic() > deadline:
            raise OSError("the file has several names (hard links); remove all but one")
        time.sleep(_RETRY_INTERVAL)


def _sync_folder(folder: str) -> None:
    """Make the new file name durable, on systems that can synchronise folders."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""A database file that one transaction at a time has to itself (zone: boundary).

SQLite's own locks are not enough here. They belong to a process, which loses them when anything in
it closes the file (a copy, a backup); they go by the name of the file, of which there can be two;
and a write-ahead log that somebody else is reading cannot be moved into the database. So each
transaction first takes a lock of its own on the file itself, and the journal is one that rolls
back: after a commit, everything is in the database.
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

try:
    import fcntl
except ImportError:  # no POSIX system: SQLite's locks alone
    fcntl = None  # type: ignore[assignment]  # a module, where there is one

__all__ = ["alone", "create", "transaction"]

# Seconds to wait for others.
_PATIENCE = 60.0
_STEP = 0.005
# Whose file it is: "DPBO".
_APPLICATION = 0x4450424F
# No database is smaller than SQLite's header.
_HEADER = 100

# One transaction at a time in this process; and none while it forks, or a child would inherit the
# locks of a transaction that never ends there.
_here = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_here.acquire, after_in_parent=_here.release, after_in_child=_here.release
    )


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Let no other thread of this process use a ledger meanwhile, and none fork.

    Raises
    ------
    TimeoutError
        If another thread does for too long.
    """
    if not _here.acquire(timeout=_PATIENCE):
        raise TimeoutError("another thread has had the ledger for too long")
    try:
        yield
    finally:
        _here.release()


def create(path: str, statements: tuple[str, ...]) -> None:
    """Make the database, with these tables, unless there is a file of that name.

    It is made under another name and linked, so that there is never a part of it.
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
                f"PRAGMA application_id = {_APPLICATION}",
                *statements,
            ):
                connection.execute(statement)
        with contextlib.suppress(FileExistsError):  # somebody else was faster
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
    _sync_folder(folder)


@contextlib.contextmanager
def transaction(path: str) -> Iterator[Callable]:
    """Yield a function that runs SQL; commit durably at the end, or leave all as it was.

    Raises
    ------
    OSError, sqlite3.Error, UnicodeError
        If the file is not there, not such a database, damaged, or not to be had in time.
    """
    with alone(), _locked(path), contextlib.closing(_connected(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _refuse_damage(connection)
            yield lambda sql, values=(): connection.execute(sql, values).fetchall()
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _connected(path: str) -> sqlite3.Connection:
    # Not "rwc": a ledger that was lost must not begin anew at nothing.
    uri = f"{Path(path).as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        if connection.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
            raise sqlite3.OperationalError("another program has it in a journal mode of its own")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_damage(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
        raise sqlite3.DatabaseError("it is no ledger")
    if (found := connection.execute("PRAGMA integrity_check(1)").fetchone()) != ("ok",):
        raise sqlite3.DatabaseError(f"it has been damaged: {found[0]}")


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold the file itself, whatever it is called. Closed last: that releases it."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        raise FileNotFoundError("no such file (to open a new ledger, give epsilon=)") from None
    try:
        until = time.monotonic() + _PATIENCE
        while not _lock(descriptor):
            if time.monotonic() > until:
                raise TimeoutError("another process has had the ledger for too long: locked")
            time.sleep(_STEP)
        _refuse_other_names(descriptor)
        if os.fstat(descriptor).st_size < _HEADER:
            raise OSError("the file is empty or cut off, and a ledger is not begun anew in it")
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refuse_other_names(descriptor: int) -> None:
    """A journal that is left behind under one name would not be found under another."""
    until = time.monotonic() + 2  # `create` has two names for a moment
    while os.fstat(descriptor).st_nlink > 1:
        if time.monotonic() > until:
            raise OSError("the file has several names (hard links); leave one")
        time.sleep(_STEP)


def _sync_folder(folder: str) -> None:
    """Make the new name durable, where folders can be synchronised."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

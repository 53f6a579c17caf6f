"""Ledgers that earlier versions kept in SQLite files, and their conversion (zone: boundary).

A converted ledger exists once at any time, whenever the conversion is interrupted:

1. the new file is written under a name of its own,
2. one transaction in the old file notes the conversion, and marks the file, so that earlier
   versions do not charge it any more,
3. the new file gets its name.

The old file stays as it is otherwise. Once it is marked, no second file is written: a conversion
that is run again finds the file of step 1, and goes on with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..exceptions import LedgerError
from ._file import FileStore, sync_folder
from ._old_entries import OldLedger
from ._places import checked_name, checked_place

__all__ = ["convert_file"]

# SQLite's application_id of ledgers, and of those that were converted: "DPBO" and "DPBC" in ASCII.
_ID = 0x4450424F
_CONVERTED_ID = 0x44504243
_LOCK_TIMEOUT = 60.0
_RETRY_INTERVAL = 0.005

# Runs one SQL statement with values for its "?"; returns all rows of the result.
Execute = Callable[..., list[tuple[Any, ...]]]


def convert_file(old: str, new: str, dataset: str | None = None, unit: str = "record") -> list[str]:
    """Write the ledger of one data set in an old file to a new file.

    Parameters
    ----------
    old, new : str
        Paths. There must be no file at `new`.
    dataset : str, default=None
        Name of the data set; None if there is but one.
    unit : str, default="record"
        What one protected unit is, which old ledgers do not know.

    Returns
    -------
    others : list of str
        The data sets of the old file that are still to be converted.

    Raises
    ------
    LedgerError
        If the old file is no ledger, has been damaged or converted to another file, or cannot be
        written.
    ValueError
        If a parameter is invalid.
    """
    old, new, unit = checked_place(old), checked_place(new), checked_name("unit", unit)
    try:
        with _locked(old), _transactions(old) as execute:
            name = _choice(execute, dataset)
            content = _content(execute, name)
            part = f"{new}.{content.identifier[:8]}.part"
            if not _converted_to(execute, name):
                _prepare(part, new, content.lines(unit))
                _mark(execute, name, new)
            elif not os.path.lexists(part):
                raise LedgerError(
                    f"the ledger of {name!r} was converted before, to {_converted_to(execute, name)}"
                )
            _give_name(part, new)
            names = _names(execute)
            return [other for other in names if not _converted_to(execute, other)]
    except (sqlite3.Error, OSError, UnicodeError) as error:
        raise LedgerError(f"{old} cannot be converted: {error}") from None


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Lock the file as earlier versions did, before they opened the database."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError("another process has had it for too long") from None
                time.sleep(_RETRY_INTERVAL)
        if os.fstat(descriptor).st_nlink > 1:
            # SQLite looks for the journal of a crash under one name only.
            raise OSError("the file has several names (hard links); remove all but one")
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _transactions(path: str) -> Iterator[Execute]:
    """Begin a transaction on an old ledger that is whole, and yield what runs SQL in it."""
    uri = f"{Path(path).as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_LOCK_TIMEOUT, isolation_level=None)

    def execute(sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        return connection.execute(sql, values).fetchall()

    with contextlib.closing(connection):  # which rolls back
        execute("PRAGMA synchronous = EXTRA")
        execute("PRAGMA journal_mode = DELETE")
        execute("BEGIN EXCLUSIVE")
        if execute("PRAGMA application_id")[0][0] not in (_ID, _CONVERTED_ID):
            raise OSError("it is not a ledger of an earlier version")
        if (found := execute("PRAGMA integrity_check(1)")) != [("ok",)]:
            raise OSError(f"it has been damaged: {found[0][0]}")
        yield execute


def _names(execute: Execute) -> list[str]:
    return [name for (name,) in execute("SELECT name FROM datasets ORDER BY name")]


def _choice(execute: Execute, dataset: str | None) -> str:
    """Return the name of the data set to convert, as stored."""
    names = _names(execute)
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is None or (name := checked_name("dataset", dataset)) not in names:
        found = "There is no such data set" if dataset else "It has several data sets"
        raise LedgerError(f"{found}; name one of: {', '.join(map(repr, names))}")
    return name


def _content(execute: Execute, name: str) -> OldLedger:
    ((*budget, head),) = execute(
        "SELECT name, epsilon, delta, worst_case_only, head FROM datasets WHERE name = ?", (name,)
    )
    rows = execute(
        "SELECT number, time, what, mechanism, epsilon, delta, assumption FROM charges "
        "WHERE dataset = ? ORDER BY number",
        (name,),
    )
    return OldLedger.verified(budget, rows, head)


def _converted_to(execute: Execute, name: str) -> str | None:
    """Return the path of the new file, or None if the old one was not marked for this data set."""
    if not execute("SELECT 1 FROM sqlite_master WHERE name = 'converted'"):
        return None
    found = execute("SELECT path FROM converted WHERE dataset = ?", (name,))
    return found[0][0] if found else None
